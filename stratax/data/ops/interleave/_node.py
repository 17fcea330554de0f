"""`interleave` and `flat_map`: the elements of many Datasets, in turns or one Dataset after another (data layer)."""

import contextlib
import functools
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from stratax.base.shown import shown
from stratax.data.elements import AUTOTUNE, UNKNOWN_CARDINALITY, Nested, Row, as_plain, element_scope
from stratax.data.ops._trial import Trying, try_functions, try_out, zeros_of
from stratax.data.ops.interleave._cursor import CursorTurns, Inner, InterleaveCursor
from stratax.data.plan import (
    Drawing,
    Lookahead,
    Node,
    PlanRun,
    as_count,
    check_callable,
    feed_of,
    find_first,
    merge_specs,
    num_cores,
    one_of_many,
    read_ahead,
    threads_of,
)
from stratax.data.position import Cursor, Feed, ReadAhead, State
from stratax.data.vectorise import call, on_host, tell_of_function
from stratax.errors import BadArgumentError, BadTypeError, DataError

# Elements that a thread reads at a time of one Dataset.
_READ_AHEAD = 16
# A Dataset that takes turns waits for its files more than it computes.
_THREADS_PER_TURN = 3


class Interleave(Drawing, Trying):
    """The elements of the Datasets that a function makes of each element, in turns.

    Shuffles in those Datasets that have no seed draw theirs as the function draws.

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
    # Only a call of the function gives a Dataset.
    has_known_spec = False
    is_indexable = False
    batch_size = None
    # One at a time: the function may be watched.
    reads_ahead = 1

    def __init__(
        self,
        child: Node,
        function: Callable[..., Any],
        open_node: Callable[[Any], Node],
        cycle_length: int,
        block_length: int,
        threads: int = 0,
    ) -> None:
        super().__init__(child)
        self._function = function
        self._open_node = open_node
        self._cycle_length = cycle_length
        self._block_length = block_length
        self._threads = threads
        self._spec: Any = None

    def describe(self) -> str:
        return f"{self.label}({self._cycle_length}, {self._block_length})"

    @property
    def spec(self) -> Any:
        """What the inner Datasets have in common that were seen; of the first and last one, before there were any."""
        if self._spec is None:
            specs = self._sample_specs()
            if not specs:
                raise DataError(
                    f"The element_spec of {self._article} {self.operation} over an empty Dataset can't be found. "
                    f"Received: element_spec={shown(self.child.spec)}."
                )
            self._spec = functools.reduce(merge_specs, specs)
        return self._spec

    def _sample_specs(self) -> list[Any]:
        """Return the specs of the Datasets made of the first element, and of the last one where it is at hand."""
        # Random draws of a call for the spec must not move those of real elements.
        with element_scope(lambda: ()):
            found = [_spec_of(node) for node in [self.first_inner()] if node is not None]
            if not found and (row := zeros_of(self.child)) is not None:
                # Of nothing, as TensorFlow's tracing; a function that fails for zeros says nothing.
                with contextlib.suppress(Exception):
                    found.append(_spec_of(self._make_node(row, 0)))
            if found and self.child.is_indexable and self.child.length > 1:
                # A spec is only widened by it: an element that fails says so in its turn.
                with contextlib.suppress(Exception):
                    found.append(_spec_of(self._last_inner()))
        return found

    def _last_inner(self) -> Node:
        run = PlanRun()
        try:
            last = self.child.length - 1
            return self._make_node(self.child.gather(np.array([last]), 0, run).row(0), last)
        finally:
            run.close()

    def first_inner(self) -> Node | None:
        """Return the plan that the function makes of the first element; None if there is no element."""
        return find_first(self.child, lambda row: self._make_node(row, 0))

    @property
    def _article(self) -> str:
        return "an" if self.operation[0] in "aeiou" else "a"

    @property
    def length(self) -> int:
        """The length, which is known of nothing only."""
        return 0 if self.child.length == 0 else UNKNOWN_CARDINALITY

    @property
    def _name(self) -> str:
        name = getattr(self._function, "__qualname__", repr(self._function))
        return f"The function {name} given to {self.operation}"

    def _make_node(self, row: Row, number: int) -> Node:
        try:
            with on_host():
                result = call(self._function, self.child.structure, row)
        except Exception as e:
            tell_of_function(e, self.operation, f"{self._name} failed on element {number}.")
            raise
        self._check(result, number)
        return self._open_node(result)

    def _check(self, result: object, number: int) -> None:
        if not isinstance(result, Nested):
            name = getattr(self._function, "__qualname__", repr(self._function))
            raise BadTypeError(
                f"The function given to {self.operation} has to return a Dataset. "
                f"Received: {name} returned {type(as_plain(result)).__name__} for element {number}. "
                "Wrap the result: Dataset.from_tensor_slices(result)."
            )

    def try_out(self) -> None:
        """Raise if the function can be seen to give something else than a Dataset."""
        try_out(self._function, self.child, lambda result: self._check(result, 0))

    def stream(self, run: PlanRun, passes: int) -> Cursor:
        """Open a pass that takes from the children in turns."""
        # Fewer threads than Datasets: they share so many at a time.
        gate = threading.Semaphore(self._threads) if 0 < self._threads < self._cycle_length else None
        check = self._structure_check()

        def open_inner(row: Row, number: int, is_ahead: bool, position: State | None = None) -> Inner:
            with element_scope(lambda: self.name_of(run, passes, number)):
                node = self._make_node(row, number)
            cursor = node.open(run, passes)
            check_inner = functools.partial(check, node, number)
            if not self._threads:
                inner = Inner(number, Feed(cursor, Lookahead(node)), check_inner)
                if position is not None:
                    inner.feed.set_state(position)
                return inner
            size = max(self._block_length, _READ_AHEAD, read_ahead(node))
            ahead = ReadAhead(cursor, 2 * size, run, ahead=lambda: size, gate=gate)
            inner = Inner(number, ahead, check_inner)
            if position is not None:
                # Before the thread starts to read.
                ahead.set_state(position)
            if is_ahead:
                ahead.start(size)
            return inner

        turns = CursorTurns(self._cycle_length, self._block_length, is_parallel=bool(self._threads))
        return InterleaveCursor(feed_of(self.child, run, passes), open_inner, turns)

    def _structure_check(self) -> Callable[[Node, int], None]:
        """Compare the structures of Datasets that have given something: before, it may take calls to know them."""
        # The structure of the first Dataset that gave something.
        expected: list[Any] = []

        def check(inner: Node, number: int) -> None:
            spec = _spec_of(inner)
            if self._spec is None:
                self._spec = spec
            elif self._spec != spec:
                self._spec = merge_specs(self._spec, spec)
            if not expected:
                expected.append(inner.structure)
            elif inner.structure != expected[0]:
                raise DataError(
                    f"{self._name} returned Datasets of different "
                    f"structure. Expected, as before: {expected[0]}. Received: {shown(inner.spec)} for element "
                    f"{number}."
                )

        return check


def _spec_of(inner: Node) -> Any:
    with one_of_many():
        return inner.spec


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
        # One at a time, in turns that never end before the Dataset does.
        super().__init__(child, function, open_node, cycle_length=1, block_length=1 << 30)

    def describe(self) -> str:
        return self.label


def make_interleave(
    node: Node,
    function: Any,
    cycle_length: object,
    block_length: object,
    num_parallel_calls: object,
    open_node: Any,
) -> Interleave:
    """Make an `interleave`, with TensorFlow's rule for a cycle length that is not given."""
    check_callable("map_func", function, node)
    block = 1 if block_length is None else as_count("block_length", block_length, 1)
    threads = 0 if num_parallel_calls is None else threads_of(num_parallel_calls)
    cycle = AUTOTUNE if cycle_length is None else as_count("cycle_length", cycle_length, AUTOTUNE)
    if cycle == 0:
        raise BadArgumentError(
            "cycle_length has to be positive or AUTOTUNE. Received: cycle_length=0. Pass the number of Datasets "
            "that take turns."
        )
    if cycle == AUTOTUNE:
        is_chosen = num_parallel_calls in (None, AUTOTUNE)
        # As TensorFlow chooses; each parallel Dataset has threads of its own beside.
        cores = num_cores() if num_parallel_calls is None else -(-num_cores() // _THREADS_PER_TURN)
        cycle = cores if is_chosen else min(threads, num_cores())
    return try_functions(Interleave(node, function, open_node, cycle, block, threads))
