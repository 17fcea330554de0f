"""The elements in the buffer through which a stream is shuffled (data layer)."""

from typing import Any

import numpy as np

from stratax.data.elements import Block, Columns, ElementRows, Row

# Elements for which there is room at first, where room for all would be absurd.
_GROW_FROM = 1024
_AT_ONCE_BYTES = 1 << 30


class Slots:
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
        """Fill the slots from `start` on, which are the next free ones."""
        if not self._stays_stacked(block):
            self._unstack(start)
        if self._rows is not None:
            self._rows[start:] = _copy_rows(block)
            return
        stop = start + block.count
        for i, leaf in enumerate(block.columns()):
            self._column(i, leaf, stop)[start:stop] = leaf

    def place(self, slots: np.ndarray, block: Block, count: int) -> None:
        """Put elements back into given slots, of `count` that will be filled in the end."""
        if not self._stays_stacked(block):
            self._unstack(count)
        if self._rows is not None:
            # Filled in any order: each slot gets its element before it is read.
            self._rows.extend([[]] * (count - len(self._rows)))
            for slot, row in zip(slots, _copy_rows(block), strict=True):
                self._rows[slot] = row
            return
        for i, leaf in enumerate(block.columns()):
            self._column(i, leaf, count)[slots] = leaf

    def exchange(self, slots: np.ndarray, block: Block) -> Block:
        """Exchange one element for each step: what is in its slot comes out, the element goes in."""
        if not self._stays_stacked(block):
            self._unstack(self._capacity)
        if self._rows is not None:
            # One at a time, as `fits` says.
            (slot,) = slots
            out = self._rows[slot]
            self._rows[slot] = _copy_rows(block)[0]
            return ElementRows([out])
        # A block of exchanges is done at once, and has to give what one after another would.
        earlier = _earlier(slots)
        again = np.flatnonzero(earlier >= 0)
        leaves = []
        for column, leaf in zip(self._columns or [], block.columns(), strict=True):
            out = column[slots]
            if len(again):
                # A slot that is drawn twice in a block gives, the second time, what the first has put in.
                out[again] = leaf[earlier[again]]
            # Of a repeated slot NumPy keeps the last value, as one exchange after the other would.
            column[slots] = leaf
            leaves.append(out)
        return Columns(leaves, block.count)

    def take(self, slots: np.ndarray) -> Block:
        """Return copies of what is in some slots (in one, if the elements differ in shape)."""
        if self._rows is not None:
            return ElementRows([self._rows[slot] for slot in slots])
        return Columns([column[slots] for column in self._columns or []], len(slots))

    def fits(self, block: Block) -> bool:
        """Return whether several elements can be exchanged at once."""
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
            self._rows = [[_copy_view(column[i]) for column in columns] for i in range(filled)]
            self._columns = None

    def _column(self, which: int, leaf: np.ndarray, needed: int) -> np.ndarray:
        """Return where a component is kept, with room for `needed` elements."""
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


def _copy_rows(block: Block) -> list[Row]:
    return [[_copy_view(leaf) for leaf in block.row(i)] for i in range(block.count)]


def _copy_view(leaf: object) -> Any:
    """Copy a view, which would keep the whole block it belongs to."""
    return leaf.copy() if isinstance(leaf, np.ndarray) and leaf.base is not None else leaf


def _earlier(slots: np.ndarray) -> np.ndarray:
    """Return for each entry the last earlier one that is equal, or -1."""
    # Stable: among equal slots the steps keep their order.
    order = np.argsort(slots, kind="stable")
    ordered = slots[order]
    same = np.flatnonzero(ordered[1:] == ordered[:-1])
    earlier = np.full(len(slots), -1)
    earlier[order[same + 1]] = order[same]
    return earlier
