"""`filter` and `take_while`: steps that ask a predicate about elements (data layer)."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from stratax.data.elements import (
    UNKNOWN_CARDINALITY,
    Block,
    Columns,
    ElementRows,
    Row,
    copy_leaf,
    element_scope,
)
from stratax.data.ops._trial import Trying, try_out
from stratax.data.plan import Drawing, Lookahead, Node, PlanRun
from stratax.data.position import Buffering, Cursor, State
from stratax.data.vectorise import call, on_host, tell_of_function, user_code
from stratax.errors import DataError


class Asking(Drawing, Trying):
    """Some of the elements, by what a predicate says of each.

    Attributes:
        operation: The name of the method, for messages.
    """

    operation: str
    is_indexable = False
    # One at a time: the predicate may be watched.
    reads_ahead = 1

    def __init__(self, child: Node, predicate: Callable[..., Any]) -> None:
        super().__init__(child)
        self._predicate = predicate

    @property
    def length(self) -> int:
        """The length, which is known of nothing only."""
        return 0 if self.child.length == 0 else UNKNOWN_CARDINALITY

    def _passes(self, run: PlanRun, passes: int, row: Row, number: int) -> bool:
        # The predicate may write to what it gets; the element goes on unchanged.
        copies = [copy_leaf(leaf) for leaf in row]
        try:
            with element_scope(lambda: self.name_of(run, passes, number)), user_code(_name(self._predicate)):
                verdict = np.asarray(call(self._predicate, self.child.structure, copies))
        except Exception as e:
            note = f"The predicate {_name(self._predicate)} given to {self.operation} failed on element {number}."
            tell_of_function(e, self.operation, note)
            run.origins.tell(e, row)
            raise
        return self._check_verdict(verdict, number)

    def _check_verdict(self, verdict: Any, number: int) -> bool:
        if verdict.shape or verdict.dtype != np.bool_:
            raise DataError(
                f"The predicate given to {self.operation} has to return one bool. Received: "
                f"{_name(self._predicate)} gave dtype={verdict.dtype}, shape={verdict.shape} on element {number}. "
                "Return a comparison, such as x > 0."
            )
        return bool(verdict)

    def try_out(self) -> None:
        """Raise if the predicate can be seen to give something else."""
        try_out(self._predicate, self.child, lambda result: self._check_verdict(np.asarray(result), 0))


class Filter(Asking):
    """The elements for which a predicate holds."""

    label = "Filter"
    operation = "filter"

    def stream(self, run: PlanRun, passes: int) -> Cursor:
        """Open a pass over the elements that the predicate lets through."""
        return FilterCursor(
            self.child.open(run, passes), Lookahead(self.child), partial(self._passes, run, passes)
        )


class TakeWhile(Asking):
    """The elements before the first for which a predicate does not hold."""

    label = "TakeWhile"
    operation = "take_while"

    def stream(self, run: PlanRun, passes: int) -> Cursor:
        """Open a pass over the elements up to the first that the predicate refuses."""
        return TakeWhileCursor(
            self.child.open(run, passes), Lookahead(self.child), partial(self._passes, run, passes)
        )


class FilterCursor(Buffering):
    """Asks about element after element.

    Args:
        child: The stream.
        ahead: How many of its elements may be read at once though fewer are asked for.
        passes: The verdict on a row with its number.
    """

    _ends_at_refused = False

    def __init__(self, child: Cursor, ahead: Callable[[], int], passes: Callable[[Row, int], bool]) -> None:
        super().__init__(child, ahead)
        self._passes = passes
        self._base = 0
        self._asking: Exception | None = None
        self._is_ended = False

    def read(self, limit: int) -> Block:
        """Return those that pass among the next elements of one shape."""
        if self._asking is not None:
            # Raised in its turn: elements before it are given first.
            failure, self._asking = self._asking, None
            self._advance(1)
            raise failure
        while not self._is_ended:
            block = self._peek_once(limit)
            kept, asked = self._ask(block)
            if asked:
                self._advance(asked)
            if kept:
                return select_rows(block, kept)
            if self._asking is not None:
                return self.read(limit)
        raise StopIteration

    def _ask(self, block: Block) -> tuple[list[int], int]:
        """Return which elements pass, and how many were asked about: those before one that fails."""
        kept = []
        number = self._base + self._num_passed
        # Entered once for the block: it costs more than most predicates.
        with on_host():
            for i in range(block.count):
                try:
                    if self._passes(block.row(i), number + i):
                        kept.append(i)
                    elif self._ends_at_refused:
                        self._is_ended = True
                        return kept, i + 1
                except Exception as e:
                    self._asking = e
                    return kept, i
        return kept, block.count

    def get_state(self) -> State:
        """Return the position behind the last element that was given, or asked about in vain."""
        return {"number": self._base + self._num_passed, "feed": super().get_state()}

    def set_state(self, state: State) -> None:
        """Go to a position that `get_state` returned."""
        self._base = state["number"]
        super().set_state(state["feed"])


class TakeWhileCursor(FilterCursor):
    """Asks about element after element until one is refused."""

    _ends_at_refused = True

    def get_state(self) -> State:
        """Return the position behind the last element that was asked about, and whether it was the last."""
        return {"ended": self._is_ended, **super().get_state()}

    def set_state(self, state: State) -> None:
        """Go to a position that `get_state` returned."""
        self._is_ended = state["ended"]
        super().set_state(state)


def select_rows(block: Block, kept: list[int]) -> Block:
    if len(kept) == block.count:
        return block
    if isinstance(block, Columns):
        return Columns([leaf[kept] for leaf in block.leaves], len(kept))
    return ElementRows([block.row(i) for i in kept])


def _name(function: Callable[..., Any]) -> str:
    return str(getattr(function, "__qualname__", repr(function)))
