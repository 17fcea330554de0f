"""The buffer through which a stream is shuffled (data layer).

What leaves the buffer in step i is a function of (key, i), so the place in the stream is small: which elements are in
the buffer, by their number, and a place of the child before the oldest of them.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from stratax.data.elements._block import Block, Columns, Rows
from stratax.data.elements._structure import Row
from stratax.data.ops.shuffle._permutation import Draws, Permutation
from stratax.data.position._cursor import Cursor, CursorOver, State
from stratax.data.position._feed import Trail

_READ = 128
_GROW_FROM = 1024
_AT_ONCE_BYTES = 1 << 30


class _Slots:
    """Up to `capacity` elements: as columns while they have one form, as rows after that."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._columns: list[np.ndarray] | None = None
        self._rows: list[Row] | None = None

    @property
    def is_ragged(self) -> bool:
        """Whether elements of different shapes have been put in."""
        return self._rows is not None

    def put(self, start: int, block: Block) -> None:
        """Fills the slots from `start` on, which are the next free ones."""
        if not self._stays_stacked(block):
            self._unstack(start)
        if self._rows is not None:
            self._rows[start:] = _owned_rows(block)
            return
        stop = start + block.count
        for i, leaf in enumerate(block.columns()):
            self._column(i, leaf, stop)[start:stop] = leaf

    def place(self, slots: np.ndarray, block: Block, count: int) -> None:
        """Puts elements back into given slots, of `count` that will be filled in the end."""
        if not self._stays_stacked(block):
            self._unstack(count)
        if self._rows is not None:
            self._rows.extend([[]] * (count - len(self._rows)))
            for slot, row in zip(slots, _owned_rows(block), strict=True):
                self._rows[slot] = row
            return
        for i, leaf in enumerate(block.columns()):
            self._column(i, leaf, count)[slots] = leaf

    def exchange(self, slots: np.ndarray, block: Block) -> Block:
        """One step for each element: what is in its slot comes out, the element goes in."""
        if not self._stays_stacked(block):
            self._unstack(self._capacity)
        if self._rows is not None:
            (slot,) = slots
            out = self._rows[slot]
            self._rows[slot] = _owned_rows(block)[0]
            return Rows([out])
        earlier = _earlier(slots)
        again = np.flatnonzero(earlier >= 0)
        leaves = []
        for column, leaf in zip(self._columns or [], block.columns(), strict=True):
            out = column[slots]
            if len(again):
                out[again] = leaf[earlier[again]]
            column[slots] = leaf
            leaves.append(out)
        return Columns(leaves, block.count)

    def take(self, slots: np.ndarray) -> Block:
        """Copies of what is in some slots (in one, if the elements differ in shape)."""
        if self._rows is not None:
            return Rows([self._rows[slot] for slot in slots])
        return Columns([column[slots] for column in self._columns or []], len(slots))

    def fits(self, block: Block) -> bool:
        """Whether several elements can be exchanged at once."""
        return self._rows is None and self._stays_stacked(block)

    def _stays_stacked(self, block: Block) -> bool:
        if self._rows is not None or not _is_stackable(block):
            return False
        if self._columns is None:
            return True
        pairs = zip(self._columns, block.columns(), strict=True)
        return all(
            column.shape[1:] == leaf.shape[1:] and column.dtype == leaf.dtype for column, leaf in pairs
        )

    def _unstack(self, filled: int) -> None:
        if self._rows is None:
            columns = self._columns or []
            filled = min([filled, *(len(column) for column in columns)]) if columns else 0
            self._rows = [[_owned(column[i]) for column in columns] for i in range(filled)]
            self._columns = None

    def _column(self, which: int, leaf: np.ndarray, needed: int) -> np.ndarray:
        """Where a component is kept, with room for `needed` elements."""
        if self._columns is None:
            self._columns = []
        if which == len(self._columns):
            self._columns.append(np.empty((self._first_size(leaf, needed), *leaf.shape[1:]), leaf.dtype))
        column = self._columns[which]
        if needed > len(column):
            larger = np.empty(
                (min(self._capacity, max(needed, 2 * len(column))), *column.shape[1:]), column.dtype
            )
            larger[: len(column)] = column
            self._columns[which] = column = larger
        return column

    def _first_size(self, leaf: np.ndarray, needed: int) -> int:
        # The system gives memory only as it is written to, so what is not absurd is asked for at once.
        is_small = self._capacity * max(1, leaf[:1].nbytes) <= _AT_ONCE_BYTES
        return self._capacity if is_small else min(self._capacity, max(needed, _GROW_FROM))


def _is_stackable(block: Block) -> bool:
    if isinstance(block, Columns):
        return True
    return all(isinstance(leaf, np.ndarray | np.generic | bytes) for leaf in block.row(0))


def _owned_rows(block: Block) -> list[Row]:
    return [[_owned(leaf) for leaf in block.row(i)] for i in range(block.count)]


def _owned(leaf: Any) -> Any:
    """A view would keep the whole block it belongs to."""
    return leaf.copy() if isinstance(leaf, np.ndarray) and leaf.base is not None else leaf


def _earlier(slots: np.ndarray) -> np.ndarray:
    """For each entry the last earlier one that is equal, or -1."""
    order = np.argsort(slots, kind="stable")
    ordered = slots[order]
    same = np.flatnonzero(ordered[1:] == ordered[:-1])
    earlier = np.full(len(slots), -1)
    earlier[order[same + 1]] = order[same]
    return earlier


class ShuffleCursor(CursorOver):
    """Draws each element from a buffer that is filled from the child.

    Args:
        child: The stream.
        size: Elements in the buffer.
        key: Names the order.
    """

    def __init__(self, child: Cursor, size: int, key: Sequence[int]) -> None:
        super().__init__(child)
        self._size = size
        self._key = tuple(key)
        self._draws = Draws(key)
        self._trail = Trail(child)
        self._slots = _Slots(size)
        self._pending: Block | None = None
        self._num_read = 0
        self._last_failure = -1
        self._pass_over = child.skip
        self._numbers = np.empty(min(size, _GROW_FROM), np.int64)
        self._filled = 0
        self._step = 0
        self._last: np.ndarray | None = None
        self._num_last = 0

    def read(self, limit: int) -> Block:
        """As many steps as the child gives elements for; at its end what is in the buffer."""
        if self._last is None:
            try:
                self._fill()
                return self._exchanged(limit)
            except StopIteration:
                self._last = self._last_order()
        slots = self._last[self._num_last : self._num_last + (1 if self._slots.is_ragged else limit)]
        if not len(slots):
            raise StopIteration
        self._num_last += len(slots)
        return self._slots.take(slots)

    def _last_order(self) -> np.ndarray:
        if not self._filled:
            return np.empty(0, np.int64)
        return Permutation(self._filled, (*self._key, -1))(np.arange(self._filled))

    def _fill(self) -> None:
        while self._filled < self._size:
            block = self._pulled(min(_READ, self._size - self._filled))
            stop = self._filled + block.count
            if stop > len(self._numbers):
                self._numbers = np.resize(self._numbers, min(self._size, 2 * stop))
            self._slots.put(self._filled, block)
            self._numbers[self._filled : stop] = np.arange(self._num_read - block.count, self._num_read)
            self._filled = stop

    def _exchanged(self, limit: int) -> Block:
        block = self._pulled(min(limit, _READ))
        steps = np.arange(self._step, self._step + block.count)
        slots = self._draws(steps) * self._size >> 32
        out = self._slots.exchange(slots, block)
        self._numbers[slots] = np.arange(self._num_read - block.count, self._num_read)
        self._step += block.count
        return out

    def _pulled(self, limit: int) -> Block:
        """The child's next elements; only one where they have to be kept apart."""
        block = self._pending or self._read(limit)
        self._pending = None
        use = limit if self._slots.fits(block) else 1
        if block.count > use:
            self._pending = block.slice(use, block.count)
            block = block.slice(0, use)
        self._num_read += block.count
        return block

    def _read(self, limit: int) -> Block:
        if self._trail.is_due():
            self._trail.mark(self._num_read, self._oldest())
        try:
            return self._child.read(limit)
        except StopIteration:
            raise
        except Exception:
            self._last_failure = self._num_read
            self._num_read += 1
            raise

    def _oldest(self) -> int:
        return int(self._numbers[: self._filled].min()) if self._filled else self._num_read

    def get_state(self) -> State:
        """The step, the numbers of the elements in the slots, and a place of the child before them."""
        numbers = self._numbers[: self._filled].copy()
        if self._last is not None:
            numbers[self._last[: self._num_last]] = -1
        if not self._num_read and not self._filled:
            child = self._child.get_state()
            return {"child": child, "read": 0, "step": 0, "slots": numbers, "last": -1, "failed": False}
        held = numbers[numbers >= 0]
        anchor, child = self._trail.recall(int(held.min()) if len(held) else self._num_read)
        numbers[numbers >= 0] -= anchor
        return {
            "child": child,
            "read": self._num_read - anchor,
            "step": self._step,
            "slots": numbers,
            "last": -1 if self._last is None else self._num_last,
            "failed": self._last_failure >= anchor,
        }

    def set_state(self, state: State) -> None:
        """Reads the elements of the slots again, and passes over those between them."""
        self._child.set_state(state["child"])
        if state["failed"]:
            self._pass_over, self._last_failure = self._child.drop, state["read"]
        self._trail.note(0, state["child"])
        self._numbers = state["slots"].copy()
        self._filled, self._step = len(self._numbers), state["step"]
        order = np.argsort(self._numbers, kind="stable")
        order = order[np.searchsorted(self._numbers[order], 0) :]
        for run in np.split(order, np.flatnonzero(np.diff(self._numbers[order]) != 1) + 1):
            if len(run):
                self._refill(run)
        self._num_read += self._pass_over(state["read"] - self._num_read)
        if state["last"] >= 0:
            self._last, self._num_last = self._last_order(), state["last"]

    def _refill(self, slots: np.ndarray) -> None:
        """Reads consecutive elements into the slots they were in."""
        self._num_read += self._pass_over(int(self._numbers[slots[0]]) - self._num_read)
        while len(slots):
            if self._trail.is_due():
                self._trail.mark(self._num_read, 0)
            block = self._child.read(min(_READ, len(slots)))
            self._slots.place(slots[: block.count], block, self._filled)
            self._num_read += block.count
            slots = slots[block.count :]
