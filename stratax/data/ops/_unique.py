"""`unique`: the node and its cursor (data layer)."""

import base64
from collections.abc import Callable
from typing import Any

from stratax.base.shown import shown
from stratax.data.elements import UNKNOWN_CARDINALITY, Block, TensorSpec, encode_columns, flatten
from stratax.data.ops._filter import select_rows
from stratax.data.plan import Lookahead, OverOne, PlanRun
from stratax.data.position import Buffering, Cursor, State
from stratax.errors import BadTypeError

_KINDS = ("int32", "int64", "object")


class UniqueElements(OverOne):
    """Each element once, where it comes first.

    Args:
        child: The node.
    """

    label = "Unique"
    is_indexable = False

    @property
    def spec(self) -> Any:
        """Describe elements as the child does.

        Raises:
            BadTypeError: Elements have several components, or are neither int32, int64 nor strings.
        """
        spec = self.child.spec
        parts = flatten(spec)[0]
        if len(parts) != 1 or not isinstance(parts[0], TensorSpec) or parts[0].dtype.name not in _KINDS:
            raise BadTypeError(
                "unique takes Datasets of one component of int32, int64 or strings. "
                f"Received: element_spec={shown(spec)}. Map elements to such a component, or cast it."
            )
        return spec

    @property
    def length(self) -> int:
        """The length, which is known of nothing only."""
        return 0 if self.child.length == 0 else UNKNOWN_CARDINALITY

    def stream(self, run: PlanRun, passes: int) -> Cursor:
        """Open a pass over the elements that have not come before."""
        _ = self.spec
        return UniqueCursor(self.child.open(run, passes), Lookahead(self.child))


class UniqueCursor(Buffering):
    """Keeps what it has given, as bytes.

    Args:
        child: The stream.
        ahead: How many of its elements may be read at once though fewer are asked for.
    """

    def __init__(self, child: Cursor, ahead: Callable[[], int]) -> None:
        super().__init__(child, ahead)
        # In the order in which they came.
        self._seen: dict[bytes, None] = {}

    def read(self, limit: int) -> Block:
        """Return those that are new among the next elements of one shape."""
        while True:
            block = self._peek_once(limit)
            _, keys = encode_columns(block.columns(), block.count)
            kept = []
            for i, key in enumerate(keys):
                if key not in self._seen:
                    self._seen[key] = None
                    kept.append(i)
            self._advance(block.count)
            if kept:
                return select_rows(block, kept)

    def get_state(self) -> State:
        """Return the position behind the last element that was given, and what came before it."""
        seen = [base64.b64encode(key).decode("ascii") for key in self._seen]
        return {"seen": seen, "feed": super().get_state()}

    def set_state(self, state: State) -> None:
        """Go to a position that `get_state` returned."""
        self._seen = dict.fromkeys(map(base64.b64decode, state["seen"]))
        super().set_state(state["feed"])
