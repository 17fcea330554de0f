"""`shard`: the node, its cursor and the check of its arguments (data layer)."""

from collections.abc import Callable

import numpy as np

from stratax.base.shown import shown
from stratax.data.elements import Block, concatenate_blocks
from stratax.data.ops._reindexed import Reindexed
from stratax.data.plan import Lookahead, Node, Passes, PlanRun, as_count
from stratax.data.position import Buffering, Cursor, State
from stratax.errors import BadArgumentError


class Shard(Reindexed):
    """Every `num_shards`-th element, from `index` on."""

    label = "Shard"

    def __init__(self, child: Node, num_shards: int, index: int) -> None:
        super().__init__(child)
        self._num_shards = num_shards
        self._index = index

    def describe(self) -> str:
        return f"Shard({self._num_shards}, {self._index})"

    @property
    def length(self) -> int:
        """Count the elements that are the shard's."""
        length = self.child.length
        return length if length < 0 else max(0, -(-(length - self._index) // self._num_shards))

    def resolve(self, indices: np.ndarray, passes: Passes, run: PlanRun) -> tuple[np.ndarray, Passes]:
        return indices * self._num_shards + self._index, passes

    def stream(self, run: PlanRun, passes: int) -> Cursor:
        """Open a pass over every n-th element."""
        child = self.child.open(run, passes)
        return ShardCursor(child, Lookahead(self.child), self._num_shards, self._index)


class ShardCursor(Buffering):
    """Every `num_shards`-th element from `index` on; the others are skipped."""

    def __init__(self, child: Cursor, ahead: Callable[[], int], num_shards: int, index: int) -> None:
        super().__init__(child, ahead)
        self._stride = num_shards
        self._gap = index

    def _go(self) -> bool:
        """Pass over the other shards' elements; return whether there may be one of this shard."""
        if self._gap:
            self._gap -= self._skip(self._gap)
        return not self._gap

    def read(self, limit: int) -> Block:
        """Read elements one after another, up to one of another shape or one that fails."""
        pieces: list[Block] = []
        while len(pieces) < limit and self._go():
            try:
                block = self._peek(1)
            except StopIteration:
                break
            except Exception:
                # Raised by the next call, behind what came before.
                if pieces:
                    break
                self._note_passed()
                raise
            if pieces and block.shapes != pieces[0].shapes:
                break
            pieces.append(block)
            self._note_passed()
        if not pieces:
            raise StopIteration
        return concatenate_blocks(pieces)

    def _note_passed(self) -> None:
        self._advance(1)
        self._gap = self._stride - 1

    def skip(self, count: int) -> int:
        """Skip whole strides of the child."""
        passed = 0
        while passed < count and self._go() and self._skip(1):
            self._gap = self._stride - 1
            passed += 1
        return passed

    def get_state(self) -> State:
        """Return the child's position, and how many other elements come before the next."""
        return {"gap": self._gap, "feed": super().get_state()}

    def set_state(self, state: State) -> None:
        """Go to a position that `get_state` returned."""
        self._gap = state["gap"]
        super().set_state(state["feed"])


def make_shard(node: Node, num_shards: object, index: object) -> Node:
    """Make the node of `Dataset.shard`."""
    number, position = as_count("num_shards", num_shards, 1), as_count("index", index, 0)
    if position >= number:
        raise BadArgumentError(
            f"index counts the shards from 0. Expected: 0 <= index < num_shards={number}. Received: "
            f"index={shown(index)}."
        )
    return Shard(node, number, position)
