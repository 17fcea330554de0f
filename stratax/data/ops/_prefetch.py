"""`prefetch`: elements made in the background while the last ones are used (data layer)."""

import numpy as np

from stratax.data.elements import AUTOTUNE, Block
from stratax.data.plan import Node, OverOne, Passes, PlanRun, as_count
from stratax.data.position import Cursor, ReadAhead

# One element in use and one being made.
AUTOTUNED_DEPTH = 2


class Prefetch(OverOne):
    """Its child's elements, made ahead.

    In an indexable plan it changes nothing itself: the iterator reads the whole plan ahead on one thread.

    Args:
        child: The node.
        buffer_size: How many elements to make ahead, or AUTOTUNE; 0 for none.
    """

    label = "Prefetch"

    def __init__(self, child: Node, buffer_size: int) -> None:
        super().__init__(child)
        self.depth = AUTOTUNED_DEPTH if buffer_size == AUTOTUNE else buffer_size

    def gather(self, indices: np.ndarray, passes: Passes, run: PlanRun) -> Block:
        """Gather elements as the child does."""
        return self.child.gather(indices, passes, run)

    def shape_ids(self, indices: np.ndarray, passes: Passes, run: PlanRun) -> np.ndarray | None:
        return self.child.shape_ids(indices, passes, run)

    def stream(self, run: PlanRun, passes: int) -> Cursor:
        """Open a pass that a thread reads ahead."""
        child = self.child.open(run, passes)
        return ReadAhead(child, self.depth, run) if self.depth else child


def make_prefetch(node: Node, buffer_size: object) -> Node:
    """Make the node of `Dataset.prefetch`."""
    depth = AUTOTUNE if buffer_size is None else as_count("buffer_size", buffer_size, AUTOTUNE)
    return Prefetch(node, depth)
