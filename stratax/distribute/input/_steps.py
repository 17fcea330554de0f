"""Steps as blocks of arrays: whether a batch divides among the replicas is decided here (distribute layer)."""

import enum
import functools
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np

from stratax import errors
from stratax.base.callers import stack_level
from stratax.data.elements import Columns, Composite, are_plain, as_objects, is_composites, map_parts
from stratax.distribute.replicas import PerReplica, Share


class StepKind(enum.Enum):
    """How the arrays of a step belong to the replicas."""

    # Each replica has its part: a leading dimension counts replicas.
    SPREAD = "spread"
    # The step does not divide: one component, which every replica has.
    SOLO = "solo"
    # There is one replica: plain arrays.
    PLAIN = "plain"


class Steps(Columns):
    """Consecutive steps of one structure: a block whose elements are the steps of a strategy.

    Args:
        leaves: Arrays with a leading dimension that counts steps, then one that counts this process's replicas where
            the steps are spread.
        count: How many steps.
        treedef: The structure of a step.
        kind: How they belong to the replicas.

    Attributes:
        description: What :meth:`Placing.describe` has found that they are; None before.
    """

    def __init__(self, leaves: list[Any], count: int, treedef: Any, kind: StepKind) -> None:
        self.leaves = leaves
        self.count = count
        self.treedef = treedef
        self.kind = kind
        self.description: Any = None

    def slice(self, start: int, stop: int) -> "Steps":
        """Return views of some of the steps."""
        return Steps([leaf[start:stop] for leaf in self.leaves], stop - start, self.treedef, self.kind)

    def wrap(self, arrays: list[Any]) -> Any:
        """Return the structure of a step, with `arrays` in the places of its own."""
        return wrap_step(arrays, self.treedef, self.kind)

    @property
    def _width_dim(self) -> int:
        return 3 if self.kind is StepKind.SPREAD else 2

    @property
    def widths(self) -> list[int]:
        """How wide each leaf is that is :class:`Padded`; 0 for the others."""
        return [
            0 if fill is None else int(leaf.shape[self._width_dim])
            for leaf, fill in zip(self.leaves, fills_of(self.treedef), strict=True)
        ]

    def widen(self, widths: Sequence[int]) -> "Steps":
        """Return the steps with leaves that are :class:`Padded` filled up to widths; itself where they have them."""
        if all(width <= own for width, own in zip(widths, self.widths, strict=True)):
            return self
        leaves = [
            leaf if fill is None else _fill(leaf, self._width_dim, width, fill)
            for leaf, fill, width in zip(self.leaves, fills_of(self.treedef), widths, strict=True)
        ]
        return Steps(leaves, self.count, self.treedef, self.kind)


class Padded:
    """An array of an element whose second dimension is not the same in all elements.

    Where elements are joined, and where several workers take one step, narrower ones are filled up. It is a pytree.

    Args:
        array: The array: its first dimension counts examples.
        fill: What it is filled up with.
    """

    def __init__(self, array: Any, fill: float) -> None:
        self.array = array
        self.fill = fill


jax.tree_util.register_pytree_node(
    Padded, lambda node: ((node.array,), node.fill), lambda fill, arrays: Padded(arrays[0], fill)
)


@functools.lru_cache(maxsize=64)
def fills_of(treedef: Any) -> tuple[float | None, ...]:
    """Return what each leaf of a structure is filled up with; None where it is not."""
    fills: list[float | None] = [None] * treedef.num_leaves
    numbered = jax.tree.unflatten(treedef, range(treedef.num_leaves))
    for node in jax.tree.leaves(numbered, is_leaf=lambda node: isinstance(node, Padded)):
        if isinstance(node, Padded):
            fills[node.array] = node.fill
    return tuple(fills)


def _fill(leaf: np.ndarray, dim: int, width: int, fill: float) -> np.ndarray:
    own = leaf.shape[dim]
    if width <= own:
        return leaf
    made = np.full((*leaf.shape[:dim], width, *leaf.shape[dim + 1 :]), fill, leaf.dtype)
    made[(*(slice(None),) * dim, slice(own))] = leaf
    return made


def alike(several: Sequence[Steps]) -> list[Steps]:
    """Return steps of one structure and kind, filled up to common widths."""
    widths = common_widths([steps.widths for steps in several])
    return [steps.widen(widths) for steps in several]


def common_widths(widths: Sequence[Sequence[int]]) -> list[int]:
    """Return the largest of several steps' widths, for each leaf."""
    return [max(each) for each in zip(*widths, strict=True)]


def wrap_step(arrays: list[Any], treedef: object, kind: StepKind) -> Any:
    """Return the structure of a step: of `PerReplica`s, except where there is one replica."""
    if kind is not StepKind.PLAIN:
        solo = kind is StepKind.SOLO
        # Past the initializer's checks, which steps have passed.
        arrays = [PerReplica.tree_unflatten(solo, (array,)) for array in arrays]
    return jax.tree.unflatten(treedef, arrays)


# Makes steps of stacked elements: of their leaves, how many they are, and their structure.
AsSteps = Callable[[list[np.ndarray], int, Any], Steps]


def as_elements(leaves: list[np.ndarray], count: int, treedef: object) -> Steps:
    """Return elements as they are, for what makes steps of several of them."""
    return Steps(leaves, count, treedef, StepKind.PLAIN)


def of_one_replica(leaves: list[np.ndarray], count: int, treedef: object) -> Steps:
    """Return batches as the steps of a strategy with one replica."""
    check_not_empty(leaves)
    return Steps(*with_parts(leaves, count, treedef), StepKind.PLAIN)


def with_parts(leaves: list[np.ndarray], count: int, treedef: object) -> tuple[list[np.ndarray], int, Any]:
    """Return elements with the arrays of sparse and ragged components, of which blocks of one element have such."""
    if are_plain(leaves):
        return leaves, count, treedef
    values = [map_parts(lambda part: part[None], leaf[0]) if is_composites(leaf) else leaf for leaf in leaves]
    arrays, whole = jax.tree.flatten(jax.tree.unflatten(treedef, values))
    return arrays, count, whole


def step_of_composites(
    parts: Sequence[list[np.ndarray]], treedef: object, *, is_whole: bool, mine: slice = slice(None)
) -> Steps:
    """Return a step of sparse and ragged components: spread where all replicas' arrays have one shape.

    Args:
        parts: What each replica gets: an element.
        treedef: The structure of it.
        is_whole: Whether there is one for each replica.
        mine: The replicas of this process.
    """
    of_replicas = [with_parts(part, 1, treedef) for part in parts]
    if is_whole and all(are_alike(part[0], of_replicas[0][0]) for part in of_replicas):
        columns = zip(*[part[0] for part in of_replicas], strict=True)
        spread = [np.concatenate(column)[None][:, mine] for column in columns]
        return Steps(spread, 1, of_replicas[0][2], StepKind.SPREAD)
    # Arrays of several lengths are no part of one program: each replica computes the whole.
    merged = [_merge(column) for column in zip(*parts, strict=True)]
    return Steps(*with_parts(merged, 1, treedef), StepKind.SOLO)


def _merge(column: Sequence[np.ndarray]) -> np.ndarray:
    """Return the rows of one component of several elements as those of one."""
    if not is_composites(column[0]):
        return np.concatenate([rows.reshape(-1, *rows.shape[2:]) for rows in column])[None]
    spec = column[0][0].spec
    return as_objects([spec.unbatched().join([row for each in column for row in spec.split(each[0])])])


def _part(leaf: np.ndarray, start: int, stop: int) -> np.ndarray:
    """Return some rows of a component of one element."""
    if is_composites(leaf):
        return as_objects([leaf[0].spec.rows(leaf[0], start, stop)])
    return leaf[:, start:stop]


def are_alike(left: list[np.ndarray], right: list[np.ndarray]) -> bool:
    """Return whether elements are of the same shapes and dtypes."""
    return all(a.shape[1:] == b.shape[1:] and a.dtype == b.dtype for a, b in zip(left, right, strict=True))


@functools.lru_cache(maxsize=64)
def has_composites(treedef: Any) -> bool:
    """Return whether a structure has sparse or ragged components."""
    numbered = jax.tree.unflatten(treedef, range(treedef.num_leaves))
    nodes = jax.tree.leaves(numbered, is_leaf=lambda node: isinstance(node, Composite))
    return any(isinstance(node, Composite) for node in nodes)


def dividing(num_replicas: int, share: Share) -> AsSteps:
    """Return what divides global batches among the replicas.

    Args:
        num_replicas: How many replicas there are, in all processes.
        share: Which of them are this process's.
    """
    if num_replicas == 1:
        return of_one_replica
    mine = share.of(num_replicas)
    undivided = _Undivided(num_replicas, tells=share.index == 0)

    def divide(leaves: list[np.ndarray], count: int, treedef: object) -> Steps:
        if not are_plain(leaves):
            undivided.note(num_rows(leaves), count)
            return _divide_composites(leaves, treedef, num_replicas, mine)
        size = batch_size(leaves, 1)
        undivided.note(size, count)
        # Not cut: examples are never dropped, and one replica stands for all in this step.
        if size % num_replicas:
            return Steps(leaves, count, treedef, StepKind.SOLO)
        each = size // num_replicas
        spread = [leaf.reshape(count, num_replicas, each, *leaf.shape[2:])[:, mine] for leaf in leaves]
        return Steps(spread, count, treedef, StepKind.SPREAD)

    return divide


class _Undivided:
    """Says once what it costs if no batch of some input divides among the replicas; a last one alone costs little.

    Args:
        num_replicas: How many replicas there are.
        tells: Whether this process is the one that says it.
    """

    def __init__(self, num_replicas: int, *, tells: bool) -> None:
        self._num_replicas = num_replicas
        self._is_open = tells
        self._steps = 0

    def note(self, size: int, count: int) -> None:
        """Take note of so many steps with batches of a size."""
        if not self._is_open:
            return
        # One that divides settles it: the others are the last of their pass.
        self._is_open = size % self._num_replicas != 0
        self._steps += count
        if self._is_open and self._steps > 1:
            self._is_open = False
            below = size - size % self._num_replicas
            near = f"{below} or {below + self._num_replicas}" if below else str(self._num_replicas)
            warnings.warn(
                f"No batch divides among the {self._num_replicas} replicas, so each of them computes whole batches: "
                f"{self._num_replicas} times the work. Expected: a global batch that is a multiple of "
                f"{self._num_replicas}. Received: batches of {size}. Take {near}.",
                RuntimeWarning,
                stacklevel=stack_level(),
            )


def _divide_composites(leaves: list[np.ndarray], treedef: object, num_replicas: int, mine: slice) -> Steps:
    """Return the step of an element with sparse or ragged components, divided if it can be."""
    size = num_rows(leaves)
    if size % num_replicas:
        return Steps(*with_parts(leaves, 1, treedef), StepKind.SOLO)
    each = size // num_replicas
    parts = [[_part(leaf, start, start + each) for leaf in leaves] for start in range(0, size, each)]
    return step_of_composites(parts, treedef, is_whole=True, mine=mine)


def num_rows(leaves: list[np.ndarray]) -> int:
    """Return the number of examples of an element, as :func:`batch_size`."""
    # Of a composite an array of as many rows.
    arrays = [np.empty((1, *leaf[0].shape[:1]), bool) if is_composites(leaf) else leaf for leaf in leaves]
    return batch_size(arrays, 1)


def batch_size(leaves: list[Any], dim: int) -> int:
    """Return the number of examples that all arrays of a batch have in their dimension `dim`.

    Raises:
        DataError: They are no batches, or empty ones.
    """
    size = leaves[0].shape[dim] if leaves and leaves[0].ndim > dim else -1
    for leaf in leaves:
        if size < 0 or leaf.ndim <= dim or leaf.shape[dim] != size:
            shapes = ", ".join(str(tuple(each.shape[dim:])) for each in leaves)
            raise errors.DataError(
                "The elements of a dataset that is distributed must be batches: all arrays with one first dimension. "
                f"Received: arrays of shapes {shapes}. Add `.batch(global_batch_size)`."
            )
    if not size:
        raise _empty()
    return int(size)


def check_not_empty(leaves: list[Any]) -> None:
    """Refuse empty batches. `leaves` are stacked: their second dimension counts examples, where there are any."""
    for leaf in leaves:
        if leaf.ndim > 1 and leaf.shape[1] == 0:
            raise _empty()


def _empty() -> errors.DataError:
    return errors.DataError(
        "A batch that is distributed must have at least one example. Received: an empty batch."
    )
