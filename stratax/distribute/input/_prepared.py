"""Elements that are prepared before they become steps, by what follows from the first one (distribute layer).

A model's features of strings are such: what is computed of them on the host is known once the model was traced, and
that takes a batch. So a pass is opened, its first element looked at, and what prepares elements is set before any step
is read.
"""

from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from stratax import errors
from stratax.data.position import State
from stratax.distribute.input._elements import StepCursor
from stratax.distribute.input._steps import AsSteps, Steps, with_parts

# From the leaves of stacked elements, how many they are and their structure to other leaves and their structure.
Prepare = Callable[[list[np.ndarray], int, Any], tuple[list[np.ndarray], Any]]


class PreparedDataset:
    """A dataset whose elements are prepared before they become steps.

    Args:
        dataset: The dataset.
        at_most: How many elements are prepared in one block; None for as many as are read at once.

    Attributes:
        dataset: The dataset.
        at_most: The same.
    """

    def __init__(self, dataset: object, *, at_most: int | None = None) -> None:
        self.dataset = dataset
        self.at_most = at_most
        self._prepare: Prepare | None = None
        self._treedef: Any = None
        self._cursor: PreparedElements | None = None
        # By leaf: the widest so far. Few shapes are few programs.
        self._widths: dict[int, int] = {}

    def first(self) -> Any:
        """Return the first element of the pass that was opened last, unprepared; it stays the next one.

        Raises:
            StopIteration: There is none.
        """
        if self._cursor is None:
            raise errors.DataError("No pass over the dataset was opened yet.")
        return self._cursor.first()

    def prepare_by(self, function: Prepare, example: object) -> None:
        """Set what prepares elements; before the first step is read.

        Args:
            function: From the leaves of stacked elements to others, of one structure for all.
            example: An element.
        """
        leaves, treedef = jax.tree.flatten(example)
        _, made = function([np.asarray(leaf)[None] for leaf in leaves], 1, treedef)
        self.prepare_as(function, made)

    def prepare_as(self, function: Prepare, treedef: Any) -> None:
        """Set what prepares elements; before the first step is read.

        Args:
            function: From the leaves of stacked elements to others, of one structure for all.
            treedef: That structure; None where the first element will tell.
        """
        self._prepare, self._treedef = function, treedef

    @property
    def treedef(self) -> Any:
        """The structure of a prepared element; None where they are as they were."""
        return self._treedef

    def open_steps(self, elements: StepCursor, as_steps: AsSteps) -> StepCursor:
        """Begin a pass.

        Args:
            elements: The elements, as they are.
            as_steps: Makes steps of prepared ones.
        """
        self._cursor = PreparedElements(elements, self, as_steps)
        return self._cursor

    def prepare_steps(self, block: Steps, as_steps: AsSteps) -> Steps:
        """Return steps of prepared elements."""
        if self._prepare is None:
            return as_steps(block.leaves, block.count, block.treedef)
        leaves, treedef = self._prepare(*with_parts(block.leaves, block.count, block.treedef))
        if self._treedef is None:
            self._treedef = treedef
        if treedef != self._treedef:
            raise errors.DataError(
                f"The structure of a dataset's elements changed. Expected: {self._treedef}. Received: {treedef}."
            )
        steps = as_steps(leaves, block.count, treedef)
        wanted = []
        for leaf, width in enumerate(steps.widths):
            self._widths[leaf] = max(width, self._widths.get(leaf, 0))
            wanted.append(self._widths[leaf])
        return steps.widen(wanted)


class PreparedElements(StepCursor):
    """One pass over a dataset whose elements are prepared; its positions are those of the elements.

    Args:
        elements: The elements, as they are.
        preparation: Prepares them.
        as_steps: Makes steps of prepared ones.
    """

    def __init__(self, elements: StepCursor, preparation: PreparedDataset, as_steps: AsSteps) -> None:
        self._elements = elements
        self._preparation = preparation
        self._as_steps = as_steps
        self._follow()
        self._held: Steps | Exception | None = None
        self._before: State | errors.DataError = {}

    def _follow(self) -> None:
        self.run = self._elements.run
        self.depth = self._elements.depth
        self.ahead = self._elements.ahead

    def first(self) -> Any:
        """Return the next element, unprepared; it stays the next one."""
        if self._held is None:
            try:
                self._before = self._elements.get_state()
            except errors.DataError as error:
                # Told to whoever asks for the position.
                self._before = error
            try:
                self._held = self._elements.read(1)
            except StopIteration:
                raise
            except Exception as error:
                self._held = error
        if isinstance(self._held, Exception):
            raise self._held
        return jax.tree.unflatten(self._held.treedef, [leaf[0] for leaf in self._held.leaves])

    def read(self, limit: int) -> Steps:
        held, self._held = self._held, None
        if isinstance(held, Exception):
            raise held
        limit = limit if self._preparation.at_most is None else min(limit, self._preparation.at_most)
        block = self._elements.read(limit) if held is None else held
        return self._preparation.prepare_steps(block, self._as_steps)

    def skip(self, count: int) -> int:
        """Pass over elements, without preparing them."""
        if self._held is None or not count:
            return self._elements.skip(count)
        self._held = None
        return 1 + self._elements.skip(count - 1)

    def get_state(self) -> State:
        if self._held is None:
            return self._elements.get_state()
        if isinstance(self._before, errors.DataError):
            raise errors.DataError(*self._before.args)
        return self._before

    def set_state(self, state: State) -> None:
        self._held = None
        self._elements.set_state(state)
        # Going to a position may begin a new pass, with threads of its own.
        self._follow()

    def close(self) -> None:
        """Close the cursor of the elements."""
        self._elements.close()
