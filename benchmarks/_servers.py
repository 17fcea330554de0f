"""Parameter servers: steps and closures against TensorFlow's, messages against bare Flight."""

import contextlib
import multiprocessing
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import flight

import stratax.tf as tf
from benchmarks import _measure, _peer, _servers_program
from stratax import servers

_TENSORFLOW = """
os.environ["KERAS_BACKEND"] = "tensorflow"
import tensorflow as tf
from benchmarks import _servers_program
program = _servers_program.Program(tf, int(sys.argv[1]))

def run(kind, count="1"):
    getattr(program, f"run_{kind}")(int(count))
"""
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
