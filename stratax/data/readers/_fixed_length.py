"""FixedLengthRecordDataset: records of one length, behind a header (data layer)."""

import dataclasses

import numpy as np

from stratax.data.dataset import Dataset
from stratax.data.plan import as_count
from stratax.data.readers._arguments import as_buffer_size, as_parallel_reads, names_node
from stratax.data.records import Piece, RecordFormat, WindowStream
from stratax.data.sources import FileSource
from stratax.errors import DataLossError
from stratax.io import ByteStream, as_compression, open_bytes

_DEFAULT_BUFFER = 1 << 18


class FixedLengthRecordDataset(Dataset):
    """The records of binary files whose records all have one length, as `tf.data.FixedLengthRecordDataset`.

    An element is a `bytes`. A file whose body is no whole number of records is an error in front of its first record;
    if it is compressed, behind its last whole one.

    Args:
        filenames: A path or URL (of whatever fsspec opens), a list of them, or a Dataset of them.
        record_bytes: Length of a record, at least 1.
        header_bytes: What to leave out at the beginning of each file; default nothing.
        footer_bytes: What to leave out at the end of each file; default nothing.
        buffer_size: How many bytes to read at once; default 256 KB.
        compression_type: "GZIP", "ZLIB", or "" or None for none.
        num_parallel_reads: How many files are read at a time, their records taken in turn; AUTOTUNE for a good number,
            None or 1 for one file after another.
        name: Ignored.

    Raises:
        BadArgumentError: `compression_type` or a number is none that is allowed.
        BadTypeError: A name is not a string or a path.

    Example:
        >>> import os, tempfile
        >>> from stratax.data import FixedLengthRecordDataset
        >>> path = os.path.join(tempfile.mkdtemp(), "pairs.bin")
        >>> with open(path, "wb") as file:
        ...     _ = file.write(b"headaabbcc")
        >>> list(FixedLengthRecordDataset(path, 2, header_bytes=4).as_numpy_iterator())
        [b'aa', b'bb', b'cc']
    """

    def __init__(
        self,
        filenames: object,
        record_bytes: int,
        header_bytes: int | None = None,
        footer_bytes: int | None = None,
        buffer_size: int | None = None,
        compression_type: str | None = None,
        num_parallel_reads: int | None = None,
        name: str | None = None,
    ) -> None:
        form = FixedLengthFormat(
            as_count("record_bytes", record_bytes, 1),
            as_count("header_bytes", header_bytes or 0, 0),
            as_count("footer_bytes", footer_bytes or 0, 0),
            as_compression(compression_type),
            as_buffer_size(buffer_size, _DEFAULT_BUFFER),
        )
        super().__init__(FileSource(names_node(filenames), form, as_parallel_reads(num_parallel_reads)))


@dataclasses.dataclass(frozen=True, slots=True)
class FixedLengthFormat(RecordFormat):
    """How files of records of one length are read.

    Attributes:
        record_bytes: Length of a record.
        header_bytes: What stands before the first.
        footer_bytes: What stands behind the last.
        compression: "", "GZIP" or "ZLIB".
        buffer_size: How many bytes to read at once.
    """

    record_bytes: int
    header_bytes: int = 0
    footer_bytes: int = 0
    compression: str = ""
    buffer_size: int = _DEFAULT_BUFFER
    label = "FixedLengthRecord"

    def open(self, name: str) -> "FixedLengthStream":
        return FixedLengthStream(open_bytes(name, self.compression), self)

    def describe(self) -> str:
        return f"{self.label}({self.record_bytes}, {self.header_bytes}, {self.footer_bytes})"


class FixedLengthStream(WindowStream):
    """The records of one file.

    Args:
        stream: The file's content, uncompressed.
        form: The lengths.
    """

    def __init__(self, stream: ByteStream, form: FixedLengthFormat) -> None:
        super().__init__(stream)
        self._form = form
        self._is_short = stream.skip(form.header_bytes) < form.header_bytes
        self._base = form.header_bytes
        # As far as the size tells, such a file is refused before its first record.
        left = stream.remaining
        self._is_uneven = left is not None and bool(_count_left_over(left, form))

    def read(self) -> Piece:
        """Read the records that are in memory as a whole, after reading on if there are none."""
        if self._has_ended:
            raise StopIteration
        if self._is_uneven:
            self._has_ended = True
            return Piece.empty(
                self.place, self._uneven(_count_left_over(self._stream.remaining or 0, self._form))
            )
        while not (count := self._num_whole()):
            wanted = self._form.record_bytes + self._form.footer_bytes
            if self._is_short or not self._slide(max(self._form.buffer_size, wanted)):
                return self._end()
        start = self.place
        size, first = self._form.record_bytes, self._position
        # In the window; the base is added below, where places in the file are meant.
        ends = first + size * np.arange(1, count + 1)
        records = [self._window[stop - size : stop] for stop in ends.tolist()]
        self._position += size * count
        self._record += count
        return Piece(start, records, ends + self._base)

    def _num_whole(self) -> int:
        """Return whole records in the window, those at its end that might be the footer left out."""
        # Where the stream ends is not known in advance: the last bytes of a window may be the footer.
        there = len(self._window) - self._position - self._form.footer_bytes
        return max(0, there // self._form.record_bytes)

    def _end(self) -> Piece:
        self._has_ended = True
        left = len(self._window) - self._position
        if self._stream.damage is not None:
            return Piece.empty(self.place, self._damage_error())
        # Exactly the footer is left: the file is sound.
        if left == self._form.footer_bytes and not self._is_short:
            raise StopIteration
        return Piece.empty(self.place, self._uneven(left))

    def _uneven(self, left: int) -> DataLossError:
        form = self._form
        return self._error(
            f"Excluding the header ({form.header_bytes} bytes) and footer ({form.footer_bytes} bytes), the file has a "
            f"body which is not an exact multiple of the record length ({form.record_bytes} bytes): {left} bytes are "
            "left",
            self._record,
            self._base + self._position,
            "Check record_bytes, header_bytes and footer_bytes, or make the file again.",
        )

    def skip(self, count: int) -> int:
        """Move on by multiples of the length where the size is known."""
        left = self._stream.remaining
        # Compressed content has no known size, so it has to be read.
        if left is None or self._is_short or self._is_uneven:
            return self._skip_by_reading(count)
        there = len(self._window) - self._position + left - self._form.footer_bytes
        passed = min(count, max(0, there // self._form.record_bytes))
        self._advance(passed * self._form.record_bytes)
        self._record += passed
        return passed if passed == count else passed + self._skip_by_reading(count - passed)

    def _advance(self, size: int) -> None:
        inside = min(size, len(self._window) - self._position)
        self._position += inside
        if size > inside:
            self._base += self._position + self._stream.skip(size - inside)
            # The stream has moved behind the window.
            self._window, self._position = b"", 0

    def _skip_by_reading(self, count: int) -> int:
        passed = 0
        while passed < count:
            try:
                piece = self.read()
            except StopIteration:
                break
            # What was read beyond the wanted number is still in the window: go back in it.
            surplus = max(0, len(piece.records) - (count - passed))
            self._position -= surplus * self._form.record_bytes
            self._record -= surplus
            passed += len(piece.records) - surplus + (piece.last is not None)
        return passed


def _count_left_over(size: int, form: FixedLengthFormat) -> int:
    """Return how many bytes of a file behind its header are neither a whole record nor its footer."""
    body = size - form.footer_bytes
    return size if body < 0 else body % form.record_bytes
