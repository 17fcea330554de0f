"""A plan's source that reads the records of files, one file after another or several in turn (data layer)."""

from collections.abc import Iterator

import numpy as np

from stratax.data._block import Block, Columns
from stratax.data._cursor import Cursor, State
from stratax.data._files import as_file_name
from stratax.data._node import IndexReader, Node, Run
from stratax.data._record_stream import Piece, RecordFormat, RecordStream
from stratax.data._spec import UNKNOWN_CARDINALITY, TensorSpec
from stratax.data._structure import Row


class FileSource(Node):
    """The records of some files.

    Args:
        names: A node that gives the names of files.
        form: How to read one.
    """

    is_indexable = False
    is_uniform = True
    batch_size = None

    def __init__(self, names: Node, form: RecordFormat) -> None:
        self.children = (names,)
        self.label = form.label
        self._form = form

    @property
    def names(self) -> Node:
        """The node that gives the names."""
        return self.children[0]

    def with_names(self, names: Node) -> "FileSource":
        """The same with other files."""
        return FileSource(names, self._form)

    @property
    def spec(self) -> TensorSpec:
        """A byte string."""
        return TensorSpec((), object)

    @property
    def length(self) -> int:
        """Not known."""
        return UNKNOWN_CARDINALITY

    def describe(self) -> str:
        """The kind of file."""
        return self._form.describe()

    def open(self, run: Run, passes: int = 0) -> Cursor:
        """One file after another."""
        return FilesCursor(self, self._form, run, passes)

    def rows(self, run: Run, passes: int = 0) -> Iterator[Row]:
        """Record by record."""
        cursor = self.open(run, passes)
        run.on_close(lambda wait: cursor.close())
        return iter(lambda: _next_row(cursor), None)


def _next_row(cursor: Cursor) -> Row:
    return cursor.read(1).row(0)


class _IndexCursor(Cursor):
    def __init__(self, node: Node, run: Run, passes: int) -> None:
        self._reader = IndexReader(node, run, passes)

    def read(self, limit: int) -> Block:
        return self._reader.read(limit)

    def get_state(self) -> State:
        return {"position": self._reader.position}

    def set_state(self, state: State) -> None:
        self._reader.position = state["position"]


class FilesCursor(Cursor):
    """The records of the files that a node names, one file after another.

    Args:
        node: The source.
        form: How to read a file.
        run: What the iterator shares.
        passes: The pass.
    """

    def __init__(self, node: FileSource, form: RecordFormat, run: Run, passes: int) -> None:
        self._names: Cursor = _IndexCursor(node.names, run, passes)
        self._form = form
        self._file: OpenFile | None = None
        self._before = self._names.get_state()

    def read(self, limit: int) -> Block:
        """The next records of one file; a damaged one raises, and the next file follows where the rest is lost."""
        while True:
            file = self._file or self._next_file()
            try:
                return file.read(limit)
            except StopIteration:
                self._leave()

    def _next_file(self) -> "OpenFile":
        name = as_file_name(self._names.read(1).row(0)[0])
        try:
            self._file = OpenFile(self._form.open(name))
        except BaseException:
            self._before = self._names.get_state()
            raise
        return self._file

    def _leave(self) -> None:
        if self._file is not None:
            self._file.close()
        self._file = None
        self._before = self._names.get_state()

    def skip(self, count: int) -> int:
        """From record to record without making them."""
        passed = 0
        while passed < count:
            try:
                file = self._file or self._next_file()
            except StopIteration:
                break
            except Exception:
                passed += 1
                continue
            passed += file.skip(count - passed)
            if passed < count:
                self._leave()
        return passed

    def get_state(self) -> State:
        """The place among the names, and the place in the file that is open."""
        return {"names": self._before, "file": None if self._file is None else self._file.get_state()}

    def set_state(self, state: State) -> None:
        """Opens the file again and goes to the place in it."""
        self._names.set_state(state["names"])
        self._before = state["names"]
        if state["file"] is not None:
            self._next_file().set_state(state["file"])

    def close(self) -> None:
        """Closes the file."""
        if self._file is not None:
            self._file.close()
        self._names.close()


class OpenFile:
    """Gives the records of one file out of the pieces in which they are read.

    Args:
        stream: The records.
    """

    def __init__(self, stream: RecordStream) -> None:
        self._stream = stream
        self._piece = Piece([], np.empty(0, np.int64))
        self._at = 0
        self._offset, self._first = stream.place

    def read(self, limit: int) -> Block:
        """Up to `limit` records; raises what is wrong with the next one, or StopIteration at the end."""
        piece = self._filled()
        at = self._at
        if at == len(piece.records):
            return self._fail(piece.last)
        if at in piece.failures:
            return self._fail(piece.failures[at])
        stop = min(at + limit, len(piece.records))
        if piece.failures:
            stop = min([stop, *(i for i in piece.failures if i > at)])
        self._at = stop
        return Columns([_column(piece.records[at:stop])], stop - at)

    def _filled(self) -> Piece:
        """The piece in which the next record, or failure, is."""
        while self._at >= len(self._piece.records) + (self._piece.last is not None):
            self._offset, self._first = self._stream.place
            self._piece = self._stream.read()
            self._at = 0
        return self._piece

    def _fail(self, failure: Exception | None) -> Block:
        self._at += 1
        raise failure if failure is not None else StopIteration

    def skip(self, count: int) -> int:
        """Passes over records; fewer than `count` at the end of the file."""
        held = len(self._piece.records) + (self._piece.last is not None) - self._at
        passed = min(count, held)
        self._at += passed
        if passed < count:
            passed += self._stream.skip(count - passed)
            self._piece, self._at = Piece([], np.empty(0, np.int64)), 0
            self._offset, self._first = self._stream.place
        return passed

    def get_state(self) -> State:
        """Offset and number of the next record; `lost` if what follows can't be read."""
        at = min(self._at, len(self._piece.records))
        offset = self._offset if at == 0 else int(self._piece.ends[at - 1])
        return {"offset": offset, "record": self._first + at, "lost": self._at > len(self._piece.records)}

    def set_state(self, state: State) -> None:
        """Goes to a place; called on a file that was not read."""
        self._stream.seek(state["offset"], state["record"])
        self._offset, self._first = self._stream.place
        if state["lost"]:
            self._stream.close()

    def close(self) -> None:
        """Closes the file."""
        self._stream.close()


def _column(records: list[bytes]) -> np.ndarray:
    column = np.empty(len(records), object)
    column[:] = records
    return column
