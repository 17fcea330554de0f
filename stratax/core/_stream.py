"""Input that a compiled function takes for itself, with `next(iterator)` (core layer).

TensorFlow's iterators are resources: `next(iterator)` inside a `tf.function` is an operation of the graph. A compiled
JAX program can't pull from the host, so the function pulls before it dispatches: while tracing, every
`next(stream)` becomes an input of the program, and each call takes as many elements as the trace did.
"""

import abc
from collections.abc import Hashable
from typing import Any

from stratax.core import _capture
from stratax.errors import OutOfRangeError


class Stream(abc.ABC):
    """An iterator that may be given to a compiled function, which calls `next` on it while it is traced."""

    @property
    @abc.abstractmethod
    def signature(self) -> Hashable:
        """What two streams have in common when one compiled program serves both."""

    @abc.abstractmethod
    def peek_runs(self, skip: int, count: int) -> list[tuple[Any, int]]:
        """The structures of the elements `skip` to `skip + count`, run-length coded, without taking them.

        Args:
            skip: How many coming elements to pass over.
            count: How many to look at.

        Returns:
            A list of `(structure, length)`: `structure` is an element with `jax.ShapeDtypeStruct` leaves and
            `length` says how many elements in a row have it. The lengths add up to `count`.

        Raises:
            OutOfRangeError: If fewer than `skip + count` elements are left. None is lost.
        """

    @abc.abstractmethod
    def take(self) -> Any:
        """Takes the next element: a structure of arrays, placed for the strategy."""

    @abc.abstractmethod
    def take_block(self, count: int, capacity: int) -> Any:
        """Takes `count` elements of one structure, stacked on a new leading dimension of size `capacity`.

        The rows after the first `count` are padding with unspecified, finite content.
        """

    def __iter__(self) -> "Stream":
        return self

    def __next__(self) -> Any:
        region = _capture.current_region()
        if region is not None:
            return region.next_element(self)
        try:
            return self.take()
        except OutOfRangeError:
            raise StopIteration from None
