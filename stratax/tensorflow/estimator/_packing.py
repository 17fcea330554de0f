"""Many small arrays of a batch, put together so that few are moved to the devices (estimator layer)."""

import collections
import dataclasses
import itertools
import math
from typing import Any

import jax
import numpy as np

from stratax import errors
from stratax.distribute.input import Padded

# Moving an array costs as much as computing with some thousand numbers, whatever its size.
_FEWEST = 3
# The dimensions of stacked elements that are one number for each example.
_SCALARS = 2
# Larger ones gain nothing by it.
_MOST_NUMBERS = 64


@dataclasses.dataclass(frozen=True, slots=True)
class _Place:
    """Where an array is.

    Attributes:
        group: The number of the array that has it, or that it is.
        start: Its first column in that.
        shape: The shape of its examples; None for an array that is not packed.
        is_padded: Whether it is one of several arrays of varying width, which lie behind each other.
    """

    group: int
    start: int = 0
    shape: tuple[int, ...] | None = None
    is_padded: bool = False


class PackedBatch:
    """A structure of arrays whose first dimension counts examples, small ones side by side. It is a pytree.

    Args:
        arrays: The arrays, packed ones first.
        places: Where each leaf of the structure is.
        treedef: The structure.
    """

    def __init__(self, arrays: tuple[Any, ...], places: tuple[_Place, ...], treedef: object) -> None:
        self.arrays = arrays
        self.places = places
        self.treedef = treedef

    def unpack(self) -> Any:
        """Return the structure, of arrays alone."""
        return jax.tree.unflatten(self.treedef, [self._leaf(place) for place in self.places])

    def _leaf(self, place: _Place) -> Any:
        array = self.arrays[place.group]
        if isinstance(array, Padded):
            return array.array[..., place.start] if place.is_padded else array.array
        if place.shape is None:
            return array
        columns = array[:, place.start : place.start + math.prod(place.shape)]
        return columns.reshape(array.shape[0], *place.shape)


jax.tree_util.register_pytree_node(
    PackedBatch,
    lambda packed: (packed.arrays, (packed.places, packed.treedef)),
    lambda aux, arrays: PackedBatch(tuple(arrays), *aux),
)


class Packing:
    """Packs the elements of an input: what looks alike in the first ones of all workers is chosen, then packed."""

    def __init__(self) -> None:
        self._kinds: list[str] = []
        self._groups: list[list[int]] = []
        self._places: tuple[_Place, ...] | None = None

    def kinds(self, tree: object, *, is_fixed: bool = True) -> list[str]:
        """Return of which kind each leaf of stacked elements is: those of one can be packed together; empty for none.

        Args:
            tree: A structure of arrays `[elements, examples, ...]`, and of :class:`Padded`.
            is_fixed: Whether all elements have these sizes, but for the number of examples. A batch may be as wide as
                the longest of its own examples: then only what has no width is packed.
        """
        leaves = _leaves(tree)[0]
        rows = next((_array(leaf).shape[1] for leaf in leaves if _array(leaf).ndim > 1), 0)
        return [
            _kind(leaf)
            if _array(leaf).shape[1:2] == (rows,)
            and (is_fixed or isinstance(leaf, Padded) or _array(leaf).ndim == _SCALARS)
            else ""
            for leaf in leaves
        ]

    def choose(self, kinds: list[list[str]]) -> None:
        """Settle what is packed.

        Args:
            kinds: What :meth:`kinds` has given, in each worker: its first element may differ from the others'.
        """
        self._kinds = [each[0] if len(set(each)) == 1 else "" for each in zip(*kinds, strict=True)]

    def pack(self, tree: object) -> PackedBatch:
        """Pack stacked elements.

        Args:
            tree: As in :meth:`kinds`.

        Raises:
            DataError: If arrays that had one row for each example have not any more.
        """
        leaves, treedef = _leaves(tree)
        if self._places is None:
            self._places = self._place(leaves)
        packed = [_join([leaves[index] for index in group]) for group in self._groups]
        alone = [leaf for leaf, place in zip(leaves, self._places, strict=True) if place.shape is None]
        return PackedBatch((*packed, *alone), self._places, treedef)

    def _place(self, leaves: list[Any]) -> tuple[_Place, ...]:
        alike: dict[str, list[int]] = collections.defaultdict(list)
        for index, kind in enumerate(self._kinds):
            if kind:
                alike[kind].append(index)
        self._groups = [group for group in alike.values() if len(group) >= _FEWEST]
        places: dict[int, _Place] = {}
        for number, group in enumerate(self._groups):
            start = 0
            for index in group:
                is_padded = isinstance(leaves[index], Padded)
                # How wide a padded one is now says nothing of the next element.
                shape = (1,) if is_padded else tuple(leaves[index].shape[2:])
                places[index] = _Place(number, start, shape, is_padded)
                start += math.prod(shape)
        alone = itertools.count(len(self._groups))
        return tuple(places.get(index) or _Place(next(alone)) for index in range(len(leaves)))


def _leaves(tree: object) -> tuple[list[Any], Any]:
    return jax.tree.flatten(tree, is_leaf=lambda leaf: isinstance(leaf, Padded))


def _array(leaf: Any) -> np.ndarray:
    return leaf.array if isinstance(leaf, Padded) else leaf


def _kind(leaf: Any) -> str:
    if isinstance(leaf, Padded):
        # Of one value in each example so far: all of a group get as wide as the widest.
        is_small = leaf.array.ndim == 3 and leaf.array.shape[2] <= 1
        return f"{leaf.array.dtype} filled up with {leaf.fill}" if is_small else ""
    return str(leaf.dtype) if math.prod(leaf.shape[2:]) <= _MOST_NUMBERS else ""


def _join(leaves: list[Any]) -> Any:
    """Return arrays side by side, or, if they are padded, behind each other as wide as the widest."""
    lengths = {_array(leaf).shape[:2] for leaf in leaves}
    if len(lengths) > 1:
        raise errors.DataError(
            "The features of a batch do not have the same number of examples. Received: "
            f"{sorted(length[1] for length in lengths)}."
        )
    (length,) = lengths
    if not isinstance(leaves[0], Padded):
        return np.concatenate([leaf.reshape(*length, -1) for leaf in leaves], axis=-1)
    fill = leaves[0].fill
    width = max(leaf.array.shape[2] for leaf in leaves)
    made = np.full((*length, width, len(leaves)), fill, leaves[0].array.dtype)
    for column, leaf in enumerate(leaves):
        made[:, :, : leaf.array.shape[2], column] = leaf.array
    return Padded(made, fill)
