"""`zip`: the node and its cursor (data layer)."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from stratax.data.elements import (
    INFINITE_CARDINALITY,
    UNKNOWN_CARDINALITY,
    Block,
    Columns,
    ElementRows,
    Row,
    beside,
    unflatten,
)
from stratax.data.plan import Node, Passes, PlanRun, feed_of, same_or_shape_ids
from stratax.data.position import Cursor, Feed, State


class Zip(Node):
    """Elements of several nodes side by side, as long as the shortest.

    Args:
        children: The nodes.
        nest: Structure (tuple, dict...) whose leaves stand for the nodes.
    """

    label = "Zip"

    def __init__(self, children: tuple[Node, ...], nest: object) -> None:
        self.children = children
        self._nest = nest

    @property
    def spec(self) -> Any:
        """The children's in the nest's structure."""
        return unflatten(self._nest, [child.spec for child in self.children])

    @property
    def length(self) -> int:
        """Count as many elements as the shortest child has."""
        lengths = [child.length for child in self.children]
        if UNKNOWN_CARDINALITY in lengths:
            return UNKNOWN_CARDINALITY
        # The shortest ends the whole; -1 for infinite must not count as the smallest.
        finite = [length for length in lengths if length != INFINITE_CARDINALITY]
        return min(finite) if finite else INFINITE_CARDINALITY

    @property
    def batch_size(self) -> int | None:
        """The children's batch size, if they agree."""
        sizes = {child.batch_size for child in self.children}
        # Members with batches of different sizes have no size in common.
        return sizes.pop() if len(sizes) == 1 else None

    def gather(self, indices: np.ndarray, passes: Passes, run: PlanRun) -> Block:
        """Gather every child's element at each position."""
        blocks = [child.gather(indices, passes, run) for child in self.children]
        if all(isinstance(block, Columns) for block in blocks):
            return Columns([leaf for block in blocks for leaf in block.columns()], len(indices))
        return _zip(blocks)

    def shape_ids(self, indices: np.ndarray, passes: Passes, run: PlanRun) -> np.ndarray | None:
        """Return ids that are equal where every child's are."""
        return same_or_shape_ids(self.children, [indices] * len(self.children), passes, run)

    def stream(self, run: PlanRun, passes: int) -> Cursor:
        return ZipCursor([feed_of(child, run, passes) for child in self.children])


def _zip(blocks: list[Block]) -> ElementRows:
    """Put elements side by side, up to the first that failed in one of them."""
    rows: list[Row] = []
    for i in range(blocks[0].count):
        try:
            rows.append([leaf for block in blocks for leaf in block.row(i)])
        except Exception as e:
            return ElementRows(rows, failure=e)
    return ElementRows(rows)


class ZipCursor(Cursor):
    """Elements side by side. Where one fails, those beside it are passed over with it."""

    def __init__(self, feeds: Sequence[Feed]) -> None:
        self._feeds = feeds

    def read(self, limit: int) -> Block:
        """Read as many elements as all children have at hand."""
        blocks: list[Block] = []
        try:
            for feed in self._feeds:
                blocks.append(feed.peek(limit))
        except StopIteration:
            raise
        except Exception:
            # The failed element takes its partners with it: all members move on together.
            self.skip(1)
            raise
        count = min(block.count for block in blocks)
        # Only behind all peeks: an error in one leaves the others where they were.
        for feed in self._feeds:
            feed.advance(count)
        return beside([block.slice(0, count) if block.count > count else block for block in blocks])

    def skip(self, count: int) -> int:
        """Pass over elements in all children."""
        # A longer member is skipped further than the shortest, which is at its end then.
        return min(feed.skip(count) for feed in self._feeds)

    def get_state(self) -> State:
        """Return the positions of all children."""
        return {"feeds": [feed.get_state() for feed in self._feeds]}

    def set_state(self, state: State) -> None:
        """Go to a position that `get_state` returned."""
        for feed, position in zip(self._feeds, state["feeds"], strict=True):
            feed.set_state(position)

    def close(self) -> None:
        for feed in self._feeds:
            feed.close()
