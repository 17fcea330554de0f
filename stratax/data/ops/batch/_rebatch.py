"""`rebatch` to sizes that take turns (data layer)."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from stratax.base.shown import shown
from stratax.data.elements import Block, DatasetSpec, Row, flatten
from stratax.data.ops.batch._batch import Batch, make_batch
from stratax.data.ops.batch._cursors import one_element
from stratax.data.ops.batch._unbatch import make_unbatch
from stratax.data.plan import Node, PlanRun, as_count
from stratax.data.position import Cursor, CursorOver, State
from stratax.errors import BadArgumentError


class BatchInTurns(Batch):
    """Batches of sizes that come in turns, one after another.

    Args:
        child: The node whose elements are stacked.
        sizes: The sizes, one at least of which is not 0.
        drop_remainder: Whether a last batch that is shorter than its turn says is left out.
    """

    label = "Rebatch"
    is_indexable = False
    is_uniform = False
    batch_size = None
    length = -2

    def __init__(self, child: Node, sizes: Sequence[int], *, drop_remainder: bool) -> None:
        super().__init__(child, max(sizes), drop_remainder=drop_remainder)
        self._sizes = tuple(sizes)
        if child.length == -1 or child.length == 0:
            self.length = child.length

    @property
    def _static_size(self) -> int | None:
        return None

    def describe(self) -> str:
        return f"{self.label}({list(self._sizes)})"

    def stream(self, run: PlanRun, passes: int) -> Cursor:
        """Open a pass over batch after batch."""
        return RebatchCursor(
            self.child.open(run, passes),
            self._sizes,
            self.join,
            self._empty,
            drop_remainder=self.drop_remainder,
        )

    def _empty(self) -> Row:
        """Return a batch of no elements."""
        specs = flatten(self.child.spec)[0]
        return [
            spec.join([])
            if isinstance(spec, DatasetSpec)
            else np.empty((0, *(size or 0 for size in spec.shape or ())), spec.dtype)
            for spec in specs
        ]


class RebatchCursor(CursorOver):
    """Groups of consecutive elements, whose sizes come in turns.

    Args:
        child: The stream.
        sizes: The sizes.
        join: Makes the components of a group of the blocks it came in.
        empty: Makes those of a group without elements.
        drop_remainder: Whether a short last group is left out.
    """

    def __init__(
        self,
        child: Cursor,
        sizes: Sequence[int],
        join: Callable[[list[Block]], Row],
        empty: Callable[[], Row],
        *,
        drop_remainder: bool,
    ) -> None:
        super().__init__(child)
        self._sizes, self._join, self._empty = sizes, join, empty
        self._drop_remainder = drop_remainder
        # None behind a batch that the end has cut short: no batch follows it, not even one of no elements.
        self._turn: int | None = 0

    def read(self, limit: int) -> Block:
        pieces: list[Block] = []
        if self._turn is None:
            raise StopIteration
        size = missing = self._sizes[self._turn]
        while missing:
            try:
                piece = self._child.read(missing)
            # What has come is the short last batch.
            except StopIteration:
                break
            pieces.append(piece)
            missing -= piece.count
        if size and (not pieces or (missing and self._drop_remainder)):
            raise StopIteration
        self._turn = None if missing else (self._turn + 1) % len(self._sizes)
        row = self._join(pieces) if pieces else self._empty()
        return one_element(row)

    def skip(self, count: int) -> int:
        for passed in range(count):
            try:
                self.read(1)
            except StopIteration:
                return passed
        return count

    def get_state(self) -> State:
        """Return the child's position, and whose turn it is."""
        return {"turn": self._turn, "child": super().get_state()}

    def set_state(self, state: State) -> None:
        """Go to a position that `get_state` returned."""
        self._turn = state["turn"]
        super().set_state(state["child"])


def make_rebatch(node: Node, batch_size: Any, *, drop_remainder: bool) -> Node:
    """Make the node of `Dataset.rebatch`.

    Raises:
        BadArgumentError: A size is negative, or there is none above 0.
    """
    if np.ndim(batch_size) == 0:
        return make_batch(
            make_unbatch(node), as_count("batch_size", batch_size, 1), drop_remainder=drop_remainder
        )
    sizes = [as_count("batch_size", size, 0) for size in batch_size]
    if not any(sizes):
        raise BadArgumentError(
            f"rebatch needs a size above 0. Received: batch_size={shown(batch_size)}. Pass a number, or a list of them."
        )
    if len(set(sizes)) == 1:
        return make_batch(make_unbatch(node), sizes[0], drop_remainder=drop_remainder)
    return BatchInTurns(make_unbatch(node), sizes, drop_remainder=bool(drop_remainder))
