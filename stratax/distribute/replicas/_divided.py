"""Variables of which each device of a group has a part: how a replica sees them whole (distribute layer).

A replica gets its device's part as an argument of the mapped function, and gathers the whole where it reads the
variable. Gradients are whole, and each replica's own, until they are applied: there each device gets the sum of its
part.
"""

import functools
import operator
from collections.abc import Sequence
from typing import Any

import jax
import keras
from jax.sharding import AbstractMesh, Mesh, NamedSharding, PartitionSpec

from stratax.base.typing import Array, PyTree
from stratax.core import regions, storage
from stratax.distribute.replicas._exchange import over_replicas
from stratax.distribute.replicas._reduce_op import ReduceOp
from stratax.distribute.replicas._values import REPLICA_AXES, SHARD_AXIS


def spec_on(variable: keras.Variable, mesh: Mesh) -> PartitionSpec | None:
    """Return how a variable is divided among replicas' devices; None where each replica has the whole of it."""
    sharding = storage.sharding_in(variable, NamedSharding(mesh, PartitionSpec()))
    return shard_spec(sharding.spec, mesh)


def shard_spec(spec: PartitionSpec, mesh: Mesh | AbstractMesh) -> PartitionSpec | None:
    """Return what a specification says of the replicas' devices; None where each replica has the whole."""
    own = PartitionSpec(*(axis if axis == SHARD_AXIS else None for axis in spec))
    return own if SHARD_AXIS in own and mesh.shape[SHARD_AXIS] > 1 else None


def gathering_of(part: Array, spec: PartitionSpec, name: str) -> regions.Gathering:
    """Return how a replica gathers what devices of its group have in parts, and sums in parts.

    Args:
        part: This device's part.
        spec: How it is divided.
        name: What a gather is called in profiles and compiled programs: the variable's name.
    """
    return regions.Gathering(
        part,
        jax.named_scope(name)(lambda own, behind=None: gather_whole(own, spec, behind)),
        lambda value: over_replicas(lambda own: _sum_in_parts([own], [spec], [name])[0], value),
    )


def gather_whole(part: Array, spec: PartitionSpec, behind: PyTree = None) -> Any:
    """Return the whole of what a group of devices has in parts.

    Args:
        part: This device's part.
        spec: How it is divided.
        behind: A value that is to be there before: XLA would otherwise use what was gathered earlier, and keep it.
    """
    if behind is not None:
        part, _ = jax.lax.optimization_barrier((part, behind))
    dim = tuple(spec).index(SHARD_AXIS)
    return over_replicas(lambda own: jax.lax.all_gather(own, SHARD_AXIS, axis=dim, tiled=True), part)


def combine_in_parts(
    op: ReduceOp,
    values: Sequence[Any],
    specs: Sequence[PartitionSpec],
    num_replicas: int,
    sums: Sequence[Any],
    names: Sequence[str],
) -> list[Any]:
    """Combine values of all replicas, each device getting its part of the results.

    Args:
        op: How.
        values: This replica's arrays, whole; None where a sum is all there is.
        specs: How their results are divided.
        num_replicas: How many replicas there are.
        sums: This device's parts of sums over all replicas that are to be added; None for none.
        names: What the sums are called in profiles and compiled programs: the paths of variables.
    """

    def combine(own: list[Any], sums: list[Any]) -> list[Any]:
        given = [index for index, value in enumerate(values) if value is not None]
        parts = _sum_in_parts(own, [specs[index] for index in given], [names[index] for index in given])
        rest = iter(parts)
        totals: list[Any] = []
        for value, total in zip(values, sums, strict=True):
            summands = [*([] if value is None else [next(rest)]), *([] if total is None else [total])]
            totals.append(functools.reduce(operator.add, summands))
        return [total / num_replicas for total in totals] if op is ReduceOp.MEAN else totals

    whole = [value for value in values if value is not None]
    combined: list[Any] = over_replicas(combine, whole, list(sums)) if values else []
    return combined


def _sum_in_parts(values: Sequence[Any], specs: Sequence[PartitionSpec], names: Sequence[str]) -> list[Any]:
    """Return this device's parts of the sums of all replicas' arrays."""
    # Within a group first: what the groups exchange is a part then.
    parts = list(map(_scatter, values, specs, names))
    return list(parts if jax.lax.axis_size(REPLICA_AXES[0]) == 1 else jax.lax.psum(parts, REPLICA_AXES[0]))


def _scatter(value: Array, spec: PartitionSpec, name: str) -> Any:
    with jax.named_scope(name):
        dim = tuple(spec).index(SHARD_AXIS)
        return jax.lax.psum_scatter(value, SHARD_AXIS, scatter_dimension=dim, tiled=True)
