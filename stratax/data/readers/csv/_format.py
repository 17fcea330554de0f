"""How records stand in a CSV file, and the conversion of their columns (data layer)."""

import csv
import dataclasses
import math
import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from stratax.base.shown import shown
from stratax.data.elements import TensorSpec, as_objects
from stratax.data.records import MAX_LINE_BYTES

Record = list[str]

# What Python takes as part of a number and C, and so TensorFlow, does not: underscores, and spaces beyond ASCII's.
_NO_NUMBER = re.compile(r"[_\x1c-\x1f\x80-\xff]")
# What C takes and Python's float does not.
_HEXADECIMAL = re.compile(r"\s*[+-]?0x.*", re.IGNORECASE)
# What makes more of a line than fields between delimiters.
_NOT_PLAIN = (b'"', b"\r", b"\n")
_NAN = re.compile(r"\s*[+-]?nan\([a-z0-9]*\)\s*", re.IGNORECASE)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class CsvField:
    """One column that is read.

    Attributes:
        index: Its place in a record, from 0.
        dtype: int32, int64, float32, float64, or object for byte strings.
        default: What takes the place of an empty field; None if every record has to have a value.
    """

    index: int
    dtype: np.dtype
    default: Any

    @property
    def spec(self) -> TensorSpec:
        """Describe an element: a scalar."""
        return TensorSpec((), self.dtype)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class CsvFormat:
    """How records stand in a file.

    Bytes are read as Latin-1 text, which loses none of them, and become bytes again: so any encoding passes in which
    the delimiter, quotes and line ends are the bytes of ASCII.

    Attributes:
        fields: The columns that are read, in the order of the element's components.
        num_columns: How many columns every record has; None if only those that are read matter.
        delimiter: Between two fields.
        use_quotes: Whether fields may stand in double quotes.
        na_value: What stands for a missing value, beside nothing.
        has_header: Whether the first record of a file is passed over.
        max_record_bytes: How long a record may be.
    """

    fields: tuple[CsvField, ...]
    num_columns: int | None
    delimiter: str = ","
    use_quotes: bool = True
    na_value: str = ""
    has_header: bool = False
    max_record_bytes: int = MAX_LINE_BYTES

    def parser(self, lines: Iterator[str]) -> Iterator[Record]:
        """Return the records of some lines; take no line before it is needed."""
        # The module's limit on a field holds for the whole process, so it is only ever raised.
        if csv.field_size_limit() < self.max_record_bytes:
            csv.field_size_limit(self.max_record_bytes)
        if self.use_quotes:
            return csv.reader(lines, delimiter=self.delimiter, strict=True)
        return csv.reader(lines, delimiter=self.delimiter, quoting=csv.QUOTE_NONE, strict=True)

    def convert(self, records: Sequence[Record]) -> list[np.ndarray]:
        """Return the columns of some records, [count] each.

        Raises:
            ValueError: One of them does not fit; :meth:`explain` says what is wrong with it.
        """
        counts = set(map(len, records))
        if self.num_columns is None:
            if min(counts) <= max(field.index for field in self.fields):
                raise ValueError(self._too_few(min(counts)))
        elif counts != {self.num_columns}:
            raise ValueError(self._wrong_count(counts))
        # Without a fixed number, records may have more columns than are read.
        columns = list(zip(*records, strict=False))
        return [self._column(field, columns[field.index]) for field in self.fields]

    def split(self, lines: Sequence[bytes]) -> list[np.ndarray] | None:
        """Return the columns of lines in which nothing is quoted, [count] each; None if one of them is not so plain.

        It takes a fifth of the time that parsing and converting take, which tell what is wrong with a line.
        """
        whole = b"".join(lines)
        if any(sign in whole for sign in _NOT_PLAIN) or max(map(len, lines)) > self.max_record_bytes:
            return None
        delimiter = self.delimiter.encode("latin-1")
        records = [line.split(delimiter) for line in lines]
        if set(map(len, records)) != {self.num_columns or len(records[0])}:
            return None
        columns = list(zip(*records, strict=True))
        try:
            return [self._raw_column(field, columns[field.index], delimiter) for field in self.fields]
        except (ValueError, OverflowError, IndexError):
            return None

    def _raw_column(self, field: CsvField, texts: Sequence[bytes], delimiter: bytes) -> np.ndarray:
        if field.dtype.kind == "O" and {b"", self.na_value.encode("latin-1")}.isdisjoint(texts):
            return as_objects(texts)
        # Joined, as a call for each text takes longer.
        return self._column(field, delimiter.join(texts).decode("latin-1").split(self.delimiter))

    def _too_few(self, count: int) -> str:
        needed = max(field.index for field in self.fields) + 1
        return f"Expected at least {needed} columns. Received: {count} columns"

    def _wrong_count(self, counts: set[int]) -> str:
        wrong = next(count for count in counts if count != self.num_columns)
        found = "more" if self.num_columns is not None and wrong > self.num_columns else wrong
        return f"Expect {self.num_columns} fields but have {found} in record. Received: {wrong} columns"

    def _column(self, field: CsvField, texts: Sequence[str]) -> np.ndarray:
        missing = {"", self.na_value}
        # The common case needs neither a mask nor a second array.
        if missing.isdisjoint(texts):
            return _convert(texts, field.dtype)
        if field.default is None:
            raise ValueError("A value is required and missing")
        column = np.full(len(texts), field.default, field.dtype)
        is_there = np.array([text not in missing for text in texts])
        # Missing texts must not be converted: an empty text is no number.
        column[is_there] = _convert([text for text in texts if text not in missing], field.dtype)
        return column

    def explain(self, record: Record) -> str:
        """Return what is wrong with a record that :meth:`convert` refuses."""
        try:
            self.convert([record])
        except (ValueError, OverflowError) as error:
            for field in self.fields:
                problem = self._problem(field, record)
                if problem:
                    return problem
            return f"{error}: record={shown([_encode(text) for text in record])}"
        return ""

    def _problem(self, field: CsvField, record: Record) -> str:
        if field.index >= len(record) or (self.num_columns is not None and len(record) != self.num_columns):
            return ""
        try:
            self._column(field, record[field.index : field.index + 1])
        except (ValueError, OverflowError):
            required = ", with a value in every record, as it has no default" if field.default is None else ""
            return (
                f"Expected: column {field.index} of dtype={_dtype_name(field.dtype)}{required}. "
                f"Received: column {field.index} with value={shown(_encode(record[field.index]))}"
            )
        return ""


def _convert(texts: Sequence[str], dtype: np.dtype) -> np.ndarray:
    if dtype.kind == "O":
        return as_objects(list(map(_encode, texts)))
    # One search over all texts: a search for each would cost more than the conversion.
    if _NO_NUMBER.search("".join(texts)):
        raise ValueError("It is no number")
    if dtype.kind == "i":
        return np.array(list(map(int, texts)), dtype)
    try:
        values = list(map(float, texts))
    except ValueError:
        # Only where Python's own conversion failed: the rare forms cost a search each.
        values = list(map(_as_float, texts))
    with np.errstate(over="ignore"):  # What is too large for float32 is infinite.
        return np.array(values, dtype)


def _as_float(text: str) -> float:
    """Return a number as C's `strtod` reads it, too."""
    if _NAN.fullmatch(text):
        return math.nan
    if not _HEXADECIMAL.fullmatch(text):
        return float(text)
    try:
        return float.fromhex(text)
    except OverflowError:
        return -math.inf if "-" in text.partition("0")[0] else math.inf


def _encode(text: str) -> bytes:
    return text.encode("latin-1")


def _dtype_name(dtype: np.dtype) -> str:
    return "string" if dtype.kind == "O" else dtype.name
