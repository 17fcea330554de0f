"""`interleave` and `flat_map`: the elements of many Datasets, in turns or one Dataset after another (data layer)."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from stratax.data._block import Block
from stratax.data._cursor import Cursor, State
from stratax.data._element_random import element_scope
from stratax.data._feed import Feed, Trail
from stratax.data._node import Lookahead, Node, Order, Run, feed_of, first_row
from stratax.data._prefetch import PrefetchCursor
from stratax.data._spec import UNKNOWN_CARDINALITY, Nested
from stratax.data._structure import Row
from stratax.data._vectorise import call, on_host
from stratax.errors import BadTypeError, DataError

_BLOCKS_AHEAD = 4


class Interleave(Node):
    """The elements of the Datasets that a function makes of each element, in turns.

    Args:
        child: The node.
        function: Gives a Dataset for an element.
        open_node: Gives the plan of a Dataset (this module does not know the class).
        cycle_length: How many Datasets take turns.
        block_length: How many elements each gives in its turn.
        threads: How many of them may be read ahead in the background; 0 for none.
    """

    label = "Interleave"
    operation = "interleave"

    def __init__(
        self,
        child: Node,
        function: Callable[..., Any],
        open_node: Callable[[Any], Node],
        cycle_length: int,
        block_length: int,
        threads: int = 0,
    ) -> None:
        self.children = (child,)
        self._function = function
        self._open_node = open_node
        self._cycle_length = cycle_length
        self._block_length = block_length
        self._threads = threads
        self._order = Order(None, reshuffle=True, lazy=True)
        self._spec: Any = None

    @property
    def order(self) -> Order:
        """Seeds what the function draws, and the shuffles in the Datasets it makes."""
        return self._order

    def describe(self) -> str:
        """The operation and its turns."""
        return f"{self.label}({self._cycle_length}, {self._block_length})"

    @property
    def spec(self) -> Any:
        """That of the first inner Dataset; calls the function if it was not called before."""
        if self._spec is None:
            first = first_row(self.children[0])
            if first is None:
                raise DataError(
                    f"The element_spec of {self._article} {self.operation} over an empty Dataset can't be found. "
                    f"Received: element_spec={self.children[0].spec!r}."
                )
            self._spec = self._made(first, 0).spec
        return self._spec

    def first_inner(self) -> Node | None:
        """The plan that the function makes of the first element; None if there is no element."""
        first = first_row(self.children[0])
        return None if first is None else self._made(first, 0)

    @property
    def _article(self) -> str:
        return "an" if self.operation[0] in "aeiou" else "a"

    @property
    def length(self) -> int:
        """Not known, except of nothing."""
        return 0 if self.children[0].length == 0 else UNKNOWN_CARDINALITY

    @property
    def is_indexable(self) -> bool:
        """Only iterates."""
        return False

    @property
    def batch_size(self) -> int | None:
        """Not known."""
        return None

    @property
    def reads_ahead(self) -> int:
        """Nothing: the function may be watched."""
        return 1

    @property
    def _name(self) -> str:
        name = getattr(self._function, "__qualname__", repr(self._function))
        return f"The function {name} given to {self.operation}"

    def _made(self, row: Row, number: int) -> Node:
        try:
            with on_host():
                result = call(self._function, self.children[0].structure, row)
        except Exception as e:
            e.add_note(f"{self._name} failed on element {number}.")
            raise
        if not isinstance(result, Nested):
            name = getattr(self._function, "__qualname__", repr(self._function))
            raise BadTypeError(
                f"The function given to {self.operation} has to return a Dataset. "
                f"Received: {name} returned {type(result).__name__} for element {number}. "
                "Wrap the result: Dataset.from_tensor_slices(result)."
            )
        return self._open_node(result)

    def stream(self, run: Run, passes: int) -> Cursor:
        """In turns."""
        structures: list[Any] = []

        def open_inner(row: Row, number: int) -> Feed:
            with element_scope(lambda: (*self._order.key(run, passes), number)):
                inner = self._made(row, number)
            self._check_structure(structures, inner, number)
            ahead = Lookahead(inner)
            cursor = inner.open(run, passes)
            if self._threads:
                cursor = PrefetchCursor(cursor, max(_BLOCKS_AHEAD * self._block_length, 2 * ahead()), run)
            return Feed(cursor, ahead)

        feed = feed_of(self.children[0], run, passes)
        return InterleaveCursor(feed, open_inner, self._cycle_length, self._block_length)

    def _check_structure(self, structures: list[Any], inner: Node, number: int) -> None:
        if not structures:
            structures.append(inner.structure)
        elif inner.structure != structures[0]:
            raise DataError(
                f"{self._name} returned Datasets of different "
                f"structure. Expected, as before: {structures[0]}. Received: {inner.spec!r} for element {number}."
            )


class FlatMap(Interleave):
    """The elements of the Datasets that a function makes of each element, one Dataset after another.

    Args:
        child: The node.
        function: Gives a Dataset for an element.
        open_node: Gives the plan of a Dataset.
    """

    label = "FlatMap"
    operation = "flat_map"

    def __init__(self, child: Node, function: Callable[..., Any], open_node: Callable[[Any], Node]) -> None:
        super().__init__(child, function, open_node, cycle_length=1, block_length=1 << 30)

    def describe(self) -> str:
        """The operation."""
        return self.label


@dataclass(slots=True)
class _Inner:
    """A Dataset that takes turns.

    Attributes:
        number: Which element of the child it was made of.
        feed: Its elements.
    """

    number: int
    feed: Feed


class InterleaveCursor(Cursor):
    """Takes turns as TensorFlow's `interleave` does.

    Args:
        feed: The elements that the Datasets are made of.
        open_inner: Makes a Dataset of an element and its number, and opens it.
        cycle_length: How many take turns.
        block_length: Elements in a turn.
    """

    def __init__(
        self, feed: Feed, open_inner: Callable[[Row, int], Feed], cycle_length: int, block_length: int
    ) -> None:
        self._feed = feed
        self._trail = Trail(feed)
        self._open_inner = open_inner
        self._inners: list[_Inner | None] = [None] * cycle_length
        self._block_length = block_length
        self._turn = 0
        self._given = 0
        self._num_read = 0
        self._base = 0
        self._is_ended = False

    def read(self, limit: int) -> Block:
        """Elements of one turn."""
        while (inner := self._current()) is not None:
            try:
                block = inner.feed.read(min(limit, self._block_length - self._given))
            except StopIteration:
                self._close_inner(inner)
                continue
            except Exception:
                self._count(1)
                raise
            self._count(block.count)
            return block
        raise StopIteration

    def skip(self, count: int) -> int:
        """In the Datasets whose turns come."""
        passed = 0
        while passed < count:
            try:
                inner = self._current()
            except Exception:
                passed += 1
                continue
            if inner is None:
                break
            wanted = min(count - passed, self._block_length - self._given)
            found = inner.feed.skip(wanted)
            passed += found
            if found:
                self._count(found)
            if found < wanted:
                self._close_inner(inner)
        return passed

    def _current(self) -> _Inner | None:
        """The Dataset whose turn it is; `None` at the end."""
        while not self._is_ended or any(self._inners):
            inner = self._inners[self._turn]
            if inner is not None:
                return inner
            if self._is_ended:
                self._next_turn()
            else:
                self._open_next()
        return None

    def _open_next(self) -> None:
        self._mark()
        number = self._base + self._num_read
        try:
            row = self._feed.read(1).row(0)
        except StopIteration:
            self._is_ended = True
            return
        except Exception:
            self._num_read += 1
            raise
        self._num_read += 1
        self._inners[self._turn] = _Inner(self._num_read - 1, self._open_inner(row, number))

    def _mark(self) -> None:
        if self._trail.is_due():
            self._trail.mark(self._num_read, self._oldest())

    def _oldest(self) -> int:
        return min((inner.number for inner in self._inners if inner is not None), default=self._num_read)

    def _close_inner(self, inner: _Inner) -> None:
        inner.feed.close()
        self._inners[self._turn] = None
        self._next_turn()

    def _count(self, count: int) -> None:
        self._given += count
        if self._given == self._block_length:
            self._next_turn()

    def _next_turn(self) -> None:
        self._given = 0
        self._turn = (self._turn + 1) % len(self._inners)

    def get_state(self) -> State:
        """The turn, and for each Dataset the number of its element and its own place."""
        anchor, child = self._num_read, None
        if any(self._inners):
            anchor, child = self._trail.recall(self._oldest())
        return {
            "child": self._feed.get_state() if child is None else child,
            "base": self._base + anchor,
            "read": self._num_read - anchor,
            "turn": self._turn,
            "given": self._given,
            "ended": self._is_ended,
            "inners": [
                None if inner is None else {"number": inner.number - anchor, "feed": inner.feed.get_state()}
                for inner in self._inners
            ],
        }

    def set_state(self, state: State) -> None:
        """Makes the open Datasets again."""
        self._feed.set_state(state["child"])
        self._trail.note(0, state["child"])
        self._base, self._turn, self._given = state["base"], state["turn"], state["given"]
        open_ones = [
            (inner["number"], turn) for turn, inner in enumerate(state["inners"]) if inner is not None
        ]
        for number, turn in sorted(open_ones):
            self._num_read += self._feed.skip(number - self._num_read)
            feed = self._open_inner(self._feed.read(1).row(0), self._base + number)
            self._num_read += 1
            feed.set_state(state["inners"][turn]["feed"])
            self._inners[turn] = _Inner(number, feed)
        self._num_read += self._feed.skip(state["read"] - self._num_read)
        self._is_ended = state["ended"]

    def close(self) -> None:
        """Closes all that are open."""
        for inner in self._inners:
            if inner is not None:
                inner.feed.close()
        self._feed.close()
