"""What a coordinator gives before it is there: results, and values that each worker has (distribute layer)."""

import itertools
import threading
from collections.abc import Iterator
from typing import Any

import jax
import numpy as np

from stratax.errors import ClusterTimeoutError

# How long the result of a step is waited for at most, in seconds: a step may stand behind many others.
MOST_SECONDS = 7 * 24 * 3600.0

_names = itertools.count()


class RemoteValue:
    """The result of a scheduled function. Follows `tf.distribute.coordinator.RemoteValue`.

    Made by `ClusterCoordinator.schedule`. It may be an argument of another function that is scheduled.
    """

    def __init__(self) -> None:
        self._ended = threading.Event()
        self._value: Any = None
        self._error: BaseException | None = None

    def fetch(self) -> Any:
        """Wait for the result, and return it with NumPy arrays.

        Raises:
            StrataxError: The function has failed, or was cancelled.
        """
        return jax.tree.map(
            lambda leaf: np.asarray(leaf) if isinstance(leaf, jax.Array) else leaf, self.get()
        )

    def get(self) -> Any:
        """Wait for the result, and return it.

        Raises:
            StrataxError: The function has failed, or was cancelled.
        """
        if not self._ended.wait(MOST_SECONDS):
            raise ClusterTimeoutError("A step has not been run in a week. See the output of the workers.")
        if self._error is not None:
            raise self._error
        return self._value

    @property
    def is_ready(self) -> bool:
        """Whether the function was run, or will not be."""
        return self._ended.is_set()

    def complete(self, value: object) -> None:
        """Say what the result is."""
        self._value = value
        self._ended.set()

    def fail(self, error: BaseException) -> None:
        """Say why there is none."""
        self._error = error
        self._ended.set()


class PerWorkerValues:
    """A value that each worker has for itself. Follows `tf.distribute.experimental.coordinator.PerWorkerValues`.

    A function that is scheduled gets its worker's.
    """

    def __init__(self) -> None:
        self.name = f"resource {next(_names)}"


class PerWorkerDataset(PerWorkerValues):
    """A dataset that each worker has made for itself; iterating it gives an iterator of each.

    Args:
        payload: The function that makes it, pickled.
    """

    def __init__(self, payload: bytes) -> None:
        super().__init__()
        self.payload = payload

    def __iter__(self) -> Iterator[Any]:
        return PerWorkerIterator(self)


class PerWorkerIterator(PerWorkerValues, Iterator[Any]):
    """An iterator of each worker, for functions that are scheduled, which call `next` on it.

    Args:
        dataset: The dataset.
    """

    def __init__(self, dataset: PerWorkerDataset) -> None:
        super().__init__()
        self.dataset = dataset

    def __iter__(self) -> "PerWorkerIterator":
        return self

    def __next__(self) -> Any:
        raise TypeError(
            "Each worker has an iterator of its own, and the coordinator takes nothing from them. Pass it to a "
            "function: coordinator.schedule(fn, args=(iterator,)), which calls next(iterator)."
        )
