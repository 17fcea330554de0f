"""Streams that follow one another, as `repeat` and `concatenate` read them (data layer)."""

from collections.abc import Callable

from stratax.data.elements import Block
from stratax.data.position import Cursor, State


class SuccessiveCursor(Cursor):
    """One stream after another.

    Args:
        open_stream: Opens a stream by its number, which counts from 0.
        count: How many streams, -1 for no end.
        ends_if_empty: Whether a stream without elements is the last.
    """

    def __init__(self, open_stream: Callable[[int], Cursor], count: int, *, ends_if_empty: bool) -> None:
        self._open = open_stream
        self._count = count
        self._ends_if_empty = ends_if_empty
        self._number = 0
        self._is_empty = True
        self._child: Cursor | None = None

    def _current(self) -> Cursor:
        if self._count >= 0 and self._number >= self._count:
            raise StopIteration
        if self._child is None:
            self._child = self._open(self._number)
        return self._child

    def _go_on(self) -> None:
        # An endless repetition of nothing would never come back.
        if self._is_empty and self._ends_if_empty:
            raise StopIteration
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
        return {"number": self._number, "empty": self._is_empty, "child": child}

    def set_state(self, state: State) -> None:
        """Go to a position that `get_state` returned."""
        self._number, self._is_empty = state["number"], state["empty"]
        if state["child"] is not None:
            self._current().set_state(state["child"])

    def close(self) -> None:
        if self._child is not None:
            self._child.close()
