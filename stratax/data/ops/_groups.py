"""`group_by_window` and `group_by_reducer`: elements gathered by a key that a function gives (data layer)."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from stratax.data.elements import (
    INFINITE_CARDINALITY,
    UNKNOWN_CARDINALITY,
    Block,
    DatasetSpec,
    ElementRows,
    Nested,
    Row,
    TensorSpec,
    as_array,
    as_components,
    as_row,
    copy_leaf,
    element_scope,
    flatten,
    spec_of_row,
    unflatten,
)
from stratax.data.ops._folded import Folded, argument_of, find_spec
from stratax.data.ops._trial import Trying, try_out
from stratax.data.ops.interleave._node import FlatMap
from stratax.data.plan import Drawing, Node, PlanRun, check_callable, feed_of
from stratax.data.position import Cursor, CursorOver, Feed, Positions, State
from stratax.data.sources import RowsSource
from stratax.data.vectorise import call, name_of, on_host, tell_of_function, user_code
from stratax.errors import DataError


class Keyed(Drawing, Trying):
    """Elements gathered by key.

    Args:
        child: The node.
        key_func: Gives the key of an element: an int64 scalar.

    Attributes:
        operation: The name of the method, for messages.
    """

    operation: str
    is_indexable = False
    batch_size = None
    # One at a time: the functions may be watched.
    reads_ahead = 1

    def __init__(self, child: Node, key_func: Callable[..., Any]) -> None:
        check_callable("key_func", key_func, child)
        super().__init__(child)
        self._key_func = key_func

    @property
    def length(self) -> int:
        """The length, which is known of nothing only."""
        return 0 if self.child.length == 0 else UNKNOWN_CARDINALITY

    def key_of(self, run: PlanRun, passes: int, row: Row, number: int) -> int:
        """Return the key of an element."""
        # The function may write to what it gets; the element goes on unchanged.
        copies = [copy_leaf(leaf) for leaf in row]
        name = name_of(self._key_func)
        try:
            with on_host(), element_scope(lambda: self.name_of(run, passes, number)), user_code(name):
                key = _int64(call(self._key_func, self.child.structure, copies))
        except Exception as e:
            note = f"The function {name} given to {self.operation} failed on element {number}."
            tell_of_function(e, self.operation, note)
            run.origins.tell(e, row)
            raise
        return self._check_key(key, number)

    def _check_key(self, key: Any, number: int) -> int:
        if key.shape or key.dtype != np.int64:
            raise DataError(
                f"key_func given to {self.operation} has to return one int64. Received: {name_of(self._key_func)} gave "
                f"dtype={key.dtype}, shape={key.shape} on element {number}. Return tf.cast(key, tf.int64)."
            )
        return int(key)

    def try_out(self) -> None:
        """Raise if a function can be seen to give what does not fit."""
        try_out(self._key_func, self.child, lambda key: self._check_key(_int64(key), 0))


def _int64(value: object) -> Any:
    """Return what a function has given as an array; a whole number that is no tensor is int64, as in TensorFlow."""
    if isinstance(value, int | np.integer | np.bool_):
        return np.array(int(value), np.int64)
    return np.asarray(as_array(value))


class Groups(Keyed):
    """Pairs of a key and a Dataset of so many elements that have it.

    Args:
        child: The node.
        key_func: Gives the key of an element.
        size_of: Gives the size of a group by its key.
        wrap: Makes a Dataset of a node.
    """

    label = "Groups"
    operation = "group_by_window"

    def __init__(
        self,
        child: Node,
        key_func: Callable[..., Any],
        size_of: Callable[[int], int],
        wrap: Callable[[Node], Nested],
    ) -> None:
        super().__init__(child, key_func)
        self._size_of = size_of
        self._wrap = wrap

    @property
    def length(self) -> int:
        """The length, which is known of nothing, and of elements without an end."""
        return self.child.length if self.child.length in (0, INFINITE_CARDINALITY) else UNKNOWN_CARDINALITY

    @property
    def spec(self) -> Any:
        """A key and a Dataset."""
        return TensorSpec((), np.int64), DatasetSpec(self.child.spec)

    def stream(self, run: PlanRun, passes: int) -> Cursor:
        """Open a pass over the groups in the order in which they are full, and at the end the others by key."""
        return GroupsCursor(
            feed_of(self.child, run, passes),
            lambda row, number: self.key_of(run, passes, row, number),
            self._size_of,
            self._group,
        )

    def _group(self, key: int, rows: list[Row]) -> Row:
        return [np.int64(key), self._wrap(RowsSource(rows, self.child.spec))]


class GroupByWindow(FlatMap):
    """The elements of the Datasets that a function makes of each key and its group."""

    label = "GroupByWindow"
    operation = "group_by_window"

    @property
    def length(self) -> int:
        """The length, which is known of nothing, and of groups without an end."""
        return self.child.length

    def try_out(self) -> None:
        """Raise if a function can be seen to give what does not fit; it may get a group without elements."""
        self.child.try_out()  # type: ignore[attr-defined]
        empty = self.child._group(0, [])  # type: ignore[attr-defined]
        try_out(
            self._function,
            self.child.child,  # type: ignore[attr-defined]
            lambda result: self._check(result, 0),
            lambda function, node, row: function(*empty),
        )


class GroupsCursor(CursorOver):
    """Holds the elements of all groups that are not full.

    Its position is before the first element that is still held, with the numbers of those that are.

    Args:
        feed: The stream.
        key_of: Gives the key of an element with its number.
        size_of: Gives the size of a group by its key.
        make: Makes an element of a key and the elements of its group.
    """

    def __init__(
        self,
        feed: Feed,
        key_of: Callable[[Row, int], int],
        size_of: Callable[[int], int],
        make: Callable[[int, list[Row]], Row],
    ) -> None:
        super().__init__(feed)
        self._feed = feed
        self._positions = Positions(feed)
        self._key_of, self._size_of, self._make = key_of, size_of, make
        # By key: the size that the group will have, and its elements with their numbers.
        self._groups: dict[int, tuple[int, list[tuple[int, Row]]]] = {}
        self._num_read = 0
        self._base = 0
        self._is_ended = False

    def read(self, limit: int) -> Block:
        """Read elements until a group is full."""
        while not self._is_ended:
            key = self._read_one()
            if key is not None:
                return self._make_group(key)
        if not self._groups:
            raise StopIteration
        return self._make_group(min(self._groups))

    def _make_group(self, key: int) -> Block:
        _, held = self._groups.pop(key)
        return ElementRows([self._make(key, [row for _, row in held])])

    def _read_one(self) -> int | None:
        """Read an element into its group; return the key if the group is full."""
        self._positions.mark(self._num_read, self._oldest())
        number = self._num_read
        try:
            row = self._feed.row()
        except StopIteration:
            self._is_ended = True
            return None
        except Exception:
            self._num_read += 1
            self._positions.mark_failure(self._num_read, self._oldest())
            raise
        self._num_read += 1
        key = self._key_of(row, self._base + number)
        if key not in self._groups:
            self._groups[key] = (self._size_of(key), [])
        size, held = self._groups[key]
        held.append((number, row))
        return key if len(held) >= size else None

    def _oldest(self) -> int:
        return min((held[0][0] for _, held in self._groups.values() if held), default=self._num_read)

    def get_state(self) -> State:
        """Return a position at or before the oldest element that is held, and which are."""
        oldest = self._oldest()
        groups = [
            [key, size, [number - oldest for number, _ in held]] for key, (size, held) in self._groups.items()
        ]
        return {
            "feed": self._positions.behind(oldest, self._num_read),
            "base": self._base + oldest,
            "read": self._num_read - oldest,
            "groups": groups,
            "ended": self._is_ended,
        }

    def set_state(self, state: State) -> None:
        """Go to a position that `get_state` returned, and read the elements that were held."""
        self._positions.go_to(state["feed"])
        self._positions.note(0, self._feed.get_state())
        self._base, self._is_ended = state["base"], state["ended"]
        self._groups = {key: (size, []) for key, size, _ in state["groups"]}
        key_of = {number: key for key, _, numbers in state["groups"] for number in numbers}
        while self._num_read < state["read"]:
            number = self._num_read
            if number in key_of:
                self._groups[key_of[number]][1].append((number, self._feed.row()))
                self._num_read += 1
            else:
                self._num_read += self._feed.drop(1)


class GroupByReducer(Keyed):
    """What a reducer makes of all elements that have one key, by key; the whole is read for the first.

    Args:
        child: The node.
        key_func: Gives the key of an element.
        init_func: Gives the first state by a key.
        reduce_func: From a state and an element to the next state.
        finalize_func: From a state to an element.
    """

    label = "GroupByReducer"
    operation = "group_by_reducer"
    # Only calls of the functions give an element.
    has_known_spec = False

    def __init__(
        self,
        child: Node,
        key_func: Callable[..., Any],
        init_func: Callable[..., Any],
        reduce_func: Callable[..., Any],
        finalize_func: Callable[..., Any],
    ) -> None:
        super().__init__(child, key_func)
        self._init_func, self._reduce_func, self._finalize_func = init_func, reduce_func, finalize_func
        self._spec: Any = None

    @property
    def spec(self) -> Any:
        """What the functions make of the first element alone."""
        if self._spec is None:
            self._spec = find_spec(self.child, "group_by_reducer", self._first_spec)
        return self._spec

    def _first_spec(self, row: Row) -> Any:
        with on_host():
            folded = self._initial(0)
            self._reduce(folded, row)
            return spec_of_row(*self._final(folded))

    def stream(self, run: PlanRun, passes: int) -> Cursor:
        """Open a pass over the keys in their order."""
        return _ReducerCursor(lambda: self._reduce_pass(run, passes), lambda folded: self._final(folded)[0])

    def _reduce_pass(self, run: PlanRun, passes: int) -> list[Folded]:
        feed = feed_of(self.child, run, passes)
        found: dict[int, Folded] = {}
        try:
            for number, row in enumerate(feed.rows()):
                key = self.key_of(run, passes, row, number)
                with on_host(), element_scope(partial(self.name_of, run, passes, number)):
                    if key not in found:
                        found[key] = self._initial(key)
                    self._reduce(found[key], row)
        finally:
            feed.close()
        return [found[key] for key in sorted(found)]

    def _initial(self, key: int) -> Folded:
        with user_code(name_of(self._init_func)):
            state = as_components(self._init_func(argument_of(np.int64(key))))
        return Folded(state, "The reduce_func given to group_by_reducer")

    def _reduce(self, folded: Folded, row: Row) -> None:
        element = argument_of(unflatten(self.child.structure, row))
        with user_code(name_of(self._reduce_func)):
            folded.follow(as_components(self._reduce_func(folded.argument(), element)))

    def try_out(self) -> None:
        """Raise if a function can be seen to give what does not fit."""
        super().try_out()
        try_out(
            self._init_func,
            self.child,
            self._try_reducing,
            lambda init, node, row: init(argument_of(np.int64(0))),
        )

    def _try_reducing(self, first: object) -> None:
        folded = Folded(as_components(first), "The reduce_func given to group_by_reducer")

        def call_folded(function: Callable[..., Any], node: Node, row: Row) -> Any:
            return function(folded.argument(), argument_of(unflatten(node.structure, row)))

        try_out(self._reduce_func, self.child, lambda new: folded.follow(as_components(new)), call_folded)

    def _final(self, folded: Folded) -> tuple[Row, Any]:
        with user_code(name_of(self._finalize_func)):
            leaves, structure = flatten(folded.value())
            # A tuple becomes several arguments, as in TensorFlow.
            return as_row(as_components(call(self._finalize_func, structure, leaves)))


class _ReducerCursor(Cursor):
    """Its position is how many keys it has given: what they were reduced of is read again."""

    def __init__(self, reduced: Callable[[], list[Folded]], final: Callable[[Folded], Row]) -> None:
        self._reduced, self._final = reduced, final
        self._found: list[Folded] | None = None
        self._number = 0

    def read(self, limit: int) -> Block:
        if self._found is None:
            self._found = self._reduced()
        if self._number >= len(self._found):
            raise StopIteration
        self._number += 1
        with on_host():
            return ElementRows([self._final(self._found[self._number - 1])])

    def get_state(self) -> State:
        return {"number": self._number}

    def set_state(self, state: State) -> None:
        self._number = state["number"]
