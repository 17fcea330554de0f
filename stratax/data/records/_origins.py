"""Where records were read: file, number and byte of one that a function fails on (data layer).

Nothing travels with a record through the pipeline. Only where the last records stand is noted, and when a function
fails on one it is looked for at those positions.
"""

import contextlib
import threading
import time
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from stratax.base.shown import shown
from stratax.data.records._stream import Piece, RecordFormat
from stratax.errors import DataError
from stratax.io import ByteStream, open_bytes

# Noted positions take 24 bytes each.
_MOST_RECORDS = 1 << 19
# For all searches of an iterator together: with `ignore_errors` there may be many failures.
_MOST_SECONDS = 5.0
# Bytes behind a record's content: the footer of a TFRecord, or a line's end.
_MOST_BEHIND = 4
# Bytes that are compared first; most records differ in them.
_GLANCE = 512
# A shorter value stands in many Examples by chance.
_LEAST_PART = 8
# Field 1, length-delimited: a value in a BytesList.
_VALUE_TAG = b"\n"
_STEP = 1 << 22


class Origin(NamedTuple):
    """The position of a record.

    Attributes:
        filename: The file, as it was named.
        record: The number of the record in it, from 0.
        offset: Where it begins, in bytes of the uncompressed content.
    """

    filename: str
    record: int
    offset: int


class _Noted(NamedTuple):
    """Where some records of a file stand: numbers, begins and ends, int64 [n]."""

    name: str
    form: RecordFormat
    numbers: np.ndarray
    starts: np.ndarray
    ends: np.ndarray


class Origins:
    """The positions of the records that one iterator read last: some hundred thousand, looked through for seconds."""

    def __init__(self) -> None:
        self._noted: deque[_Noted] = deque()
        self._num_records = 0
        self._seconds_left = _MOST_SECONDS
        self._lock = threading.Lock()

    def note_piece(self, name: str, form: RecordFormat, piece: Piece) -> None:
        """Note consecutive records."""
        count = len(piece.records)
        if count:
            offset, number = piece.start
            starts = np.concatenate([np.array([offset]), piece.ends[:-1]])
            self.note(name, form, np.arange(number, number + count), starts, piece.ends)

    def note(
        self, name: str, form: RecordFormat, numbers: np.ndarray, starts: np.ndarray, ends: np.ndarray
    ) -> None:
        """Note records: their numbers, where they begin and where they end, int64 [n]."""
        with self._lock:
            self._noted.append(_Noted(name, form, numbers, starts, ends))
            self._num_records += len(numbers)
            while self._num_records > _MOST_RECORDS and len(self._noted) > 1:
                self._num_records -= len(self._noted.popleft().numbers)

    def tell(self, error: Exception, row: Sequence[Any]) -> None:
        """Say in an error from which record the element came that a function failed on, if that is found.

        Args:
            error: What the function raised; a DataError's attributes are set, and every error gets a note.
            row: The leaves of the element.
        """
        which = error.element if isinstance(error, DataError) else None
        for content in _records_in(row, which):
            origin = self.find(content)
            if origin is None:
                continue
            error.add_note(
                f"It came from record {origin.record} of {shown(origin.filename)}, at byte {origin.offset}."
            )
            if isinstance(error, DataError) and error.filename is None:
                error.filename, error.record, error.offset = origin
            return

    def find(self, content: bytes) -> Origin | None:
        """Find the position of the last record with this content, or else of an Example that has it as a value.

        None if it is not found in time.
        """
        with self._lock:
            # The latest first: the element was read not long ago.
            noted = list(self._noted)[::-1]
        begin = time.monotonic()
        search = _Search(begin + self._seconds_left)
        try:
            looks = (
                [search.with_content, search.around] if len(content) >= _LEAST_PART else [search.with_content]
            )
            return next((found for look in looks for some in noted if (found := look(some, content))), None)
        except TimeoutError:
            return None
        finally:
            search.close()
            self._seconds_left = max(0.0, self._seconds_left - (time.monotonic() - begin))


def _records_in(row: Sequence[Any], which: int | None) -> Iterator[bytes]:
    """Yield the byte strings of an element; of a batch the one that is to blame, if that is known."""
    for leaf in row:
        if isinstance(leaf, np.ndarray) and leaf.dtype.hasobject and which is not None and leaf.ndim == 1:
            leaf = leaf[which] if which < len(leaf) else None
        if isinstance(leaf, bytes):
            yield leaf


def _varint(number: int) -> bytes:
    """Encode a length as Protocol Buffers do: seven bits at a time, the low ones first."""
    head = b""
    while number > 0x7F:
        head += bytes([number & 0x7F | 0x80])
        number >>= 7
    return head + bytes([number])


class _Search:
    """Reads at noted positions, up to a deadline."""

    def __init__(self, deadline: float) -> None:
        self._deadline = deadline
        self._name = ""
        self._stream: ByteStream | None = None
        self._position = 0

    def with_content(self, noted: _Noted, content: bytes) -> Origin | None:
        """Return the first of some records that has this content."""
        lead = noted.form.lead_bytes
        behind = noted.ends - noted.starts - lead - len(content)
        for i in np.flatnonzero((behind >= 0) & (behind <= _MOST_BEHIND)).tolist():
            offset = int(noted.starts[i])
            if self._stands(noted, offset + lead, content):
                return Origin(noted.name, int(noted.numbers[i]), offset)
        return None

    def around(self, noted: _Noted, content: bytes) -> Origin | None:
        """Return the first of some records that is an Example with this content as a value, such as an image."""
        value = _VALUE_TAG + _varint(len(content)) + content
        sizes = noted.ends - noted.starts
        for i in np.flatnonzero(sizes > len(content)).tolist():
            offset = int(noted.starts[i])
            if value in self._read(noted, offset, int(sizes[i])):
                return Origin(noted.name, int(noted.numbers[i]), offset)
        return None

    def _stands(self, noted: _Noted, offset: int, content: bytes) -> bool:
        """Return whether a file has this content at a position."""
        start = self._read(noted, offset, min(len(content), _GLANCE))
        if len(start) == len(content) or not content.startswith(start):
            return start == content
        return start + self._read(noted, offset + len(start), len(content) - len(start)) == content

    def _read(self, noted: _Noted, offset: int, count: int) -> bytes:
        """Read what stands at a position; less than asked for, or nothing, where the file is another one by now."""
        with contextlib.suppress(OSError, DataError):
            content = self._at(noted, offset).more(b"", count)
            self._position += len(content)
            return content
        self.close()
        return b""

    def _at(self, noted: _Noted, offset: int) -> ByteStream:
        stream = self._stream
        # Streams go forward only.
        if stream is None or noted.name != self._name or offset < self._position:
            self.close()
            stream = self._stream = open_bytes(noted.name, noted.form.compression)
            self._name, self._position = noted.name, 0
        while self._position < offset:
            self._check_time()
            passed = stream.skip(min(_STEP, offset - self._position))
            self._position += passed
            if not passed:
                raise DataError(
                    f"The file has become shorter. Received: filename={shown(noted.name)}. Make it again."
                )
        self._check_time()
        return stream

    def _check_time(self) -> None:
        if time.monotonic() > self._deadline:
            raise TimeoutError

    def close(self) -> None:
        if self._stream is not None:
            self._stream.close()
        self._stream = None
