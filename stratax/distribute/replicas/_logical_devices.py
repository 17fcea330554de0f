"""The devices that share a replica, which TensorFlow calls its logical devices (distribute layer)."""

import math
from collections.abc import Sequence

import jax
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from stratax import errors
from stratax.base.shown import shown
from stratax.base.typing import Array
from stratax.distribute.replicas._values import MODEL_AXIS


def split_to_devices(array: Array, parts: Sequence[int], mesh: Mesh) -> Array:
    """Have the devices of a replica divide the work on an array, as `experimental_split_to_logical_devices`.

    It says how, and changes no value. Where several dimensions are to be divided one of them is, by all devices.

    Args:
        array: The array of a replica.
        parts: Into how many parts each of its dimensions is divided.
        mesh: The mesh of the replicas.

    Raises:
        BadArgumentError: If there are other numbers than dimensions, one does not divide its dimension, or all together
            are not the devices of a replica.
    """
    count = mesh.shape[MODEL_AXIS]
    if len(parts) != array.ndim or any(size % part for size, part in zip(array.shape, parts, strict=True)):
        raise errors.BadArgumentError(
            "A number of parts is expected for each dimension, which divides it. Received: "
            f"partition_dimensions={shown(list(parts))} for an array of shape {tuple(array.shape)}."
        )
    if math.prod(parts) != count:
        raise errors.BadArgumentError(
            f"The product of partition_dimensions must be the number of devices of a replica. Expected: {count}. "
            f"Received: partition_dimensions={shown(list(parts))}, whose product is {math.prod(parts)}. A "
            "stratax.distribute.ShardedStrategy(model=...) has replicas of several devices."
        )
    wanted = [dim for dim, part in enumerate(parts) if part > 1 and array.shape[dim] % count == 0]
    if not wanted or not isinstance(array, jax.core.Tracer):
        return array
    chosen = max(wanted, key=lambda dim: (parts[dim], array.shape[dim]))
    return _constrain(array, PartitionSpec(*[None] * chosen, MODEL_AXIS), mesh)


def replicate_to_devices(array: Array, mesh: Mesh) -> Array:
    """Have each device of a replica have the whole of an array, as `experimental_replicate_to_logical_devices`.

    Args:
        array: The array of a replica.
        mesh: The mesh of the replicas.
    """
    if mesh.shape[MODEL_AXIS] == 1 or not isinstance(array, jax.core.Tracer):
        return array
    return _constrain(array, PartitionSpec(), mesh)


def _constrain(array: Array, spec: PartitionSpec, mesh: Mesh) -> Array:
    # In a replica that is one of several JAX has a mesh of its own, whose other axes are mapped.
    inside = jax.sharding.get_abstract_mesh()
    placed: Array = jax.lax.with_sharding_constraint(
        array, NamedSharding(mesh if inside.empty else inside, spec)
    )
    return placed
