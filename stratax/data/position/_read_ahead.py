"""Reading ahead: a feed that a thread of its own fills while the last elements are used (data layer)."""

import contextlib
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, Protocol

from stratax.data.elements import Block
from stratax.data.position import _background
from stratax.data.position._background import Background
from stratax.data.position._cursor import Cursor, State
from stratax.data.position._feed import Feed, one
from stratax.data.position._positions import Positions


class Closers(Protocol):
    """What ends the threads of an iteration when it is closed, or forgotten."""

    def on_close(self, closer: Callable[[bool], Any]) -> None:
        """Have `closer(wait)` called at the end."""

    def forget(self, closer: Callable[[bool], Any]) -> None:
        """Remove a closer that :meth:`on_close` added."""


class ReadAhead(Feed):
    """Reads ahead on a thread of its own, at most about `depth` elements; the thread starts at the first reading.

    Args:
        child: Where the elements come from; only the thread uses it once it runs.
        depth: How many elements may wait, at least 1.
        closers: Ends the thread with the iteration.
        ahead: Gives how many elements may be read at once though fewer are asked for.
        gate: Bounds how many such threads read at a time.
        positions: Where the child has been; None for positions that are noted as it pays.
        interrupt: Ends a wait of the child for something else than its source.
    """

    thread_name = "stratax-prefetch"

    def __init__(
        self,
        child: Cursor,
        depth: int,
        closers: Closers,
        *,
        ahead: Callable[[], int] = one,
        gate: AbstractContextManager[Any] | None = None,
        positions: Positions | None = None,
        interrupt: Callable[[], None] | None = None,
    ) -> None:
        super().__init__(child, ahead, positions)
        self._closers = closers
        self._gate = gate or contextlib.nullcontext()
        # What an iteration holds on to is the queue alone, and not this cursor: with it would stay an error that ended
        # the pass, with all its frames.
        self._queue: Background[Block] = Background(depth, _count, interrupt)
        self._trailing = _Trailing()
        self._is_feed_too = False

    def start(self, limit: int) -> None:
        """Start the thread, which reads `limit` elements at a time until another number is asked for."""
        self._closers.on_close(self._queue.stop)
        # So that there is a position to go back to before the thread has read anything.
        self._positions.mark(self._num_read, self._num_passed)
        make = _maker(self._child, self._positions, self._trailing, self._gate, self._num_read)
        self._queue.begin(make, self._child.close, name=self.thread_name, wanted=limit, number=self._num_read)

    def _read_child(self, limit: int) -> Block:
        if not self._queue.has_begun:
            self.start(limit)
        return self._take(max(limit, self._ahead()))

    def _take(self, limit: int | None) -> Block:
        """Return the thread's next block."""
        self._trailing.num_passed = self._num_passed
        try:
            block = self._queue.take(limit)
        except StopIteration:
            raise
        except Exception:
            self._num_read += 1
            raise
        self._num_read += block.count
        return block

    def _skip(self, count: int) -> int:
        # The child belongs to the thread: what it has made can only be dropped.
        return self.drop(count) if self._queue.has_begun else super()._skip(count)

    def as_feed(self, ahead: Callable[[], int]) -> "ReadAhead":
        """Stand for a feed over this cursor, too, and save the position as both would; return this cursor.

        Args:
            ahead: Gives how many elements may be read at once though fewer are asked for.
        """
        self._ahead, self._is_feed_too = ahead, True
        return self

    def get_state(self) -> State:
        # While a thread reads from the child nobody else may ask it.
        # Once the thread runs, the child belongs to it, and its position must not be asked for here.
        num_read = None if self._queue.has_begun else self._num_read
        state = self._positions.behind(self._num_passed, num_read)
        return {"child": state, "skip": 0} if self._is_feed_too else state

    def set_state(self, state: State) -> None:
        """Go to a position that `get_state` returned, before the thread starts."""
        if self._is_feed_too:
            inner = state["child"]
            # Two cursors in a row would have saved two skips; this one stands for both.
            state = {"child": inner["child"], "skip": inner["skip"] + state["skip"]}
        super().set_state(state)

    def close(self) -> None:
        """End the thread, which closes the child; wait for it, but not for ever."""
        if not self._queue.stop():
            self._is_stuck(_background.JOIN_SECONDS)
        self._closers.forget(self._queue.stop)
        # Otherwise the thread closes the child when it ends.
        if not self._queue.has_begun:
            super().close()

    def _is_stuck(self, seconds: float) -> None:
        """Take note that the thread did not end in so long."""


class _Trailing:
    """How many elements were used, for the thread: positions before them are not asked for any more."""

    num_passed = 0


def _count(block: Block) -> int:
    return block.count


def _maker(
    child: Cursor,
    positions: Positions,
    trailing: _Trailing,
    gate: AbstractContextManager[Any],
    num_read: int,
) -> Callable[[int], Block]:
    """Return what reads the child's next block in the thread; it knows nothing of who takes the blocks."""

    def make(wanted: int) -> Block:
        nonlocal num_read
        positions.mark(num_read, trailing.num_passed)
        try:
            # What must not run beside other readings, Python code of the user for example, waits here.
            with gate:
                block = child.read(positions.room(num_read, wanted))
        except StopIteration:
            raise
        except Exception:
            # As in `Buffering`: a failed element has a number, too.
            num_read += 1
            positions.mark_failure(num_read, trailing.num_passed)
            raise
        num_read += block.count
        return block

    return make
