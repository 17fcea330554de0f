"""CSV files as a source: records read by Python's csv module, with exact places (data layer)."""

import csv
import dataclasses
import io
import itertools
from collections.abc import Iterator
from typing import Any

from stratax.base.shown import cut, shown
from stratax.data.elements import UNKNOWN_CARDINALITY, Block, Columns
from stratax.data.plan import Node, OwningCursor, PlanRun
from stratax.data.position import State
from stratax.data.readers.csv._format import CsvFormat, Record
from stratax.data.sources import CurrentFile, NamedFiles
from stratax.errors import DataError, DataLossError
from stratax.io import guess_compression, open_bytes

# How many bytes are read at a time where nothing else is asked for.
CSV_PIECE = 1 << 18

_READ_AHEAD = 256
_MOST_RECORDS = 1 << 14


@dataclasses.dataclass(slots=True)
class _Place:
    """The beginning of a record in a file: byte offset, number of the record, number of the line (all from 0)."""

    offset: int = 0
    record: int = 0
    line: int = 0


class _FileRecords:
    """The records of one file from a place on."""

    def __init__(self, name: str, layout: CsvFormat, compression: str, piece: int, place: _Place) -> None:
        self._name = name
        self._layout = layout
        self._piece = piece
        self._stream = open_bytes(name, compression)
        self._stream.skip(place.offset)
        self.place = place
        self._record_start = place.offset
        self._line_source = self._lines()
        self._parser = self._layout.parser(self._line_source)
        if self._layout.has_header and place.offset == 0:
            self._skip_header()

    def _skip_header(self) -> None:
        try:
            header = next(self._parser, None)
        except csv.Error as e:
            self.close()
            raise self._make_damage_error(str(e)) from e
        if header is None:
            self.close()
            raise self._make_damage_error("the file is empty and has no header")
        self._record_start = self.place.offset

    def _lines(self) -> Iterator[str]:
        """Return lines with their ends; the place is behind the line that was taken last."""
        place, rest = self.place, b""
        # A long line is read in ever larger pieces, so that it is not copied too often.
        while len(content := self._stream.more(rest, max(self._piece, len(rest)))) > len(rest):
            if place.offset == 0 and guess_compression(content) == "GZIP":
                raise csv.Error("the content is compressed. Pass compression_type='GZIP'")
            # As in TensorFlow a line ends with \n, \r\n or \r; behind a \r at the very end an \n may follow.
            whole = max(content.rfind(b"\n"), content.rfind(b"\r", 0, len(content) - 1)) + 1
            rest = content[whole:]
            # Latin-1 has one character for each byte, so the length of a line is its length in the file.
            for line in io.StringIO(content[:whole].decode("latin-1"), newline=""):
                place.offset += len(line)
                place.line += 1
                self._check_length(place.offset)
                yield line
            self._check_length(place.offset + len(rest))
        if self._stream.damage is not None:
            raise csv.Error(f"{self._stream.damage}, behind byte {place.offset}")
        if rest:
            place.offset += len(rest)
            place.line += 1
            yield rest.decode("latin-1")

    def _check_length(self, stop: int) -> None:
        """Raise where the record that is read is longer than the limit: quotes may never be closed."""
        limit = self._layout.max_record_bytes
        if stop - self._record_start > limit:
            raise csv.Error(
                f"it has more than max_record_bytes={limit} bytes; the rest of the file is passed over"
            )

    def read(self, count: int) -> tuple[list[Record], DataLossError | None]:
        """Return up to `count` records, and the failure of the one behind them; neither at the end of the file."""
        records: list[Record] = []
        try:
            for record in itertools.islice(self._parser, count):
                # The csv module gives an empty list for an empty line; here it is a record with one empty
                # field.
                records.append(record or [""])
                # Also for a failed record: the next one begins behind what was taken of it.
                self._record_start = self.place.offset
        except (csv.Error, MemoryError) as e:
            self.place.record += len(records)
            failure = self._make_damage_error(str(e) or "it does not fit into memory")
            self._record_start = self.place.offset
            failure.__cause__ = e
            self.place.record += 1
            # A parser is of no use after an error; the new one goes on behind the last line that was taken.
            self._parser = self._layout.parser(self._line_source)
            return records, failure
        self.place.record += len(records)
        return records, None

    def _make_damage_error(self, what: str) -> DataLossError:
        hint = ""
        if "field limit" in what or "max_record_bytes" in what:
            hint = " Pass a larger max_record_bytes if such records are meant."
        return DataLossError(
            f"A record of a CSV file can't be read: {what}. Expected: fields divided by the delimiter, quotes in "
            f"pairs. Received: file={shown(self._name)}, record {self.place.record}, which ends in line "
            f"{self.place.line}."
            f"{hint}",
            filename=self._name,
            record=self.place.record,
        )

    def close(self) -> None:
        self._stream.close()


def read_records(name: str, compression: str, layout: CsvFormat) -> Iterator[Record]:
    """Return the records of one file as text, for finding out what its columns are."""
    file = _FileRecords(name, layout, compression, CSV_PIECE, _Place())
    try:
        while True:
            records, failure = file.read(_READ_AHEAD)
            yield from records
            if failure is not None:
                raise failure
            if not records:
                return
    finally:
        file.close()


class CsvRecords(NamedFiles):
    """The records of CSV files, one file after another; an element is a tuple with a scalar for each column.

    Args:
        names: A node that gives the files' names, in order.
        layout: How records stand in them.
        compression: As `as_compression` gives it.
        buffer_size: How many bytes are read at a time.
    """

    label = "Csv"
    is_indexable = False
    is_uniform = True
    batch_size = None

    def __init__(
        self, names: Node, layout: CsvFormat, compression: str = "", buffer_size: int = CSV_PIECE
    ) -> None:
        self.children = (names,)
        self.layout = layout
        self.compression = compression
        self.buffer_size = buffer_size

    def with_names(self, names: Node) -> "CsvRecords":
        """Return the same with other files."""
        return CsvRecords(names, self.layout, self.compression, self.buffer_size)

    @property
    def spec(self) -> Any:
        """A tuple with a scalar for each column."""
        return tuple(field.spec for field in self.layout.fields)

    @property
    def length(self) -> int:
        """Unknown until all files were read."""
        return 0 if self.names.length == 0 else UNKNOWN_CARDINALITY

    def describe(self) -> str:
        """Return the label with the numbers of the columns."""
        return "Csv(" + ",".join(str(field.index) for field in self.layout.fields) + ")"

    def stream(self, run: PlanRun, passes: int) -> "CsvCursor":
        """Open a pass at the first record of the first file."""
        return CsvCursor(self, run, passes)


class CsvCursor(OwningCursor):
    """Reads CSV files record by record.

    Its place is that of a block's first record (file, byte offset, record, line), with how many of the block have
    been read since.

    Args:
        node: The source.
        run: What the iterator shares.
        passes: The pass.
    """

    def __init__(self, node: CsvRecords, run: PlanRun, passes: int) -> None:
        self._node = node
        self._names = CurrentFile(node, run, passes)
        self._name = ""
        self._file: _FileRecords | None = None
        self._begin = _Place()
        self._taken = 0
        self._pending: list[Record] = []
        self._failure: DataLossError | None = None
        super().__init__(run)

    def read(self, limit: int) -> Block:
        """Return the next 1 to `limit` records."""
        self._fill(limit)
        records = self._pending[:limit] if limit < len(self._pending) else self._pending
        try:
            leaves = self._node.layout.convert(records)
        except (ValueError, OverflowError) as error:
            return self._before_the_bad_one(records, error)
        self._drop(len(records))
        return Columns(leaves, len(records))

    def _fill(self, limit: int) -> None:
        """Read on until there is a record, or raises what is wrong with the next."""
        while not self._pending:
            if self._failure is not None:
                failure, self._failure = self._failure, None
                self._taken += 1
                raise failure
            if self._file is None:
                self._open()
            self._advance(min(max(limit, _READ_AHEAD), _MOST_RECORDS))

    def _open(self) -> None:
        self._name = self._names.take()
        try:
            self._file = self._records_from_begin()
        except Exception:
            # The next reading goes on with the next file.
            self._next_file()
            raise

    def _records_from_begin(self) -> _FileRecords:
        node, place = self._node, dataclasses.replace(self._begin)
        # `place` is a copy: the reader moves its own.
        return _FileRecords(self._name, node.layout, node.compression, node.buffer_size, place)

    def _advance(self, count: int) -> None:
        if self._file is None:
            return
        self._begin, self._taken = dataclasses.replace(self._file.place), 0
        self._pending, self._failure = self._file.read(count)
        if not self._pending and self._failure is None:
            self._next_file()

    def _next_file(self) -> None:
        self._leave()
        self._names.leave()
        self._begin, self._taken = _Place(), 0

    def _before_the_bad_one(self, records: list[Record], error: Exception) -> Block:
        """Return the records before the first that can't be converted; if there are none, raise its error."""
        layout = self._node.layout
        # The conversion is by column and does not say which record failed; each is converted by itself to
        # find out.
        bad = next((i for i, record in enumerate(records) if layout.explain(record)), None)
        if bad is None:
            raise DataError(
                f"Records of a CSV file can't be converted together. Received: {cut(str(error))}."
            ) from error
        if bad:
            self._drop(bad)
            return Columns(layout.convert(records[:bad]), bad)
        self._drop(1)
        number = self._begin.record + self._taken - 1
        raise DataLossError(
            f"A record of a CSV file has a value that does not fit. {layout.explain(records[0])}, "
            f"in file={shown(self._name)}, record {number}, line {self._line_of(number) + 1}. Mend the file, or change "
            "record_defaults.",
            filename=self._name,
            record=number,
        ) from error

    def _line_of(self, number: int) -> int:
        """Return the line of a record of this block, read again up to there: records may have several lines."""
        file = self._records_from_begin()
        try:
            file.read(number - self._begin.record)
            return file.place.line
        finally:
            file.close()

    def _drop(self, count: int) -> None:
        self._taken += count
        self._pending = self._pending[count:]

    def skip(self, count: int) -> int:
        """Parse records without converting them."""
        passed = 0
        while passed < count:
            try:
                self._fill(_READ_AHEAD)
            except StopIteration:
                break
            except DataLossError:
                passed += 1
                continue
            step = min(len(self._pending), count - passed)
            self._drop(step)
            passed += step
        return passed

    def get_state(self) -> State:
        """Return the file, the position of the block in it, and the number of records read since."""
        return {"names": self._names.get_state(), **dataclasses.asdict(self._begin), "taken": self._taken}

    def set_state(self, state: State) -> None:
        """Open that file at that place."""
        self._leave()
        self._names.set_state(state["names"])
        self._begin = _Place(state["offset"], state["record"], state["line"])
        # Set again by `_skip_in_file`, which reads up to the record.
        self._taken = 0
        if state["taken"]:
            self._skip_in_file(state["taken"])

    def _skip_in_file(self, count: int) -> None:
        self._open()
        self._advance(max(count, _READ_AHEAD))
        passed = min(count, len(self._pending))
        self._drop(passed)
        if passed < count and self._failure is not None:
            self._failure = None
            self._taken += 1

    def let_go(self, wait: bool = True) -> None:
        self._leave()
        self._names.close()

    def _leave(self) -> None:
        file, self._file = self._file, None
        self._pending, self._failure = [], None
        if file is not None:
            file.close()
