"""What this process is still writing in threads of its own, by path (io layer).

A checkpoint is written while the program goes on. Whatever reads, lists, replaces or removes files first waits here for
the writes that touch them, whichever object began them.
"""

import itertools
import os
import pathlib
import sys
import threading
from collections.abc import Callable

from stratax import errors
from stratax.base.shown import shown

# How long to wait for files to be written; in a cluster, if the chief dies the others know at once.
WRITE_SECONDS = 3600.0


Leave = Callable[[BaseException], object]


class Write:
    """Work in a thread of its own that changes files; `begin` makes it.

    Args:
        path: What it writes, resolved.
        work: What to do.
        before: The earlier writes that have to end first.
        leave: Ends the process, see :func:`begin`.

    Attributes:
        path: What it writes.
        leave: Ends the process at the end of the program if it has failed.
        number: Its number among the writes of this process, in the order in which they began.
        is_superseded: Whether a later write of the same path has succeeded.
    """

    def __init__(
        self, path: pathlib.Path, work: Callable[[], None], before: tuple["Write", ...], leave: Leave
    ) -> None:
        self.path = path
        self.leave = leave
        self.number = next(_numbers)
        self.is_superseded = False
        self._before = before
        self._error: BaseException | None = None
        # A daemon: `_at_exit` waits for it with a limit, where Python would wait for ever.
        self._thread = threading.Thread(target=self._run, name="stratax-write", daemon=True)
        self._work: Callable[[], None] | None = work
        self._ended = threading.Event()

    def start(self) -> None:
        """Begin the work in a thread of its own, behind earlier work on the same folder."""
        self._thread.start()

    def do_here(self) -> None:
        """Do the work at once, where no thread can be started."""
        self._thread = threading.current_thread()
        self._run()

    @property
    def is_running(self) -> bool:
        """Whether the work has not ended."""
        return not self._ended.is_set()

    @property
    def is_own(self) -> bool:
        """Whether the caller is part of the work."""
        return self.is_running and self._thread is threading.current_thread()

    @property
    def error(self) -> BaseException | None:
        """Why it failed; None while it has not, or once `finish` has said so."""
        return self._error

    def wait(self) -> None:
        """Wait until the work has ended; do not raise its failure.

        Raises:
            CheckpointError: If it does not come to an end.
        """
        # An earlier one has its own time.
        for write in (*self._before, self):
            write._join()

    def finish(self) -> BaseException | None:
        """Wait until the work has ended.

        Returns:
            Why it failed, once; None if it did not.

        Raises:
            CheckpointError: If it does not come to an end.
        """
        self.wait()
        with _lock:
            error, self._error = self._error, None
            if self in _writes:
                _writes.remove(self)
        return error

    def _join(self) -> None:
        # It would wait for its own end.
        if self.is_own:
            raise _within_a_write()
        if not self._ended.wait(WRITE_SECONDS):
            raise errors.CheckpointError(
                f"A checkpoint has not been written within {WRITE_SECONDS:g} s: the file system does not answer. "
                f"Expected: a write that ends. Received: path={shown(os.fspath(self.path))}, which is still written."
            )

    def _run(self) -> None:
        try:
            for write in self._before:
                write._join()
            if self._work is not None:
                self._work()
        except BaseException as error:
            # Whoever began it is told, by `finish` or at the end of the program.
            self._error = error
        finally:
            # Each write would otherwise keep all earlier ones, and what they wrote, alive.
            self._before, self._work = (), None
            self._note_end()
            self._ended.set()

    def _note_end(self) -> None:
        with _lock:
            if self._error is None:
                _writes.remove(self)
                for write in _writes:
                    # A failure that a later write of the same path has mended concerns nobody who reads it.
                    write.is_superseded |= write.path == self.path and write.number < self.number


_numbers = itertools.count()
_lock = threading.Lock()
# In the order in which they began: those that have not ended, and those whose failure nobody was told of.
_writes: list[Write] = []


def begin(path: str | os.PathLike, work: Callable[[], None], leave: Leave) -> Write:
    """Begin to write in a thread, after the earlier writes of this process that touch the same files.

    Args:
        path: What is written.
        work: What to do.
        leave: Ends the process with the exit code of a failure that nobody was told of when the program ends.

    Raises:
        CheckpointError: If it is called by the work of another write; in a function of `atexit` also what the work
            raises, which is done at once: no thread starts there, and nothing comes after it.
    """
    is_at_end = threading._SHUTTING_DOWN  # type: ignore[attr-defined]
    if not is_at_end:
        # With the first write only: a program that writes nothing needs no hook.
        _install_exit()
    resolved = _resolve(path)
    with _lock:
        if any(write.is_own for write in _writes):
            raise _within_a_write()
        # Writes of one folder go one after another: numbering and removing old ones depend on the order.
        before = tuple(write for write in _writes if write.is_running and _touches(write.path, resolved))
        write = Write(resolved, work, before, leave)
        _writes.append(write)
        # Under the lock, so that writes start in the order of their numbers.
        if not is_at_end:
            write.start()
    if is_at_end:
        write.do_here()
        if (error := write.finish()) is not None:
            raise error
    return write


def wait_for(path: str | os.PathLike) -> BaseException | None:
    """Wait until this process writes nothing at a path, below it, above it, or beside it in the same folder.

    What is beside it counts because a manager of checkpoints removes old ones when a new one is whole.

    Args:
        path: What is to be read, listed or removed.

    Returns:
        Why the last write of exactly this path failed, if nobody was told of it yet: what is there is older.

    Raises:
        CheckpointError: If a write does not come to an end.
    """
    # The usual case costs nothing: every file that is read asks.
    if not _writes:
        return None
    resolved = _resolve(path)
    failure = None
    for write in _earlier():
        if _touches(write.path, resolved):
            write.wait()
            if write.path == resolved:
                # Of several writes to this path the last one counts.
                failure = None if write.is_superseded else write.error
    return failure


def _within_a_write() -> errors.CheckpointError:
    return errors.CheckpointError(
        "A checkpoint can't be saved, or waited for, by what runs while one is written. Expected: a call from the "
        "program. Received: a call of one of experimental_write_callbacks. Save when `save` or `sync` has returned."
    )


def _earlier() -> list[Write]:
    """Return all writes; in the thread of one of them, only those before it: later ones wait for it."""
    with _lock:
        writes = list(_writes)
    own = next((index for index, write in enumerate(writes) if write.is_own), len(writes))
    return writes[:own]


def _resolve(path: str | os.PathLike) -> pathlib.Path:
    return pathlib.Path(os.path.realpath(path))


def _touches(one: pathlib.Path, other: pathlib.Path) -> bool:
    return one.parent == other.parent or one.is_relative_to(other) or other.is_relative_to(one)


def _install_exit() -> None:
    if not _has_exit_hook:
        _has_exit_hook.append(True)
        # An ordinary exit function comes after the thread pools have ended, which Orbax writes with. Python has no
        # public door to the time before.
        threading._register_atexit(_at_exit)  # type: ignore[attr-defined]
        os.register_at_fork(after_in_child=_forget)


_has_exit_hook: list[bool] = []


def _forget() -> None:
    """Forget all writes in a forked process, which has none of the threads; its parent continues them."""
    global _lock
    # The parent's may be held by a thread that does not exist here.
    _lock = threading.Lock()
    _writes.clear()


def _at_exit() -> None:
    """Report the failures of writes when the program ends: on standard error, and the first one by the exit code."""
    with _lock:
        writes = list(_writes)
    failures = [(write, error) for write in writes if (error := _failure_at_exit(write)) is not None]
    for _, error in failures:
        sys.stderr.write(f"stratax: {error}\n")
    # Leaving ends the process; the first failure gives the code.
    for write, error in failures[:1]:
        write.leave(error)


def _failure_at_exit(write: Write) -> BaseException | None:
    try:
        return write.finish()
    except errors.CheckpointError as error:
        return error
