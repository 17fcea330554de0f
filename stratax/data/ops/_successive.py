"""Streams that follow one another, as `repeat` and `concatenate` read them (data layer)."""

from collections.abc import Callable

from stratax.data.elements import Block
from stratax.data.position import Cursor, State
from stratax.errors import DataError

# Passes without elements that an endless repetition takes for a pause.
MANY_EMPTY = 1000


class SuccessiveCursor(Cursor):
    """One stream after another.

    Args:
        open_stream: Opens a stream by its number, which counts from 0.
        count: How many streams, -1 for no end.
        may_be_empty: How many streams without elements may follow one that had some; one more is the last, or if any
            may, an error. None for all.
    """

    def __init__(
        self, open_stream: Callable[[int], Cursor], count: int, may_be_empty: int | None = None
    ) -> None:
        self._open = open_stream
        self._count = count
        self._may_be_empty = may_be_empty
        self._number = 0
        self._is_empty = True
        # How many streams without elements came last; none counts before the first element.
        self._num_empty = 0
        self._had_any = False
        self._child: Cursor | None = None

    def _current(self) -> Cursor:
        if self._count >= 0 and self._number >= self._count:
            raise StopIteration
        if self._child is None:
            self._child = self._open(self._number)
        return self._child

    def _go_on(self) -> None:
        self._had_any = self._had_any or not self._is_empty
        self._num_empty = self._num_empty + 1 if self._is_empty else 0
        # An endless repetition of nothing would never come back.
        if self._num_empty and self._may_be_empty is not None:
            if not self._had_any or not self._may_be_empty:
                raise StopIteration
            if self._num_empty > self._may_be_empty:
                raise DataError(
                    f"shuffle(...).repeat() has met {self._num_empty} passes without an element, one after another. "
                    "Expected: elements in each pass. TensorFlow would wait for ever. Received: a source that ends "
                    "for good, such as a generator over an iterator that is used up. Leave out repeat()."
                )
        self.close()
        self._child = None
        self._number += 1
        self._is_empty = True

    def read(self, limit: int) -> Block:
        """Read from this stream, or the next."""
        while True:
            child = self._current()
            try:
                block = child.read(limit)
            except StopIteration:
                self._go_on()
                continue
            # An element that fails is one: the stream is not empty.
            except Exception:
                self._is_empty = False
                raise
            self._is_empty = False
            return block

    def skip(self, count: int) -> int:
        """Skip elements over the ends of streams."""
        passed = 0
        try:
            while passed < count:
                found = self._current().skip(count - passed)
                self._is_empty = self._is_empty and not found
                passed += found
                if passed < count:
                    self._go_on()
        except StopIteration:
            pass
        return passed

    def get_state(self) -> State:
        """Return which stream is open, and the position in it."""
        child = self._child.get_state() if self._child is not None else None
        return {"number": self._number, "empty": self._is_empty, "any": self._had_any, "child": child}

    def set_state(self, state: State) -> None:
        """Go to a position that `get_state` returned."""
        self._number, self._is_empty, self._had_any = state["number"], state["empty"], state["any"]
        if state["child"] is not None:
            self._current().set_state(state["child"])

    def close(self) -> None:
        if self._child is not None:
            self._child.close()
