"""Count what a trip through the library takes: own calls, functions, files and the deepest own stack.

Run as `STRATAX_SIMULATE=cpu:2 python -m tools.trips`. Each trip is walked twice and counted the second time. Only calls
of the library's own Python functions count, in all threads that start meanwhile. With another checkout in PYTHONPATH,
the same trips are walked through that one.
"""

import collections
import functools
import os
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

import stratax as sx  # isort: skip  (sets Keras' backend)
import keras

import stratax.tf as tf

_HOME = str(Path(sx.__file__).parent) + os.sep
_EXAMPLES = 64
_WALKS = 3
_BATCH = 8


class Counter:
    """Counts the library's own calls between `__enter__` and `__exit__`."""

    def __init__(self) -> None:
        self.calls: collections.Counter[tuple[str, str]] = collections.Counter()
        self.crossings = 0
        self.depth = 0
        self._depths: dict[int, int] = {}

    def __enter__(self) -> "Counter":
        threading.setprofile_all_threads(self._see) if sys.version_info >= (3, 12) else threading.setprofile(
            self._see
        )
        sys.setprofile(self._see)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)
        threading.setprofile(None)

    def _see(self, frame: FrameType, event: str, _: object) -> None:
        name = frame.f_code.co_filename
        if event not in ("call", "return") or not name.startswith(_HOME):
            return
        thread = threading.get_ident()
        depth = self._depths.get(thread, 0) + (1 if event == "call" else -1)
        self._depths[thread] = depth
        if event == "call":
            self.depth = max(self.depth, depth)
            self.calls[name, frame.f_code.co_qualname] += 1
            caller = frame.f_back.f_code.co_filename if frame.f_back else ""
            self.crossings += caller.startswith(_HOME) and _package(caller) != _package(name)

    def row(self) -> tuple[int, int, int, int, int]:
        """Return own calls, functions, files, the deepest own stack, and crossings between packages."""
        files = {name for name, _ in self.calls}
        return sum(self.calls.values()), len(self.calls), len(files), self.depth, self.crossings


def _package(file: str) -> str:
    return file.removeprefix(_HOME).split(os.sep)[0]


def _model() -> keras.Model:
    model = keras.Sequential([keras.layers.Input((4,)), keras.layers.Dense(2)])
    model.compile("sgd", "mse")
    return model


def _records(folder: str) -> str:
    path = os.path.join(folder, "records")
    with tf.io.TFRecordWriter(path) as writer:
        for number in range(_EXAMPLES):
            writer.write(np.full(4, number, np.float32).tobytes())
    return path


def _parsed(record: bytes) -> tuple[np.ndarray, np.ndarray]:
    x = np.frombuffer(record, np.float32)
    return x, x[:2]


def operations(x: Any, y: Any, numbers: Any) -> dict[str, Callable[[], object]]:
    """Return operations of `tf` on two matrices and whole numbers, by their names: what calls each."""
    return {
        "add": lambda: tf.add(x, y),
        "cast": lambda: tf.cast(x, tf.int32),
        "clip_by_value": lambda: tf.clip_by_value(x, 0.0, 1.0),
        "concat": lambda: tf.concat([x, y], 0),
        "constant": lambda: tf.constant(x),
        "einsum": lambda: tf.einsum("ij,jk->ik", x, y),
        "gather": lambda: tf.gather(x, [0, 1]),
        "matmul": lambda: tf.matmul(x, y),
        "one_hot": lambda: tf.one_hot(numbers, 4),
        "pad": lambda: tf.pad(x, [[1, 1], [0, 0]]),
        "range": lambda: tf.range(4),
        "reduce_sum": lambda: tf.reduce_sum(x),
        "relu": lambda: tf.nn.relu(x),
        "reshape": lambda: tf.reshape(x, [2, 8]),
        "softmax": lambda: tf.nn.softmax(x),
        "zeros": lambda: tf.zeros([4, 4]),
    }


def _of_operands(matrix: np.ndarray) -> dict[str, Callable[[], Callable[[], object]]]:
    numbers = np.arange(len(matrix), dtype=np.int32)
    kinds = {"tensors": (tf.constant(matrix), tf.constant(numbers)), "NumPy arrays": (matrix, numbers)}
    return {
        f"tf.{name} of {kind}": functools.partial(_same, walk)
        for kind, (operand, whole) in kinds.items()
        for name, walk in operations(operand, operand, whole).items()
    }


def _same(walk: Callable[[], object]) -> Callable[[], object]:
    return walk


def trips(folder: str) -> dict[str, Callable[[], Callable[[], object]]]:
    """Return for each trip what prepares it and returns the walk."""
    strategy = sx.distribute.MirroredStrategy()
    x = np.zeros((_EXAMPLES, 4), np.float32)
    path = _records(folder)

    def pipeline() -> Any:
        return tf.data.TFRecordDataset(path).map(_parsed).shuffle(16).batch(_BATCH).prefetch(1)

    def next_in_memory() -> Callable[[], object]:
        iterator = iter(sx.Dataset.from_tensor_slices(x))
        next(iterator)
        return lambda: next(iterator)

    def next_of_records() -> Callable[[], object]:
        iterator = iter(pipeline())
        next(iterator)
        return lambda: next(iterator)

    def run() -> Callable[[], object]:
        with strategy.scope():
            total = sx.Variable(np.zeros((), np.float32))

        def step(x: Any) -> Any:
            return total + x.sum()

        values = next(
            iter(strategy.experimental_distribute_dataset(sx.Dataset.from_tensor_slices(x).batch(_BATCH)))
        )
        return lambda: strategy.run(step, (values,))

    def fit(data: Callable[[], Any]) -> Callable[[], Callable[[], object]]:
        def prepare() -> Callable[[], object]:
            with strategy.scope():
                model = _model()
            return lambda: model.fit(data(), verbose=0)

        return prepare

    def checkpoint() -> tuple[Any, str]:
        with strategy.scope():
            model = _model()
        return sx.train.Checkpoint(model=model), tempfile.mkdtemp(dir=folder)

    def save() -> Callable[[], object]:
        saved, target = checkpoint()
        return lambda: saved.save(os.path.join(target, "a"))

    def restore() -> Callable[[], object]:
        saved, target = checkpoint()
        written = saved.save(os.path.join(target, "a"))
        return lambda: saved.restore(written)

    def batches() -> Any:
        return sx.Dataset.from_tensor_slices((x, x[:, :2])).batch(_BATCH)

    return {
        "next() of an in-memory Dataset": next_in_memory,
        "next() of a TFRecord pipeline": next_of_records,
        "strategy.run": run,
        f"fit, {_EXAMPLES // _BATCH} steps, arrays": fit(batches),
        f"fit, {_EXAMPLES // _BATCH} steps, TFRecord": fit(pipeline),
        **_of_operands(np.zeros((4, 4), np.float32)),
        "Checkpoint.save": save,
        "Checkpoint.restore": restore,
    }


def _count(walk: Callable[[], object]) -> tuple[int, int, int, int, int]:
    with Counter() as counter:
        walk()
    return counter.row()


def main() -> None:
    """Print the table, as Markdown."""
    print("| trip | own calls | functions | files | deepest own stack | crossings between packages |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    with tempfile.TemporaryDirectory() as folder:
        for name, prepare in trips(folder).items():
            walk = prepare()
            walk()
            # The least: threads that wait for one another count more where the machine is busy.
            row = min(_count(walk) for _ in range(_WALKS))
            print(f"| {name} | " + " | ".join(map(str, row)) + " |", flush=True)


if __name__ == "__main__":
    main()
