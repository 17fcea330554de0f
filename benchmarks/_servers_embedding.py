"""A step with a large embedding on a parameter server against the same with a small one: seconds, and bytes."""

import json
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

import stratax.tf as tf
from benchmarks import _measure
from stratax.parameter_servers.servers import _wire

_SMALL, _LARGE, _WIDTH = 10_000, 10_000_000, 32
_BATCH, _IDS = 1024, 20
_BATCHES = 10


def seconds(plan: _measure.Plan) -> _measure.Figure:
    """How many times as long a step with a table of 10 million rows takes as with one of 10 thousand."""
    with _Embedding.running(_SMALL) as small, _Embedding.running(_LARGE) as large:
        found = _measure.in_turns(large.run, small.run, plan=plan)
    return _measure.ratio(*found, unit="ms", numerator="large", denominator="small")


def sent_bytes(plan: _measure.Plan) -> _measure.Figure:
    """How many times as many bytes a step with a table of 10 million rows sends and receives."""
    sizes = []
    for rows in (_SMALL, _LARGE):
        with _Embedding.running(rows) as step, _counted() as counted:
            step.run(_BATCHES)
            sizes.append(sum(counted) / _BATCHES)
    return _measure.spread([sizes[1] / sizes[0]], {"large_kb": sizes[1] / 1e3, "small_kb": sizes[0] / 1e3})


class _Embedding:
    """Trains a table of so many rows, which a server in a process of its own keeps.

    Batches name the same number of rows, of a small table or here and there in a large one.
    """

    def __init__(self, rows: int, address: str) -> None:
        cluster = {"chief": ["127.0.0.1:1"], "ps": [address]}
        command = [sys.executable, "-m", "benchmarks._servers_program", "stratax.tf", json.dumps(cluster)]
        self._process = subprocess.Popen([*command, "ps", "0"], stdout=subprocess.DEVNULL)
        resolver = tf.distribute.cluster_resolver.SimpleClusterResolver(
            tf.train.ClusterSpec(cluster), task_type="chief", task_id=0
        )
        self._strategy = tf.distribute.ParameterServerStrategy(resolver)
        with self._strategy.scope():
            self._layer = tf.keras.layers.Embedding(rows, _WIDTH)
            self._layer.build()
            self._weight = tf.Variable(np.ones(_WIDTH, "float32"))
            self._optimizer = tf.keras.optimizers.SGD(0.1)
        random = np.random.default_rng(0)
        self._batches = [
            (random.integers(0, _SMALL, (_BATCH, _IDS)) * (rows // _SMALL)).astype("int32")
            for _ in range(_BATCHES)
        ]
        self.run(_BATCHES)

    @classmethod
    @contextmanager
    def running(cls, rows: int) -> "Iterator[_Embedding]":
        """Give one, and end its server behind the block."""
        with socket.create_server(("127.0.0.1", 0)) as free:
            address = f"127.0.0.1:{free.getsockname()[1]}"
        embedding = cls(rows, address)
        try:
            yield embedding
        finally:
            embedding.close()

    def run(self, count: int) -> None:
        """Makes so many steps, and waits until the server has made them."""
        for index in range(count):
            self._strategy.run(self._step, args=(self._batches[index % _BATCHES],))
        self._weight.numpy()

    def _step(self, ids: Any) -> Any:
        variables = [self._layer.embeddings, self._weight]
        with tf.GradientTape() as tape:
            found = tf.reduce_mean(self._layer(ids), axis=1)
            loss = tf.reduce_mean(tf.reduce_sum(found * self._weight, axis=-1) ** 2)
        gradients = tape.gradient(loss, variables)
        self._optimizer.apply_gradients(zip(gradients, variables, strict=True))
        return loss

    def close(self) -> None:
        """Ends the server."""
        self._strategy.close()
        self._process.kill()
        self._process.wait()


@contextmanager
def _counted() -> Iterator[list[int]]:
    """Gives the sizes of all arrays that are sent and received in the block."""
    counted: list[int] = []
    send, receive = _wire.send, _wire.receive

    def counting_send(writer: Any, header: dict[str, Any], arrays: Sequence[np.ndarray] = ()) -> None:
        counted.extend(array.nbytes for array in arrays)
        send(writer, header, arrays)

    def counting_receive(reader: Any, most_bytes: int) -> _wire.Message:
        message = receive(reader, most_bytes)
        counted.extend(array.nbytes for array in message.arrays)
        return message

    _wire.send, _wire.receive = counting_send, counting_receive
    try:
        yield counted
    finally:
        _wire.send, _wire.receive = send, receive
