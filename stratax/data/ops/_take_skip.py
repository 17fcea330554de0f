"""`take` and `skip`: the node, its cursor and the check of the count (data layer)."""

import numpy as np

from stratax.data.elements import INFINITE_CARDINALITY, UNKNOWN_CARDINALITY, Block
from stratax.data.ops._reindexed import Reindexed
from stratax.data.plan import Node, Passes, PlanRun, as_count
from stratax.data.position import Cursor, CursorOver, State


class Take(Reindexed):
    """At most `count` elements; -1 for all."""

    label = "Take"

    def __init__(self, child: Node, count: int) -> None:
        super().__init__(child)
        self._count = count

    def describe(self) -> str:
        return f"Take({self._count})"

    @property
    def length(self) -> int:
        length = self.child.length
        if self._count < 0 or length == UNKNOWN_CARDINALITY:
            return length
        return self._count if length == INFINITE_CARDINALITY else min(length, self._count)

    def resolve(self, indices: np.ndarray, passes: Passes, run: PlanRun) -> tuple[np.ndarray, Passes]:
        return indices, passes

    def stream(self, run: PlanRun, passes: int) -> Cursor:
        """Open a pass over the first elements."""
        child = self.child.open(run, passes)
        # All elements: no cursor is needed.
        return child if self._count < 0 else TakeCursor(child, self._count)


class Skip(Reindexed):
    """Without the first `count` elements; -1 skips all."""

    label = "Skip"

    def __init__(self, child: Node, count: int) -> None:
        super().__init__(child)
        self._count = count

    def describe(self) -> str:
        return f"Skip({self._count})"

    @property
    def length(self) -> int:
        """Count the elements that are left behind those skipped."""
        length = self.child.length
        if self._count < 0:
            return 0
        return length if length < 0 else max(0, length - self._count)

    def resolve(self, indices: np.ndarray, passes: Passes, run: PlanRun) -> tuple[np.ndarray, Passes]:
        """Return the child's positions, which are later ones."""
        return indices + self._count, passes

    def stream(self, run: PlanRun, passes: int) -> Cursor:
        """Open a pass over the later elements."""
        child = self.child.open(run, passes)
        return TakeCursor(child, 0) if self._count < 0 else SkipCursor(child, self._count)


class TakeCursor(CursorOver):
    """The first `count` elements."""

    def __init__(self, child: Cursor, count: int) -> None:
        super().__init__(child)
        self._left = count

    def read(self, limit: int) -> Block:
        if not self._left:
            raise StopIteration
        try:
            block = self._child.read(min(limit, self._left))
        except StopIteration:
            raise
        # An element that fails counts.
        except Exception:
            self._left -= 1
            raise
        self._left -= block.count
        return block

    def skip(self, count: int) -> int:
        # Never beyond the count: what follows it must not be read.
        passed = self._child.skip(min(count, self._left))
        self._left -= passed
        return passed

    def get_state(self) -> State:
        """Return the child's position and how many elements are left."""
        return {"left": self._left, "child": self._child.get_state()}

    def set_state(self, state: State) -> None:
        """Go to a position that `get_state` returned."""
        self._left = state["left"]
        self._child.set_state(state["child"])


class SkipCursor(CursorOver):
    """The elements after the first `count`."""

    def __init__(self, child: Cursor, count: int) -> None:
        super().__init__(child)
        self._ahead = count

    def _begin(self) -> None:
        if self._ahead:
            # At the first reading: opening a pass must cost nothing.
            self._child.skip(self._ahead)
            self._ahead = 0

    def read(self, limit: int) -> Block:
        self._begin()
        return self._child.read(limit)

    def skip(self, count: int) -> int:
        self._begin()
        return self._child.skip(count)

    def get_state(self) -> State:
        """Return the child's position, and what is still to be skipped."""
        return {"ahead": self._ahead, "child": self._child.get_state()}

    def set_state(self, state: State) -> None:
        """Go to a position that `get_state` returned."""
        self._ahead = state["ahead"]
        self._child.set_state(state["child"])


def make_take(node: Node, count: object) -> Node:
    """Make the node of `Dataset.take`."""
    return Take(node, max(as_count("count", count, None), -1))


def make_skip(node: Node, count: object) -> Node:
    """Make the node of `Dataset.skip`."""
    return Skip(node, max(as_count("count", count, None), -1))
