"""The types of CSV columns, found from the first rows (data layer)."""

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from stratax.base.shown import shown
from stratax.data.readers.csv._format import CsvFormat
from stratax.data.readers.csv._records import read_records
from stratax.errors import DataError

_INTEGERS = (np.dtype(np.int32), np.dtype(np.int64))
_FLOATS = (np.dtype(np.float32), np.dtype(np.float64))
_TYPES = (*_INTEGERS, *_FLOATS, np.dtype(object))


def infer_defaults(
    files: Sequence[str],
    compression: str,
    style: CsvFormat,
    selected: Sequence[int],
    count: int,
    num_rows: int | None,
) -> list[Any]:
    """Return a default for each column, of the first type that fits the rows looked at: 0, or an empty string."""
    ranks: list[int | None] = [None] * len(selected)
    rows = itertools.chain.from_iterable(_rows_of(file, compression, style, count) for file in files)
    for row in itertools.islice(rows, num_rows):
        for column, place in enumerate(selected):
            ranks[column] = _widen(ranks[column], row[place], style.na_value)
    types = [_TYPES[-1 if rank is None else rank] for rank in ranks]
    return [b"" if dtype.kind == "O" else dtype.type(0) for dtype in types]


def _rows_of(file: str, compression: str, style: CsvFormat, count: int) -> Iterator[list[str]]:
    for number, row in enumerate(read_records(file, compression, style)):
        if len(row) != count:
            raise DataError(
                f"A CSV file has a row of another length, so the types of its columns can't be found. Expected: "
                f"{count} columns. Received: {len(row)} in row {number} of file={shown(file)}. Mend it, or pass "
                "column_defaults."
            )
        yield row


def _widen(rank: int | None, text: str, na_value: str) -> int | None:
    """Return the first type from `rank` on that fits `text`; a missing value says nothing."""
    if text in ("", na_value):
        return rank
    # From the type that fits the rows before: types only become wider.
    for candidate in range(rank or 0, len(_TYPES)):
        if _fits(text, _TYPES[candidate]):
            return candidate
    return len(_TYPES) - 1


def _fits(text: str, dtype: np.dtype) -> bool:
    if dtype.kind == "O":
        return True
    # Python takes `1_000` as a number, TensorFlow does not.
    if "_" in text:
        return False
    try:
        if dtype in _INTEGERS:
            limits = np.iinfo(dtype)
            return limits.min <= int(text) <= limits.max
        largest = float(np.finfo(dtype).max)
        # Infinity and NaN fit no float type here, as in TensorFlow, and become strings.
        return -largest < float(text) < largest
    except ValueError:
        return False
