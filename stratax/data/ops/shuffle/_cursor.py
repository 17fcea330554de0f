"""The stream of `shuffle`, through a buffer (data layer).

What leaves the buffer in step i is a function of (key, i), so the position in the stream is small: which elements are
in the buffer, by their number, and a position of the child before the oldest of them.
"""

from collections.abc import Sequence

import numpy as np

from stratax.data.elements import Block, Draws
from stratax.data.ops.shuffle._buffer import _GROW_FROM, Slots
from stratax.data.ops.shuffle._permutation import Permutation
from stratax.data.position import Cursor, CursorOver, Positions, State

# Elements that are read of the child at a time.
_READ = 128


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
        self._positions = Positions(child)
        self._slots = Slots(size)
        self._pending: Block | None = None
        self._num_read = 0
        # Behind a failed element `skip` would raise where reading does: positions before it need `drop`.
        self._last_failure = -1
        self._pass_over = child.skip
        self._numbers = np.empty(min(size, _GROW_FROM), np.int64)
        self._filled = 0
        self._step = 0
        self._last: np.ndarray | None = None
        self._num_last = 0

    def read(self, limit: int) -> Block:
        """Read as many steps as the child gives elements for; at its end what is in the buffer."""
        if self._last is None:
            try:
                self._fill()
                return self._exchange(limit)
            # The buffer empties in a random order of its own.
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
        # Of the number of elements that are left, so it is the same after a restart.
        return Permutation(self._filled, (*self._key, -1))(np.arange(self._filled))

    def _fill(self) -> None:
        while self._filled < self._size:
            block = self._pull(min(_READ, self._size - self._filled))
            stop = self._filled + block.count
            if stop > len(self._numbers):
                self._numbers = np.resize(self._numbers, min(self._size, 2 * stop))
            self._slots.put(self._filled, block)
            self._numbers[self._filled : stop] = np.arange(self._num_read - block.count, self._num_read)
            self._filled = stop

    def _exchange(self, limit: int) -> Block:
        block = self._pull(min(limit, _READ))
        steps = np.arange(self._step, self._step + block.count)
        # The upper half of a product with 32 random bits: uniform but for size / 2**32, without a division.
        slots = self._draws(steps) * self._size >> 32
        out = self._slots.exchange(slots, block)
        # The element that went in, by its number.
        self._numbers[slots] = np.arange(self._num_read - block.count, self._num_read)
        self._step += block.count
        return out

    def _pull(self, limit: int) -> Block:
        """Take the child's next elements; only one where they have to be kept apart."""
        block = self._pending or self._read(limit)
        self._pending = None
        use = limit if self._slots.fits(block) else 1
        if block.count > use:
            # What does not fit the columns is put in one by one.
            self._pending = block.slice(use, block.count)
            block = block.slice(0, use)
        self._num_read += block.count
        return block

    def _read(self, limit: int) -> Block:
        if self._positions.is_due():
            self._positions.mark(self._num_read, self._oldest())
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
        """Return the step, the numbers of the elements in the slots, and a position of the child before them."""
        numbers = self._numbers[: self._filled].copy()
        if self._last is not None:
            # These were given already, and need not be read again.
            numbers[self._last[: self._num_last]] = -1
        if not self._num_read and not self._filled:
            child = self._child.get_state()
            return {"child": child, "read": 0, "step": 0, "slots": numbers, "last": -1, "failed": False}
        held = numbers[numbers >= 0]
        anchor, child = self._positions.recall(int(held.min()) if len(held) else self._num_read)
        # Counted from the noted position, which a restart begins at.
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
        """Read the elements of the slots again, and pass over those between them."""
        self._child.set_state(state["child"])
        if state["failed"]:
            self._pass_over, self._last_failure = self._child.drop, state["read"]
        self._positions.note(0, state["child"])
        self._numbers = state["slots"].copy()
        self._filled, self._step = len(self._numbers), state["step"]
        order = np.argsort(self._numbers, kind="stable")
        # Without the slots whose element was given (-1).
        order = order[np.searchsorted(self._numbers[order], 0) :]
        # Each run of consecutive elements is read at once.
        for run in np.split(order, np.flatnonzero(np.diff(self._numbers[order]) != 1) + 1):
            if len(run):
                self._refill(run)
        self._num_read += self._pass_over(state["read"] - self._num_read)
        if state["last"] >= 0:
            self._last, self._num_last = self._last_order(), state["last"]

    def _refill(self, slots: np.ndarray) -> None:
        """Read consecutive elements into the slots they were in."""
        self._num_read += self._pass_over(int(self._numbers[slots[0]]) - self._num_read)
        while len(slots):
            if self._positions.is_due():
                self._positions.mark(self._num_read, 0)
            block = self._child.read(min(_READ, len(slots)))
            self._slots.place(slots[: block.count], block, self._filled)
            self._num_read += block.count
            slots = slots[block.count :]
