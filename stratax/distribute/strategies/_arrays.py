"""Arrays of other libraries in parts: trees of them, placed by their key paths (distribute layer)."""

import dataclasses
import itertools
from collections.abc import Callable, Sequence
from typing import Any

import jax
import keras
import numpy as np
from jax.sharding import AbstractMesh, Mesh, NamedSharding, PartitionSpec

from stratax import errors
from stratax.base.pytrees import path_of
from stratax.base.shown import shown
from stratax.base.typing import PyTree
from stratax.core import regions
from stratax.core.storage import place
from stratax.distribute.replicas import is_per_replica
from stratax.distribute.strategies._layout import Layout, Place

_ARRAYS = (jax.Array, np.ndarray, np.generic)


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class NamedArray:
    """An array of a tree, or its type.

    Attributes:
        path: Where it stands, such as ``layers/0/weight``.
        shape: Its shape.
        dtype: Its dtype.
        value: The array or type.
    """

    path: str
    shape: tuple[int, ...]
    dtype: Any
    value: Any


def leaves_of(tree: PyTree, *, types: bool = False) -> list[NamedArray | object]:
    """Return the leaves of a tree in order, those that are arrays as :class:`NamedArray`.

    Args:
        tree: The tree. Functions, numbers and text among its leaves are none of its arrays.
        types: Whether it may have types (`jax.ShapeDtypeStruct`) in the places of arrays.

    Raises:
        BadTypeError: If it has variables or values of replicas.
    """
    kinds = (*_ARRAYS, jax.ShapeDtypeStruct) if types else _ARRAYS
    found: list[NamedArray | object] = []
    for keys, value in jax.tree_util.tree_flatten_with_path(tree, is_leaf=is_per_replica)[0]:
        path = path_of(keys)
        if isinstance(value, keras.Variable) or is_per_replica(value):
            raise errors.BadTypeError(
                "Arrays of a tree are divided among devices. Expected: arrays of JAX or NumPy; a variable gets its "
                "place when it is made in strategy.scope(), a batch by experimental_distribute_dataset. Received: "
                f"{shown(value)} at {shown(path)}."
            )
        is_array = isinstance(value, kinds)
        found.append(NamedArray(path, tuple(value.shape), value.dtype, value) if is_array else value)
    return found


class ArrayPlaces:
    """Says where arrays of trees lie on a mesh.

    Args:
        layout: The layout, whose rules are searched in key paths.
        beside: Arrays that others with the end of their path and their shape lie beside, such as an optimizer's.
    """

    def __init__(self, layout: Layout, beside: Sequence[NamedArray] = ()) -> None:
        self._layout = layout
        self._beside = [leaf for leaf in beside if find_place(leaf.value, layout.mesh) is not None]

    def place_of(self, leaf: NamedArray) -> Place:
        """Return where an array lies.

        Raises:
            BadArgumentError: If a rule that matches divides a dimension that does not divide.
        """
        if _is_key(leaf.dtype):
            # The keys of `jax.random`.
            return Place(NamedSharding(self._layout.mesh, PartitionSpec()), "whole: keys")
        other = find_namesake(leaf, self._beside)
        found = None if other is None else find_place(other.value, self._layout.mesh)
        if found is not None:
            return Place(found, "as the array that it belongs to")
        # Slots, which are smaller or larger, have the names of those that they are for.
        return self._layout.place_of(leaf.path, leaf.shape, trainable=False)

    def find_place_of(self, leaf: NamedArray) -> NamedSharding:
        """Return where an array is to lie that was placed nowhere, and may have a name that rules mean others by."""
        try:
            return self.place_of(leaf).sharding
        except errors.BadArgumentError:
            return Layout(self._layout.mesh).place_of(leaf.path, leaf.shape).sharding


def find_namesake(leaf: NamedArray, others: Sequence[NamedArray]) -> NamedArray | None:
    """Return the array of the same shape whose path has most in common with the end of that of `leaf`."""
    counts = [_count_common(leaf.path, each.path) if each.shape == leaf.shape else 0 for each in others]
    most = max(counts, default=0)
    return others[counts.index(most)] if most else None


def _count_common(path: str, other: str) -> int:
    """Return how many names two paths end with alike; an array that is in no container belongs to all."""
    pairs = zip(reversed(path.split("/")), reversed(other.split("/")), strict=False)
    return sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], pairs)) or int(not other)


def find_place(value: object, mesh: Mesh | AbstractMesh) -> NamedSharding | None:
    """Return where an array lies on the devices of a mesh; None where it lies elsewhere, or nobody knows."""
    if not isinstance(value, jax.Array) or isinstance(value, jax.core.Tracer):
        return None
    return (
        value.sharding if isinstance(value.sharding, NamedSharding) and value.sharding.mesh == mesh else None
    )


def find_places(
    find_sharding: Callable[[NamedArray], NamedSharding], arguments: PyTree, results: PyTree
) -> tuple[regions.Places, regions.Places]:
    """Return where a program's arguments and results are to lie that are no values of replicas.

    Args:
        find_sharding: Says where an array lies that replicas are given.
        arguments: The arguments. What is below the first two containers has the names of the tree that it is from.
        results: The types of the results. One lies as the argument does with its name and shape.
    """
    given: list[tuple[NamedArray, NamedSharding] | None] = []
    for keys, value in jax.tree_util.tree_flatten_with_path(arguments, is_leaf=is_per_replica)[0]:
        if isinstance(value, _ARRAYS):
            leaf = NamedArray(path_of(keys[2:]), tuple(value.shape), value.dtype, value)
            given.append((leaf, find_sharding(leaf)))
        elif is_per_replica(value):
            given.append(None)
    named = dict(pair for pair in given if pair is not None)
    found: list[NamedSharding | None] = []
    for keys, value in jax.tree_util.tree_flatten_with_path(results, is_leaf=is_per_replica)[0]:
        is_one = not is_per_replica(value) and value.shape
        of = (
            find_namesake(NamedArray(path_of(keys), value.shape, None, value), list(named))
            if is_one
            else None
        )
        found.append(None if of is None else named[of])
    return [pair and pair[1] for pair in given], found


def agree_on(tree: PyTree, find_first: Callable[[list[Any]], list[Any]]) -> PyTree:
    """Return a tree with the arrays that this process has by itself as all processes are to have them.

    Args:
        tree: The tree.
        find_first: Returns of this process' arrays those of all.
    """
    leaves, treedef = jax.tree.flatten(tree, is_leaf=is_per_replica)
    own = [index for index, leaf in enumerate(leaves) if _is_at_hand(leaf)]
    for index, value in zip(own, find_first([_numbers_of(leaves[index]) for index in own]), strict=True):
        leaves[index] = _like(value, leaves[index])
    return jax.tree.unflatten(treedef, leaves)


def _is_at_hand(value: object) -> bool:
    if isinstance(value, jax.Array):
        return not isinstance(value, jax.core.Tracer) and value.is_fully_addressable
    return isinstance(value, _ARRAYS) and np.dtype(value.dtype).kind not in "OSU"


def _numbers_of(value: Any) -> Any:
    return jax.random.key_data(value) if _is_key(value.dtype) else value


def _like(value: Any, given: Any) -> Any:
    return jax.random.wrap_key_data(value, impl=jax.random.key_impl(given)) if _is_key(given.dtype) else value


def _is_key(dtype: Any) -> bool:
    return jax.dtypes.issubdtype(dtype, jax.dtypes.extended)


def shard_tree(tree: PyTree, places: ArrayPlaces) -> PyTree:
    """Return a tree with its arrays divided among devices; in a function that is traced, say that they are."""
    found = leaves_of(tree)
    _check_arrays(found, tree)
    leaves = [
        _put(leaf.value, places.place_of(leaf).sharding) if isinstance(leaf, NamedArray) else leaf
        for leaf in found
    ]
    return jax.tree.unflatten(jax.tree.structure(tree, is_leaf=is_per_replica), leaves)


def _check_arrays(leaves: Sequence[NamedArray | object], tree: object) -> None:
    if not any(isinstance(leaf, NamedArray) for leaf in leaves):
        raise errors.BadTypeError(
            "There is no array to divide among devices. Expected: a tree of arrays, such as the parameters of a model, "
            f"or a function that returns one, and what it is called with. Received: {shown(tree)}."
        )


def _put(value: Any, sharding: NamedSharding) -> jax.Array:
    if isinstance(value, jax.core.Tracer):
        return jax.lax.with_sharding_constraint(value, sharding)
    return place(value, sharding)


def shard_result(function: Callable[..., Any], args: tuple[object, ...], layout: Layout) -> PyTree:
    """Return what a function returns, made in parts: no device has the whole of an array that is divided."""
    leaves, treedef = jax.tree.flatten(args)
    arrays = [index for index, leaf in enumerate(leaves) if isinstance(leaf, _ARRAYS)]
    named = [NamedArray(path_of(keys[1:]), np.shape(value), None, value) for keys, value in _with_paths(args)]
    given = [_put(leaves[index], _place_of_argument(leaves[index], layout)) for index in arrays]
    made: list[Any] = []

    def compute(*values: object) -> list[Any]:
        own = list(leaves)
        for index, value in zip(arrays, values, strict=True):
            own[index] = value
        # What is no array can't be returned through JAX.
        made[:] = [function(*jax.tree.unflatten(treedef, own))]
        return [leaf.value for leaf in leaves_of(made[0]) if isinstance(leaf, NamedArray)]

    jax.eval_shape(compute, *given)
    _check_arrays(leaves_of(made[0]), made[0])
    places = ArrayPlaces(layout, named)
    results = [leaf for leaf in leaves_of(made[0]) if isinstance(leaf, NamedArray)]
    shardings = [places.place_of(leaf).sharding for leaf in results]
    computed = iter(jax.jit(compute, out_shardings=shardings)(*given))
    return jax.tree.map(lambda leaf: next(computed) if isinstance(leaf, _ARRAYS) else leaf, made[0])


def _with_paths(args: tuple[object, ...]) -> list[tuple[Any, Any]]:
    return [pair for pair in jax.tree_util.tree_flatten_with_path(args)[0] if isinstance(pair[1], jax.Array)]


def _place_of_argument(value: Any, layout: Layout) -> NamedSharding:
    leaf = NamedArray("", np.shape(value), value.dtype, value)
    return find_place(value, layout.mesh) or ArrayPlaces(Layout(layout.mesh)).place_of(leaf).sharding
