"""A place in a stream of elements: reading on from it, saving it, going back to it (data layer).

Every node of a plan opens a cursor for one pass over it. Cursors stand on one another as the nodes do, and each saves
its own place with those of the cursors that it reads from, so a restored stream goes on with the very next element.
"""

import abc
from collections.abc import Iterator
from typing import Any

from stratax.data.elements import Block, Row

# A place: a tree of dicts, lists, integers, strings, bools, None and int64 arrays; never changed once it was given.
State = dict[str, Any]


class Cursor(abc.ABC):
    """One pass over a node, at some place.

    An element that can't be made raises when it is its turn, once; the next reading goes on behind it.
    """

    @abc.abstractmethod
    def read(self, limit: int) -> Block:
        """Return the next 1 to `limit` elements of one shape; raise StopIteration at the end, however often asked."""

    @abc.abstractmethod
    def get_state(self) -> State:
        """Return the place behind the last element that :meth:`read` gave; quick, whatever lies below."""

    @abc.abstractmethod
    def set_state(self, state: State) -> None:
        """Go to a place that :meth:`get_state` of an equal node's cursor gave; called on a cursor not yet read."""

    def skip(self, count: int) -> int:
        """Pass over the next `count` elements, without making them where that can be avoided.

        Returns:
            How many were passed, those that would have raised included; fewer than `count` only at the end.
        """
        return self.drop(count)

    def drop(self, count: int) -> int:
        """Pass over elements as :meth:`skip`, but make them: which ones a failing batch loses is known only then."""
        passed = 0
        while passed < count:
            try:
                passed += self.read(count - passed).count
            except StopIteration:
                break
            except Exception:
                # A failed element counts as one: that is its place in the order.
                passed += 1
        return passed

    def close(self) -> None:  # noqa: B027  # Sources need not hold anything.
        """Let go of files and threads; the cursor is not used any more."""

    def rows(self) -> Iterator[Row]:
        """Return the remaining elements one by one."""
        while True:
            try:
                block = self.read(1)
            except StopIteration:
                return
            yield block.row(0)


class CursorOver(Cursor):
    """A cursor that reads from one other: has its place unless it says otherwise, and is closed with it.

    Args:
        child: The other.
    """

    def __init__(self, child: Cursor) -> None:
        self._child = child

    def get_state(self) -> State:
        """Return the child's position."""
        return self._child.get_state()

    def set_state(self, state: State) -> None:
        """Have the child go to a position."""
        self._child.set_state(state)

    def close(self) -> None:
        """Close the child's cursor."""
        self._child.close()
