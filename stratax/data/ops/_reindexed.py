"""Operations that only choose and order elements: index arithmetic over an indexable node (data layer)."""

import abc

import numpy as np

from stratax.data.elements import Block
from stratax.data.plan import OverOne, Passes, PlanRun


class Reindexed(OverOne):
    """A node whose elements are some of its child's in another order."""

    @abc.abstractmethod
    def resolve(self, indices: np.ndarray, passes: Passes, run: PlanRun) -> tuple[np.ndarray, Passes]:
        """Resolve this node's positions to the child's positions, and passes."""

    def gather(self, indices: np.ndarray, passes: Passes, run: PlanRun) -> Block:
        """Gather the child's elements at the resolved positions."""
        return self.child.gather(*self.resolve(indices, passes, run), run)

    def shape_ids(self, indices: np.ndarray, passes: Passes, run: PlanRun) -> np.ndarray | None:
        """Return the child's shape ids at the resolved positions."""
        if self.is_uniform:
            return None
        return self.child.shape_ids(*self.resolve(indices, passes, run), run)
