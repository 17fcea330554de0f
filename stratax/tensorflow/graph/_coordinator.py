"""`tf.train.Coordinator`: threads of a program that end together (graph layer)."""

import contextlib
import threading
import time
from collections.abc import Iterable, Iterator
from typing import Any

from stratax import errors


class ThreadCoordinator:
    """Ends the threads of a program together, as `tf.train.Coordinator`.

    Args:
        clean_stop_exception_types: What ends a thread and is no error: by default that an input has ended.
    """

    def __init__(self, clean_stop_exception_types: tuple[type[BaseException], ...] | None = None) -> None:
        self._clean = clean_stop_exception_types or (errors.OutOfRangeError,)
        self._event = threading.Event()
        self._lock = threading.Lock()
        self._error: BaseException | None = None
        self._threads: list[threading.Thread] = []

    @property
    def joined(self) -> bool:
        """Whether no thread is running."""
        return not any(each.is_alive() for each in self._threads)

    def register_thread(self, thread: threading.Thread) -> None:
        """Have `join` wait for a thread."""
        self._threads.append(thread)

    def request_stop(self, ex: Any = None) -> None:
        """Ask the threads to end.

        Args:
            ex: The error that is the reason, which `join` raises.
        """
        error = ex[1] if isinstance(ex, tuple) else ex
        with self._lock:
            if error is not None and self._error is None and not isinstance(error, self._clean):
                self._error = error
        self._event.set()

    def clear_stop(self) -> None:
        """Have nothing be asked for any more."""
        self._event.clear()
        self._error = None

    def should_stop(self) -> bool:
        """Return whether the end was asked for."""
        return self._event.is_set()

    def wait_for_stop(self, timeout: float | None = None) -> bool:
        """Wait until the end is asked for; return whether it was.

        Args:
            timeout: For how many seconds at most.
        """
        return self._event.wait(timeout)

    @contextlib.contextmanager
    def stop_on_exception(self) -> Iterator[None]:
        """Ask for the end if a block raises."""
        try:
            yield
        except Exception as error:
            self.request_stop(error)

    def join(
        self,
        threads: Iterable[threading.Thread] | None = None,
        stop_grace_period_secs: float = 120,
        ignore_live_threads: bool = False,
    ) -> None:
        """Wait for the threads, once the end was asked for; raise what ended one of them.

        Args:
            threads: Further threads.
            stop_grace_period_secs: For how many seconds at most after that.
            ignore_live_threads: Whether threads may be running then.

        Raises:
            RuntimeError: If a thread is still running.
        """
        waiting = [*self._threads, *(threads or ())]
        while any(each.is_alive() for each in waiting) and not self._event.wait(0.1):
            pass
        end = time.monotonic() + stop_grace_period_secs
        for each in waiting:
            each.join(max(0.0, end - time.monotonic()))
        if self._error is not None:
            raise self._error
        alive = [each.name for each in waiting if each.is_alive()]
        if alive and not ignore_live_threads:
            raise errors.AbortedError(
                f"Coordinator stopped with threads still running: {' '.join(alive)}. Have them look at should_stop()."
            )


# TensorFlow's name, which in this library another class has.
Coordinator = type(
    "Coordinator", (ThreadCoordinator,), {"__doc__": ThreadCoordinator.__doc__, "__module__": __name__}
)
