"""Datasets as the steps of a strategy: what a distributed dataset opens a cursor over (distribute layer)."""

import abc
import copy
from collections.abc import Iterable
from typing import Any

import numpy as np

from stratax import errors
from stratax.base.shown import shown
from stratax.data.dataset import Dataset
from stratax.data.elements import are_plain
from stratax.data.position import Feed, Positions, RegularPositions, State
from stratax.distribute.input._elements import Convert, StepCursor, open_elements
from stratax.distribute.input._prepared import Prepare, PreparedDataset
from stratax.distribute.input._steps import (
    AsSteps,
    StepKind,
    Steps,
    alike,
    are_alike,
    as_elements,
    batch_size,
    check_not_empty,
    dividing,
    num_rows,
    step_of_composites,
    with_parts,
)
from stratax.distribute.replicas import Share

# As `tf.data.UNKNOWN_CARDINALITY`.
_UNKNOWN = -2
# How often a pass of one process notes its position, at most.
# A position costs a walk over all cursors; a restart repeats at most this much reading.
POSITION_SECONDS = 0.05
# After how many steps a pass that several workers make alike notes its position.
POSITION_STEPS = 16


class Source(abc.ABC):
    """A dataset, seen as the steps of a strategy.

    Args:
        dataset: A `stratax.data.Dataset`, any iterable of structures of arrays, or one of these, prepared.
        num_replicas: How many replicas there are.
    """

    # Of how many workers each reads a part of its own; 1 where all read the same.
    num_readers = 1

    def __init__(self, dataset: object, num_replicas: int) -> None:
        self.preparation = dataset if isinstance(dataset, PreparedDataset) else None
        dataset = dataset.dataset if isinstance(dataset, PreparedDataset) else dataset
        if not isinstance(dataset, Iterable):
            raise errors.BadTypeError(
                "A dataset that can be iterated is expected: a stratax.data.Dataset or another iterable of batches. "
                f"Received: dataset={shown(dataset)}."
            )
        self.dataset: Any = dataset
        self.num_replicas = num_replicas
        self._convert: Convert | None = None

    def convert_composites(self, function: Convert) -> None:
        """Have sparse and ragged components of a Dataset made something else, before elements become steps.

        Args:
            function: Gives an array, or the component as it is.
        """
        self._convert = function

    def with_preparation(self, function: Prepare, treedef: Any, at_most: int | None) -> "Source":
        """Return the same source of elements that are prepared: see :class:`PreparedDataset`."""
        made = copy.copy(self)
        made.preparation = PreparedDataset(self.dataset, at_most=at_most)
        made.preparation.prepare_as(function, treedef)
        return made

    @property
    def elements_in_step(self) -> int:
        """How many of the dataset's elements a step takes here."""
        return 1

    @property
    def element_spec(self) -> Any:
        """The dataset's element_spec, or None for a foreign iterable."""
        if isinstance(self.dataset, Dataset):
            return self.dataset.element_spec
        return getattr(self.dataset, "element_spec", None)

    def elements(self) -> int:
        """Return how many elements the dataset has; negative if unknown or infinite."""
        if isinstance(self.dataset, Dataset):
            return self.dataset.cardinality()
        # Datasets of other libraries, TensorFlow's among them.
        cardinality = getattr(self.dataset, "cardinality", None)
        if cardinality is not None:
            return int(cardinality())
        try:
            return len(self.dataset)
        except TypeError:
            return _UNKNOWN

    def open_elements(self, as_steps: AsSteps, *, leaves_prefetch: bool = False) -> StepCursor:
        """Begin a pass over the dataset's elements, prepared if they are to be.

        Args:
            as_steps: Makes steps of them.
            leaves_prefetch: Whether a `prefetch` at the end of the dataset is left to who reads from the cursor.
        """
        if self.preparation is None:
            return open_elements(
                self.dataset, as_steps, leaves_prefetch=leaves_prefetch, convert=self._convert
            )
        elements = open_elements(self.dataset, as_elements, leaves_prefetch=leaves_prefetch)
        return self.preparation.open_steps(elements, as_steps)

    @abc.abstractmethod
    def cardinality(self) -> int:
        """Return how many steps there are; negative if unknown or infinite."""

    @abc.abstractmethod
    def open(self, position: State | None = None) -> StepCursor:
        """Begin a pass, or go on with one from a position that its cursor gave."""

    def positions(self, cursor: StepCursor) -> Positions:
        """Return what keeps the positions of a cursor that is read ahead."""
        return Positions(cursor, POSITION_SECONDS)

    def behind(self, position: State, steps: int, elements_in_step: int) -> tuple[State, int]:
        """Return the position behind steps that took another number of elements each, as far as there is one.

        Args:
            position: Where they begin.
            steps: How many they are.
            elements_in_step: How many elements each took.

        Returns:
            A position, and how many steps of this source's own to pass over from there.
        """
        return position, steps


def at(position: State | None, cursor: StepCursor) -> StepCursor:
    """Return a cursor that was just opened, brought to a position; None for the beginning."""
    if position is not None:
        try:
            cursor.set_state(position)
        # The cursor has threads and files, which nobody would end.
        except BaseException:
            cursor.run.close()
            cursor.close()
            raise
    return cursor


def parts_of(position: object, inner: str) -> tuple[State, int]:
    """Return the two parts of a position: that of an inner cursor, and how much of what follows was used.

    Raises:
        DataError: It has other parts: it is the position of a source of another kind.
    """
    if not isinstance(position, dict) or set(position) != {inner, "used"} or not is_count(position["used"]):
        raise errors.DataError(
            "The state comes from input that is distributed in another way. Expected: that of an iterator over the "
            f"same pipeline, made with the same method of the strategy. Received: place={shown(position)}."
        )
    return position[inner], position["used"]


def is_count(value: object) -> bool:
    """Return whether `value` is a number of things."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


class GlobalBatches(Source):
    """A dataset of global batches: each is divided among the replicas, or, where it does not divide, kept whole."""

    # Which of the replicas are this process's.
    share = Share()
    # Whether whoever reads from the cursor reads ahead as the dataset's own `prefetch` would.
    leaves_prefetch = True

    def cardinality(self) -> int:
        return self.elements()

    def open(self, position: State | None = None) -> StepCursor:
        divide = dividing(self.num_replicas, self.share)
        return at(position, self.open_elements(divide, leaves_prefetch=self.leaves_prefetch))


class SharedGlobalBatches(GlobalBatches):
    """Global batches that several workers read alike, each for its own replicas.

    Args:
        dataset: The dataset, the same in all workers.
        num_replicas: How many replicas all workers have.
        share: Which of them are this worker's.
    """

    def __init__(self, dataset: object, num_replicas: int, share: Share) -> None:
        super().__init__(dataset, num_replicas)
        self.share = share

    def positions(self, cursor: StepCursor) -> Positions:
        # By the number of the step, never by a clock: then all workers save the same position, from which any number
        # of them can go on.
        return RegularPositions(cursor, POSITION_STEPS)


class ReplicaBatches(Source):
    """A dataset of per-replica batches: each step takes one for each replica, the last step what is left."""

    @property
    def elements_in_step(self) -> int:
        """One for each replica."""
        return self.num_replicas

    def cardinality(self) -> int:
        elements = self.elements()
        return elements if elements < 0 else -(-elements // self.num_replicas)

    def open(self, position: State | None = None) -> StepCursor:
        return at(position, ReplicaSteps(self.open_elements(as_elements), self.num_replicas))

    def behind(self, position: State, steps: int, elements_in_step: int) -> tuple[State, int]:
        if elements_in_step == self.num_replicas:
            return position, steps
        elements, used = parts_of(position, "elements")
        return {"elements": elements, "used": used + steps * elements_in_step}, 0


class ReplicaSteps(Feed, StepCursor):
    """Makes each step of one element for each replica.

    Args:
        elements: The elements.
        num_replicas: How many replicas there are.
    """

    _block: Steps | None

    def __init__(self, elements: StepCursor, num_replicas: int) -> None:
        super().__init__(elements, elements.ahead)
        self._elements = elements
        self._num_replicas = num_replicas
        self.run = elements.run

    def read(self, limit: int) -> Steps:
        count = self._num_replicas
        block: Steps = self._peek_once(limit * count)  # type: ignore[assignment]
        # As many whole steps as lie in one block; what is left joins the next block's elements.
        steps = block.count // count
        if not steps:
            return self._join_step()
        self._advance(steps * count)
        if count == 1:
            check_not_empty(block.leaves)
            plain = are_plain(block.leaves)
            return block if plain else Steps(*with_parts(block.leaves, 1, block.treedef), StepKind.PLAIN)
        leaves = [leaf[: steps * count].reshape(steps, count, *leaf.shape[1:]) for leaf in block.leaves]
        return Steps(leaves, steps, block.treedef, StepKind.SPREAD)

    def _join_step(self) -> Steps:
        """Make a step of elements that come one by one, are too few, or of several shapes."""
        found: list[Steps] = []
        missing = self._num_replicas
        treedef: Any = None
        # Elements of other shapes come in blocks of their own.
        while missing:
            try:
                block: Steps = self._peek(missing)  # type: ignore[assignment]
            except (
                Exception
            ):  # At the end, or it is raised by the next call: what came before it is not lost.
                if not found:
                    raise
                break
            treedef = _one_structure(treedef, block.treedef)
            # Used only now: an error before it leaves the element for the next call.
            self._advance(block.count)
            found.append(block)
            missing -= block.count
        return _step_of([block.leaves for block in alike(found)], treedef, is_full=not missing)

    def skip(self, count: int) -> int:
        """Pass over steps, the last of which may have fewer elements."""
        return -(-self._skip(count * self._num_replicas) // self._num_replicas)

    def get_state(self) -> State:
        """Return the position of the elements, and how many of those that follow were used."""
        state = super().get_state()
        return {"elements": state["child"], "used": state["skip"]}

    def set_state(self, state: State) -> None:
        elements, used = parts_of(state, "elements")
        self._child.set_state(elements)
        # Going to a position may begin a new pass, with threads of its own.
        self.run = self._elements.run
        # There may be fewer: the last step of another number of replicas took what was left.
        self._child.skip(used)


class WholeBatches(ReplicaBatches):
    """A dataset of per-replica batches that stay apart: what is left over, or of another shape, is a step by itself."""

    def cardinality(self) -> int:
        elements = self.elements()
        return elements if elements < 0 else _UNKNOWN

    def open(self, position: State | None = None) -> StepCursor:
        return at(position, StepsOfWholeBatches(self.open_elements(as_elements), self.num_replicas))


class StepsOfWholeBatches(ReplicaSteps):
    """Makes each step of one element for each replica, or of a single one where there are not so many alike."""

    def _join_step(self) -> Steps:
        first: Steps = self._peek(1)  # type: ignore[assignment]
        found = [first]
        while len(found) < self._num_replicas and found[-1].treedef == first.treedef:
            try:
                block, start, _ = self.look(len(found), 1)
            except Exception:  # At the end; or it is raised when it is its turn.
                break
            found.append(block.slice(start, start + 1))  # type: ignore[arg-type]
        if len(found) == self._num_replicas and found[-1].treedef == first.treedef:
            parts = [block.leaves for block in alike(found)]
            arrays = [with_parts(part, 1, first.treedef)[0] for part in parts]
            if all(are_alike(part, arrays[0]) for part in arrays):
                for _ in parts:
                    self.take()
                return _step_of(parts, first.treedef, is_full=True)
        self.take()
        return Steps(*with_parts(first.leaves, 1, first.treedef), StepKind.SOLO)


def _one_structure(expected: object, found: object) -> Any:
    if expected is not None and found != expected:
        raise errors.DataError(
            f"The structure of a dataset's elements changed. Expected: {expected}. Received: {found}."
        )
    return found


def _step_of(parts: list[list[np.ndarray]], treedef: object, *, is_full: bool) -> Steps:
    """Return a step of stacked elements: one for each replica if they are alike, else one batch of all examples."""
    if not are_plain(parts[0]):
        for part in parts:
            num_rows(part)
        return step_of_composites(parts, treedef, is_whole=is_full)
    if is_full and all(are_alike(part, parts[0]) for part in parts):
        joined = [np.concatenate(column)[None] for column in zip(*parts, strict=True)]
        return Steps(joined, 1, treedef, StepKind.SPREAD)
    for part in parts:
        # All arrays of the element have as many rows: they become rows of one batch.
        batch_size(part, 1)
    merged = [
        np.concatenate([rows.reshape(-1, *rows.shape[2:]) for rows in column])[None]
        for column in zip(*parts, strict=True)
    ]
    return Steps(merged, 1, treedef, StepKind.SOLO)
