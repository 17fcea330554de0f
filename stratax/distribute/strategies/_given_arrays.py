"""Arrays of which devices have parts, among what replicas are called with (distribute layer)."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from stratax.base.typing import Array, PyTree
from stratax.core import regions, storage
from stratax.distribute.replicas import (
    REPLICA_AXES,
    SHARD_AXIS,
    ReduceOp,
    combine_in_parts,
    count_replicas,
    gather_where_read,
    is_per_replica,
    map_over_replicas,
    shard_spec,
)
from stratax.distribute.strategies._arrays import NamedArray, find_namesake, path_of

if TYPE_CHECKING:
    from stratax.distribute.strategies._strategy import Strategy


class GivenArrays:
    """What a run of replicas is given for all of them alike, and devices have in parts.

    An array lies where it was placed, and one that was placed nowhere as the strategy would place it.

    Args:
        strategy: The strategy.
        mesh: The replicas' devices.
        leaves: The leaves of the arguments and keyword arguments.
        treedef: Their structure.
        region: The region in which the replicas are run.
    """

    def __init__(
        self,
        strategy: "Strategy",
        mesh: Mesh,
        leaves: Sequence[Any],
        treedef: jax.tree_util.PyTreeDef,
        region: regions.Region,
    ) -> None:
        self._leaves = leaves
        # All arrays, and those of them that replicas' devices have parts of.
        self._places: list[tuple[NamedArray, NamedSharding]] = []
        self._indices: list[int] = []
        self._named: list[tuple[NamedArray, NamedSharding]] = []
        self._specs: list[PartitionSpec] = []
        tree = jax.tree.unflatten(treedef, leaves)
        found, _ = jax.tree_util.tree_flatten_with_path(tree, is_leaf=is_per_replica)
        for index, (keys, value) in enumerate(found):
            if isinstance(value, jax.Array | np.ndarray):
                # What is below an argument is called as in the tree that was placed.
                known = NamedArray(
                    path_of(keys[2:]), tuple(value.shape), value.dtype, region.find_argument(value)
                )
                found_at = strategy.extended.placement.find_array_sharding(known)
                if found_at is not None:
                    self._add(index, known, NamedSharding(mesh, found_at.spec))

    def _add(self, index: int, leaf: NamedArray, sharding: NamedSharding) -> None:
        spec = shard_spec(sharding.spec, sharding.mesh)
        self._places.append((leaf, sharding))
        if spec is not None and _divides(spec, leaf, sharding.mesh):
            self._indices.append(index)
            self._named.append((leaf, sharding))
            self._specs.append(spec)

    def take(self) -> tuple[list[Array], list[PartitionSpec]]:
        """Return the arrays as the mapped function takes them, and how they are divided among replicas' devices."""
        arrays = [self._leaves[index] for index in self._indices]
        shardings = [sharding for _, sharding in self._named]
        return (jax.lax.with_sharding_constraint(arrays, shardings) if arrays else []), self._specs

    def compute(
        self, function: Callable[[Sequence[Any]], PyTree], parts: Sequence[Array], *, is_type: bool
    ) -> PyTree:
        """Return what a replica's function computes of its arguments' leaves.

        Args:
            function: The function.
            parts: What this device has of the arrays.
            is_type: Whether only types are asked for.
        """
        if not self._indices:
            return function(self._leaves)
        if is_type:
            whole = [jnp.zeros(leaf.shape, leaf.dtype) for leaf, _ in self._named]
            return self._compute_whole(function, whole)
        return gather_where_read(lambda whole: self._compute_whole(function, whole), parts, self._specs)

    def _compute_whole(self, function: Callable[[Sequence[Any]], PyTree], whole: Sequence[Array]) -> PyTree:
        leaves = list(self._leaves)
        for index, value in zip(self._indices, whole, strict=True):
            leaves[index] = value
        return function(leaves)

    def places_of(self, result: PyTree) -> list[NamedSharding | None]:
        """Return where sums of what replicas return are to lie, by name and shape: as the array that one is for."""
        leaves = [leaf for leaf, _ in self._places]
        places: list[NamedSharding | None] = []
        for keys, value in jax.tree_util.tree_flatten_with_path(result)[0]:
            leaf = NamedArray(path_of(keys), tuple(np.shape(value)), None, value)
            of = find_namesake(leaf, leaves) if leaf.shape else None
            places.append(None if of is None else self._places[leaves.index(of)][1])
        return places


def _divides(spec: PartitionSpec, leaf: NamedArray, mesh: Mesh) -> bool:
    """Return whether a dimension divides: not always on other devices, for which a function is only traced."""
    return leaf.shape[tuple(spec).index(SHARD_AXIS)] % mesh.shape[SHARD_AXIS] == 0


def sum_in_parts(op: ReduceOp, array: Array, place: NamedSharding) -> Array:
    """Return the sum or mean of the components of replicas, of which each device gets its part.

    Args:
        op: Which.
        array: The components, shape ``(num_replicas, *shape)``.
        place: Where the result lies.
    """
    spec = shard_spec(place.spec, place.mesh)
    if spec is None:
        total = jnp.sum(array, 0) if op is ReduceOp.SUM else jnp.mean(array, 0)
        return jax.lax.with_sharding_constraint(total, place)

    def combine(own: Array) -> Array:
        (part,) = combine_in_parts(
            op, [jnp.squeeze(own, 0)], [spec], count_replicas(place.mesh), [None], ["reduce"]
        )
        return part

    mapped = map_over_replicas(combine, place.mesh, PartitionSpec(REPLICA_AXES), spec)
    return jax.lax.with_sharding_constraint(storage.without_mesh(mapped(array)), place)
