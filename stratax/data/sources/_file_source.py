"""A plan's source that reads the records of files, one file after another or several in turn (data layer)."""

from stratax.data.elements import UNKNOWN_CARDINALITY, Block, TensorSpec
from stratax.data.plan import Node, OwningCursor, PlanRun
from stratax.data.position import Cursor, State
from stratax.data.records import RecordFormat
from stratax.data.sources._named_files import CurrentFile, NamedFiles, NamePlace, take_name
from stratax.data.sources._open_file import OpenFile, as_block


class FileSource(NamedFiles):
    """The records of some files.

    Args:
        names: A node that gives the names of files.
        form: How to read one.
        num_parallel: How many files are read at a time.
    """

    is_indexable = False
    is_uniform = True
    batch_size = None

    def __init__(self, names: Node, form: RecordFormat, num_parallel: int = 1) -> None:
        self.children = (names,)
        self.label = form.label
        self.form = form
        self.num_parallel = num_parallel

    def with_names(self, names: Node) -> "FileSource":
        return FileSource(names, self.form, self.num_parallel)

    @property
    def spec(self) -> TensorSpec:
        """Describe an element: a string of bytes."""
        return TensorSpec((), object)

    @property
    def length(self) -> int:
        """Answer that the number of elements is not known."""
        return UNKNOWN_CARDINALITY

    def describe(self) -> str:
        return f"{self.form.describe()}[{self.num_parallel}]"

    def stream(self, run: PlanRun, passes: int) -> Cursor:
        """Open a pass over one file after another, or several in turn."""
        return (
            FilesCursor(self, run, passes) if self.num_parallel == 1 else FileTurnsCursor(self, run, passes)
        )


class FilesCursor(OwningCursor):
    """The records of the files that a node names, one file after another.

    Args:
        source: The node.
        run: What the iterator shares.
        passes: The pass.
    """

    def __init__(self, source: FileSource, run: PlanRun, passes: int) -> None:
        self._names = CurrentFile(source, run, passes)
        self._form = source.form
        self._file: OpenFile | None = None
        super().__init__(run)

    def read(self, limit: int) -> Block:
        """Read the next records of one file; a damaged one raises, and the next file follows where the rest is lost."""
        while True:
            file = self._file or self._next_file()
            try:
                return file.read(limit)
            except StopIteration:
                self._leave()

    def _next_file(self) -> OpenFile:
        name = self._names.take()
        try:
            self._file = OpenFile(name, self._form, self._run.origins)
        except Exception:
            # The name is used up: the next reading goes on with the next file.
            self._names.leave()
            raise
        return self._file

    def _leave(self) -> None:
        if self._file is not None:
            self._file.close()
        self._file = None
        self._names.leave()

    def skip(self, count: int) -> int:
        """Skip from record to record without making them."""
        passed = 0
        while passed < count:
            try:
                file = self._file or self._next_file()
            except StopIteration:
                break
            except Exception:
                # A file that cannot be opened counts as one failed element, as it does for `read`.
                passed += 1
                continue
            passed += file.skip(count - passed)
            if passed < count:
                # Fewer than asked for: the file has ended.
                self._leave()
        return passed

    def get_state(self) -> State:
        """Return the position among the names, and the position in the file that is open."""
        return {
            "names": self._names.get_state(),
            "file": None if self._file is None else self._file.get_state(),
        }

    def set_state(self, state: State) -> None:
        """Open the file again and go to the position in it."""
        self._names.set_state(state["names"])
        if state["file"] is not None:
            self._next_file().set_state(state["file"])

    def let_go(self, wait: bool = True) -> None:
        if self._file is not None:
            self._file.close()
        self._names.close()


class FileTurnsCursor(OwningCursor):
    """The records of several files in turn, one of each, in TensorFlow's order.

    A file that ends leaves its place in the cycle to the next one, which is opened when it is that place's turn again.

    Args:
        source: The node.
        run: What the iterator shares.
        passes: The pass.
    """

    def __init__(self, source: FileSource, run: PlanRun, passes: int) -> None:
        self._open_names = lambda: source.names.open(run, passes)
        self._names = self._open_names()
        self._form = source.form
        self._files: list[OpenFile | None] = [None] * source.num_parallel
        self._befores: list[NamePlace | None] = [None] * source.num_parallel
        self._turn = 0
        self._has_all = False
        super().__init__(run)

    def read(self, limit: int) -> Block:
        """Read the next records, whole rounds of them where they are at hand."""
        records = self._rounds(limit)
        while not records:
            if self._has_all and not any(self._files):
                raise StopIteration
            records = self._one()
        return as_block(records)

    def _rounds(self, limit: int) -> list[bytes]:
        """Return as many records as are at hand in all the open files, in turn."""
        order = [*self._files[self._turn :], *self._files[: self._turn]]
        files = [file for file in order if file is not None]
        # Whole rounds only; while a file is still to be opened, its turn comes first.
        if not files or limit < len(files) or (len(files) < len(order) and not self._has_all):
            return []
        rounds = min(limit // len(files), *(file.at_hand for file in files))
        columns = [file.take(rounds) for file in files]
        return [record for records in zip(*columns, strict=True) for record in records]

    def _one(self) -> list[bytes]:
        """Return the record of the file whose turn it is, if it has one; the turn is the next one's then."""
        turn = self._turn
        try:
            file = self._files[turn] or self._next_file(turn)
            if file is None:
                return []
            file.fill()
            return file.take(1)
        except StopIteration:
            self._leave(turn)
            return []
        finally:
            # Also after a failure, which takes the turn of its file.
            self._turn = (turn + 1) % len(self._files)

    def _next_file(self, turn: int) -> OpenFile | None:
        before = NamePlace(self._names)
        try:
            name = take_name(self._names)
        except StopIteration:
            self._has_all = True
            return None
        file = OpenFile(name, self._form, self._run.origins, reads_ahead=True)
        self._files[turn], self._befores[turn] = file, before
        return file

    def _leave(self, turn: int, *, wait: bool = True) -> None:
        file = self._files[turn]
        if file is not None:
            file.close(wait=wait)
        self._files[turn] = self._befores[turn] = None

    def get_state(self) -> State:
        """Return the position among the names, and for each open file that of its name and in it."""
        files = [
            {"names": before.state, "file": file.get_state()} if file and before else None
            for file, before in zip(self._files, self._befores, strict=True)
        ]
        return {
            "names": self._names.get_state(),
            "files": files,
            "turn": self._turn,
            "has_all": self._has_all,
        }

    def set_state(self, state: State) -> None:
        """Open the files again and go to the positions in them."""
        for turn, position in enumerate(state["files"]):
            if position is not None:
                # Cursors go forwards only: for each open file the names are read anew up to its own.
                self._names = self._open_names()
                self._names.set_state(position["names"])
                file = self._next_file(turn)
                if file is not None:
                    file.set_state(position["file"])
        self._names = self._open_names()
        self._names.set_state(state["names"])
        self._turn, self._has_all = state["turn"], state["has_all"]

    def let_go(self, wait: bool = True) -> None:
        """Close the files and end the threads."""
        for turn in range(len(self._files)):
            self._leave(turn, wait=wait)
        self._names.close()
