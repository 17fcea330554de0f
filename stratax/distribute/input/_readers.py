"""Reading a dataset step by step, on the host (distribute layer).

A :class:`Source` turns a dataset into :class:`Block`s: several steps' arrays, stacked. Whether a step divides among
the replicas is decided here, and nowhere else.
"""

import abc
import contextlib
import dataclasses
import enum
import math
import time
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from stratax import errors
from stratax._shown import shown
from stratax.distribute.replicas import PerReplica

_UNKNOWN = -2
PLACE_SECONDS = 0.05
"""How often a pass of one process notes where it is, at most."""
PLACE_STEPS = 16
"""After how many steps a pass that several workers make alike notes where it is."""
STEPS_AT_ONCE = 64
"""How many steps are passed over in one go."""


class Kind(enum.Enum):
    """How the arrays of a step belong to the replicas."""

    SPREAD = "spread"
    """Each replica has its part: a leading dimension counts replicas."""
    SOLO = "solo"
    """The step does not divide: one component, which every replica has."""
    PLAIN = "plain"
    """There is one replica: plain arrays."""


@dataclasses.dataclass(frozen=True, slots=True)
class Block:
    """Consecutive steps of one structure.

    Attributes:
        leaves: Arrays with a leading dimension that counts steps (without it for one bare step), then one that counts
            replicas where the steps are spread.
        treedef: The structure of a step.
        count: How many steps.
        kind: How they belong to the replicas.
        processes: Among how many processes the replicas of spread steps are divided; the arrays hold this one's.
        before: Where the pass was before these steps, noted now and then; an error where nobody knows.
    """

    leaves: list[Any]
    treedef: Any
    count: int
    kind: Kind
    processes: int = 1
    before: "Place | errors.DataError | None" = None

    def key(self) -> Any:
        """What blocks whose steps can be stacked have in common."""
        types = tuple((self.shape_of(leaf.shape[1:]), leaf.dtype) for leaf in self.leaves)
        return (self.kind, self.treedef, types)

    def shape_of(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """The shape over all processes of what has `shape` here; `shape` begins with the replicas."""
        if self.processes == 1 or self.kind is not Kind.SPREAD:
            return shape
        return (shape[0] * self.processes, *shape[1:])

    def wrap(self, arrays: list[Any]) -> Any:
        """The structure of a step, with `arrays` in the places of its own."""
        if self.kind is Kind.PLAIN:
            return jax.tree.unflatten(self.treedef, arrays)
        solo = self.kind is Kind.SOLO
        return jax.tree.unflatten(
            self.treedef, [PerReplica.tree_unflatten(solo, (array,)) for array in arrays]
        )

    def part(self, start: int, stop: int) -> "Block":
        """Some of the steps."""
        return dataclasses.replace(
            self,
            leaves=[leaf[start:stop] for leaf in self.leaves],
            count=stop - start,
            before=None if start else self.before,
        )


class Source(abc.ABC):
    """A dataset, seen as the steps of a strategy.

    Args:
        dataset: A `stratax.data.Dataset`, or any iterable of structures of arrays.
        num_replicas: How many replicas there are.
    """

    num_readers = 1
    """Of how many workers each reads a part of its own; 1 where all read the same."""

    def __init__(self, dataset: Any, num_replicas: int) -> None:
        if not hasattr(dataset, "__iter__"):
            raise errors.BadTypeError(
                "A dataset that can be iterated is expected: a stratax.data.Dataset or another iterable of batches. "
                f"Received: dataset={shown(dataset)}."
            )
        self.dataset = dataset
        self.num_replicas = num_replicas

    @property
    def elements_in_step(self) -> int:
        """How many of the dataset's elements a step takes here."""
        return 1

    @property
    def element_spec(self) -> Any:
        """The dataset's element_spec, or None for a foreign iterable."""
        return getattr(self.dataset, "element_spec", None)

    def elements(self) -> int:
        """How many elements the dataset has; negative if unknown or infinite."""
        cardinality = getattr(self.dataset, "cardinality", None)
        if cardinality is not None:
            return int(cardinality())
        try:
            return len(self.dataset)
        except TypeError:
            return _UNKNOWN

    @abc.abstractmethod
    def cardinality(self) -> int:
        """How many steps there are; negative if unknown or infinite."""

    @abc.abstractmethod
    def open(self, place: "Place | None" = None) -> "Reader":
        """Begins a pass, or goes on with one from where :meth:`Reader.place` was."""

    def behind(self, place: "Place", steps: int, elements_in_step: int) -> "tuple[Place, int]":
        """The place behind steps that took another number of elements each, as far as there is one.

        Args:
            place: Where they begin.
            steps: How many they are.
            elements_in_step: How many elements each took.

        Returns:
            A place, and how many steps of this source's own to pass over from there.
        """
        return place, steps


Place = dict[str, Any]
"""Where a pass is, as what JSON can hold."""


def noted_place(reader: "Reader | ElementReader") -> "Place | errors.DataError":
    """Where a pass is; where nobody knows, the error, which is of interest only to who asks for the place."""
    try:
        return reader.place()
    except errors.DataError as error:
        return error


def known_place(noted: "Place | errors.DataError") -> Place:
    """The place that was noted, or its error raised."""
    if isinstance(noted, errors.DataError):
        raise noted
    return noted


def parts_of(place: Place, inner: str) -> tuple[Place, int]:
    """The two parts of a place: that of an inner reader, and how much of what follows was used.

    Raises:
        DataError: It has other parts: it is the place of a source of another kind.
    """
    if not isinstance(place, dict) or set(place) != {inner, "used"} or not is_count(place["used"]):
        raise errors.DataError(
            "The state comes from input that is distributed in another way. Expected: that of an iterator over the "
            f"same pipeline, made with the same method of the strategy. Received: place={shown(place)}."
        )
    return place[inner], place["used"]


def is_count(value: Any) -> bool:
    """Whether `value` is a number of things."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


Waiting = Callable[[bool], contextlib.AbstractContextManager[Any]]
"""Makes the block in which a program waits for input; it is told whether for other workers."""


class Reader(abc.ABC):
    """One pass over a source."""

    waits_for_others = False
    """Whether :meth:`next_block` is waiting for other workers at the moment, and not for its source."""
    notes_places = False
    """Whether the blocks say where the pass was before them."""
    steps_between_places: int | None = None
    """After how many steps a place is noted, so that all workers note the same ones; None: by the clock."""

    @abc.abstractmethod
    def place(self) -> Place:
        """The place behind the blocks that were given.

        Raises:
            DataError: Nobody knows: the source can't be put back.
        """

    @abc.abstractmethod
    def next_block(self, count: int) -> Block:
        """Up to `count` next steps of one structure, at least one.

        Raises:
            StopIteration: At the end.
        """

    @abc.abstractmethod
    def close(self) -> None:
        """Releases the source."""

    def interrupt(self) -> None:  # noqa: B027  # Most wait for nothing but their source.
        """Ends a wait of :meth:`next_block` in another thread for something else than the source."""


class ElementReader:
    """Reads elements of a dataset in stacks of one shape; a `stratax.data` iterator does that by itself."""

    def __init__(self, dataset: Any, place: Place | None = None) -> None:
        self._iterator = iter(dataset)
        self._held: list[tuple[list[np.ndarray], Any]] = []
        self._failure: Exception | None = None
        self._treedef: Any = None
        if place is not None:
            self._check_can_be_put_back()
            self._iterator.set_state(place)

    def place(self) -> Place:
        """The place behind the elements that were given."""
        self._check_can_be_put_back()
        state: Place = self._iterator.get_state()
        return state

    def _check_can_be_put_back(self) -> None:
        # What reads in stacks by itself holds no element back here.
        if not (hasattr(self._iterator, "next_block") and hasattr(self._iterator, "get_state")):
            raise errors.DataError(
                "The position of this input can't be saved: its iterator can't be put back. Expected: a "
                f"stratax.data.Dataset. Received: an iterator of type {type(self._iterator).__name__}."
            )

    def next_elements(self, count: int) -> tuple[list[np.ndarray], Any, int]:
        """Up to `count` elements of one shape: their leaves stacked, their structure, how many."""
        if hasattr(self._iterator, "next_block"):
            stacked, taken = self._iterator.next_block(count)
            leaves, treedef = jax.tree.flatten(stacked)
            return leaves, treedef, taken
        elements = [self._next()]
        while len(elements) < count:
            try:
                element = self._next()
            except StopIteration:
                break
            except Exception as error:  # What came before it is not lost: it is raised by the next call.
                self._failure = error
                break
            if not _same_shapes(element[0], elements[0][0], 0):
                self._held.append(element)
                break
            elements.append(element)
        columns = zip(*[leaves for leaves, _ in elements], strict=True)
        stacked_leaves = [column[0][None] if len(column) == 1 else np.stack(column) for column in columns]
        return stacked_leaves, elements[0][1], len(elements)

    def close(self) -> None:
        """Closes the dataset's iterator, where it can be closed."""
        close = getattr(self._iterator, "close", None)
        if close is not None:
            close()

    def _next(self) -> tuple[list[np.ndarray], Any]:
        if self._held:
            return self._held.pop()
        if self._failure is not None:
            failure, self._failure = self._failure, None
            raise failure
        leaves, treedef = jax.tree.flatten(next(self._iterator))
        if self._treedef is None:
            self._treedef = treedef
        elif treedef != self._treedef:
            raise errors.DataError(
                f"The structure of a dataset's elements changed. Expected: {self._treedef}. Received: {treedef}."
            )
        return [_host_array(leaf) for leaf in leaves], treedef


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Share:
    """Which of a strategy's replicas are this process's; every process has as many.

    Attributes:
        processes: How many processes there are.
        index: The number of this one.
    """

    processes: int = 1
    index: int = 0

    def of(self, count: int) -> slice:
        """Which of `count` things, as many for every process, are this one's."""
        each = count // self.processes
        return slice(self.index * each, (self.index + 1) * each)


class GlobalBatches(Source):
    """A dataset of global batches: each is divided among the replicas, or, where it does not divide, kept whole.

    Args:
        dataset: The dataset, the same in all processes.
        num_replicas: How many replicas there are.
        share: Which of them are this process's.
    """

    def __init__(self, dataset: Any, num_replicas: int, share: Share | None = None) -> None:
        super().__init__(dataset, num_replicas)
        self._share = share or Share()

    def cardinality(self) -> int:
        return self.elements()

    def open(self, place: Place | None = None) -> Reader:
        return _GlobalReader(ElementReader(self.dataset, place), self.num_replicas, self._share)


class _GlobalReader(Reader):
    def __init__(self, elements: ElementReader, num_replicas: int, share: Share) -> None:
        self._elements = elements
        self._num_replicas = num_replicas
        self._share = share
        self.steps_between_places = PLACE_STEPS if share.processes > 1 else None

    def place(self) -> Place:
        return self._elements.place()

    def next_block(self, count: int) -> Block:
        leaves, treedef, taken = self._elements.next_elements(count)
        if self._num_replicas == 1:
            _check_not_empty(leaves)
            return Block(leaves, treedef, taken, Kind.PLAIN)
        size = batch_size(leaves, 1)
        if size % self._num_replicas:
            return Block(leaves, treedef, taken, Kind.SOLO)
        each = size // self._num_replicas
        mine = self._share.of(self._num_replicas)
        spread = [leaf.reshape(taken, self._num_replicas, each, *leaf.shape[2:])[:, mine] for leaf in leaves]
        return Block(spread, treedef, taken, Kind.SPREAD, self._share.processes)

    def close(self) -> None:
        self._elements.close()


class ReplicaBatches(Source):
    """A dataset of per-replica batches: each step takes one for each replica, the last step what is left."""

    @property
    def elements_in_step(self) -> int:
        """One for each replica."""
        return self.num_replicas

    def cardinality(self) -> int:
        elements = self.elements()
        return elements if elements < 0 else -(-elements // self.num_replicas)

    def open(self, place: Place | None = None) -> Reader:
        return _ReplicaReader(self.dataset, self.num_replicas, place)

    def behind(self, place: Place, steps: int, elements_in_step: int) -> tuple[Place, int]:
        if elements_in_step == self.num_replicas:
            return place, steps
        elements, used = parts_of(place, "elements")
        return {"elements": elements, "used": used + steps * elements_in_step}, 0


class _ReplicaReader(Reader):
    def __init__(self, dataset: Any, num_replicas: int, place: Place | None = None) -> None:
        elements, used = (None, 0) if place is None else parts_of(place, "elements")
        self._elements = ElementReader(dataset, elements)
        self._num_replicas = num_replicas
        self._held: tuple[list[np.ndarray], Any, int] | None = None
        self._before: Place | errors.DataError = {}
        self._remembered = -math.inf
        self._used = 0
        if used:
            self._pass_over(used)

    def place(self) -> Place:
        if self._held is None:
            return {"elements": self._elements.place(), "used": 0}
        return {"elements": known_place(self._before), "used": self._used}

    def next_block(self, count: int) -> Block:
        leaves, treedef, taken = self._next(count * self._num_replicas)
        if self._num_replicas == 1:
            _check_not_empty(leaves)
            self._used += taken
            return Block(leaves, treedef, taken, Kind.PLAIN)
        steps = taken // self._num_replicas
        if not steps:
            return self._uneven_step(leaves, treedef, taken)
        used = steps * self._num_replicas
        self._used += used
        if used < taken:
            self._held = [leaf[used:] for leaf in leaves], treedef, taken - used
        spread = [leaf[:used].reshape(steps, self._num_replicas, *leaf.shape[1:]) for leaf in leaves]
        return Block(spread, treedef, steps, Kind.SPREAD)

    def close(self) -> None:
        self._elements.close()

    def _next(self, count: int) -> tuple[list[np.ndarray], Any, int]:
        if self._held is None:
            self._remember()
            return self._elements.next_elements(count)
        held, self._held = self._held, None
        return held

    def _pass_over(self, count: int) -> None:
        self._remember()
        while count > self._used:
            try:
                self._used += self._elements.next_elements(min(count - self._used, STEPS_AT_ONCE))[2]
            except StopIteration:
                return

    def _remember(self) -> None:
        """Now and then: a place from which to count the elements, for when some are held back."""
        now = time.perf_counter()
        if now - self._remembered >= PLACE_SECONDS:
            self._used, self._before, self._remembered = 0, noted_place(self._elements), now

    def _uneven_step(self, leaves: list[np.ndarray], treedef: Any, taken: int) -> Block:
        """A step of elements that are too few, or of several shapes: one batch of all their examples."""
        parts = [leaves]
        while taken < self._num_replicas:
            try:
                more, other, count = self._next(self._num_replicas - taken)
            except StopIteration:
                break
            if other != treedef:
                raise errors.DataError(
                    f"The structure of a dataset's elements changed. Expected: {treedef}. Received: {other}."
                )
            parts.append(more)
            taken += count
        self._used += taken
        if len(parts) == 1 and taken == self._num_replicas:
            return Block([leaf[None] for leaf in leaves], treedef, 1, Kind.SPREAD)
        if all(_same_shapes(part, leaves) for part in parts) and taken == self._num_replicas:
            joined = [np.concatenate(column)[None] for column in zip(*parts, strict=True)]
            return Block(joined, treedef, 1, Kind.SPREAD)
        for part in parts:
            batch_size(part, 1)
        merged = [
            np.concatenate([rows.reshape(-1, *rows.shape[2:]) for rows in column])[None]
            for column in zip(*parts, strict=True)
        ]
        return Block(merged, treedef, 1, Kind.SOLO)


def batch_size(leaves: list[Any], dim: int) -> int:
    """The number of examples that all arrays of a batch have in their dimension `dim`."""
    sizes = {leaf.shape[dim] if leaf.ndim > dim else -1 for leaf in leaves}
    if len(sizes) != 1 or -1 in sizes:
        shapes = ", ".join(str(tuple(leaf.shape[dim:])) for leaf in leaves)
        raise errors.DataError(
            "The elements of a dataset that is distributed must be batches: all arrays with one first dimension. "
            f"Received: arrays of shapes {shapes}. Add `.batch(global_batch_size)`."
        )
    _check_not_empty(leaves)
    (size,) = sizes
    return int(size)


def _check_not_empty(leaves: list[Any]) -> None:
    """`leaves` are stacked: their second dimension counts examples, where there are any."""
    if any(leaf.ndim > 1 and leaf.shape[1] == 0 for leaf in leaves):
        raise errors.DataError(
            "A batch that is distributed must have at least one example. Received: an empty batch."
        )


def _host_array(leaf: Any) -> np.ndarray:
    """A leaf of a foreign dataset (JAX, torch, TensorFlow, a number) as a NumPy array of its own.

    A generator may use one buffer for all its elements, and elements are read before they are used.
    """
    return np.asarray(leaf) if isinstance(leaf, jax.Array) else np.array(leaf)


def _same_shapes(left: list[np.ndarray], right: list[np.ndarray], dim: int = 1) -> bool:
    return all(
        a.shape[dim:] == b.shape[dim:] and a.dtype == b.dtype for a, b in zip(left, right, strict=True)
    )
