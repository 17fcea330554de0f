"""`filter` and `window`, which read whatever is below them as a stream (data layer)."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from stratax.data.elements._block import Block, Columns, Rows
from stratax.data.elements._random import element_scope
from stratax.data.elements._spec import UNKNOWN_CARDINALITY, DatasetSpec, Nested
from stratax.data.elements._structure import Row, flatten, unflatten
from stratax.data.plan._node import Drawing, Node, Passes, Run, feed_of
from stratax.data.position._cursor import Cursor, CursorOver, State
from stratax.data.position._feed import Feed, Trail
from stratax.data.vectorise._function import call, on_host
from stratax.data.vectorise._user_code import user_code
from stratax.errors import DataError


class Filter(Drawing):
    """The elements for which a predicate holds."""

    label = "Filter"

    def __init__(self, child: Node, predicate: Callable[..., Any]) -> None:
        super().__init__(child)
        self._predicate = predicate

    @property
    def spec(self) -> Any:
        """As the child's."""
        return self.child.spec

    @property
    def length(self) -> int:
        """Not known, except of nothing."""
        return 0 if self.child.length == 0 else UNKNOWN_CARDINALITY

    @property
    def is_indexable(self) -> bool:
        """Only iterates."""
        return False

    @property
    def reads_ahead(self) -> int:
        """Nothing: the predicate may be watched."""
        return 1

    def stream(self, run: Run, passes: int) -> Cursor:
        """Those that pass."""
        return FilterCursor(feed_of(self.child, run, passes), partial(self._passes, run, passes))

    def _passes(self, run: Run, passes: int, row: Row, number: int) -> bool:
        copies = [leaf.copy() if isinstance(leaf, np.ndarray) else leaf for leaf in row]
        try:
            with element_scope(lambda: self.name_of(run, passes, number)), user_code(_name(self._predicate)):
                verdict = np.asarray(call(self._predicate, self.child.structure, copies))
        except Exception as e:
            e.add_note(f"The predicate {_name(self._predicate)} given to filter failed on element {number}.")
            run.origins.tell(e, row)
            raise
        if verdict.shape or verdict.dtype != np.bool_:
            raise DataError(
                "The predicate given to filter has to return one bool. Received: "
                f"{_name(self._predicate)} gave dtype={verdict.dtype}, shape={verdict.shape} on element {number}. "
                "Return a comparison, such as x > 0."
            )
        return bool(verdict)


class FilterCursor(CursorOver):
    """Asks about element after element.

    Args:
        feed: The stream.
        passes: The verdict on a row with its number.
    """

    def __init__(self, feed: Feed, passes: Callable[[Row, int], bool]) -> None:
        super().__init__(feed)
        self._feed = feed
        self._passes = passes
        self._number = 0
        self._failure: Exception | None = None

    def read(self, limit: int) -> Block:
        """Those that pass among the next elements of one shape."""
        if self._failure is not None:
            failure, self._failure = self._failure, None
            self._advance(1)
            raise failure
        while True:
            block = self._peeked(limit)
            kept, asked = self._asked(block)
            if kept:
                self._advance(asked)
                return _selected(block, kept)
            if self._failure is not None:
                self._advance(asked)
                return self.read(limit)
            self._advance(asked)

    def _peeked(self, limit: int) -> Block:
        try:
            return self._feed.peek(limit)
        except StopIteration:
            raise
        except Exception:
            self._advance(1)
            raise

    def _asked(self, block: Block) -> tuple[list[int], int]:
        """Which elements pass, and how many were asked about: those before one that fails."""
        kept = []
        with on_host():
            for i in range(block.count):
                try:
                    if self._passes(block.row(i), self._number + i):
                        kept.append(i)
                except Exception as e:
                    self._failure = e
                    return kept, i
        return kept, block.count

    def _advance(self, count: int) -> None:
        if count:
            self._feed.advance(count)
        self._number += count

    def get_state(self) -> State:
        """The place behind the last element that was given, or asked about in vain."""
        return {"number": self._number, "feed": self._feed.get_state()}

    def set_state(self, state: State) -> None:
        """Goes there."""
        self._number = state["number"]
        self._feed.set_state(state["feed"])


def _selected(block: Block, kept: list[int]) -> Block:
    if len(kept) == block.count:
        return block
    if isinstance(block, Columns):
        return Columns([leaf[kept] for leaf in block.leaves], len(kept))
    return Rows([block.row(i) for i in kept])


def _name(function: Callable[..., Any]) -> str:
    return str(getattr(function, "__qualname__", repr(function)))


class RowsSource(Node):
    """Elements that are at hand as rows: what a window holds."""

    label = "Window"

    def __init__(self, rows: list[Row], spec: Any) -> None:
        self._rows = rows
        self._spec = spec

    @property
    def spec(self) -> Any:
        """As given."""
        return self._spec

    @property
    def length(self) -> int:
        """How many rows."""
        return len(self._rows)

    @property
    def is_uniform(self) -> bool:
        """Not checked."""
        return False

    def gather(self, indices: np.ndarray, passes: Passes, run: Run) -> Block:
        """Copies of the rows."""
        rows = [self._rows[i] for i in indices]
        return Rows([[leaf.copy() if isinstance(leaf, np.ndarray) else leaf for leaf in row] for row in rows])


class Window(Node):
    """Overlapping or apart groups of elements, each component of a group a Dataset.

    Args:
        child: The node.
        size: Elements of a window (before the stride).
        shift: Elements between the starts of two windows.
        stride: Distance of a window's elements.
        drop_remainder: Whether windows at the end that are short are left out.
        wrap: Makes a Dataset of a node.
    """

    label = "Window"

    def __init__(
        self,
        child: Node,
        size: int,
        shift: int,
        stride: int,
        drop_remainder: bool,
        wrap: Callable[[Node], Nested],
    ) -> None:
        self.children = (child,)
        self._size, self._shift, self._stride = size, shift, stride
        self._drop_remainder = drop_remainder
        self._wrap = wrap

    @property
    def spec(self) -> Any:
        """A DatasetSpec for every component."""
        specs, structure = flatten(self.children[0].spec)
        return unflatten(structure, [DatasetSpec(spec) for spec in specs])

    @property
    def is_indexable(self) -> bool:
        """Only iterates."""
        return False

    @property
    def batch_size(self) -> int | None:
        """Not batches."""
        return None

    @property
    def length(self) -> int:
        """Number of windows."""
        length = self.children[0].length
        if length < 0:
            return length
        if not self._drop_remainder:
            return -(-length // self._shift)
        reach = (self._size - 1) * self._stride + 1
        return 0 if length < reach else (length - reach) // self._shift + 1

    def stream(self, run: Run, passes: int) -> Cursor:
        """Window after window."""
        reach = (self._size - 1) * self._stride + 1
        feed = feed_of(self.children[0], run, passes)
        return WindowCursor(feed, reach, self._shift, self._stride, self._drop_remainder, self._window)

    def _window(self, chosen: list[Row]) -> Row:
        specs, _ = flatten(self.children[0].spec)
        return [self._wrap(RowsSource([[row[i]] for row in chosen], spec)) for i, spec in enumerate(specs)]


class WindowCursor(CursorOver):
    """Holds the elements of the next window; its place is before the first of them.

    An element that can't be made fails every window that it belongs to, as in TensorFlow.

    Args:
        feed: The stream.
        reach: From the first to the last element of a window, both counted.
        shift: From the first element of a window to that of the next.
        drop_remainder: Whether short windows at the end are left out.
        stride: From one element of a window to the next.
        make: Makes a window of its elements.
    """

    def __init__(
        self,
        feed: Feed,
        reach: int,
        shift: int,
        stride: int,
        drop_remainder: bool,
        make: Callable[[list[Row]], Row],
    ) -> None:
        super().__init__(feed)
        self._feed = feed
        self._trail = Trail(feed)
        self._reach, self._shift, self._stride = reach, shift, stride
        self._drop_remainder = drop_remainder
        self._make = make
        self._held: list[Row | Exception] = []
        self._num_read = 0

    def read(self, limit: int) -> Block:
        """One window."""
        self._fill()
        if not self._held or (self._drop_remainder and len(self._held) < self._reach):
            raise StopIteration
        chosen = self._held[: self._reach : self._stride]
        self._pass()
        rows = []
        for row in chosen:
            if isinstance(row, Exception):
                raise row
            rows.append(row)
        return Rows([self._make(rows)])

    def _fill(self) -> None:
        while len(self._held) < self._reach:
            self._trail.mark(self._num_read, self._num_read - len(self._held))
            try:
                block = self._feed.read(self._reach - len(self._held))
            except StopIteration:
                return
            except Exception as e:
                self._num_read += 1
                self._held.append(e)
                self._trail.mark_failure(self._num_read, self._num_read - len(self._held))
            else:
                self._num_read += block.count
                self._held += [block.row(i) for i in range(block.count)]

    def _pass(self) -> None:
        beyond = self._shift - len(self._held)
        self._held = self._held[self._shift :]
        if beyond > 0:
            self._num_read += self._feed.skip(beyond)

    def get_state(self) -> State:
        """A place at or before the first element of the next window."""
        return self._trail.place(self._num_read - len(self._held), self._num_read)

    def set_state(self, state: State) -> None:
        """Goes there."""
        self._trail.go_to(state)
