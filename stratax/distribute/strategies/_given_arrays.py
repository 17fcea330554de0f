"""Arrays of which devices have parts, among what replicas are called with (distribute layer)."""

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import keras
import numpy as np
from jax.sharding import AbstractMesh, Mesh, NamedSharding, PartitionSpec

from stratax.base.pytrees import path_of
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
from stratax.distribute.strategies._arrays import NamedArray, find_namesake

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
        self._leaves, self._region = leaves, region
        self._find_sharding = strategy.extended.placement.find_array_sharding
        self._mesh = mesh
        # What the function has from around it, behind what it is given.
        self._captured: list[Any] = []
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
                self._add(index, known)

    def _add(self, index: int, leaf: NamedArray) -> None:
        found = self._find_sharding(leaf)
        if found is None:
            return
        sharding = NamedSharding(self._mesh, found.spec)
        spec = shard_spec(sharding.spec, sharding.mesh)
        self._places.append((leaf, sharding))
        if spec is not None and _divides(spec, leaf, sharding.mesh):
            if index < len(self._leaves):
                self._indices.append(index)
            self._named.append((leaf, sharding))
            self._specs.append(spec)

    def take(self) -> tuple[list[Array], list[PartitionSpec]]:
        """Return the arrays as the mapped function takes them, and how they are divided among replicas' devices."""
        shardings = [sharding for _, sharding in self._named]
        around = zip(self._captured, shardings[len(self._indices) :], strict=True)
        arrays = [self._leaves[index] for index in self._indices]
        arrays += [self._take_in(value, sharding) for value, sharding in around]
        return (jax.lax.with_sharding_constraint(arrays, shardings) if arrays else []), self._specs

    def find_types(self, function: Callable[..., PyTree], *own: PyTree) -> PyTree:
        """Return something of the type of what a function computes, and look for what it has from around it.

        Args:
            function: Of structures of arrays and the arguments' leaves.
            *own: The structures.
        """
        closed, types = jax.make_jaxpr(
            lambda whole, own: self._compute_whole(functools.partial(function, *own), whole),
            return_shape=True,
        )([jax.ShapeDtypeStruct(leaf.shape, leaf.dtype) for leaf, _ in self._named], own)
        self._capture(closed.consts)
        return jax.tree.map(lambda each: jnp.zeros(each.shape, each.dtype), types)

    def _capture(self, constants: Sequence[Any]) -> None:
        """Have the arrays among a function's constants enter as those do that it is given: JAX would copy them."""
        region = self._region
        known = [
            each
            for each in (*region.reads.values(), *region.writes.values())
            if isinstance(each, keras.Variable)
        ]
        variables = {id(region.get_current_value(variable)) for variable in known}
        for value in constants:
            if isinstance(value, jax.Array | np.ndarray) and id(value) not in variables:
                array = region.find_argument(value)
                self._add(len(self._leaves), NamedArray("", tuple(value.shape), value.dtype, array))
                if len(self._named) > len(self._indices) + len(self._captured):
                    self._captured.append(value)

    def _take_in(self, value: Any, sharding: NamedSharding) -> Any:
        """Return an array as the program has it: as an input, since each device has a copy of a constant."""
        if isinstance(value, jax.core.Tracer):
            return value
        # When the program first runs: what is traced would be a part of it.
        read = functools.cache(functools.partial(storage.place, value, sharding))
        name = f"captured {id(value)}"
        return self._region.program.host_value(
            name, lambda: regions.HostValue(name, value.shape, value.dtype, read, lambda: True)
        )

    def compute(self, function: Callable[[Sequence[Any]], PyTree], parts: Sequence[Array]) -> PyTree:
        """Return what a replica's function computes of its arguments' leaves.

        Args:
            function: The function.
            parts: What this device has of the arrays.
        """
        if not self._named:
            return function(self._leaves)
        return gather_where_read(
            lambda whole: self._compute_whole(function, whole), parts, self._specs, self._captured
        )

    def _compute_whole(self, function: Callable[[Sequence[Any]], PyTree], whole: Sequence[Array]) -> PyTree:
        leaves = list(self._leaves)
        # Behind these are those that the function has from around it.
        for index, value in zip(self._indices, whole, strict=False):
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


def _divides(spec: PartitionSpec, leaf: NamedArray, mesh: Mesh | AbstractMesh) -> bool:
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
