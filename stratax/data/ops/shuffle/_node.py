"""`shuffle`: the node, its checks and the rewriting of a plan that it is put on (data layer).

After an endless `repeat`, each pass is shuffled, which keeps the plan indexable.
"""

from typing import Any

import numpy as np

from stratax.base.shown import shown
from stratax.data.elements import INFINITE_CARDINALITY, UNKNOWN_CARDINALITY
from stratax.data.ops._reindexed import Reindexed
from stratax.data.ops._repeat import Repeat
from stratax.data.ops.shuffle._cursor import ShuffleCursor
from stratax.data.ops.shuffle._permutation import Permutation
from stratax.data.plan import Node, Order, Passes, PlanRun, as_count, make_order, mix_pass
from stratax.data.position import Cursor
from stratax.errors import BadArgumentError

# More elements than fit into any memory.
_EVERYTHING = 1 << 62

# Permutations that are kept: batches over the end of a pass need two.
_MAX_TABLES = 8


class Shuffle(Reindexed):
    """A random order: of everything over an indexable child, through a buffer over a stream.

    Over an indexable child without an end, blocks of `buffer_size` elements are permuted.
    """

    label = "Shuffle"
    repeats_over_empty = True

    def __init__(self, child: Node, buffer_size: int, order: Order) -> None:
        super().__init__(child)
        self.buffer_size = buffer_size
        self._order = order

    @property
    def order(self) -> Order:
        """Return the key of the random order."""
        return self._order

    def resolve(self, indices: np.ndarray, passes: Passes, run: PlanRun) -> tuple[np.ndarray, Passes]:
        if self.child.length == INFINITE_CARDINALITY:
            blocks = indices // self.buffer_size
            # Every block has an order of its own, distinct from those of passes.
            numbers = mix_pass(mix_pass(passes, 1), blocks)
            offsets = indices - blocks * self.buffer_size
            permuted = self._permute(offsets, numbers, self.buffer_size, run)
            return blocks * self.buffer_size + permuted, passes
        return self._permute(indices, passes, self.child.length, run), passes

    def _permute(self, indices: np.ndarray, passes: Passes, length: int, run: PlanRun) -> np.ndarray:
        if isinstance(passes, int):
            return self._permutation(length, passes, run)(indices)
        permuted = np.empty_like(indices)
        for number in np.unique(passes):
            chosen = passes == number
            permuted[chosen] = self._permutation(length, int(number), run)(indices[chosen])
        return permuted

    def _permutation(self, length: int, number: int, run: PlanRun) -> Permutation:
        tables: dict[Any, Permutation] = run.memo.setdefault("permutations", {})
        key = (length, *self.order.key(run, number))
        if key not in tables:
            while len(tables) >= _MAX_TABLES:
                del tables[next(iter(tables))]
            tables[key] = Permutation(length, key)
        return tables[key]

    def stream(self, run: PlanRun, passes: int) -> Cursor:
        """Open a pass that draws from a buffer."""
        return ShuffleCursor(self.child.open(run, passes), self.buffer_size, self.order.key(run, passes))


def make_shuffle(node: Node, buffer_size: object, seed: object, reshuffle: bool | None) -> Node:
    """Make a `shuffle`; after an endless `repeat`, of each pass."""
    order = make_order(seed, reshuffle=reshuffle is not False)
    takes_all = as_count("buffer_size", buffer_size, None) == UNKNOWN_CARDINALITY
    size = _EVERYTHING if takes_all else as_count("buffer_size", buffer_size, 1)
    # A buffer of one element changes nothing.
    if size == 1:
        return node
    if isinstance(node, Repeat) and node.is_indexable and node.length == INFINITE_CARDINALITY:
        return Repeat(Shuffle(node.child, size, order), node.count)
    if takes_all and node.length == INFINITE_CARDINALITY:
        raise BadArgumentError(
            "shuffle(UNKNOWN_CARDINALITY) keeps all elements in memory before it gives any, and these have no end. "
            f"Received: buffer_size={shown(buffer_size)}. Shuffle before repeat(), or pass a number of elements."
        )
    return Shuffle(node, size, order)
