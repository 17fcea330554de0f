"""Writing behind the program's back, and telling it when that failed (checkpoint layer)."""

import sys
import threading
from collections.abc import Callable

from stratax import errors
from stratax.cluster import ExitCode, _exit

WRITE_SECONDS = 3600.0
"""How long to wait for files to be written; in a cluster, if the chief dies the others know at once."""


class Writer:
    """At most one write at a time, in a thread of its own."""

    def __init__(self) -> None:
        self._thread: threading.Thread | None = None
        self._error: BaseException | None = None

    def start(self, work: Callable[[], None]) -> None:
        """Begins a write. The one before has to have been finished.

        Args:
            work: What to do.
        """
        _install_exit()
        thread = threading.Thread(target=self._run, args=(work,), name="stratax-checkpoint", daemon=True)
        with _lock:
            thread.start()
            self._thread = thread
            _writers.add(self)

    def wait(self) -> None:
        """Waits until nothing is written; says nothing of failures.

        Raises:
            CheckpointError: If a write does not come to an end.
        """
        thread = self._thread
        if thread is None:
            return
        thread.join(WRITE_SECONDS)
        if thread.is_alive():
            raise errors.CheckpointError(
                f"A checkpoint has not been written within {WRITE_SECONDS:g} s: the file system does not answer. "
                "Expected: a write that ends. Received: a thread that still waits for it."
            )
        with _lock:
            # Another thread may have waited too, and the next write may have begun.
            if self._thread is thread and self._error is None:
                self._thread = None
                _writers.discard(self)

    def finish(self) -> BaseException | None:
        """Waits until nothing is written.

        Returns:
            Why the write failed, once; None if it did not.
        """
        self.wait()
        with _lock:
            self._thread, error, self._error = None, self._error, None
            _writers.discard(self)
        return error

    def _run(self, work: Callable[[], None]) -> None:
        try:
            work()
        except BaseException as error:
            self._error = error


_writers: set[Writer] = set()
_lock = threading.Lock()


def wait_for_all() -> None:
    """Waits until this process writes no checkpoint."""
    for writer in _all():
        writer.wait()


def _all() -> list[Writer]:
    with _lock:
        return list(_writers)


def _install_exit() -> None:
    if not _has_exit_hook:
        _has_exit_hook.append(True)
        # An ordinary exit function comes after the thread pools have ended, which Orbax writes with. Python has no
        # public door to the time before.
        threading._register_atexit(_at_exit)  # type: ignore[attr-defined]


_has_exit_hook: list[bool] = []


def _at_exit() -> None:
    """The program ends: nobody is left to be told, so a failure goes to the error output and the exit code."""
    failures = [error for writer in _all() if (error := writer.finish()) is not None]
    for error in failures:
        sys.stderr.write(f"stratax: {error}\n")
    if failures:
        _exit.leave(ExitCode.USER_ERROR)
