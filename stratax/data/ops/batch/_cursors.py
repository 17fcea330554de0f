"""Streams of batches, and of what batches are made of (data layer)."""

from collections.abc import Callable
from typing import Any

import numpy as np

from stratax.base.shown import shown
from stratax.data.elements import Block, Columns, Composite, ElementRows, Row, as_objects, copy_leaf
from stratax.data.position import Buffering, Cursor, CursorOver, State
from stratax.errors import DataError


def one_element(row: Row) -> Block:
    """Return a block of one element, of components of which most are arrays."""
    return Columns([leaf[None] if isinstance(leaf, np.ndarray) else as_objects([leaf]) for leaf in row], 1)


class BatchCursor(CursorOver):
    """Groups of consecutive elements. Where one fails, the next group begins behind it, as TensorFlow's does.

    Nothing is held between two groups, so its position is the child's.

    Args:
        child: The stream.
        size: Elements of a group.
        drop_remainder: Whether a short last group is left out.
        join: Makes the components of a group of the blocks it came in.
    """

    def __init__(
        self, child: Cursor, size: int, join: Callable[[list[Block]], Row], *, drop_remainder: bool
    ) -> None:
        super().__init__(child)
        self._size = size
        self._drop_remainder = drop_remainder
        self._join = join

    def read(self, limit: int) -> Block:
        pieces: list[Block] = []
        missing = self._size
        while missing:
            try:
                piece = self._child.read(missing)
            # What has come is the short last batch.
            except StopIteration:
                break
            pieces.append(piece)
            missing -= piece.count
        if not pieces or (missing and self._drop_remainder):
            raise StopIteration
        return one_element(self._join(pieces))

    def skip(self, count: int) -> int:
        found = self._child.skip(count * self._size)
        return found // self._size if self._drop_remainder else -(-found // self._size)


def _slice(leaf: Any, index: int) -> Any:
    # A view would keep the whole element in memory.
    return leaf[index] if isinstance(leaf, list) else copy_leaf(leaf[index])


class UnbatchCursor(Buffering):
    """The slices of each element along its first axis."""

    def __init__(self, child: Cursor, ahead: Callable[[], int]) -> None:
        super().__init__(child, ahead)
        self._at = 0
        self._row: Row | None = None

    def _current(self) -> Row:
        """Return the element whose slices come next, at least one."""
        while self._row is None:
            self._row = self._check(self._peek_once(1).row(0))
            if not len(self._row[0]):
                self._next()
        return self._row

    def _check(self, row: Row) -> Row:
        """Return the components with a length each: of a composite the list of its slices."""
        try:
            row = [leaf.spec.split(leaf) if isinstance(leaf, Composite) else leaf for leaf in row]
        except Exception:
            self._next()
            raise
        sizes = {len(leaf) if isinstance(leaf, list) or np.ndim(leaf) else None for leaf in row}
        if len(sizes) == 1 and None not in sizes:
            return row
        self._next()
        raise DataError(
            "unbatch needs components with the same first dimension. "
            f"Received: an element whose components have the first dimensions {shown(sizes)}."
        )

    def _next(self) -> None:
        self._advance(1)
        self._row, self._at = None, 0

    def read(self, limit: int) -> Block:
        row = self._current()
        start, stop = self._at, min(self._at + limit, len(row[0]))
        if any(isinstance(leaf, list) for leaf in row):
            # Slices may differ in shape, and those of one shape come together.
            rows = [[_slice(leaf, i) for leaf in row] for i in range(start, stop)]
            slices = ElementRows(rows).split(limit)[0]
            self._pass(slices.count)
            return slices
        self._pass(stop - start)
        # A view would keep the whole element in memory.
        return Columns([leaf[start:stop].copy() for leaf in row], stop - start)

    def _pass(self, count: int) -> None:
        self._at += count
        if self._row is not None and self._at == len(self._row[0]):
            self._next()

    def skip(self, count: int) -> int:
        """Skip slices without copies."""
        passed = 0
        while passed < count:
            try:
                step = min(count - passed, len(self._current()[0]) - self._at)
            except StopIteration:
                break
            except Exception:
                passed += 1
                continue
            self._pass(step)
            passed += step
        return passed

    def get_state(self) -> State:
        """Return the element's position, and how many of its slices were given."""
        return {"offset": self._at, "feed": super().get_state()}

    def set_state(self, state: State) -> None:
        """Go to a position that `get_state` returned."""
        super().set_state(state["feed"])
        self._at = state["offset"]
