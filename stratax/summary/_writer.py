"""Writers of summaries (summary layer)."""

import abc
import contextlib
import itertools
import logging
import math
import os
import weakref
from collections.abc import Iterator
from typing import Any

from stratax import cluster
from stratax import io as files
from stratax.base.shown import shown
from stratax.core import regions
from stratax.errors import BadArgumentError, SummaryError
from stratax.io import FileName
from stratax.summary import _context
from stratax.summary._event_file import EventFile, MakeEvent

_DEFAULT_QUEUE = 10
_DEFAULT_FLUSH_MILLIS = 120_000
_DEFAULT_SUFFIX = ".v2"
_MILLIS = 1000
_logger = logging.getLogger("stratax")

_numbers = itertools.count(1)
# By number, as a running program knows them; a writer that nobody holds any more is closed.
_by_number: "weakref.WeakValueDictionary[int, SummaryWriter]" = weakref.WeakValueDictionary()


class SummaryWriter(abc.ABC):
    """Writes summaries, as `tf.summary.SummaryWriter`.

    Attributes:
        number: By what running programs know it.
    """

    def __init__(self) -> None:
        self.number = next(_numbers)
        _by_number[self.number] = self

    def as_default(self, step: object = None) -> contextlib.AbstractContextManager["SummaryWriter"]:
        """Return a context manager that makes this the writer of summaries, for a block.

        What was written in the block is on its way to the disk when it ends; :meth:`flush` waits until it is there.

        Args:
            step: The step of summaries in the block that are given none; None leaves the one that there is.

        Raises:
            SummaryError: If the writer is closed.
        """
        self._check_open()
        return _Default(self, step)

    def set_as_default(self, step: object = None) -> None:
        """Make this the writer of this thread's summaries, from now on.

        Args:
            step: The step of summaries that are given none; None leaves the one that there is.

        Raises:
            SummaryError: If the writer is closed.
        """
        self.as_default(step).__enter__()

    @property
    @abc.abstractmethod
    def is_closed(self) -> bool:
        """Whether it can't be used any more."""

    @abc.abstractmethod
    def init(self) -> None:
        """Do nothing: the file is there since the writer is; here for programs of TensorFlow 1."""

    @abc.abstractmethod
    def flush(self) -> None:
        """Wait until all summaries are on the disk, also those of programs that still run.

        Raises:
            FileAccessError: If they can't be written.
        """

    @abc.abstractmethod
    def close(self) -> None:
        """Write all summaries, as :meth:`flush` does, and end the file.

        Raises:
            FileAccessError: If they can't be written.
        """

    @abc.abstractmethod
    def _put(self, make: MakeEvent, *, may_wait: bool) -> None:
        """Have an event written; for other modules of this package."""

    @abc.abstractmethod
    def _flush_soon(self) -> None:
        """Have all summaries written without waiting for it; for other modules of this package."""

    @abc.abstractmethod
    def _check_open(self) -> None: ...


class _Default(contextlib.AbstractContextManager["SummaryWriter"]):
    """Makes a writer the default one, and its step; `__enter__` may be called without the other (Keras does)."""

    def __init__(self, writer: SummaryWriter, step: object) -> None:
        self._writer = writer
        self._step = None if step is None else _context.check_step(step)
        self._before: Any = None

    def __enter__(self) -> SummaryWriter:
        self._before = _context.WRITER.get(), _context.STEP.get()
        _context.WRITER.set(_context.setting(self._writer))
        if self._step is not None:
            _context.STEP.set(_context.setting(self._step))
        return self._writer

    def __exit__(self, *exc_info: object) -> None:
        if regions.executing_eagerly():
            self._writer._flush_soon()
        writer, step = self._before
        _context.WRITER.set(writer)
        # A step that was set in the block stays, unless the block had one of its own.
        if self._step is not None:
            _context.STEP.set(step)


class FileSummaryWriter(SummaryWriter):
    """Writes summaries into a file of its own.

    Args:
        file: The file; None in a worker that writes nothing.
        folder: Its folder.
    """

    def __init__(self, file: EventFile | None, folder: str) -> None:
        super().__init__()
        self._file = file
        self._folder = folder
        self._is_closed = False
        self._has_warned = False
        if file is not None:
            # At the program's end the file does it itself, while Python's parts are still there.
            weakref.finalize(self, file.close_soon).atexit = False

    def __repr__(self) -> str:
        return f"<stratax.summary writer into {shown(self._folder)}{', closed' if self._is_closed else ''}>"

    @property
    def is_closed(self) -> bool:
        """Whether :meth:`close` was called."""
        return self._is_closed

    def init(self) -> None:
        """See :meth:`SummaryWriter.init`."""
        self._check_open()

    def flush(self) -> None:
        """See :meth:`SummaryWriter.flush`."""
        if self._file is not None and not self._is_closed:
            self._file.flush()

    def close(self) -> None:
        """See :meth:`SummaryWriter.close`."""
        if self._file is not None and not self._is_closed:
            try:
                self._file.close()
            finally:
                self._is_closed = True
        self._is_closed = True

    def _put(self, make: MakeEvent, *, may_wait: bool) -> None:
        """See :meth:`SummaryWriter._put`."""
        if may_wait:
            self._check_open()
        elif self._is_closed and not self._has_warned:
            # In a running program nobody can be told otherwise.
            self._has_warned = True
            _logger.warning(
                "A compiled program wrote summaries with a writer that had been closed; they are lost: %r. Close a "
                "writer behind the last step.",
                self,
            )
        if self._file is not None:
            self._file.put(make, may_wait=may_wait)

    def _flush_soon(self) -> None:
        """See :meth:`SummaryWriter._flush_soon`."""
        if self._file is not None:
            self._file.flush_soon()

    def _check_open(self) -> None:
        if self._is_closed:
            raise SummaryError(
                "A writer of summaries was used after its end. Expected: an open one. "
                f"Received: {shown(self)}. Make a new one, which adds a file to the folder."
            )


class _NoWriter(SummaryWriter):
    """Writes nothing, as TensorFlow's `create_noop_writer` gives it."""

    @contextlib.contextmanager
    def _nothing(self) -> Iterator["SummaryWriter"]:
        yield self

    def as_default(self, step: object = None) -> contextlib.AbstractContextManager["SummaryWriter"]:
        """Return a block that changes nothing: the writer around it stays the default one, as in TensorFlow."""
        return self._nothing()

    @property
    def is_closed(self) -> bool:
        """Whether it can't be used any more: never."""
        return False

    def init(self) -> None:
        """Do nothing: there is no file to open."""

    def flush(self) -> None:
        """Do nothing: nothing is pending."""

    def close(self) -> None:
        """Do nothing: there is no file to close."""

    def _put(self, make: MakeEvent, *, may_wait: bool) -> None:
        pass

    def _flush_soon(self) -> None:
        pass

    def _check_open(self) -> None:
        pass


def create_file_writer(
    logdir: FileName,
    max_queue: int | None = None,
    flush_millis: int | None = None,
    filename_suffix: str | None = None,
    name: str | None = None,
    experimental_trackable: bool = False,
) -> SummaryWriter:
    """Return a writer of summaries into a new file of a folder, as `tf.summary.create_file_writer`.

    The file is written by a thread of its own: the program waits neither for the disk nor for values that a device is
    still computing. It is whole when the program ends, also with an error; if it is killed, what was written within
    the last `flush_millis` may be missing. Of several workers only the chief writes; the others' writers do nothing.

    Args:
        logdir: The folder or URL, which is made if it is not there.
        max_queue: After so many summaries the file is flushed; default 10.
        flush_millis: What is in memory only is never older than this; default two minutes.
        filename_suffix: The end of the file's name; default ".v2".
        name: Ignored.
        experimental_trackable: Ignored.

    Raises:
        BadArgumentError: If an argument can't be right.
        FileAccessError: If the file can't be made.
        MissingPackageError: If TensorBoard is not installed.

    Example:
        >>> import tempfile
        >>> import stratax as sx
        >>> writer = sx.summary.create_file_writer(tempfile.mkdtemp())
        >>> with writer.as_default():
        ...     sx.summary.scalar("loss", 0.5, step=1)
        True
        >>> writer.close()
    """
    if logdir is None:
        raise BadArgumentError(
            "Summaries need a folder. Expected: logdir to be a path or URL. Received: logdir=None. Use "
            "`create_noop_writer()` for a writer that writes nothing."
        )
    folder = files.as_file_name(logdir)
    most = _number("max_queue", max_queue, _DEFAULT_QUEUE)
    millis = _number("flush_millis", flush_millis, _DEFAULT_FLUSH_MILLIS)
    suffix = _DEFAULT_SUFFIX if filename_suffix is None else str(filename_suffix)
    return open_writer(folder, max_queue=int(most), flush_secs=millis / _MILLIS, suffix=suffix)


def open_writer(folder: str, *, max_queue: int, flush_secs: float, suffix: str) -> FileSummaryWriter:
    """Return a writer into a new file of a folder; in a worker that is not the chief, one that writes nothing."""
    if not is_writing_process():
        return FileSummaryWriter(None, folder)
    file = EventFile(folder, max_queue=max_queue, flush_secs=flush_secs, suffix=suffix)
    return FileSummaryWriter(file, folder)


def create_noop_writer() -> SummaryWriter:
    """Return a writer that writes nothing, as `tf.summary.create_noop_writer`."""
    return _NoWriter()


def is_writing_process() -> bool:
    """Return whether this process writes summaries: the chief of those that train together, or one that is alone."""
    connected = cluster.current()
    if connected is not None:
        return connected.is_chief
    # Not connected yet: what it will be.
    config = cluster.parse_tf_config(os.environ.get("TF_CONFIG", ""))
    jobs = config.cluster.jobs if config.cluster else []
    if config.task_type not in ("chief", "worker") or config.task_type not in jobs:
        return True
    return config.task_id in (0, None) and (config.task_type == "chief" or "chief" not in jobs)


def find_writer(number: int) -> SummaryWriter | None:
    """Return the writer that a running program means; None if there is none any more."""
    return _by_number.get(number)


def flush(writer: SummaryWriter | None = None, name: str | None = None) -> None:
    """Wait until all summaries of a writer are on the disk, as `tf.summary.flush`.

    Args:
        writer: The writer; None for the default one, if there is one.
        name: Ignored.

    Raises:
        FileAccessError: If they can't be written.
    """
    default = _context.WRITER.get()
    if writer is None and default is not None:
        writer = default.value
    if writer is not None:
        writer.flush()


def _number(name: str, value: Any, default: float) -> float:
    number = default if value is None else value
    try:
        found = float(number)
    except (TypeError, ValueError):
        found = math.nan
    # A NaN is not at least zero, either.
    if not found >= 0:
        raise BadArgumentError(
            f"{name} is a number that is not negative. Received: {name}={shown(value)}. Leave it out for {default}."
        )
    return found
