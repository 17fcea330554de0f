"""`Deadlines`: ends waits that take too long, from a thread of its own.

Flight's own time limits are a whole stream's, and a stream lives as long as its task.
"""

import contextlib
import threading
import time
from collections.abc import Callable, Iterator

from stratax.base.spare_threads import start_thread

# How late a wait may be ended, in seconds. Looking now and then costs less than waking a thread for every message.
_LATE_SECONDS = 0.5


class Deadlines:
    """Calls back for each block that is not left in time.

    Its thread ends with the process, or once `close` is called.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._blocks: dict[object, tuple[float, Callable[[], None]]] = {}
        self._closed = threading.Event()
        self._is_watching = False

    @contextlib.contextmanager
    def within(self, deadline: float, end: Callable[[], None]) -> Iterator[None]:
        """Mark a block that has to be left in time.

        Args:
            deadline: Until when, on the monotonic clock, in seconds.
            end: Called once in another thread, at most half a second late, if the block has not been left. It makes
                what the block waits for fail.
        """
        block = object()
        with self._lock:
            self._blocks[block] = (deadline, end)
            if not self._is_watching:
                self._is_watching = True
                start_thread(self._watch, "server-deadlines", may_be_here=False)
        try:
            yield
        finally:
            with self._lock:
                self._blocks.pop(block, None)

    def close(self) -> None:
        """Stop looking."""
        self._closed.set()

    def _watch(self) -> None:
        while not self._closed.wait(_LATE_SECONDS):
            now = time.monotonic()
            with self._lock:
                late = [block for block, (deadline, _) in self._blocks.items() if deadline <= now]
                ends = [self._blocks.pop(block)[1] for block in late]
            for end in ends:
                end()
