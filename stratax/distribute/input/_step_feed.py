"""Coming steps of a pass: looked at before they are taken, and read ahead where that pays (distribute layer)."""

import contextlib
import functools
import time
import warnings
from collections.abc import Callable
from typing import Any

from stratax.base.callers import stack_level
from stratax.data.elements import Block
from stratax.data.plan import PlanRun
from stratax.data.position import Cursor, Feed, Positions, ReadAhead
from stratax.distribute.input._elements import StepCursor

# A fetch that takes longer is worth a thread, whose handing over costs some ten microseconds.
_SLOW_SECONDS = 0.0005
# Between two looks at what is waited for, so that the phase shown is at most this old.
_POLL_SECONDS = 0.1
# The first fetches pay for opening the source, so they say nothing about the others.
_FIRST_FETCHES = 2

# Makes the block in which a program waits for input; it is told whether for other workers.
Waiting = Callable[[bool], contextlib.AbstractContextManager[Any]]


class StepFeed(ReadAhead):
    """Holds coming steps back until they are taken; a thread reads ahead once the source has turned out to be slow.

    Where the dataset itself wants to be read ahead, the thread does it from the beginning.

    Args:
        cursor: The steps.
        positions: Where the cursor has been.
        num_blocks: How many blocks are read ahead.
        waiting: The block in which the program waits.

    Attributes:
        run: Ends the threads of the pass.
        wait_seconds: How long the program has waited for input.
    """

    thread_name = "stratax-input"

    def __init__(self, cursor: StepCursor, positions: Positions, num_blocks: int, waiting: Waiting) -> None:
        super().__init__(
            cursor, 1, cursor.run, ahead=cursor.ahead, positions=positions, interrupt=cursor.interrupt
        )
        self.run = cursor.run
        self._cursor = cursor
        self._num_blocks = num_blocks
        self._waiting = waiting
        self._num_fetches = 0
        self._is_limited = False
        self.wait_seconds = 0.0

    def start(self, limit: int) -> None:
        """Start the thread, which reads blocks of `limit` steps from now on, or of more where that is unobservable."""
        # As many blocks wait, and one more is in the hands of the thread.
        self._queue.depth = self._cursor.depth + (self._num_blocks + 1) * limit
        # Larger blocks cost less each, where nobody can tell that more was read.
        super().start(max(limit, self._ahead()))

    def limit_ahead(self, steps: float) -> None:
        """Read no more than so many steps ahead of those that were taken, unless they are asked for."""
        self._is_limited = True
        # Counted from what was taken, not from what was read: the limit is on what a stop would lose.
        self._queue.bind_to(self._num_passed + steps)

    def _read_child(self, limit: int) -> Block:
        started = time.perf_counter()
        if not self._queue.has_begun and self._cursor.depth:
            # The thread is what the dataset's own `prefetch` would have begun.
            self.start(limit)
        block = self._await(limit) if self._queue.has_begun else self._direct(limit)
        self.wait_seconds += time.perf_counter() - started
        return block

    def _direct(self, limit: int) -> Block:
        """Read from the cursor, and start the thread if that takes long."""
        started = time.perf_counter()
        try:
            with self._waiting(False):
                block = Feed._read_child(self, limit)
        # Its threads end now, and not when the iterator is collected.
        except StopIteration:
            self.run.close()
            raise
        self._num_fetches += 1
        if self._num_fetches > _FIRST_FETCHES and time.perf_counter() - started > _SLOW_SECONDS:
            self.start(limit)
        return block

    def _await(self, limit: int) -> Block:
        """Return the thread's next block; say meanwhile whether the source or other workers are waited for."""
        cursor, queue = self._cursor, self._queue
        if self._is_limited:
            # What is asked for is read, whatever the limit: the program would wait for ever.
            queue.raise_bound(self._num_read + limit)
        while True:
            for_others = cursor.waits_for_others
            with self._waiting(for_others):
                while cursor.waits_for_others == for_others:
                    if queue.wait(_POLL_SECONDS):
                        return self._take(None)
                    # A thread that has died would never fill the queue.
                    queue.check_alive()

    def _release(self) -> Callable[[], None]:
        # The pass is ended by the thread, as a source that is stuck may not let go; what waits is not dropped by that.
        return functools.partial(_end_pass, self.run, self._queue.stop, self._child)

    def close(self) -> None:
        """End the thread and the pass; drop what was read ahead."""
        self._block = None
        self._later.clear()
        super().close()
        # Otherwise the thread ends the pass, see `_release`.
        if not self._queue.has_begun:
            self.run.close()

    def _is_stuck(self, seconds: float) -> None:
        warnings.warn(
            f"The input of an iterator that was closed did not end within {seconds:.0f} s; its thread stays until the "
            "source gives its next element.",
            RuntimeWarning,
            stacklevel=stack_level(),
        )


def _end_pass(run: PlanRun, stop: Callable[[bool], Any], cursor: Cursor) -> None:
    run.forget(stop)
    run.close()
    cursor.close()
