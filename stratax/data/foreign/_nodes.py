"""The nodes over pipelines and collections of other libraries (data layer)."""

import json
from typing import Any

import numpy as np

from stratax.base.typing import PyTree
from stratax.data.elements import (
    Block,
    Columns,
    ElementRows,
    Row,
    TensorSpec,
    as_row,
    check_same,
    copy_leaf,
    flatten,
    spec_of_row,
    unflatten,
)
from stratax.data.foreign._adapter import Items, PipelineReader, PipelineStream
from stratax.data.foreign._elements import as_element
from stratax.data.plan import Node, OwningCursor, OwnLock, Passes, PlanRun
from stratax.data.position import Cursor, State
from stratax.data.vectorise import user_code
from stratax.errors import DataError


class ForeignItems(Node):
    """The elements of a collection, at any position.

    Args:
        items: The collection.
    """

    label = "Foreign"
    is_indexable = True
    is_uniform = False
    batch_size = None

    def __init__(self, items: Items) -> None:
        self._items = items
        self._spec: Any = None

    @property
    def length(self) -> int:
        """The number of elements."""
        return self._items.length

    @property
    def spec(self) -> Any:
        """What the first and the last element have in common."""
        if self._spec is None:
            if not self.length:
                raise DataError(
                    f"The element_spec of an empty collection can't be found. Received: {self._items.name} of length 0."
                )
            # Two elements tell the sizes that differ better than one, and the last one is as cheap as the
            # first.
            numbers = [0, self.length - 1] if self.length > 1 else [0]
            with user_code(self._items.name):
                self._spec = _common_spec([as_row(as_element(value)) for value in self._items.get(numbers)])
        return self._spec

    def describe(self) -> str:
        return f"Foreign({self._items.name}, {self.length})"

    def gather(self, indices: np.ndarray, passes: Passes, run: PlanRun) -> Block:
        """Ask the collection, for whole columns where it has them."""
        with user_code(self._items.name):
            return self._gather(indices)

    def _gather(self, indices: np.ndarray) -> Block:
        columns = self._items.columns(indices.tolist())
        if columns is None:
            return ElementRows([self._row(value) for value in self._items.get(indices.tolist())])
        if all(isinstance(column, np.ndarray) for column in columns.values()):
            leaves = [leaf if leaf.flags.writeable else leaf.copy() for leaf in flatten(columns)[0]]
            return Columns(leaves, len(indices))
        return ElementRows(
            [self._row({name: column[i] for name, column in columns.items()}) for i in range(len(indices))]
        )

    def _row(self, value: object) -> Row:
        row, structure = as_row(as_element(value))
        check_same(row, structure, self.spec, self._items.name)
        # Copies: the library may keep its arrays, and elements may be changed.
        return [copy_leaf(leaf) for leaf in row]


def _common_spec(rows: list[tuple[Row, Any]]) -> Any:
    row, structure = rows[0]
    specs = flatten(spec_of_row(row, structure))[0]
    for other, found in rows[1:]:
        if found == structure:
            theirs = flatten(spec_of_row(other, found))[0]
            specs = [a.merged(b) if a.dtype == b.dtype else a for a, b in zip(specs, theirs, strict=True)]
    return unflatten(structure, specs)


class ForeignStream(Node):
    """The elements of a pipeline of another library, in its order.

    Args:
        source: The pipeline.
    """

    label = "Foreign"
    is_indexable = False
    is_uniform = False
    reads_ahead = 1

    def __init__(self, source: PipelineStream) -> None:
        self._source = source
        self._spec: Any = source.spec
        self._peeked: _Pass | None = None
        self._lock = OwnLock()

    @property
    def name(self) -> str:
        """The name of what is read."""
        return self._source.name

    @property
    def batch_size(self) -> int | None:
        """The batch size that the pipeline gives."""
        return self._source.batch_size

    @property
    def length(self) -> int:
        """The length that the pipeline gives."""
        return self._source.length

    @property
    def spec(self) -> Any:
        """As the pipeline says, or as its first element is; that one begins the next pass."""
        if self._spec is None:
            begun = self._take() or _Pass(self._source.open())
            try:
                self.learn(begun.peek())
            except StopIteration as e:
                raise DataError(
                    f"The element_spec of an empty pipeline can't be found. Received: {self.name} without elements."
                ) from e
            # Kept for the next pass: opening a pipeline may be slow, or start processes.
            self._peeked = begun
        return self._spec

    def learn(self, value: object) -> None:
        """Take the spec from an element if none is known; sizes of first axes may differ in others."""
        if self._spec is None:
            row, structure = as_row(as_element(value))
            specs = flatten(spec_of_row(row, structure))[0]
            self._spec = unflatten(structure, [_with_open_size(spec) for spec in specs])

    def describe(self) -> str:
        return f"Foreign({self.name})"

    def _take(self) -> "_Pass | None":
        with self._lock:
            # Under the lock, so that only one of several iterators gets it.
            begun, self._peeked = self._peeked, None
            return begun

    def begin(self) -> "_Pass":
        """Begin a pass, or take the one that was looked into if there is one."""
        return self._take() or self.begin_anew()

    def begin_anew(self) -> "_Pass":
        """Begin a pass of which no element was looked at."""
        with user_code(self._source.name):
            return _Pass(self._source.open())

    def stream(self, run: PlanRun, passes: int) -> Cursor:
        return ForeignCursor(self, run)


def _with_open_size(spec: PyTree) -> Any:
    if not isinstance(spec, TensorSpec) or not spec.shape:
        return spec
    return TensorSpec((None, *spec.shape[1:]), spec.dtype)


class _Pass:
    """A reader whose first element can be looked at before it is read."""

    def __init__(self, reader: PipelineReader) -> None:
        self.reader = reader
        self._held: list[Any] = []
        self._before: Any = None
        self._error: DataError | None = None

    def peek(self) -> Any:
        if not self._held:
            try:
                # The position before the element that is looked at: afterwards nobody could tell it.
                self._before = self.reader.get_state()
            except DataError as e:
                self._error = e
            self._held.append(self.reader.next())
        return self._held[0]

    def next(self) -> Any:
        return self._held.pop() if self._held else self.reader.next()

    def get_state(self) -> Any:
        if not self._held:
            return self.reader.get_state()
        if self._error is not None:
            raise self._error
        return self._before


class ForeignCursor(OwningCursor):
    """One pass over a pipeline of another library.

    Args:
        node: The node.
        run: What the iterator shares.
    """

    def __init__(self, node: ForeignStream, run: PlanRun) -> None:
        self._node = node
        self._pass: _Pass | None = None
        self._number = 0
        self._has_ended = False
        super().__init__(run)

    def _begin(self) -> _Pass:
        if self._pass is None:
            self._pass = self._node.begin()
        return self._pass

    def read(self, limit: int) -> Block:
        """Read the next element: the pipeline may take its time for another."""
        if self._has_ended:
            raise StopIteration
        try:
            value = self._begin().next()
        except StopIteration:
            self._has_ended = True
            raise
        # Before the checks: an element that does not fit is passed over, not asked for again.
        self._number += 1
        with user_code(self._node.name):
            self._node.learn(value)
            row, structure = as_row(as_element(value))
            check_same(row, structure, self._node.spec, self._node.name)
        return ElementRows([[copy_leaf(leaf) for leaf in row]])

    def get_state(self) -> State:
        """Return the pipeline's own state."""
        return {
            # As text: the library's own keys must not be mistaken for those of a plan's state.
            "foreign": json.dumps(self._begin().get_state()),
            "number": self._number,
            "ended": self._has_ended,
        }

    def set_state(self, state: State) -> None:
        """Let the pipeline go to the position itself."""
        # Not the pass that was looked into: its first element is read already.
        self._pass = self._node.begin_anew()
        self._pass.reader.set_state(json.loads(state["foreign"]))
        self._number = state["number"]
        self._has_ended = state["ended"]

    def let_go(self, wait: bool = True) -> None:
        begun, self._pass = self._pass, None
        if begun is not None:
            begun.reader.close()
        self._has_ended = True
