"""`CsvDataset` and `decode_csv`: the arguments of TensorFlow for parsing CSV (data layer)."""

import csv
import dataclasses
import io
import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from stratax.base.shown import shown
from stratax.data.dataset import Dataset
from stratax.data.elements import as_array
from stratax.data.plan import as_count
from stratax.data.readers._arguments import as_buffer_size, names_node
from stratax.data.readers.csv._format import CsvField, CsvFormat
from stratax.data.readers.csv._records import CSV_PIECE, CsvRecords
from stratax.data.records import MAX_LINE_BYTES
from stratax.data.vectorise import gives_tensors
from stratax.errors import BadArgumentError, BadTypeError, DataError
from stratax.io import as_compression

_DTYPES = tuple(np.dtype(name) for name in ("int32", "int64", "float32", "float64", "O"))


class CsvDataset(Dataset):
    r"""The records of CSV files, as `tf.data.experimental.CsvDataset`.

    An element is a tuple with a scalar for each column that is read: a number, or `bytes`. Records may extend over
    several lines where a line end stands in quotes. Values are converted a block of records at a time; the saved place
    of an iterator is a byte offset, so going back to it takes no reading from the beginning (of an uncompressed file).

    Differences from TensorFlow: a quote inside of a field that does not stand in quotes is taken as it is.

    Args:
        filenames: A name, a sequence of names, or a Dataset of names; anything that fsspec opens.
        record_defaults: For each column that is read a dtype (the value is required), or a default value, whose dtype
            is the column's: int32, int64, float32, float64 or string. An empty array counts as its dtype.
        compression_type: "", "GZIP" or "ZLIB".
        buffer_size: How many bytes are read at a time.
        header: Whether each file begins with a record that is passed over.
        field_delim: One character between two fields.
        use_quote_delim: Whether double quotes around a field are taken off.
        na_value: A text that stands for a missing value, as an empty field does.
        select_cols: The columns that are read, in increasing order; all if None.
        exclude_cols: Columns that are not read, instead of `select_cols`.
        max_record_bytes: How long a record may be, 64 MiB if nothing else is asked for. A longer one is an error; where
            it has no end of a line, the rest of its file is passed over.

    Raises:
        BadArgumentError: Arguments contradict each other.
        BadTypeError: A default is of another type.
        DataLossError: While iterating: a record does not fit. The next reading goes on behind it.

    Example:
        >>> import pathlib, tempfile
        >>> from stratax.data import CsvDataset
        >>> file = pathlib.Path(tempfile.mkdtemp()) / "points.csv"
        >>> _ = file.write_text('1.5,a\n,"b, c"\n')
        >>> list(CsvDataset(str(file), [0.0, "string of any kind"]).as_numpy_iterator())
        [(np.float32(1.5), b'a'), (np.float32(0.0), b'b, c')]
    """

    def __init__(
        self,
        filenames: object,
        record_defaults: Sequence[Any],
        compression_type: str | None = None,
        buffer_size: int | None = None,
        header: bool = False,
        field_delim: str = ",",
        use_quote_delim: bool = True,
        na_value: str = "",
        select_cols: Sequence[int] | None = None,
        exclude_cols: Sequence[int] | None = None,
        *,
        max_record_bytes: int = MAX_LINE_BYTES,
    ) -> None:
        layout = make_layout(
            record_defaults,
            header=header,
            field_delim=field_delim,
            use_quote_delim=use_quote_delim,
            na_value=na_value,
            select_cols=select_cols,
            exclude_cols=exclude_cols,
        )
        layout = dataclasses.replace(
            layout, max_record_bytes=as_count("max_record_bytes", max_record_bytes, 1)
        )
        piece = as_buffer_size(buffer_size, CSV_PIECE)
        compression = as_compression(compression_type)
        super().__init__(CsvRecords(names_node(filenames), layout, compression, piece))


@gives_tensors
def decode_csv(
    records: object,
    record_defaults: Sequence[Any],
    field_delim: str = ",",
    use_quote_delim: bool = True,
    na_value: str = "",
    select_cols: Sequence[int] | None = None,
    name: str | None = None,
) -> list[Any]:
    """Return the columns of CSV records that are strings, as `tf.io.decode_csv`; for a `map` over lines of text.

    Args:
        records: One record (`bytes` or `str`), or an array of records.
        record_defaults: As for :class:`CsvDataset`.
        field_delim: One character between two fields.
        use_quote_delim: Whether double quotes around a field are taken off.
        na_value: A text that stands for a missing value, as an empty field does.
        select_cols: The columns that are read; all if None.
        name: Ignored.

    Returns:
        For each column that is read an array of the shape of `records` (a scalar for one record).

    Raises:
        DataError: A record does not fit.

    Example:
        >>> from stratax.data import decode_csv
        >>> number, text = decode_csv(b"3,x", [0, ""])
        >>> int(number), bytes(text)
        (3, b'x')
    """
    layout = make_layout(
        record_defaults,
        header=False,
        field_delim=field_delim,
        use_quote_delim=use_quote_delim,
        na_value=na_value,
        select_cols=select_cols,
        exclude_cols=None,
    )
    texts = np.asarray(records, dtype=object)
    lines = [text if isinstance(text, bytes) else str(text).encode() for text in texts.reshape(-1)]
    if not lines:
        return [np.empty(texts.shape, field.dtype) for field in layout.fields]
    columns = layout.split(lines)
    if columns is None:
        columns = layout.convert([_parse_one(layout, line, i) for i, line in enumerate(lines)])
    return [column.reshape(texts.shape)[()] for column in columns]


def _parse_one(layout: CsvFormat, raw: bytes, number: int) -> list[str]:
    record = [""]
    try:
        # Latin-1 maps each byte to one character and back, whatever the text's encoding is.
        found = list(layout.parser(io.StringIO(raw.decode("latin-1"), newline="\n"))) or [[]]
        record = found[0] or record
        problem = (
            layout.explain(record) if len(found) == 1 else "Expected one record. Received: several lines"
        )
    except csv.Error as e:
        problem = f"Expected quotes in pairs. Received: {e}"
    if problem:
        raise DataError(
            f"A CSV record does not fit. {problem}, in record {number}={shown(raw)}. Mend it, or change "
            "record_defaults."
        )
    return record


def make_layout(
    record_defaults: Sequence[Any],
    field_delim: str,
    na_value: str,
    select_cols: Sequence[int] | None,
    exclude_cols: Sequence[int] | None,
    *,
    header: bool,
    use_quote_delim: bool,
) -> CsvFormat:
    """Check the arguments that say how records stand in a file."""
    indices, num_columns = _columns(len(record_defaults), select_cols, exclude_cols)
    fields = tuple(_field(index, default) for index, default in zip(indices, record_defaults, strict=True))
    check_delimiter(field_delim)
    return CsvFormat(
        fields=fields,
        num_columns=num_columns,
        delimiter=field_delim,
        use_quotes=bool(use_quote_delim),
        na_value=_text(na_value),
        has_header=bool(header),
    )


def check_delimiter(field_delim: Any) -> None:
    """Raise unless fields can be divided by it.

    Raises:
        BadArgumentError: It is something else than one ASCII character, a quote or a line end.
    """
    is_one = isinstance(field_delim, str) and len(field_delim.encode()) == 1
    # One byte in UTF-8: the parser sees bytes.
    if not is_one or field_delim in '\r\n"':
        raise BadArgumentError(
            "field_delim is one ASCII character, neither a quote nor a line end. "
            f"Received: field_delim={shown(field_delim)}. Pass one such as ','."
        )


def _text(value: str | bytes) -> str:
    return (value.encode() if isinstance(value, str) else value).decode("latin-1")


def _columns(
    count: int, select_cols: Sequence[int] | None, exclude_cols: Sequence[int] | None
) -> tuple[list[int], int | None]:
    """Return the places of `count` columns, and how many there are in all where that is known."""
    if select_cols is not None and exclude_cols is not None:
        raise BadArgumentError(
            "Either select_cols or exclude_cols can be given. "
            f"Received: select_cols={shown(select_cols)}, exclude_cols={shown(exclude_cols)}. Leave one out."
        )
    if not count:
        raise BadArgumentError(
            "record_defaults needs an entry for each column that is read. Received: record_defaults=[]. "
            "Pass a dtype or a default value for each."
        )
    if exclude_cols is not None:
        excluded = set(_increasing("exclude_cols", exclude_cols))
        # With excluded columns the records' full number of columns is known.
        total = count + len(excluded)
        if excluded and max(excluded) >= total:
            raise BadArgumentError(
                f"exclude_cols names a column that is not there. Expected: numbers below {total}, as there are {count} "
                f"record_defaults. Received: exclude_cols={shown(exclude_cols)}."
            )
        return [i for i in range(total) if i not in excluded][:count], total
    if select_cols is None:
        # All columns are read, so a record must have exactly so many.
        return list(range(count)), count
    selected = _increasing("select_cols", select_cols)
    if len(selected) != count:
        raise BadArgumentError(
            f"record_defaults needs one entry for each of select_cols. Received: {count} record_defaults and "
            f"select_cols={shown(select_cols)}."
        )
    return selected, None


def _increasing(name: str, columns: Sequence[int]) -> list[int]:
    numbers = [as_count(name, column, 0) for column in columns]
    if any(b <= a for a, b in itertools.pairwise(numbers)):
        raise BadArgumentError(
            f"The columns of {name} have to increase. Received: {name}={shown(columns)}. Sort them, each once."
        )
    return numbers


def _field(index: int, default: object) -> CsvField:
    dtype = _find_dtype(default)
    if dtype is None:
        value = as_array(default)
        dtype = np.dtype(object) if isinstance(value, bytes) else value.dtype
        default = value if isinstance(value, bytes) else _single(index, np.asarray(value))
    else:
        # A type without a value: the column is required.
        default = None
    if dtype not in _DTYPES:
        raise BadTypeError(
            "A column of a CSV file is int32, int64, float32, float64 or string. "
            f"Received: record_defaults[{index}] of dtype={dtype}."
        )
    return CsvField(index=index, dtype=dtype, default=default)


def _find_dtype(default: object) -> np.dtype | None:
    """Return the dtype that an entry of record_defaults stands for; None if it is a value."""
    if hasattr(default, "as_numpy_dtype"):
        return np.dtype(default.as_numpy_dtype)
    if isinstance(default, np.dtype):
        return default
    if isinstance(default, type):
        return np.dtype(object if issubclass(default, str | bytes) else default)
    return None


def _single(index: int, value: np.ndarray) -> Any:
    if value.size > 1 or value.ndim > 1:
        raise BadArgumentError(
            "A default of a CSV column is one value. "
            f"Received: record_defaults[{index}] of shape={value.shape}. Pass a scalar."
        )
    if not value.size:
        return None
    return value.reshape(-1)[0]
