"""Parameter servers: steps and closures against TensorFlow's, messages against bare Flight."""

import contextlib
import json
import multiprocessing
import pathlib
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

import keras
import numpy as np
import pyarrow as pa
from pyarrow import flight

import stratax as sx
import stratax.tf as tf
from benchmarks import _measure, _peer, _servers_program
from stratax.parameter_servers import servers

_TENSORFLOW = """
os.environ["KERAS_BACKEND"] = "tensorflow"
import tensorflow as tf
from benchmarks import _servers_program
program = _servers_program.Program(tf, int(sys.argv[1]))

def run(kind, count="1"):
    getattr(program, f"run_{kind}")(int(count))
"""
_VARIABLES, _STEPS = 12, 6
# After which a server has made the last update, in seconds.
_REST_SECONDS = 1.0
_KEY = b"a key for benchmarks, 32 bytes.."


def against_tensorflow(kind: str, at_once: int, workers: int, plan: _measure.Plan) -> _measure.Figure:
    """How many times as many steps, or closures that do nothing, are run as by TensorFlow's coordinator."""
    with _peer.tensorflow(_TENSORFLOW, str(workers)) as theirs:
        program = _servers_program.Program(tf, workers)
        try:

            def ours(count: int) -> None:
                for _ in range(count):
                    getattr(program, f"run_{kind}")(at_once)

            found = _measure.in_turns(ours, lambda count: theirs(count, kind, str(at_once)), plan=plan)
        finally:
            program.close()
    per_step = [[seconds / at_once for seconds in side] for side in found]
    return _measure.ratio(per_step[1], per_step[0], numerator="tensorflow", denominator="stratax")


def against_flight(size: int, plan: _measure.Plan) -> _measure.Figure:
    """Assigning and pulling an array of so many bytes, against putting and getting one by Flight alone, over TLS."""
    with _server(_serve_shards) as ours_port, _server(_serve_flight) as theirs_port:
        array = np.zeros(size // 4, np.float32)
        deadlines = servers.Deadlines()
        connection = servers.Connection(
            "server", f"127.0.0.1:{ours_port}", servers.issue(_KEY), deadlines, task="benchmark"
        )
        connection.ask({"op": "create", "names": ["w"]}, [array])
        certificates = servers.issue(_KEY)
        client = flight.FlightClient(
            f"grpc+tls://127.0.0.1:{theirs_port}",
            tls_root_certs=certificates.authority,
            cert_chain=certificates.own,
            private_key=certificates.private_key,
            override_hostname=servers.NAME,
        )
        table = pa.record_batch([pa.array(array)], names=["w"])

        def ours(count: int) -> None:
            for _ in range(count):
                connection.ask({"op": "assign", "names": ["w"]}, [array])
                connection.ask({"op": "pull", "names": ["w"], "known": {}})

        def theirs(count: int) -> None:
            for _ in range(count):
                writer, _ = client.do_put(flight.FlightDescriptor.for_path("w"), table.schema)
                writer.write_batch(table)
                writer.close()
                client.do_get(flight.Ticket(b"w")).read_all()

        found = _measure.in_turns(ours, theirs, plan=plan)
        connection.close()
        deadlines.close()
    return _measure.ratio(*found, unit="ms", numerator="stratax", denominator="flight")


def memory(size: int, plan: _measure.Plan) -> _measure.Figure:
    """What a server's memory grows by, under steps of Adam on so many bytes of variables, over them and their slots.

    The details say the same of the most that it has had while gradients of all variables came.
    """
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = f"127.0.0.1:{free.getsockname()[1]}"
    cluster = {"ps": [address], "chief": ["127.0.0.1:1"]}
    command = [
        sys.executable,
        "-m",
        "benchmarks._servers_program",
        "stratax.tf",
        json.dumps(cluster),
        "ps",
        "0",
    ]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    try:
        resolver = sx.cluster.SimpleClusterResolver(cluster, task_type="chief", task_id=0)
        strategy = sx.distribute.ParameterServerStrategy(resolver)
        _steps_of_adam(strategy, 1 << 20)
        before = _resident(server.pid, "VmRSS")
        # So that the most is that of what follows.
        pathlib.Path(f"/proc/{server.pid}/clear_refs").write_text("5")
        held = _steps_of_adam(strategy, size)
        kept = sum(variable.numpy().nbytes for variable in [*held[0], *held[1].variables])
        ratios = [(_resident(server.pid, key) - before) / kept for key in ("VmRSS", "VmHWM")]
        strategy.close()
    finally:
        server.kill()
        server.wait()
    return _measure.spread(ratios[:1], {"most": ratios[1]})


def _steps_of_adam(strategy: Any, size: int) -> Any:
    """Run steps on variables of so many bytes; return them with their optimizer, which keep what is there."""
    with strategy.scope():
        weights = [sx.Variable(np.zeros(size // 4 // _VARIABLES, "float32")) for _ in range(_VARIABLES)]
        optimizer = keras.optimizers.Adam(0.1)
        optimizer.build(weights)

    @sx.function
    def step() -> None:
        strategy.run(lambda: optimizer.apply_gradients([(weight * 0.5 + 1.0, weight) for weight in weights]))

    for _ in range(_STEPS):
        step()
        strategy.servers.settle()
    time.sleep(_REST_SECONDS)
    return weights, optimizer


def _resident(process: int, key: str) -> int:
    lines = pathlib.Path(f"/proc/{process}/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(key))


@contextlib.contextmanager
def _server(serve: Any) -> Iterator[int]:
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=serve, args=(sender,), daemon=True)
    process.start()
    try:
        yield receiver.recv()
    finally:
        process.kill()
        process.join()


def _serve_shards(sender: Any) -> None:
    server = servers.ShardServer("127.0.0.1", 0, servers.issue(_KEY))
    sender.send(server.port)
    server.wait()


class _Bare(flight.FlightServerBase):
    def __init__(self) -> None:
        certificates = servers.issue(_KEY)
        super().__init__(
            "grpc+tls://127.0.0.1:0",
            tls_certificates=[(certificates.own, certificates.private_key)],
            verify_client=True,
            root_certificates=certificates.authority,
        )
        self._tables: dict[bytes, Any] = {}

    def do_put(self, context: Any, descriptor: Any, reader: Any, writer: Any) -> None:
        self._tables[descriptor.path[0]] = reader.read_all()

    def do_get(self, context: Any, ticket: Any) -> Any:
        return flight.RecordBatchStream(self._tables[ticket.ticket])


def _serve_flight(sender: Any) -> None:
    server = _Bare()
    sender.send(server.port)
    server.wait()
