"""Reading event files (summary layer)."""

import os
import struct
from typing import Any, BinaryIO

from stratax import io as files
from stratax.base.shown import shown
from stratax.data.records import FOOTER_BYTES, HEADER_BYTES, compute_masked_crc, length_of
from stratax.errors import DataLossError
from stratax.io import FileName
from stratax.summary._event_file import flush_folder
from stratax.summary._packages import tensorboard


def summary_iterator(path: FileName) -> "SummaryIterator":
    """Return an iterator over the events of an event file, as `tf.compat.v1.train.summary_iterator`.

    A file that is still written, or whose writer was killed, ends with its last whole event; the iterator goes on when
    more has come. Writers of this process into the same folder are flushed first.

    Args:
        path: A path or URL.

    Raises:
        DataLossError: While iterating, at an event that is damaged; the next one comes after it, if it can be found.
        FileMissingError: If there is no such file.
        FileAccessError: If it can't be read.
        MissingPackageError: If TensorBoard is not installed.

    Example:
        >>> import glob, tempfile
        >>> import stratax as sx
        >>> from stratax.tf.compat.v1.train import summary_iterator
        >>> folder = tempfile.mkdtemp()
        >>> writer = sx.summary.create_file_writer(folder)
        >>> with writer.as_default():
        ...     sx.summary.scalar("loss", 0.5, step=1)
        True
        >>> [path] = glob.glob(f"{folder}/*")
        >>> [value.tag for event in summary_iterator(path) for value in event.summary.value]
        ['loss']
        >>> writer.close()
    """
    return SummaryIterator(files.as_file_name(path))


class SummaryIterator:
    """Iterates over the events of a file.

    Args:
        name: The file.
    """

    def __init__(self, name: str) -> None:
        flush_folder(os.path.dirname(name))
        self._name = name
        self._file: BinaryIO = _open(name)
        self._offset = 0
        self._record = 0
        self._is_lost = False
        self._event = tensorboard("compat.proto.event_pb2").Event

    def __iter__(self) -> "SummaryIterator":
        return self

    def __next__(self) -> Any:
        content = self._read()
        try:
            return self._event.FromString(content)
        except Exception as error:
            # Of `google.protobuf.message.DecodeError`, which is no dependency of its own.
            raise self._error("is no event", self._record - 1, self._offset) from error

    def _read(self) -> bytes:
        if self._is_lost:
            raise StopIteration
        header = self._bytes(self._offset, HEADER_BYTES)
        if len(header) < HEADER_BYTES:
            raise StopIteration
        length = length_of(header)
        if length is None:
            # Where the next event begins is told by this length alone.
            self._is_lost = True
            raise self._error(
                "has a damaged length, and nothing behind it can be read", self._record, self._offset
            )
        content = self._bytes(self._offset + HEADER_BYTES, length + FOOTER_BYTES)
        if len(content) < length + FOOTER_BYTES:
            raise StopIteration
        number, offset = self._record, self._offset
        self._record += 1
        self._offset += HEADER_BYTES + len(content)
        data, (stored,) = content[:length], struct.unpack("<I", content[length:])
        if stored != compute_masked_crc(data):
            raise self._error("is damaged: its checksum is another one", number, offset)
        return data

    def _bytes(self, offset: int, count: int) -> bytes:
        with files.reading(self._name):
            self._file.seek(offset)
            return self._file.read(count)

    def _error(self, what: str, record: int, offset: int) -> DataLossError:
        return DataLossError(
            f"Event {record} of {shown(self._name)}, at byte {offset}, {what}. Expected: a file of events that "
            "TensorBoard reads.",
            filename=self._name,
            record=record,
            offset=offset,
        )


def _open(name: str) -> BinaryIO:
    path = files.local_path(name)
    with files.reading(name):
        # Without a buffer: what another process adds is seen.
        if path is not None:
            return open(path, "rb", buffering=0)
        filesystem, inner = files.remote_path(name)
        return filesystem.open(inner, "rb")
