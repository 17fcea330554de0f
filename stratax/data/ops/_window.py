"""`window`: the node and its cursor (data layer)."""

from collections.abc import Callable
from typing import Any

from stratax.data.elements import Block, DatasetSpec, ElementRows, Nested, Row, flatten, unflatten
from stratax.data.plan import Node, OverOne, PlanRun, feed_of
from stratax.data.position import Cursor, CursorOver, Feed, Positions, State
from stratax.data.sources import RowsSource


class Window(OverOne):
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
    is_indexable = False
    batch_size = None

    def __init__(
        self,
        child: Node,
        size: int,
        shift: int,
        stride: int,
        wrap: Callable[[Node], Nested],
        *,
        drop_remainder: bool,
    ) -> None:
        super().__init__(child)
        self._size, self._shift, self._stride = size, shift, stride
        self._drop_remainder = drop_remainder
        self._wrap = wrap

    @property
    def spec(self) -> Any:
        """A DatasetSpec for every component."""
        specs, structure = flatten(self.child.spec)
        return unflatten(structure, [DatasetSpec(spec) for spec in specs])

    @property
    def length(self) -> int:
        length = self.child.length
        if length < 0:
            return length
        if not self._drop_remainder:
            # Without dropping, every multiple of the shift begins a window, and the last ones are short.
            return -(-length // self._shift)
        # From the first element of a window to behind its last one, in elements of the child.
        reach = (self._size - 1) * self._stride + 1
        return 0 if length < reach else (length - reach) // self._shift + 1

    def stream(self, run: PlanRun, passes: int) -> Cursor:
        reach = (self._size - 1) * self._stride + 1
        feed = feed_of(self.child, run, passes)
        return WindowCursor(
            feed, reach, self._shift, self._stride, drop_remainder=self._drop_remainder, make=self._window
        )

    def _window(self, chosen: list[Row]) -> Row:
        specs, _ = flatten(self.child.spec)
        return [self._wrap(RowsSource([[row[i]] for row in chosen], spec)) for i, spec in enumerate(specs)]


class WindowCursor(CursorOver):
    """Holds the elements of the next window; its position is before the first of them.

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
        make: Callable[[list[Row]], Row],
        *,
        drop_remainder: bool,
    ) -> None:
        super().__init__(feed)
        self._feed = feed
        self._positions = Positions(feed)
        self._reach, self._shift, self._stride = reach, shift, stride
        self._drop_remainder = drop_remainder
        self._make = make
        self._held: list[Row | Exception] = []
        self._num_read = 0

    def read(self, limit: int) -> Block:
        self._fill()
        # The child has ended: a window that is not full is the remainder.
        if not self._held or (self._drop_remainder and len(self._held) < self._reach):
            raise StopIteration
        # Taken before the window moves on, which it does also if one of them failed.
        chosen = self._held[: self._reach : self._stride]
        self._pass()
        rows = []
        for row in chosen:
            if isinstance(row, Exception):
                raise row
            rows.append(row)
        return ElementRows([self._make(rows)])

    def _fill(self) -> None:
        while len(self._held) < self._reach:
            # Windows overlap: the position is before the first element that is still needed.
            self._positions.mark(self._num_read, self._num_read - len(self._held))
            try:
                block = self._feed.read(self._reach - len(self._held))
            except StopIteration:
                return
            except Exception as e:
                # A failed element takes its position in every window that it belongs to.
                self._num_read += 1
                self._held.append(e)
                self._positions.mark_failure(self._num_read, self._num_read - len(self._held))
            else:
                self._num_read += block.count
                self._held += [block.row(i) for i in range(block.count)]

    def _pass(self) -> None:
        # A shift that is longer than the window passes over elements that were never read.
        beyond = self._shift - len(self._held)
        self._held = self._held[self._shift :]
        if beyond > 0:
            self._num_read += self._feed.skip(beyond)

    def get_state(self) -> State:
        """Return a position at or before the first element of the next window."""
        return self._positions.behind(self._num_read - len(self._held), self._num_read)

    def set_state(self, state: State) -> None:
        """Go to a position that `get_state` returned."""
        self._positions.go_to(state)
