"""`assert_cardinality`: a number of elements that is known and checked at the end (data layer)."""

from stratax.data.elements import INFINITE_CARDINALITY, Block
from stratax.data.plan import Node, OverOne, PlanRun
from stratax.data.position import Cursor, CursorOver, State
from stratax.errors import FailedPreconditionError


class AssertCardinality(OverOne):
    """Its child's elements, whose number somebody knows.

    Args:
        child: The node.
        expected: The number, or INFINITE_CARDINALITY.
    """

    label = "AssertCardinality"
    is_indexable = False

    def __init__(self, child: Node, expected: int) -> None:
        super().__init__(child)
        self._expected = expected

    @property
    def length(self) -> int:
        """The number that was given."""
        return self._expected

    def stream(self, run: PlanRun, passes: int) -> Cursor:
        """Open a pass that counts."""
        return _CountingCursor(self.child.open(run, passes), self._expected)


class _CountingCursor(CursorOver):
    def __init__(self, child: Cursor, expected: int) -> None:
        super().__init__(child)
        self._expected = expected
        self._count = 0

    def read(self, limit: int) -> Block:
        try:
            block = self._child.read(limit)
        except StopIteration:
            if self._count != self._expected:
                raise self._error(f"only {_elements(self._count)}") from None
            raise
        self._count += block.count
        if self._expected != INFINITE_CARDINALITY and self._count > self._expected:
            raise self._error(f"at least {_elements(self._expected + 1)}")
        return block

    def _error(self, found: str) -> FailedPreconditionError:
        is_endless = self._expected == INFINITE_CARDINALITY
        expected = "an infinite number of elements" if is_endless else _elements(self._expected)
        return FailedPreconditionError(
            f"Input dataset was expected to contain {expected} but contained {found}. "
            "Correct the number given to assert_cardinality."
        )

    def get_state(self) -> State:
        return {"count": self._count, "child": super().get_state()}

    def set_state(self, state: State) -> None:
        self._count = state["count"]
        super().set_state(state["child"])


def _elements(count: int) -> str:
    return f"{count} element{'' if count == 1 else 's'}"
