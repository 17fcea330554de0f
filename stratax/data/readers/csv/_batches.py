"""`make_csv_dataset`: batches of named columns from CSV files, their names and types found out (data layer)."""

import codecs
import dataclasses
import os
from collections.abc import Sequence
from glob import has_magic
from typing import Any

import numpy as np

from stratax.base.shown import shown
from stratax.base.typing import StrPath
from stratax.data.dataset import Dataset
from stratax.data.elements import AUTOTUNE
from stratax.data.ops import NamedColumns
from stratax.data.plan import as_count
from stratax.data.readers.csv._dataset import CsvDataset, check_delimiter
from stratax.data.readers.csv._format import CsvFormat
from stratax.data.readers.csv._inference import infer_defaults
from stratax.data.readers.csv._records import read_records
from stratax.data.records import MAX_LINE_BYTES
from stratax.errors import BadArgumentError, DataError, FileMissingError
from stratax.io import as_compression, as_file_name, glob


def make_csv_dataset(
    file_pattern: StrPath,
    batch_size: int,
    column_names: Sequence[str] | None = None,
    column_defaults: Sequence[Any] | None = None,
    label_name: str | None = None,
    select_columns: Sequence[int | str] | None = None,
    field_delim: str = ",",
    use_quote_delim: bool = True,
    na_value: str = "",
    header: bool = True,
    num_epochs: int | None = None,
    shuffle: bool = True,
    shuffle_buffer_size: int = 10000,
    shuffle_seed: int | None = None,
    prefetch_buffer_size: int | None = None,
    num_parallel_reads: int | None = None,
    sloppy: bool = False,
    num_rows_for_inference: int | None = 100,
    compression_type: str | None = None,
    ignore_errors: bool = False,
    encoding: str = "utf-8",
    *,
    max_record_bytes: int = MAX_LINE_BYTES,
) -> Dataset:
    r"""Return batches of named columns from CSV files, as `tf.data.experimental.make_csv_dataset`.

    Types that are not given are found from the first rows, each the first of int32, int64, float32, float64 and
    string that fits all of its values; a missing value is then 0 or an empty string.

    Args:
        file_pattern: Names of files or patterns of names (`*`, `?`, `[...]`): one or a sequence.
        batch_size: Rows of a batch.
        column_names: The columns' names; the first file's header if None.
        column_defaults: For each column that is read a dtype or a default, as for :class:`CsvDataset`.
        label_name: A column that is given beside the others: elements are then `(features, label)`.
        select_columns: Names or numbers of the columns that are read; all if None.
        field_delim: One character between two fields.
        use_quote_delim: Whether double quotes around a field are taken off.
        na_value: A text that stands for a missing value, as an empty field does.
        header: Whether each file begins with a header, which has to be the same in all of them.
        num_epochs: How often the rows are repeated; without an end if None, and then all batches are full.
        shuffle: Whether files and rows are shuffled.
        shuffle_buffer_size: From how many rows the next one is drawn.
        shuffle_seed: Fixes the order.
        prefetch_buffer_size: How many batches are made ahead; AUTOTUNE if None.
        num_parallel_reads: From how many files rows are taken in turn; 1 if None.
        sloppy: Accepted; the order is always deterministic.
        num_rows_for_inference: How many rows are looked at for the types; all if None.
        compression_type: "", "GZIP" or "ZLIB".
        ignore_errors: Whether rows that can't be read are passed over.
        encoding: Of the header. Values are `bytes`, as they stand in the file.
        max_record_bytes: As for :class:`CsvDataset`.

    Returns:
        A Dataset of dicts from names to arrays [batch_size], or of pairs of a dict and the label's array.

    Raises:
        BadArgumentError: A name is not one of the columns, or arguments contradict each other.
        DataError: Headers differ.
        FileMissingError: No file fits a pattern.

    Example:
        >>> import pathlib, tempfile
        >>> from stratax.data import make_csv_dataset
        >>> file = pathlib.Path(tempfile.mkdtemp()) / "points.csv"
        >>> _ = file.write_text("x,y\n1,2.5\n3,4.5\n")
        >>> data = make_csv_dataset(str(file), 2, label_name="y", shuffle=False)
        >>> next(data.as_numpy_iterator())
        ({'x': array([1, 3], dtype=int32)}, array([2.5, 4.5], dtype=float32))
    """
    check_delimiter(field_delim)
    _check_encoding(encoding)
    files = _matching(file_pattern)
    compression = as_compression(compression_type)
    style = CsvFormat(
        fields=(),
        num_columns=None,
        delimiter=field_delim,
        use_quotes=use_quote_delim,
        na_value=na_value,
        has_header=header,
        max_record_bytes=as_count("max_record_bytes", max_record_bytes, 1),
    )
    names = _names(files, compression, style, column_names, encoding)
    selected = _select(select_columns, names)
    if column_defaults is None:
        defaults = infer_defaults(files, compression, style, selected, len(names), num_rows_for_inference)
    else:
        defaults = _list_defaults(column_defaults, selected)
    keys = [names[i] for i in selected]
    _check_label(label_name, keys)

    def read(filename: StrPath) -> Dataset:
        rows: Dataset = CsvDataset(
            filename,
            defaults,
            compression_type,
            header=header,
            field_delim=field_delim,
            use_quote_delim=use_quote_delim,
            na_value=na_value,
            select_cols=None if len(selected) == len(names) else selected,
            max_record_bytes=max_record_bytes,
        )
        return rows.ignore_errors() if ignore_errors else rows

    dataset = Dataset.from_tensor_slices(np.array(files, dtype=object))
    if shuffle:
        # The order of the files, in addition to that of the rows: the rows' buffer may be smaller than a
        # file.
        dataset = dataset.shuffle(len(files), shuffle_seed)
    dataset = dataset.interleave(
        read, cycle_length=as_count("num_parallel_reads", num_parallel_reads or 1, 1)
    )
    if shuffle:
        dataset = dataset.shuffle(shuffle_buffer_size, shuffle_seed)
    if num_epochs != 1:
        dataset = dataset.repeat(num_epochs)
    # Without end there is no last batch, so that the batch size is static, as in TensorFlow.
    dataset = dataset.batch(batch_size, drop_remainder=num_epochs is None)
    dataset = dataset._derive(NamedColumns(dataset._node, keys, label_name))
    return dataset.prefetch(AUTOTUNE if prefetch_buffer_size is None else prefetch_buffer_size)


def _check_encoding(encoding: str) -> None:
    try:
        codecs.lookup(encoding)
    except LookupError as e:
        raise BadArgumentError(
            f"encoding is one that Python knows, such as 'utf-8' or 'latin-1'. Received: encoding={shown(encoding)}."
        ) from e


def _names(
    files: Sequence[str],
    compression: str,
    style: CsvFormat,
    column_names: Sequence[str] | None,
    encoding: str,
) -> list[str]:
    if column_names is not None:
        names = [str(name) for name in column_names]
    elif not style.has_header:
        raise BadArgumentError(
            "Without a header the columns have no names. "
            "Received: column_names=None, header=False. Pass column_names."
        )
    else:
        names = _header(files[0], compression, style, encoding)
        for file in files[1:]:
            if (other := _header(file, compression, style, encoding)) != names:
                raise DataError(
                    f"All CSV files need the same header. Expected, as in {shown(files[0])}: {shown(names)}. "
                    f"Received: {shown(other)} in {shown(file)}. Pass column_names if the columns mean the same."
                )
    if len(set(names)) < len(names):
        raise BadArgumentError(
            f"The names of columns have to differ. Received: column_names={shown(names)}. Pass other column_names."
        )
    return names


def _header(file: str, compression: str, style: CsvFormat, encoding: str) -> list[str]:
    rows = read_records(file, compression, dataclasses.replace(style, has_header=False))
    record = next(rows, None)
    if record is None:
        raise DataError(
            f"A CSV file has no header. Expected: the names of the columns. Received: file={shown(file)}, which "
            "is empty."
        )
    try:
        # The parser's text is bytes as Latin-1; the names are the only text that is decoded.
        return [text.encode("latin-1").decode(encoding) for text in record]
    except UnicodeDecodeError as e:
        raise DataError(
            f"The header of a CSV file is no text in the encoding that was named ({e}). Received: file={shown(file)}, "
            f"encoding={shown(encoding)}. Pass the file's own encoding."
        ) from e


def _select(select_columns: Sequence[int | str] | None, names: Sequence[str]) -> list[int]:
    """Return the places of the columns that are read, in increasing order."""
    if select_columns is None:
        return list(range(len(names)))
    positions = []
    for column in select_columns:
        if isinstance(column, str) and column not in names:
            raise BadArgumentError(
                f"select_columns names a column that is not there. Expected: some of {shown(list(names))}. "
                f"Received: {shown(column)}."
            )
        position = names.index(column) if isinstance(column, str) else as_count("select_columns", column, 0)
        if position >= len(names):
            raise BadArgumentError(
                f"select_columns has a number that no column has. Expected: below {len(names)}. Received: "
                f"{shown(column)}."
            )
        positions.append(position)
    if not positions or len(set(positions)) < len(positions):
        raise BadArgumentError(
            "select_columns takes each column once, and at least one. Received: "
            f"select_columns={shown(select_columns)}."
        )
    # TensorFlow returns the columns in the order of the file, not of the argument.
    return sorted(positions)


def _list_defaults(column_defaults: Sequence[Any], selected: Sequence[int]) -> list[Any]:
    if len(column_defaults) != len(selected):
        raise BadArgumentError(
            f"column_defaults needs an entry for each column that is read. Expected: {len(selected)} entries. "
            f"Received: {len(column_defaults)}. Leave out those of columns that select_columns does not name."
        )
    return list(column_defaults)


def _check_label(label_name: str | None, keys: Sequence[str]) -> None:
    if label_name is not None and label_name not in keys:
        raise BadArgumentError(
            f"label_name has to be one of the columns that are read. Expected: one of {shown(list(keys))}. "
            f"Received: label_name={shown(label_name)}."
        )


def _matching(file_pattern: StrPath) -> list[str]:
    patterns = [file_pattern] if isinstance(file_pattern, str | bytes | os.PathLike) else file_pattern
    found: list[str] = []
    for pattern in map(as_file_name, patterns):
        matches = glob(pattern) if has_magic(pattern) else [pattern]
        if not matches:
            raise FileMissingError(
                f"No file fits the pattern. Received: file_pattern={shown(pattern)}. Check the folder and the pattern.",
                filename=pattern,
            )
        found += matches
    if not found:
        raise BadArgumentError(
            f"file_pattern has to name a file. Received: file_pattern={shown(file_pattern)}. Pass a path or a pattern."
        )
    # The same order on every machine: file systems list names in any order.
    return sorted(found)
