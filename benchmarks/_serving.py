"""Serving: requests answered by exports, and by TensorFlow behind the same server."""

import asyncio
import contextlib
import dataclasses
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from typing import Any

import keras
import numpy as np

from benchmarks import _export, _measure, _peer
from stratax import export

_CLIENTS = 16
_SECONDS = 1.0
_NATIVE = """
import sys, keras
model = keras.saving.deserialize_keras_object(__import__("json").loads(sys.argv[1]))
model.load_weights(sys.argv[2])
model.export(sys.argv[3], verbose=False)
"""
_FIRST = {
    "stratax": """
import sys
import numpy as np
from stratax.export import load
load(sys.argv[1]).signatures["serving_default"](np.zeros([1, 28, 28, 1], np.float32))
assert "keras" not in sys.modules
""",
    "tensorflow": """
import sys
import numpy as np
import tensorflow as tf
loaded = tf.saved_model.load(sys.argv[1])
next(iter(loaded.signatures["serving_default"](tf.zeros([1, 28, 28, 1])).values())).numpy()
""",
}


def against_tensorflow(
    model: str, what: str, max_batch: int, plan: _measure.Plan, *, is_read: bool = False
) -> _measure.Figure:
    """How requests of one row by 16 clients are answered, against TensorFlow behind the same server.

    Args:
        model: `"mlp"` or `"cnn"`.
        what: `"rate"`: how many times as many are answered in a second. `"p99"`: the time within which 99 of 100 are
            answered, over TensorFlow's.
        max_batch: How many requests TensorFlow is given at a time, at most.
        plan: How long to measure.
        is_read: Whether Stratax serves the SavedModel, too, instead of an export.
    """
    with tempfile.TemporaryDirectory() as folder:
        made = _export.model_of(model)
        ours, theirs = _written(made, pathlib.Path(folder))
        own = theirs if is_read else ours
        with _served("stratax", own, 32) as one, _served("tensorflow", theirs, max_batch) as other:
            row = np.random.default_rng(0).random(made.input_shape[1:]).round(4).tolist()
            body = json.dumps({"instances": [row]}).encode()
            found: dict[int, list[Answered]] = {one: [], other: []}
            count = 20
            for port in found:
                count = max(count, int(_SECONDS * _ask(port, body, 20).rate / _CLIENTS))
            for turn in range(plan.rounds):
                for port in list(found)[:: 1 if turn % 2 else -1]:
                    found[port].append(_ask(port, body, count))
    details = {
        f"{name}_{unit}": _measure.spread([getattr(each, unit) for each in found[port]]).value
        for name, port in (("stratax", one), ("tensorflow", other))
        for unit in ("rate", "p50_ms", "p99_ms")
    }
    pairs = list(zip(found[one], found[other], strict=True))
    if what == "rate":
        return _measure.spread([mine.rate / yours.rate for mine, yours in pairs], details)
    return _measure.spread([mine.p99_ms / yours.p99_ms for mine, yours in pairs], details)


def first_answer(plan: _measure.Plan) -> _measure.Figure:
    """How long a fresh process takes to load a CNN and answer, in seconds; the details have TensorFlow's."""
    with tempfile.TemporaryDirectory() as folder:
        folders = dict(zip(_FIRST, _written(_export.model_of("cnn"), pathlib.Path(folder)), strict=True))
        times: dict[str, list[float]] = {side: [] for side in _FIRST}
        for turn in range(plan.processes):
            for side in list(times)[:: 1 if turn % 2 else -1]:
                started = time.perf_counter()
                python = sys.executable if side == "stratax" else _peer.tensorflow_python()
                _run([python, "-c", _FIRST[side], str(folders[side] / "1")])
                times[side].append(time.perf_counter() - started)
    return _measure.spread(times["stratax"], {"tensorflow_s": _measure.spread(times["tensorflow"]).value})


def failed_during_changes(requests: int, plan: _measure.Plan) -> _measure.Figure:
    """How many of so many requests fail while the model's version changes once in a second."""
    with tempfile.TemporaryDirectory() as folder:
        made = _export.model_of("mlp")
        base = pathlib.Path(folder, "model")
        export.save(made, base / "1", platforms=["cpu"])
        body = json.dumps({"instances": [np.zeros(784).tolist()]}).encode()
        with _served("stratax", base, 32) as port:
            clients = subprocess.Popen(
                [sys.executable, "-m", "benchmarks._serving", str(port), str(requests // _CLIENTS)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
            )
            assert clients.stdin is not None
            clients.stdin.write(body)
            clients.stdin.close()
            versions = 1
            while clients.poll() is None:
                versions += 1
                export.save(made, base / str(versions), platforms=["cpu"])
                time.sleep(1)
            assert clients.stdout is not None
            answered = Answered(**json.loads(clients.stdout.read()))
    details = {"requests": float(requests // _CLIENTS * _CLIENTS), "versions": float(versions)}
    return _measure.spread([float(answered.failed)], {**details, "p99_ms": answered.p99_ms})


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Answered:
    """What clients saw.

    Attributes:
        rate: Requests answered in a second.
        p50_ms: The time within which half of them were answered, in milliseconds.
        p99_ms: The time within which 99 of 100 were.
        failed: How many were answered with an error.
    """

    rate: float
    p50_ms: float
    p99_ms: float
    failed: int


def _ask(port: int, body: bytes, count: int) -> Answered:
    """Has 16 clients in a process of their own ask so often each."""
    command = [sys.executable, "-m", "benchmarks._serving", str(port), str(count)]
    return Answered(**json.loads(_run(command, body)))


def _written(model: Any, folder: pathlib.Path) -> tuple[pathlib.Path, pathlib.Path]:
    """Writes a model as an export, and as the SavedModel that TensorFlow's Keras makes of it."""
    export.save(model, folder / "ours/1", platforms=["cpu"])
    model.save_weights(folder / "model.weights.h5")
    made = json.dumps(keras.saving.serialize_keras_object(model))
    command = [_peer.tensorflow_python(), "-c", _NATIVE, made, str(folder / "model.weights.h5")]
    _run([*command, str(folder / "theirs/1")], KERAS_BACKEND="tensorflow")
    return folder / "ours", folder / "theirs"


@contextlib.contextmanager
def _served(engine: str, base: pathlib.Path, max_batch: int) -> Iterator[int]:
    """Serves a model until the block ends; yields the port."""
    python = sys.executable if engine == "stratax" else _peer.tensorflow_python("uvicorn", "jax")
    command = [python, "-m", "benchmarks._serving_process", engine, str(base), str(max_batch)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        if not line:
            raise RuntimeError(f"The server of {engine} ended with code {process.wait()}.")
        yield int(line)
        process.communicate()


def _run(command: list[str], given: bytes = b"", **environment: str) -> bytes:
    done = subprocess.run(
        command, input=given, capture_output=True, check=False, env={**os.environ, **environment}
    )
    if done.returncode:
        raise RuntimeError(f"A process failed: {command[:3]}\n{done.stderr.decode()}")
    return done.stdout


async def _clients(port: int, body: bytes, count: int) -> Answered:
    head = f"POST /v1/models/model:predict HTTP/1.1\r\nHost: here\r\nContent-Length: {len(body)}\r\n\r\n"
    request = head.encode() + body
    await _client(port, request, 10)
    began = time.perf_counter()
    found = await asyncio.gather(*(_client(port, request, count) for _ in range(_CLIENTS)))
    took = time.perf_counter() - began
    times = sorted(seconds for one, _ in found for seconds in one)
    return Answered(
        rate=len(times) / took,
        p50_ms=times[len(times) // 2] * 1e3,
        p99_ms=times[int(len(times) * 0.99)] * 1e3,
        failed=sum(failed for _, failed in found),
    )


async def _client(port: int, request: bytes, count: int) -> tuple[list[float], int]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    times, failed = [], 0
    for _ in range(count):
        began = time.perf_counter()
        writer.write(request)
        head = await reader.readuntil(b"\r\n\r\n")
        (length,) = (line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
        await reader.readexactly(int(length.split(b":")[1]))
        failed += not head.startswith(b"HTTP/1.1 200 ")
        times.append(time.perf_counter() - began)
    writer.close()
    return times, failed


if __name__ == "__main__":
    seen = asyncio.run(_clients(int(sys.argv[1]), sys.stdin.buffer.read(), int(sys.argv[2])))
    print(json.dumps(dataclasses.asdict(seen)))
