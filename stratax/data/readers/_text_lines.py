"""TextLineDataset: the lines of text files (data layer)."""

import dataclasses
from typing import Any

import numpy as np

from stratax.data.dataset import Dataset
from stratax.data.plan import as_count
from stratax.data.readers._arguments import as_buffer_size, as_parallel_reads, names_node
from stratax.data.records import MAX_LINE_BYTES, Piece, RecordFormat, WindowStream
from stratax.data.sources import FileSource
from stratax.errors import DataLossError
from stratax.io import as_compression, open_bytes

_DEFAULT_BUFFER = 1 << 18


class TextLineDataset(Dataset):
    r"""The lines of text files, as `tf.data.TextLineDataset`; an element is a `bytes` without the newline.

    Carriage returns are left out, wherever they stand, as TensorFlow does.

    Args:
        filenames: A path or URL (of whatever fsspec opens), a list of them, or a Dataset of them.
        compression_type: "GZIP", "ZLIB", or "" or None for none.
        buffer_size: How many bytes to read at once; default 256 KB.
        num_parallel_reads: How many files are read at a time, their lines taken in turn; AUTOTUNE for a good number,
            None or 1 for one file after another.
        name: Ignored.
        max_line_bytes: How long a line may be, 64 MiB if nothing else is asked for. A longer one is an error, and the
            rest of its file is passed over.

    Raises:
        BadArgumentError: `compression_type` or a number is none that is allowed.
        BadTypeError: A name is not a string or a path.

    Example:
        >>> import os, tempfile
        >>> from stratax.data import TextLineDataset
        >>> path = os.path.join(tempfile.mkdtemp(), "words.txt")
        >>> with open(path, "w") as file:
        ...     _ = file.write("one\ntwo\n")
        >>> list(TextLineDataset(path).as_numpy_iterator())
        [b'one', b'two']
    """

    def __init__(
        self,
        filenames: object,
        compression_type: str | None = None,
        buffer_size: int | None = None,
        num_parallel_reads: int | None = None,
        name: str | None = None,
        *,
        max_line_bytes: int = MAX_LINE_BYTES,
    ) -> None:
        size = as_buffer_size(buffer_size, _DEFAULT_BUFFER)
        most = as_count("max_line_bytes", max_line_bytes, 1)
        form = TextLineFormat(as_compression(compression_type), size, most)
        super().__init__(FileSource(names_node(filenames), form, as_parallel_reads(num_parallel_reads)))


@dataclasses.dataclass(frozen=True, slots=True)
class TextLineFormat(RecordFormat):
    """How text files are read.

    Attributes:
        compression: "", "GZIP" or "ZLIB".
        buffer_size: How many bytes to read at once.
        max_line_bytes: How long a line may be.
    """

    compression: str = ""
    buffer_size: int = _DEFAULT_BUFFER
    max_line_bytes: int = MAX_LINE_BYTES
    label = "TextLine"

    def open(self, name: str) -> "TextLineStream":
        return TextLineStream(open_bytes(name, self.compression), self.buffer_size, self.max_line_bytes)

    def describe(self) -> str:
        return self.label


class TextLineStream(WindowStream):
    """The lines of one file.

    Args:
        stream: The file's content, uncompressed.
        buffer_size: How many bytes to read at once.
        max_line_bytes: How long a line may be.
    """

    def __init__(self, stream: Any, buffer_size: int, max_line_bytes: int = MAX_LINE_BYTES) -> None:
        super().__init__(stream)
        self._buffer_size = buffer_size
        self._max_line_bytes = max_line_bytes

    def read(self) -> Piece:
        """Read the lines that are in memory as a whole, after reading on if there are none."""
        if self._has_ended:
            raise StopIteration
        # Everything up to the last newline of the window becomes one piece.
        while (stop := self._window.rfind(b"\n", self._position)) < 0:
            if len(self._window) - self._position > self._max_line_bytes:
                self._has_ended = True
                return Piece.empty(self.place, self._too_long())
            # A long line is read in ever larger pieces, so that it is not copied too often.
            if not self._slide(max(self._buffer_size, len(self._window) - self._position)):
                return self._last_line()
        lines = self._window[self._position : stop].split(b"\n")
        return self._piece(lines)

    def _piece(self, lines: list[bytes]) -> Piece:
        start = self.place
        # Before carriage returns are dropped: ends are places in the file. The 1 is the newline.
        ends = np.cumsum(np.fromiter(map(len, lines), np.int64, len(lines)) + 1) + self._base + self._position
        self._position = int(ends[-1]) - self._base
        self._record += len(lines)
        return Piece(start, _without_returns(lines), ends)

    def _last_line(self) -> Piece:
        """Return what stands behind the last newline."""
        self._has_ended = True
        if self._stream.damage is not None:
            return Piece.empty(self.place, self._damage_error())
        line = _without_returns([self._window])[0]
        # Nothing behind the last newline: the file has ended before.
        if not line:
            raise StopIteration
        start = self.place
        self._position = len(self._window)
        self._record += 1
        return Piece(start, [line], np.array([self._base + self._position]))

    def _too_long(self) -> DataLossError:
        return self._error(
            f"A line has more than max_line_bytes={self._max_line_bytes} bytes",
            self._record,
            self._base + self._position,
            "Pass a larger max_line_bytes if such lines are meant; the rest of the file is passed over.",
        )

    def skip(self, count: int) -> int:
        """Skip lines by counting newlines."""
        passed = 0
        while passed < count:
            try:
                piece = self.read()
            except StopIteration:
                break
            if piece.count > count - passed:
                self._go_back(piece, count - passed)
                return count
            passed += piece.count
        return passed

    def _go_back(self, piece: Piece, count: int) -> None:
        """Go to behind the first `count` lines of a piece; what was the file's last line is read again."""
        self._has_ended = False
        self._record -= len(piece.records) - count
        self._position = int(piece.ends[count - 1]) - self._base


def _without_returns(lines: list[bytes]) -> list[bytes]:
    # All of them, not only the last: TensorFlow's reader drops every carriage return.
    return [line.replace(b"\r", b"") if b"\r" in line else line for line in lines]
