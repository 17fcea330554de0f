"""A file of events that is written by a thread of its own (summary layer)."""

import atexit
import collections
import contextlib
import logging
import os
import threading
import time
import warnings
import weakref
from collections.abc import Callable
from typing import Any

from stratax import io as files
from stratax.base.callers import stack_level
from stratax.base.shown import shown
from stratax.cluster import exits
from stratax.core import host
from stratax.errors import FileAccessError
from stratax.summary._packages import event_file_writer, new_event

_logger = logging.getLogger("stratax")

# More than so many events that nobody has written yet, and who writes the next one waits. Those of running programs
# never wait: what the thread is about to write may be a result of the very program.
_MOST_PENDING = 1000
# TensorBoard's own queue behind this one: small, since the thread here is what the program must not wait for.
_QUEUE_BEHIND = 32
# The thread waits this long for more, up to so many: it competes with the program for Python's lock.
_GATHER_SECONDS = 0.05
_BATCH = 256
# How long a process that leaves at once waits for what is pending.
_LEAVE_SECONDS = 2.0

# Those of this process, for its own readers.
_files: "weakref.WeakSet[EventFile]" = weakref.WeakSet()

# Makes an event of a wall time, in the thread that writes.
MakeEvent = Callable[[], Any]


class EventFile:
    """An event file, which a thread makes and writes the events of.

    Args:
        folder: The folder or URL that it is made in, with those above it.
        max_queue: After so many events the file is flushed.
        flush_secs: What is in memory only is never older than this, in seconds.
        suffix: The end of the file's name.

    Raises:
        FileAccessError: If the file can't be made.
    """

    def __init__(self, folder: str, *, max_queue: int, flush_secs: float, suffix: str) -> None:
        self.folder = folder
        make = event_file_writer()
        with _writing(folder):
            files.make_folder(folder)
            self._events = make(folder, _QUEUE_BEHIND, flush_secs, suffix)
        self._max_queue = max_queue
        self._num_unflushed = 0
        self._pending: collections.deque[MakeEvent | None] = collections.deque()
        self._changed = threading.Condition()
        self._is_busy = False
        self._is_urgent = False
        self._is_closed = False
        self._error: Exception | None = None
        self._thread = threading.Thread(target=self._run, name="stratax-summaries", daemon=True)
        # A forked process has neither the thread nor a right to the file.
        self._process = os.getpid()
        self._thread.start()
        _files.add(self)
        # At the end of the program, and where a process leaves without Python's own end.
        atexit.register(self._end)
        exits.before_leaving(self._end_soon)

    def put(self, make: MakeEvent, *, may_wait: bool) -> None:
        """Have an event written.

        Args:
            make: Makes it, in the thread that writes.
            may_wait: Whether to wait while too much is pending.

        Raises:
            FileAccessError: If the file could not be written before; only where it may wait.
        """
        with self._changed:
            while may_wait and len(self._pending) >= _MOST_PENDING and self._error is None:
                self._changed.wait()
            if may_wait:
                self._check()
            if not self._is_closed and self._error is None:
                self._pending.append(make)
                # The thread is woken once for many events: each time costs the program more than the event itself.
                if len(self._pending) in (1, _BATCH):
                    self._changed.notify_all()

    def flush_soon(self) -> None:
        """Have what was put so far written to the disk, without waiting for it."""
        with self._changed:
            if not self._is_closed and self._error is None:
                self._pending.append(None)
                self._changed.notify_all()

    def flush(self) -> None:
        """Wait until all that was put is on the disk.

        Raises:
            FileAccessError: If it can't be written.
        """
        # What running programs have yet to hand over was written before this call, too.
        host.wait_for_deliveries()
        self.flush_soon()
        with self._changed:
            if self._is_closed:
                return
            self._is_urgent = True
            self._changed.notify_all()
            while (self._pending or self._is_busy) and self._error is None:
                self._changed.wait()
            self._check()

    def close(self) -> None:
        """Write what is pending, and end the file; once.

        Raises:
            FileAccessError: If it can't be written.
        """
        host.wait_for_deliveries()
        self.close_soon()
        self._thread.join()
        with self._changed:
            self._check()

    def close_soon(self) -> None:
        """Have the file ended once all that is pending is written, without waiting for it."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()

    def _end(self) -> None:
        # The program ends: nobody is there to catch an error, of which a warning has told. A program that failed on
        # its device raises here once more, and what came before it is written all the same.
        if os.getpid() != self._process:
            return
        try:
            self.close()
        except Exception:
            self.close_soon()
            self._thread.join()

    def _end_soon(self) -> None:
        if os.getpid() != self._process:
            return
        # The thread may wait for a device that never answers.
        self.close_soon()
        self._thread.join(_LEAVE_SECONDS)

    def _check(self) -> None:
        if self._error is not None:
            raise FileAccessError(
                f"Summaries in {shown(self.folder)} could not be written: {shown(str(self._error))}. Expected: a "
                "folder that stays, on a disk with room. Later summaries of this writer are dropped.",
                filename=self.folder,
            ) from self._error

    def _run(self) -> None:
        try:
            while batch := self._next_batch():
                self._write(batch)
                with self._changed:
                    self._is_busy = False
                    self._changed.notify_all()
            self._events.close()
        except Exception as error:
            self._fail(error)
        atexit.unregister(self._end)
        exits.forget_before_leaving(self._end_soon)

    def _next_batch(self) -> "collections.deque[MakeEvent | None]":
        """Wait for events and return them; none at the end."""
        with self._changed:
            while not self._pending and not self._is_closed:
                self._changed.wait()
            self._changed.wait_for(
                lambda: self._is_closed or self._is_urgent or len(self._pending) >= _BATCH, _GATHER_SECONDS
            )
            batch, self._pending = self._pending, collections.deque()
            self._is_busy, self._is_urgent = True, False
            self._changed.notify_all()
        return batch

    def _write(self, batch: "collections.deque[MakeEvent | None]") -> None:
        wants_flush = False
        while batch:
            # Nothing keeps what was written: the arrays of a summary may be large.
            make = batch.popleft()
            if make is None:
                wants_flush = True
                continue
            try:
                event = make()
            except Exception:
                _logger.exception("A summary for %r could not be made; it is left out.", self.folder)
                continue
            self._events.add_event(event)
            self._num_unflushed += 1
            if self._num_unflushed > self._max_queue:
                wants_flush = True
        if wants_flush:
            self._events.flush()
            self._num_unflushed = 0

    def _fail(self, error: Exception) -> None:
        with self._changed:
            self._error = error
            self._pending.clear()
            self._is_busy = False
            self._changed.notify_all()
        warnings.warn(
            f"Summaries in {shown(self.folder)} can't be written: {shown(str(error))}.",
            RuntimeWarning,
            stacklevel=stack_level(),
        )
        with contextlib.suppress(Exception):
            self._events.close()


def flush_folder(folder: str) -> None:
    """Wait until all that this process has for the files of a folder is on the disk."""
    for file in list(_files):
        if _resolve(file.folder) == _resolve(folder):
            file.flush()


def _resolve(folder: str) -> str:
    path = files.local_path(folder)
    return folder.rstrip("/") if path is None else os.path.realpath(path)


def event_now(step: Callable[[], int], summary: Callable[[], Any]) -> MakeEvent:
    """Return what makes an event of this moment.

    Args:
        step: Returns its step.
        summary: Returns its `Summary` message.
    """
    now = time.time()
    return lambda: new_event(wall_time=now, step=step(), summary=summary())


@contextlib.contextmanager
def _writing(folder: str) -> Any:
    try:
        yield
    except OSError as error:
        if isinstance(error, FileAccessError):
            raise
        raise FileAccessError(
            f"No event file can be made in {shown(folder)}: {shown(str(error))}. Expected: a folder that may be made "
            "and written to.",
            filename=folder,
        ) from error
