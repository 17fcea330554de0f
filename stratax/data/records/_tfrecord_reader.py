"""Reads TFRecord files: length, its masked CRC-32C, data, its masked CRC-32C (data layer).

Large pieces of the file are read at once and the checksums of all records in one are compared together, because what
reading costs is mostly what Python does for each record.
"""

import contextlib
import dataclasses
import functools
import struct
from typing import ClassVar

import crc32c
import numpy as np

from stratax.data.records._stream import MAX_RECORD_BYTES, Piece, RecordFormat, WindowStream
from stratax.errors import DataLossError
from stratax.io import ByteStream, guess_compression, open_bytes

HEADER_BYTES = 12
FOOTER_BYTES = 4
DEFAULT_BUFFER = 1 << 20
HEADER = struct.Struct("<QI")
_LENGTH_BYTES = 8
# Part of the format: it keeps checksums of data that itself has checksums from being degenerate.
_MASK_DELTA = 0xA282EAD8
# Records of one kind have few lengths; more would only take memory.
_MAX_KNOWN_HEADERS = 1 << 14
# By how much the window grows at a time where no size of the file confirms a record's length.
_MAX_GROWTH = 1 << 24
LIMIT_HINT = "Pass a larger max_record_bytes if such records are meant; the rest of the file is passed over."


def compute_masked_crc(data: bytes | memoryview) -> int:
    """Return the CRC-32C of some bytes, rotated and shifted as the format wants it."""
    crc = crc32c.crc32c(data)
    return (((crc >> 15) | (crc << 17)) + _MASK_DELTA) & 0xFFFFFFFF


def compute_masked_crcs(records: list[bytes]) -> np.ndarray:
    """Compute :func:`compute_masked_crc` of each of some records, uint32 [n]."""
    # The checksums themselves are computed in C; masking all at once saves a Python step each.
    crcs = np.fromiter(map(crc32c.crc32c, records), np.uint32, len(records))
    return ((crcs >> 15) | (crcs << 17)) + np.uint32(_MASK_DELTA)


def length_of(header: bytes) -> int | None:
    """Return the length that a record's first 12 bytes tell, None if its checksum says that they are damaged."""
    length, crc = HEADER.unpack(header)
    return int(length) if compute_masked_crc(header[:_LENGTH_BYTES]) == crc else None


def too_large(length: int, limit: int) -> str:
    """Return what is wrong with a record whose length is beyond the limit."""
    return f"A record claims to have {length} bytes, more than max_record_bytes={limit}"


@functools.lru_cache(_MAX_KNOWN_HEADERS)
def header_of(length: int) -> bytes:
    """Return the 12 bytes that a record of some length begins with."""
    encoded = HEADER.pack(length, 0)[:_LENGTH_BYTES]
    return encoded + compute_masked_crc(encoded).to_bytes(FOOTER_BYTES, "little")


@dataclasses.dataclass(frozen=True, slots=True)
class TFRecordFormat(RecordFormat):
    """How TFRecord files are read.

    Attributes:
        compression: "", "GZIP" or "ZLIB".
        buffer_size: How many bytes to read at once.
        check_crc: Whether the checksums of the data are compared (those of the lengths always are).
        max_record_bytes: How long a record may be.
    """

    compression: str = ""
    buffer_size: int = DEFAULT_BUFFER
    check_crc: bool = True
    max_record_bytes: int = MAX_RECORD_BYTES
    label = "TFRecord"
    lead_bytes: ClassVar[int] = HEADER_BYTES

    def open(self, name: str) -> "TFRecordStream":
        return TFRecordStream(open_bytes(name, self.compression), self)

    def describe(self) -> str:
        """Return the kind of file; what else is set does not change the records."""
        return self.label


class TFRecordStream(WindowStream):
    """The records of one TFRecord file.

    Args:
        stream: The file's content, uncompressed.
        form: How to read it.
    """

    def __init__(self, stream: ByteStream, form: TFRecordFormat) -> None:
        super().__init__(stream)
        self._form = form
        self._known: dict[bytes, int] = {}

    def read(self) -> Piece:
        while not self._has_ended:
            start = self.place
            records, stops, failure = self._scan()
            if not records and failure is None:
                failure = self._load()
                if failure is None:
                    continue
            return self._piece(start, records, stops, failure)
        raise StopIteration

    def _scan(self) -> tuple[list[bytes], list[int], DataLossError | None]:
        """Scan the whole records in the window; stops at its end or before a damaged length."""
        # Locals: this loop runs once for each record.
        window, position, known = self._window, self._position, self._known
        end = len(window) - FOOTER_BYTES
        records: list[bytes] = []
        stops: list[int] = []
        failure = None
        while True:
            start = position + HEADER_BYTES
            header = window[position:start]
            # A header that was seen has been checked: its bytes decide the length.
            length = known.get(header)
            if length is None:
                if len(header) < HEADER_BYTES:
                    break
                length = self._learn(header)
                if length is None:
                    failure = self._bad_length(position, self._record + len(records))
                    break
            stop = start + length
            if stop > end:
                break
            records.append(window[start:stop])
            position = stop + FOOTER_BYTES
            stops.append(stop)
        self._position = position
        return records, stops, failure

    def _learn(self, header: bytes) -> int | None:
        """Return the length that a header gives, remembered as equal headers have equal lengths. None if unusable."""
        length = self._usable_length(header)
        if length is not None and len(self._known) < _MAX_KNOWN_HEADERS:
            self._known[header] = length
        return length

    def _usable_length(self, header: bytes) -> int | None:
        length = length_of(header)
        return None if length is None or length > self._form.max_record_bytes else length

    def _piece(
        self, start: tuple[int, int], records: list[bytes], stops: list[int], failure: DataLossError | None
    ) -> Piece:
        places = np.array(stops, np.int64)
        failures = self._find_damaged(records, places) if records and self._form.check_crc else {}
        self._record += len(records)
        if failure is not None:
            self._has_ended = True
        return Piece(start, records, places + (self._base + FOOTER_BYTES), failures, failure)

    def _find_damaged(self, records: list[bytes], stops: np.ndarray) -> dict[int, DataLossError]:
        """Return the errors of the records whose checksum differs, by index."""
        window = np.frombuffer(self._window, np.uint8)
        # All footers in one indexing operation.
        stored = window[stops[:, None] + np.arange(FOOTER_BYTES)].view("<u4")[:, 0]
        differ = np.flatnonzero(stored != compute_masked_crcs(records))
        return {int(i): self._bad_data(int(stops[i]) - len(records[i]), int(i)) for i in differ}

    def _load(self) -> DataLossError | None:
        """Read on until the next record is in memory as a whole; end the stream where there is none."""
        tail = self._window[self._position :]
        length = length_of(tail[:HEADER_BYTES]) if len(tail) >= HEADER_BYTES else None
        missing = (HEADER_BYTES if length is None else HEADER_BYTES + length + FOOTER_BYTES) - len(tail)
        left = self._stream.remaining
        if left is not None and length is not None and missing > left:
            return self._cut_off(tail, length, left)
        # A damaged length may tell anything, so memory grows with what was there so far.
        growth = missing if left is not None else min(missing, max(_MAX_GROWTH, len(tail)))
        if self._slide(max(self._form.buffer_size, growth)):
            return None
        if tail or self._stream.damage is not None:
            return self._cut_off(tail, length, 0)
        self._has_ended = True
        return None

    def skip(self, count: int) -> int:
        """Go from length to length; the data is not looked at."""
        passed = 0
        while passed < count and not self._has_ended:
            header = self._window[self._position : self._position + HEADER_BYTES]
            length = self._usable_length(header) if len(header) == HEADER_BYTES else None
            if length is None and len(header) == HEADER_BYTES:
                self._has_ended = True
                return passed + 1
            if length is None:
                passed += self._load_header()
            else:
                passed += self._skip_one(HEADER_BYTES + length + FOOTER_BYTES)
        return passed

    def _load_header(self) -> int:
        """Read on; 1 if that ends the stream with a failure."""
        return int(self._load() is not None)

    def _skip_one(self, size: int) -> int:
        stop = self._position + size
        beyond = stop - len(self._window)
        if beyond > 0:
            if self._stream.skip(beyond) < beyond:
                self._has_ended = True
                return 1
            self._base += stop
            self._window = b""
            stop = 0
        self._position = stop
        self._record += 1
        return 1

    # What is wrong

    def _bad_length(self, position: int, record: int) -> DataLossError:
        offset = self._base + position
        length = length_of(self._window[position : position + HEADER_BYTES])
        if length is not None:
            return self._error(too_large(length, self._form.max_record_bytes), record, offset, LIMIT_HINT)
        kind = guess_compression(self._window[position : position + 2]) if offset == 0 else ""
        if kind:
            hint = f"It looks like a {kind} file: pass compression_type={kind!r}."
        elif offset == 0:
            hint = "It may not be a TFRecord file, or be compressed: see compression_type."
        else:
            hint = "Where the next record begins is unknown, so the rest of the file is lost; make the file again."
        return self._error("The length of a record is damaged (its CRC-32C differs)", record, offset, hint)

    def _bad_data(self, position: int, index: int) -> DataLossError:
        offset = self._base + position - HEADER_BYTES
        hint = "Make the file again, or leave the record out with ignore_errors()."
        return self._error(
            "The data of a record is damaged (its CRC-32C differs)", self._record + index, offset, hint
        )

    def _cut_off(self, tail: bytes, length: int | None, left: int) -> DataLossError:
        self._has_ended = True
        offset = self._base + self._position
        if self._stream.damage is not None:
            return self._damage_error()
        there = len(tail) + left
        expected = "its length" if length is None else f"{HEADER_BYTES + length + FOOTER_BYTES} bytes"
        what = f"The file is cut off: a record of {expected} was expected and {there} bytes are left"
        return self._error(what, self._record, offset, "Make the file again, or copy it again as a whole.")

    def _hint_at_start(self) -> str:
        with contextlib.closing(open_bytes(self._stream.name)) as plain:
            start = plain.more(b"", HEADER_BYTES)
        if len(start) == HEADER_BYTES and length_of(start) is not None:
            return "It looks like a file that is not compressed: pass compression_type=None."
        kind = guess_compression(start)
        if kind and kind != self._form.compression:
            return f"It looks like a {kind} file: pass compression_type={kind!r}."
        return "Make the file again."
