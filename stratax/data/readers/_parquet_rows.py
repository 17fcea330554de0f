"""The rows of Parquet files: the node, its files and its cursor (data layer)."""

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from stratax.base.shown import cut, shown
from stratax.base.typing import PyTree
from stratax.data.elements import (
    UNKNOWN_CARDINALITY,
    Block,
    Columns,
    ElementRows,
    TensorSpec,
    as_column,
    flatten,
    spec_of_type,
)
from stratax.data.plan import Node, OwningCursor, PlanRun
from stratax.data.position import State
from stratax.data.sources import CurrentFile, NamedFiles
from stratax.errors import DataError, DataLossError, MissingPackageError
from stratax.io import local_path, open_bytes, reading, remote_path

_ROWS = 1024
_LEAST_ROWS = 64


def _parquet() -> Any:
    try:
        import pyarrow.parquet
    except ImportError as e:
        raise MissingPackageError(
            'Reading Parquet files needs pyarrow, which is not installed. Run: pip install "stratax-train[parquet]".'
        ) from e
    return pyarrow.parquet


class ParquetRows(NamedFiles):
    """The rows of Parquet files, one file after another.

    Args:
        names: A node that gives the files' names.
        columns: The columns that are read; all if None.
        num_rows: How many rows are read at a time.
    """

    label = "Parquet"
    is_indexable = False
    batch_size = None
    # Known before any file is opened.
    reads_ahead = _LEAST_ROWS

    def __init__(self, names: Node, columns: list[str] | None, num_rows: int) -> None:
        self.children = (names,)
        self.columns = columns
        self.num_rows = num_rows
        self._spec: Any = None

    def with_names(self, names: Node) -> "ParquetRows":
        return ParquetRows(names, self.columns, self.num_rows)

    @property
    def spec(self) -> Any:
        """What the schema of the first file says."""
        if self._spec is None:
            file = ParquetFile(self._first_name(), self.columns)
            file.close()
            return self.learn(file.spec)
        return self._spec

    def _first_name(self) -> str:
        run = PlanRun()
        try:
            return CurrentFile(self, run, 0).take()
        except StopIteration as e:
            raise DataError("The element_spec of no files can't be found. Received: filenames=[].") from e
        finally:
            run.close()

    def learn(self, spec: PyTree) -> Any:
        """Learn the spec from the first file that could be opened, whose `spec` is that if there was none before."""
        if self._spec is None:
            self._spec = spec
        return self._spec

    @property
    def length(self) -> int:
        """The number of rows, unknown as every file would have to be opened."""
        return 0 if self.names.length == 0 else UNKNOWN_CARDINALITY

    @property
    def is_uniform(self) -> bool:
        """Whether there are no lists, whose lengths may differ."""
        return all(spec.shape is not None and None not in spec.shape for spec in flatten(self.spec)[0])

    def describe(self) -> str:
        return f"Parquet({'all' if self.columns is None else ','.join(self.columns)})"

    def stream(self, run: PlanRun, passes: int) -> "ParquetCursor":
        """Open a pass at the first row of the first file."""
        return ParquetCursor(self, run, passes)


class ParquetFile:
    """One open Parquet file.

    Args:
        name: Its path or URL.
        columns: The columns that are read; all if None.
    """

    def __init__(self, name: str, columns: list[str] | None) -> None:
        self.name = name
        with reading(name):
            self._source = _open(name)
        try:
            with self._damage():
                self._file = _parquet().ParquetFile(self._source, page_checksum_verification=True)
                self._check_counts()
                self.columns: list[str] = []
                self.spec = self._spec(columns)
        except BaseException:
            self.close()
            raise

    def _check_counts(self) -> None:
        """Compare the number of rows with that of the row groups: the metadata has no checksum."""
        rows, expected = self.first_row(self.num_groups), self._file.metadata.num_rows
        # A wrong number would shift the position of all later rows without any other sign.
        if rows != expected:
            raise ValueError(f"it tells of {expected} rows and its row groups have {rows}")

    def _spec(self, columns: list[str] | None) -> dict[str, TensorSpec]:
        schema = self._file.schema_arrow
        self.columns = schema.names if columns is None else columns
        missing = [column for column in self.columns if column not in schema.names]
        if missing:
            raise DataError(
                f"A Parquet file lacks columns. Expected: {shown(self.columns)}. "
                f"Received: file={shown(self.name)} without {shown(missing)}; it has {shown(schema.names)}."
            )
        return {column: spec_of_type(column, schema.field(column).type) for column in self.columns}

    @property
    def num_groups(self) -> int:
        """The number of row groups."""
        return int(self._file.num_row_groups)

    def group_rows(self, group: int) -> int:
        """Return how many rows a row group has."""
        return int(self._file.metadata.row_group(group).num_rows)

    def first_row(self, group: int) -> int:
        """Return the number in the file of a row group's first row."""
        return sum(map(self.group_rows, range(group)))

    def batches(self, group: int, num_rows: int) -> Any:
        """Return an iterator over the `pyarrow.RecordBatch`es of a row group."""
        return self._file.iter_batches(num_rows, row_groups=[group], columns=self.columns)

    def next_batch(self, batches: Any, group: int, read: int) -> Any:
        """Return the next of them, None at the end of the row group, of which `read` rows were read before."""
        with self._damage():
            batch = next(batches, None)
            if batch is None and read != self.group_rows(group):
                # The header of a page has no checksum: pyarrow takes some damage there for the end.
                raise ValueError(f"row group {group} ends after {read} of {self.group_rows(group)} rows")
            if batch is not None and not set(self.columns) <= set(batch.schema.names):
                raise ValueError(f"row group {group} lacks columns")
            return batch

    @contextlib.contextmanager
    def _damage(self) -> Iterator[None]:
        """Turn what pyarrow raises where content is damaged into an error of the family."""
        import pyarrow

        try:
            yield
        except DataError:
            raise
        # Which of them depends on the byte that is damaged: sizes read from damaged bytes may even ask for
        # too much memory.
        except (OSError, ValueError, KeyError, MemoryError, pyarrow.ArrowException) as e:
            raise DataLossError(
                f"A Parquet file can't be read: {cut(str(e))}. Expected: a whole, undamaged Parquet file. "
                f"Received: file={shown(self.name)}. Make the file again, or copy it again as a whole.",
                filename=self.name,
            ) from e

    def close(self) -> None:
        self._source.close()


def _open(name: str) -> Any:
    """Open a file for pyarrow, which closes none that it did not open itself."""
    path = local_path(name)
    if path is None:
        filesystem, path = remote_path(name)
        return filesystem.open(path, "rb")
    import pyarrow

    open_bytes(name).close()  # Says what is wrong, if something is.
    return pyarrow.OSFile(path, "rb")


class ParquetCursor(OwningCursor):
    """Reads Parquet files; its position is a file, a row group and a row in it.

    Args:
        node: The source.
        run: What the iterator shares.
        passes: The pass.
    """

    def __init__(self, node: ParquetRows, run: PlanRun, passes: int) -> None:
        self._node = node
        self._names = CurrentFile(node, run, passes)
        self._group = 0
        self._row = 0
        self._file: ParquetFile | None = None
        self._batches: Any = None
        self._batch: Any = None
        self._num_read = 0
        super().__init__(run)

    def read(self, limit: int) -> Block:
        """Read up to `limit` rows of one row group."""
        file = self._fill()
        batch = self._batch.slice(0, limit)
        try:
            block = self._block(file, batch)
        except DataError as e:
            # One row after another: those before the bad one are delivered, and the bad one is known.
            if batch.num_rows > 1:
                return self.read(1)
            e.filename, e.record = file.name, file.first_row(self._group) + self._row
            self._drop(1)
            raise
        if isinstance(block, ElementRows):
            block, _ = block.split(limit)
        self._drop(block.count)
        return block

    def _block(self, file: ParquetFile, batch: Any) -> Block:
        columns = {name: as_column(f"{name} of {file.name}", batch.column(name)) for name in file.columns}
        count = batch.num_rows
        if all(isinstance(column, np.ndarray) for column in columns.values()):
            leaves, _ = flatten(columns)
            # Arrays that share Arrow's memory are read-only; an element belongs to who receives it.
            return Columns([leaf if leaf.flags.writeable else leaf.copy() for leaf in leaves], count)
        rows = [flatten({name: column[i] for name, column in columns.items()})[0] for i in range(count)]
        return ElementRows(
            [[part.copy() if isinstance(part, np.ndarray) else part for part in row] for row in rows]
        )

    def _drop(self, count: int) -> None:
        self._row += count
        self._batch = self._batch.slice(count)

    def _fill(self) -> ParquetFile:
        """Read on until there is a row."""
        while True:
            file = self._file or self._open()
            if self._batch is not None and self._batch.num_rows:
                return file
            if self._group == file.num_groups:
                self._next_file()
                continue
            if self._batches is None:
                self._begin_group(file)
                continue
            self._batch = self._read(file)
            if self._batch is None:
                # Groups without rows exist, so the loop goes on.
                self._batches, self._group, self._row = None, self._group + 1, 0

    def _read(self, file: ParquetFile) -> Any:
        try:
            batch = file.next_batch(self._batches, self._group, self._num_read)
        except DataLossError:
            # The rest of a damaged file is lost; the next reading goes on with the next file.
            self._next_file()
            raise
        self._num_read += 0 if batch is None else batch.num_rows
        return batch

    def _begin_group(self, file: ParquetFile) -> None:
        """Open a row group at the row that is next."""
        self._num_read = 0
        self._batches = file.batches(self._group, self._node.num_rows)
        missing = self._row
        # A row group cannot be entered in the middle: its first rows are read and dropped.
        while missing:
            batch = self._read(file)
            if batch is None:
                break
            self._batch = batch.slice(min(missing, batch.num_rows))
            missing -= min(missing, batch.num_rows)

    def _open(self) -> ParquetFile:
        name = self._names.take()
        try:
            self._file = ParquetFile(name, self._node.columns)
            self._check(self._file)
        except Exception:
            self._next_file()
            raise
        return self._file

    def _check(self, file: ParquetFile) -> None:
        expected = self._node.learn(file.spec)
        # All files have the columns of the first one: batches and traced functions rely on one spec.
        if file.spec != expected:
            raise DataError(
                f"Parquet files that are read together need the same columns. Expected: {shown(expected)}. "
                f"Received: file={shown(file.name)} with {shown(file.spec)}."
            )

    def _next_file(self) -> None:
        self._leave()
        self._names.leave()
        self._group = self._row = 0

    def skip(self, count: int) -> int:
        """Pass over whole row groups without reading them."""
        passed = 0
        while passed < count:
            try:
                passed += self._skip_some(count - passed)
            except StopIteration:
                break
            except DataError:
                # A damaged file counts as one failed element, as it does for `read`.
                passed += 1
        return passed

    def _skip_some(self, count: int) -> int:
        file = self._file or self._open()
        # Between two groups: a whole one can be passed over by its number of rows alone.
        if self._batches is None and self._group < file.num_groups:
            left = file.group_rows(self._group) - self._row
            if left <= count:
                self._group, self._row = self._group + 1, 0
                return left
        self._fill()
        step = min(count, self._batch.num_rows)
        self._drop(step)
        return step

    def get_state(self) -> State:
        """Return file, row group and row."""
        return {"names": self._names.get_state(), "group": self._group, "row": self._row}

    def set_state(self, state: State) -> None:
        """Go there; the rows before it in the row group are read again."""
        self._leave()
        self._names.set_state(state["names"])
        self._group, self._row = state["group"], state["row"]

    def let_go(self, wait: bool = True) -> None:
        self._leave()
        self._names.close()

    def _leave(self) -> None:
        file, self._file = self._file, None
        self._batches = self._batch = None
        if file is not None:
            file.close()
