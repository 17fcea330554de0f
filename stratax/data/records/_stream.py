"""What reads the records of one file: what every kind of record file implements, and what they share (data layer)."""

import abc
from collections.abc import Mapping
from typing import ClassVar, Self

import numpy as np

from stratax.base.shown import shown
from stratax.errors import DataError, DataLossError
from stratax.io import ByteStream

# How long a record may be that tells its length, where nothing else is asked for.
MAX_RECORD_BYTES = 1 << 30

# How long a line may be, which has to be read to know.
MAX_LINE_BYTES = 1 << 26


class Piece:
    """Some consecutive records of a file.

    Args:
        start: Offset and number of the first.
        records: The records; what stands at the index of a failure is not given to anybody.
        ends: For each of them the offset behind it, int64 [n].
        failures: What is wrong with a record, by its index.
        last: What is wrong behind the last record, if nothing after it can be read.
    """

    __slots__ = ("ends", "failures", "last", "records", "start")

    def __init__(
        self,
        start: tuple[int, int],
        records: list[bytes],
        ends: np.ndarray,
        failures: Mapping[int, DataError] | None = None,
        last: DataError | None = None,
    ) -> None:
        self.start = start
        self.records = records
        self.ends = ends
        self.failures = failures or {}
        self.last = last

    @classmethod
    def empty(cls, start: tuple[int, int], last: DataError | None = None) -> Self:
        """Make a piece without a record; with what is wrong, if something is."""
        return cls(start, [], np.empty(0, np.int64), last=last)

    @property
    def count(self) -> int:
        """The number of records and failures."""
        return len(self.records) + (self.last is not None)

    def place(self, index: int) -> tuple[int, int]:
        """Return offset and number of the record at an index, or of what follows the last."""
        # Behind a failure at the end the place is that of the failure.
        at = min(index, len(self.records))
        return (int(self.ends[at - 1]) if at else self.start[0]), self.start[1] + at


class RecordStream(abc.ABC):
    """The records of one file, from front to back."""

    @abc.abstractmethod
    def read(self) -> Piece:
        """Read the next records, as many as are at hand; raise StopIteration at the end and behind a `last` one."""

    @abc.abstractmethod
    def skip(self, count: int) -> int:
        """Pass over records without making them; give how many, one for a failure that ends the file included."""

    @property
    @abc.abstractmethod
    def has_ended(self) -> bool:
        """Whether nothing more can be read: the file is at its end, or what follows is lost."""

    @property
    @abc.abstractmethod
    def place(self) -> tuple[int, int]:
        """Offset and number of the next record that is neither read nor skipped."""

    @abc.abstractmethod
    def seek(self, offset: int, record: int) -> None:
        """Go to a position; called on a stream that was not read."""

    @abc.abstractmethod
    def close(self) -> None:
        """Close the file below."""


class WindowStream(RecordStream):
    """Reads records out of a window on a file's content.

    Args:
        stream: The content, uncompressed.
    """

    def __init__(self, stream: ByteStream) -> None:
        self._stream = stream
        self._window = b""
        self._position = 0
        self._base = 0
        self._record = 0
        self._has_ended = False

    @property
    def has_ended(self) -> bool:
        """Whether the end was seen."""
        return self._has_ended

    @property
    def place(self) -> tuple[int, int]:
        """Behind what was read or skipped."""
        return self._base + self._position, self._record

    def seek(self, offset: int, record: int) -> None:
        """Pass over the bytes before.

        Raises:
            DataLossError: The file ends before.
        """
        missing = offset - self._base
        # Compressed content is read up to there; a plain file just moves.
        # Forwards only: a stream is sought once, before it is read.
        passed = self._stream.skip(missing)
        self._base += passed
        self._record = record
        if passed < missing:
            self._has_ended = True
            if self._stream.damage is not None:
                raise self._damage_error()
            raise self._error(
                f"The file has become shorter than the saved position: {self._base} bytes",
                record,
                offset,
                "Start anew, or put back the file that the position was saved with.",
            )

    def close(self) -> None:
        self._has_ended = True
        self._window, self._position, self._base = b"", 0, self._base + self._position
        self._stream.close()

    def _slide(self, count: int) -> bool:
        """Move the window to the position and read up to `count` bytes on; return False at the end of the content."""
        # What is not used up yet begins the next window.
        tail = self._window[self._position :]
        self._base += self._position
        self._position = 0
        self._window = self._stream.more(tail, count)
        # No more bytes came: the content has ended, or is damaged.
        return len(self._window) > len(tail)

    def _error(self, what: str, record: int, offset: int, hint: str) -> DataLossError:
        name = self._stream.name
        return DataLossError(
            f"{what}. Received: filename={shown(name)}, record={record}, offset={offset}. {hint}",
            filename=name,
            record=record,
            offset=offset,
        )

    def _damage_error(self) -> DataLossError:
        """Return the error for content that can't be read on; only where the stream says why."""
        what = f"The file can't be read on: {self._stream.damage}"
        offset = self._base + self._position
        if self._stream.is_unreadable:
            hint = "See whether its disk or its store answers."
        else:
            hint = "Make the file again." if offset else self._hint_at_start()
        return self._error(what, self._record, offset, hint)

    def _hint_at_start(self) -> str:
        """Return what to do about content that is damaged from its first byte on."""
        return "Make the file again, or see compression_type."


class RecordFormat(abc.ABC):
    """How the records of a kind of file are read.

    Attributes:
        label: The kind of Dataset.
        compression: As the content of a file is compressed: "", "GZIP" or "ZLIB".
        lead_bytes: How many bytes of a record stand before its content.
    """

    label: str
    compression: str
    lead_bytes: ClassVar[int] = 0

    @abc.abstractmethod
    def open(self, name: str) -> RecordStream:
        """Open the records of a file."""

    @abc.abstractmethod
    def describe(self) -> str:
        """Describe what fixes the meaning of a record's number."""
