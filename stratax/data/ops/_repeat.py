"""`repeat`: the node and the check of the count (data layer)."""

import numpy as np

from stratax.data.elements import INFINITE_CARDINALITY
from stratax.data.ops._reindexed import Reindexed
from stratax.data.ops._successive import MANY_EMPTY, SuccessiveCursor
from stratax.data.plan import Node, Passes, PlanRun, as_count, mix_pass
from stratax.data.position import Cursor


class Repeat(Reindexed):
    """`count` passes over the child; -1 for no end. Each pass has its own number, which reshuffles below."""

    label = "Repeat"

    def __init__(self, child: Node, count: int) -> None:
        super().__init__(child)
        self.count = count

    @property
    def length(self) -> int:
        """Multiply the child's length by the number of repetitions."""
        length = self.child.length
        if self.count == 0 or length == 0:
            return 0
        if self.count < 0 or length == INFINITE_CARDINALITY:
            return INFINITE_CARDINALITY
        return length if length < 0 else length * self.count

    def resolve(self, indices: np.ndarray, passes: Passes, run: PlanRun) -> tuple[np.ndarray, Passes]:
        """Resolve positions to those within a pass, and the passes."""
        length = self.child.length
        if length == INFINITE_CARDINALITY:
            return indices, mix_pass(passes, 0)
        numbers = indices // length
        # Blocks rarely span two passes: one number is cheaper below than one for each element.
        first = int(numbers[0])
        if (numbers == first).all():
            return indices - first * length, mix_pass(passes, first)
        return indices - numbers * length, mix_pass(passes, numbers)

    def stream(self, run: PlanRun, passes: int) -> Cursor:
        """Pass after pass; without a count an empty one is the last, or nothing would ever come.

        Directly behind a `shuffle` only the first one is, as in TensorFlow, which makes one operation of the two.
        """

        def open_pass(number: int) -> Cursor:
            return self.child.open(run, int(mix_pass(passes, number)))

        may_be_empty = MANY_EMPTY if self.child.repeats_over_empty else 0
        return SuccessiveCursor(open_pass, self.count, may_be_empty if self.count < 0 else None)


def make_repeat(node: Node, count: object) -> Node:
    """Make the node of `Dataset.repeat`."""
    return Repeat(node, -1 if count is None else max(as_count("count", count, None), -1))
