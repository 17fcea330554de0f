"""SqlDataset: the rows of a query of a database (data layer)."""

import contextlib
import re
import sqlite3
from typing import Any

import numpy as np

from stratax.base.shown import shown
from stratax.base.typing import PyTree
from stratax.data.dataset import Dataset
from stratax.data.elements import (
    UNKNOWN_CARDINALITY,
    Block,
    ElementRows,
    TensorSpec,
    as_dtype,
    dtype_name,
    flatten,
    unflatten,
)
from stratax.data.plan import Node, PlanRun
from stratax.data.position import Cursor, State
from stratax.errors import BadArgumentError, DataError

_NAMES = ("object", "int8", "int16", "int32", "int64", "uint8", "uint16", "bool", "float64")
_DTYPES = tuple(map(np.dtype, _NAMES))
_INTEGER = re.compile(r"\s*[-+]?\d+")
_NUMBER = re.compile(r"\s*[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")


class SqlDataset(Dataset):
    """The rows of a query of an SQLite database, as `tf.data.experimental.SqlDataset`.

    The query runs anew in each pass. A value that is NULL is 0, False or empty; others become what their column's dtype
    says, as SQLite converts them, and whole numbers keep their lowest bits. A saved position is the number of a row:
    give the query an `ORDER BY`.

    Args:
        driver_name: "sqlite".
        data_source_name: The path of the database.
        query: A query in SQL.
        output_types: A tuple with the dtype of each column: string, int8 to int64, uint8, uint16, bool or float64.

    Raises:
        BadArgumentError: The driver or a dtype is another one.
        DataError: While iterating: the query fails or has another number of columns.

    Example:
        >>> import os, sqlite3, tempfile
        >>> from stratax.data import SqlDataset
        >>> path = os.path.join(tempfile.mkdtemp(), "shop.db")
        >>> with sqlite3.connect(path) as database:
        ...     _ = database.execute("create table items as select 'tea' as name, 3 as price")
        >>> list(SqlDataset("sqlite", path, "select * from items", ("string", "int32")).as_numpy_iterator())
        [(b'tea', np.int32(3))]
    """

    def __init__(
        self, driver_name: object, data_source_name: object, query: object, output_types: PyTree
    ) -> None:
        driver, path, text = map(_as_text, (driver_name, data_source_name, query))
        if driver != "sqlite":
            raise BadArgumentError(
                f"The database type, {driver}, is not supported by SqlDataset. Expected: driver_name='sqlite'. "
                f"Received: driver_name={shown(driver_name)}. Read others with from_generator."
            )
        # Nothing in the types is a leaf by itself: a tuple in them is structure.
        found, structure = flatten(output_types, is_leaf=lambda part: False)
        dtypes = [as_dtype(dtype) for dtype in found]
        for dtype in dtypes:
            if dtype not in _DTYPES:
                known = ", ".join(map(dtype_name, _DTYPES))
                raise BadArgumentError(
                    f"Each element of `output_types` must be one of {known}. Received: {dtype_name(dtype)}. Convert it "
                    "in dataset.map."
                )
        super().__init__(Query(path, text, unflatten(structure, [TensorSpec((), dtype) for dtype in dtypes])))


def _as_text(value: object) -> str:
    value = value.item() if isinstance(value, np.ndarray) else value
    return value.decode() if isinstance(value, bytes) else str(value)


class Query(Node):
    """The rows of a query.

    Args:
        path: Of the database.
        text: The query.
        spec: What an element is: a scalar for each column.
    """

    label = "Sql"
    is_indexable = False
    is_uniform = True
    batch_size = None

    def __init__(self, path: str, text: str, spec: object) -> None:
        self.path, self.text = path, text
        self._spec = spec
        self.dtypes = [each.dtype for each in flatten(spec)[0]]

    @property
    def spec(self) -> Any:
        """A scalar for each column."""
        return self._spec

    @property
    def length(self) -> int:
        """Answer that the number of rows is not known."""
        return UNKNOWN_CARDINALITY

    def describe(self) -> str:
        return f"Sql({self.path!r}, {self.text!r})"

    def stream(self, run: PlanRun, passes: int) -> Cursor:
        """Open a pass over the rows; the query runs when the first is read."""
        return QueryCursor(self)


class QueryCursor(Cursor):
    """Its position is how many rows were read."""

    def __init__(self, query: Query) -> None:
        self._query = query
        self._connection: sqlite3.Connection | None = None
        self._rows: sqlite3.Cursor | None = None
        self._number = 0

    def read(self, limit: int) -> Block:
        try:
            if self._rows is None:
                self._rows = self._open()
            found = self._rows.fetchmany(max(1, limit))
        except sqlite3.Error as e:
            raise self._fail(str(e)) from e
        if not found:
            raise StopIteration
        self._number += len(found)
        return ElementRows(
            [
                [_convert(value, dtype) for value, dtype in zip(row, self._query.dtypes, strict=True)]
                for row in found
            ]
        )

    def _open(self) -> sqlite3.Cursor:
        """PlanRun the query up to the position. What reads ahead may do so from another thread."""
        self._connection = sqlite3.connect(
            f"file:{self._query.path}?mode=ro", uri=True, check_same_thread=False
        )
        self._connection.text_factory = bytes
        rows = self._connection.execute(self._query.text)
        count, expected = len(rows.description or ()), len(self._query.dtypes)
        if count != expected:
            raise self._fail(
                f"The number of columns in query ({count}) must match the number of elements in output_types "
                f"({expected})"
            )
        for _ in range(self._number):
            rows.fetchone()
        return rows

    def _fail(self, what: str) -> DataError:
        self.close()
        return DataError(
            f"A query of a database failed: {what}. Received: data_source_name={shown(self._query.path)}, "
            f"query={shown(self._query.text)}. Mend the query or output_types."
        )

    def get_state(self) -> State:
        return {"row": self._number}

    def set_state(self, state: State) -> None:
        self.close()
        self._number = state["row"]

    def close(self) -> None:
        """Close the database."""
        self._rows = None
        if self._connection is not None:
            with contextlib.suppress(sqlite3.Error):
                self._connection.close()
            self._connection = None


def _convert(value: Any, dtype: np.dtype) -> Any:
    """Return a value of SQLite as it converts it to a column's type."""
    if dtype.hasobject:
        if value is None:
            return b""
        return value if isinstance(value, bytes) else (f"{value:.15g}" if value % 1 else f"{value}").encode()
    if dtype.kind == "f":
        return dtype.type(_number(value, _NUMBER, float))
    number = int(_number(value, _INTEGER, int))
    # Of a number that is too large, the lowest bits.
    return np.bool_(number) if dtype.kind == "b" else np.array(number, np.int64).astype(dtype)[()]


def _number(value: object, form: re.Pattern[str], kind: type) -> Any:
    if isinstance(value, bytes):
        found = form.match(value.decode("latin-1"))
        return kind(found[0]) if found else 0
    return 0 if value is None else value
