"""Values of `StrategyExtended.update` and `reduce_to`: where they go, and what an update gets (distribute layer)."""

from typing import Any

import jax
import keras
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec, Sharding, SingleDeviceSharding

from stratax import errors
from stratax.base.shown import shown
from stratax.cluster import resolve_device
from stratax.core import regions
from stratax.core.storage import place, read_all
from stratax.distribute.replicas import PerReplica, is_per_replica


def sharding_of(destinations: object, storage: Sharding | None) -> Sharding | None:
    """Return where a value goes that is reduced to `destinations`; None: it stays on the devices of all replicas.

    Args:
        destinations: A variable, a `PerReplica`, an array, or a device.
        storage: Where the strategy keeps its variables, if that is devices.

    Raises:
        BadTypeError: If it is a list or tuple, or nothing that has devices.
        DeviceError: If there is no such device.
    """
    if isinstance(destinations, keras.Variable):
        return storage or _sharding_of_variable(destinations)
    if isinstance(destinations, PerReplica | np.ndarray | np.generic | bool | int | float):
        return None
    if isinstance(destinations, jax.Array):
        # Where a traced array will be is the program's decision.
        traced = isinstance(destinations, jax.core.Tracer)
        return destinations.sharding if not traced and len(destinations.devices()) == 1 else None
    if destinations is None or isinstance(destinations, list | tuple | dict):
        raise errors.BadTypeError(
            "destinations says where one value goes. Expected: a variable, a value for each replica, an array or the "
            f"name of a device. Received: destinations={shown(destinations)}. Several values go to several places "
            "with batch_reduce_to."
        )
    return SingleDeviceSharding(resolve_device(destinations))  # type: ignore[arg-type]


def _sharding_of_variable(variable: keras.Variable) -> Sharding | None:
    (value,) = read_all([variable])
    is_there = isinstance(value, jax.Array) and not isinstance(value, jax.core.Tracer)
    return value.sharding if is_there else None


def put(value: object, sharding: Sharding | None) -> Any:
    """Move arrays to where they were reduced to; in a program they stay, since the program decides."""
    if sharding is None or regions.current_region() is not None:
        return value
    leaves, treedef = jax.tree.flatten(value)
    is_array = [isinstance(leaf, jax.Array | np.ndarray) for leaf in leaves]
    # Equal on all devices, so that of an array of several processes the own copy is the whole.
    moved = iter(
        place([_own(leaf) for leaf, is_one in zip(leaves, is_array, strict=True) if is_one], sharding)
    )
    return jax.tree.unflatten(
        treedef, [next(moved) if is_one else leaf for leaf, is_one in zip(leaves, is_array, strict=True)]
    )


def _own(array: object) -> Any:
    if isinstance(array, jax.Array) and not array.is_fully_addressable:
        return array.addressable_data(0)
    return array


def arguments(variable: keras.Variable, args: object) -> Any:
    """Return the arguments of an update as one value each, on the devices where the variable's value is now."""
    single = jax.tree.map(
        lambda leaf: _first(leaf) if isinstance(leaf, PerReplica) else leaf, args, is_leaf=is_per_replica
    )
    return put(single, _sharding_of_variable(variable))


def _first(value: PerReplica) -> Any:
    """Return the first replica's component, on all replicas' devices."""
    array = value.array
    if value.solo:
        return array
    if isinstance(array, jax.core.Tracer) or not isinstance(array.sharding, NamedSharding):
        return array[0]
    # A program: of several workers, each has its own components only.
    return jax.jit(_row, out_shardings=NamedSharding(array.sharding.mesh, PartitionSpec()))(array)


def _row(array: Any) -> Any:
    return array[0]


def values_of_variables(result: object) -> Any:
    """Return what an update returns, with values in the place of variables."""
    return jax.tree.map(lambda leaf: leaf.value if isinstance(leaf, keras.Variable) else leaf, result)


def ungroup(result: object, count: int) -> Any:
    """Return a result with a tuple of so many elements in the place of each array, as `update(..., group=False)`."""

    def elements(leaf: object) -> tuple[object, ...]:
        return (leaf,) * (count if isinstance(leaf, jax.Array) else 1)

    return jax.tree.map(elements, result, is_leaf=lambda leaf: leaf is None)
