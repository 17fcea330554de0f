"""`scan`: a function of the elements and of a state that it hands on (data layer)."""

from collections.abc import Callable
from functools import partial
from typing import Any

from stratax.base.shown import shown
from stratax.data.elements import (
    Block,
    ElementRows,
    Nested,
    Row,
    as_row,
    check_same,
    element_scope,
    flatten,
    spec_of_row,
    unflatten,
)
from stratax.data.ops._folded import Folded, argument_of, find_spec
from stratax.data.ops._trial import Trying, try_out
from stratax.data.plan import Drawing, Lookahead, Node, PlanRun, check_callable, merge_specs
from stratax.data.position import Buffering, Cursor, State
from stratax.data.vectorise import name_of, on_host, tell_of_function, user_code
from stratax.errors import BadTypeError


class Scan(Drawing, Trying):
    """What a function makes of each element and of the state that it gave with the element before.

    Args:
        child: The node.
        initial: The first state.
        function: From the state and an element to the next state and the new element.
    """

    label = "Scan"
    # Only a call of the function gives an element.
    has_known_spec = False
    is_indexable = False
    batch_size = None
    # One at a time: the function may be watched.
    reads_ahead = 1

    def __init__(self, child: Node, initial: object, function: Callable[..., Any]) -> None:
        check_callable("scan_func", function)
        if any(isinstance(leaf, Nested) for leaf in flatten(initial)[0]):
            raise BadTypeError(
                "The state of a scan is made of arrays, and holds no Dataset. "
                f"Received: initial_state={shown(initial)}. Keep numbers of it, such as a position."
            )
        super().__init__(child)
        self._initial = initial
        self._function = function
        self._spec: Any = None
        # The state behind the trial.
        self._tried: Folded | None = None

    @property
    def spec(self) -> Any:
        """What the elements have in common that were seen; before there were any, of the first one."""
        if self._spec is None:
            self._spec = find_spec(self.child, "scan", self._first_spec)
        return self._spec

    def _first_spec(self, row: Row) -> Any:
        with on_host():
            return spec_of_row(*self._result(self.fold(), row))

    def fold(self) -> Folded:
        """Return the first state."""
        folded = Folded(self._initial, "The state that the function given to scan returns")
        if self._tried is not None:
            # The first element may be made of the first state alone, and has the dtype of the others.
            folded.widen_like(self._tried)
        return folded

    def stream(self, run: PlanRun, passes: int) -> Cursor:
        """Open a pass from the first state on."""

        def make_folded(folded: Folded, row: Row, number: int) -> Row:
            with element_scope(lambda: self.name_of(run, passes, number)):
                try:
                    return self._check(*self._result(folded, row))
                except Exception as e:
                    note = f"The function {name_of(self._function)} given to scan failed on element {number}."
                    tell_of_function(e, "scan", note)
                    run.origins.tell(e, row)
                    raise

        return ScanCursor(self.child.open(run, passes), Lookahead(self.child), self.fold(), make_folded)

    def _result(self, folded: Folded, row: Row) -> tuple[Row, Any]:
        with user_code(name_of(self._function)):
            given = self._call_folded(folded, self._function, self.child, row)
        return self._follow(folded, given)

    @staticmethod
    def _call_folded(folded: Folded, function: Callable[..., Any], child: Node, row: Row) -> Any:
        return function(folded.argument(), argument_of(unflatten(child.structure, row)))

    def try_out(self) -> None:
        """Raise if the function can be seen to give something else than a state like the first, and an element."""
        folded = self.fold()
        try_out(
            self._function,
            self.child,
            lambda given: self._follow(folded, given),
            partial(self._call_folded, folded),
        )
        self._tried = folded

    def _follow(self, folded: Folded, given: object) -> tuple[Row, Any]:
        if not isinstance(given, tuple | list) or len(given) != 2:
            raise BadTypeError(
                "The function given to scan returns a pair: the next state and the new element. Received: "
                f"{shown(given)} from {name_of(self._function)}. Return (state, element)."
            )
        # Lists in what it returns are arrays, as in TensorFlow.
        made = as_row(given[1])
        folded.follow(given[0])
        return made

    def _check(self, row: Row, structure: object) -> Row:
        if self._spec is None:
            self._spec = spec_of_row(row, structure)
        check_same(row, structure, self._spec, "The function given to scan")
        self._spec = merge_specs(self._spec, spec_of_row(row, structure))
        return row


class ScanCursor(Buffering):
    """Calls the function for element after element.

    Args:
        child: The stream.
        ahead: How many of its elements may be read at once though fewer are asked for.
        folded: The first state.
        made: Makes an element of the state, which it changes, and an element with its number.
    """

    def __init__(
        self,
        child: Cursor,
        ahead: Callable[[], int],
        folded: Folded,
        made: Callable[[Folded, Row, int], Row],
    ) -> None:
        super().__init__(child, ahead)
        self._folded = folded
        self._made = made
        self._base = 0

    def read(self, limit: int) -> Block:
        """Read the next element: each needs the state behind the one before."""
        row = self._peek_once(1).row(0)
        number = self._base + self._num_passed
        self._advance(1)
        with on_host():
            return ElementRows([self._made(self._folded, row, number)])

    def get_state(self) -> State:
        """Return the position behind the last element, and the state there."""
        return {
            "number": self._base + self._num_passed,
            "folded": self._folded.encode_state(),
            "feed": super().get_state(),
        }

    def set_state(self, state: State) -> None:
        """Go to a position that `get_state` returned."""
        self._base = state["number"]
        self._folded.restore(state["folded"])
        super().set_state(state["feed"])
