"""`ParquetDataset`: the columns of Parquet files (data layer)."""

from collections.abc import Sequence

from stratax.base.shown import shown
from stratax.data.dataset import Dataset
from stratax.data.plan import as_count
from stratax.data.readers._arguments import names_node
from stratax.data.readers._parquet_rows import _ROWS, ParquetRows, _parquet
from stratax.errors import BadArgumentError


class ParquetDataset(Dataset):
    """The rows of Parquet files; an element is a dict with a value for each column.

    Numbers and booleans keep their dtype, strings and binary values are `bytes`, lists arrays. Files are read some rows
    at a time, so neither a file nor a row group has to fit into memory. The position of an iterator is a row group and
    a row in it. Needs `pip install "stratax-train[parquet]"`.

    The checksums of pages are verified where a file has them. Most writers leave them out unless they are told
    (`pyarrow.parquet.write_table(..., write_page_checksum=True)`); without them a damaged number is not noticed.

    Args:
        filenames: A path or URL (of whatever fsspec opens), a list of them, or a Dataset of them.
        columns: The names of the columns that are read; all if None.
        num_rows: How many rows are read at a time.

    Raises:
        MissingPackageError: pyarrow is not installed.
        BadArgumentError: `columns` is empty, or has a name twice.
        DataLossError: While iterating: a file is no Parquet file or damaged, or text in it is not UTF-8.
        DataError: While iterating: a column is missing, has missing values, or another type than in the first file.

    Example:
        >>> import os, tempfile
        >>> import pyarrow, pyarrow.parquet
        >>> from stratax.data import ParquetDataset
        >>> file = os.path.join(tempfile.mkdtemp(), "points.parquet")
        >>> pyarrow.parquet.write_table(pyarrow.table({"x": [1.5, 2.5], "name": ["a", "b"]}), file)
        >>> next(ParquetDataset(file).batch(2).as_numpy_iterator())
        {'x': array([1.5, 2.5]), 'name': array([b'a', b'b'], dtype=object)}
    """

    def __init__(
        self, filenames: object, columns: Sequence[str] | None = None, *, num_rows: int = _ROWS
    ) -> None:
        # Only for the error: a missing package is reported here, and not with the first element.
        _ = _parquet()
        chosen = None if columns is None else [str(name) for name in columns]
        if chosen is not None and (not chosen or len(set(chosen)) < len(chosen)):
            raise BadArgumentError(
                f"columns takes the names of columns, each once. Received: columns={shown(columns)}. Pass None for all."
            )
        super().__init__(ParquetRows(names_node(filenames), chosen, as_count("num_rows", num_rows, 1)))
