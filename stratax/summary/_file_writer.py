"""`FileWriter` of TensorFlow 1 (summary layer)."""

import threading
import time
import warnings
from collections.abc import Callable
from typing import Any

from stratax import io as files
from stratax.base.callers import stack_level
from stratax.base.shown import shown
from stratax.errors import BadTypeError
from stratax.io import FileName
from stratax.summary._event_file import EventFile
from stratax.summary._graph_forms import parse_summary
from stratax.summary._packages import tensorboard
from stratax.summary._records import SummaryRecord
from stratax.summary._writer import is_writing_process


class FileWriter:
    """Writes events into a file of a folder, as `tf.compat.v1.summary.FileWriter`; works in eager code, too.

    A thread of its own writes the file. Of several workers only the chief writes.

    Args:
        logdir: The folder or URL, which is made if it is not there.
        graph: A `tf.Graph` that a session runs, which is written.
        max_queue: After so many events the file is flushed.
        flush_secs: What is in memory only is never older than this, in seconds.
        graph_def: The graph as a message, in its place.
        filename_suffix: The end of the file's name.
        session: Ignored.

    Raises:
        FileAccessError: If the file can't be made.
        MissingPackageError: If TensorBoard is not installed.

    Example:
        >>> import tempfile
        >>> from stratax.v1 import summary
        >>> with summary.FileWriter(tempfile.mkdtemp()) as writer:
        ...     value = summary.Summary.Value(tag="loss", simple_value=0.5)
        ...     writer.add_summary(summary.Summary(value=[value]), global_step=1)
    """

    def __init__(
        self,
        logdir: FileName,
        graph: object = None,
        max_queue: int = 10,
        flush_secs: float = 120,
        graph_def: object = None,
        filename_suffix: str | None = None,
        session: object = None,
    ) -> None:
        self._logdir = files.as_file_name(logdir)
        self._settings = int(max_queue), float(flush_secs), filename_suffix or ""
        self._file: EventFile | None = None
        self._is_closed = True
        self.reopen()
        self.add_graph(graph, graph_def=graph_def)

    def __enter__(self) -> "FileWriter":
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def get_logdir(self) -> str:
        """Return the folder that it writes in."""
        return self._logdir

    def reopen(self) -> None:
        """Begin a new file, if the writer was closed."""
        if self._is_closed:
            queue, seconds, suffix = self._settings
            self._seen: set[str] = set()
            self._file = (
                EventFile(self._logdir, max_queue=queue, flush_secs=seconds, suffix=suffix)
                if is_writing_process()
                else None
            )
            self._is_closed = False

    def add_summary(self, summary: object, global_step: object = None) -> None:
        """Write a summary.

        Args:
            summary: A `Summary` message or its bytes, or what a step returned for `summary.scalar` and its like, whose
                arrays need not be computed yet.
            global_step: The step, a whole number; None for none.

        Raises:
            BadTypeError: If it is something else.
            FileAccessError: If the file could not be written before.
        """
        message = summary.to_proto if isinstance(summary, SummaryRecord) else _copy_later(summary)
        self._put(lambda: {"summary": self._without_known_metadata(message())}, global_step)

    def add_session_log(self, session_log: Any, global_step: Any = None) -> None:
        """Write a `SessionLog` message."""
        content = session_log.SerializeToString()
        kind = tensorboard("compat.proto.event_pb2").SessionLog
        self._put(lambda: {"session_log": kind.FromString(content)}, global_step)

    def add_event(self, event: Any) -> None:
        """Write an `Event` message as it is."""
        content = event.SerializeToString()
        kind = tensorboard("compat.proto.event_pb2").Event
        self._write(lambda: kind.FromString(content))

    def add_graph(self, graph: object, global_step: object = None, graph_def: object = None) -> None:
        """Write a graph that a session runs, which TensorBoard shows.

        Args:
            graph: A `tf.Graph`; of others nothing is written.
            global_step: The step; None for none.
            graph_def: The graph as a message, in its place.
        """
        found = graph_def if graph is None else graph
        make = getattr(found, "as_graph_def", None)
        message = found if make is None else make()
        if hasattr(message, "SerializeToString"):
            content = message.SerializeToString()
            self._put(lambda: {"graph_def": content}, global_step)

    def flush(self) -> None:
        """Wait until all is on the disk, also what running programs have yet to hand over.

        Raises:
            FileAccessError: If it can't be written.
        """
        self._warn_if_closed()
        if self._file is not None and not self._is_closed:
            self._file.flush()

    def close(self) -> None:
        """Write all, and end the file.

        Raises:
            FileAccessError: If it can't be written.
        """
        if not self._is_closed:
            self._is_closed = True
            if self._file is not None:
                self._file.close()

    def _without_known_metadata(self, summary: Any) -> Any:
        # In the thread that writes, in the order of the file: a tag's metadata stands in its first summary.
        for value in summary.value:
            if value.HasField("metadata"):
                if value.tag in self._seen:
                    value.ClearField("metadata")
                self._seen.add(value.tag)
        return summary

    def _put(self, make: Any, step: Any) -> None:
        now = time.time()
        kind = tensorboard("compat.proto.event_pb2").Event
        number = {} if step is None else {"step": int(step)}
        self._write(lambda: kind(wall_time=now, **number, **make()))

    def _write(self, make: Any) -> None:
        self._warn_if_closed()
        if self._file is not None and not self._is_closed:
            self._file.put(make, may_wait=True)

    def _warn_if_closed(self) -> None:
        if self._is_closed:
            warnings.warn(
                "A closed FileWriter writes nothing until `reopen()` is called.",
                RuntimeWarning,
                stacklevel=stack_level(),
            )


def _copy_later(summary: object) -> Callable[[], Any]:
    """Return what gives a copy of a message: it may be changed afterwards, and be of TensorFlow's own class."""
    if hasattr(summary, "SerializeToString"):
        summary = summary.SerializeToString()
    if not isinstance(summary, bytes):
        raise BadTypeError(
            "A FileWriter writes summaries. Expected: a Summary message, its bytes, or what `summary.scalar` and its "
            f"like return. Received: {shown(summary)} ({type(summary).__name__})."
        )
    parsed = parse_summary(summary)
    return lambda: parsed


class _Cache:
    """Writers by folder, which programs of TensorFlow 1 share."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.writers: dict[str, FileWriter] = {}


_CACHE = _Cache()


class FileWriterCache:
    """Gives one :class:`FileWriter` for each folder, as `tf.compat.v1.summary.FileWriterCache`."""

    @staticmethod
    def clear() -> None:
        """Close all of them, and forget them."""
        with _CACHE.lock:
            for writer in _CACHE.writers.values():
                writer.close()
            _CACHE.writers.clear()

    @staticmethod
    def get(logdir: FileName) -> FileWriter:
        """Return the writer of a folder, made if there is none yet."""
        name = files.as_file_name(logdir)
        with _CACHE.lock:
            if name not in _CACHE.writers:
                _CACHE.writers[name] = FileWriter(name)
            return _CACHE.writers[name]


def open_shared(folder: FileName) -> tuple[FileWriter, bool]:
    """Return the writer of a folder that the whole process shares, open, and whether it was not so before.

    Args:
        folder: The folder or URL.
    """
    name = files.as_file_name(folder)
    with _CACHE.lock:
        known = _CACHE.writers.get(name)
    writer = known or FileWriterCache.get(name)
    was_open = known is not None and not known._is_closed
    # A program may have closed it behind another run.
    writer.reopen()
    return writer, not was_open
