"""What the host has of arrays that devices have in parts (core layer)."""

import dataclasses
from collections.abc import Mapping
from typing import Any

import jax
import keras
import numpy as np
from jax.sharding import Sharding

from stratax.core.storage import _dispatches
from stratax.core.storage._variable_store import read, write

# Where a part lies in its array: the first element and the one behind the last, for each dimension.
Bounds = tuple[tuple[int, int], ...]


@dataclasses.dataclass(frozen=True, slots=True)
class HostParts:
    """An array of which the host has parts: those of this process, each once.

    Attributes:
        shape: The shape of the whole.
        dtype: Its dtype.
        part_shape: The shape of a part: all are alike, also those of other processes.
        parts: The parts that are here, by where they lie.
    """

    shape: tuple[int, ...]
    dtype: np.dtype
    part_shape: tuple[int, ...]
    parts: Mapping[Bounds, np.ndarray]

    @property
    def size(self) -> int:
        """How many elements the whole has."""
        return int(np.prod(self.shape, dtype=np.int64))


def is_divided(array: Any) -> bool:
    """Return whether devices have different parts of an array."""
    if not isinstance(array, jax.Array) or isinstance(array, jax.core.Tracer):
        return False
    return not array.sharding.is_fully_replicated


def find_divided(variable: keras.Variable) -> jax.Array | None:
    """Return a variable's value if devices have parts of it, None otherwise; what is in a store is not looked at."""
    # What a store keeps has no such attribute of its own.
    value = variable.__dict__.get("_value")
    return value if is_divided(value) else None


def overwrite_parts(variable: keras.Variable, value: HostParts) -> None:
    """Give a variable a value from the host, on the devices where its present one is, which have parts of it.

    Args:
        variable: The variable.
        value: All parts that the devices of this process are to have.
    """
    write(variable, place_parts(value, read(variable).sharding))


def detach(array: jax.Array) -> jax.Array:
    """Return an array of the same memory, for the host to read.

    JAX keeps with an array what it has copied of it to the host, as long as the array lives: a model that was saved
    once would stay in the host's memory as a whole.

    Args:
        array: An array that devices have in parts.
    """
    parts = [shard.data for shard in array.addressable_shards]
    return jax.make_array_from_single_device_arrays(array.shape, array.sharding, parts)


def read_whole(array: jax.Array) -> np.ndarray:
    """Return the value of an array on the host, which the array itself does not keep if it was put together.

    Where this process' devices don't have all of it, all processes have to read it.
    """
    if not is_divided(array):
        return np.asarray(array)
    if array.is_fully_addressable:
        return np.asarray(detach(array))
    observer = _dispatches.observer()
    parts = {_bounds(shard.index, array.shape): shard.data for shard in array.addressable_shards}
    if sum(part.size for part in parts.values()) < array.size and observer is not None:
        return observer.read_together(array)
    whole = np.empty(array.shape, array.dtype)
    for bounds, part in parts.items():
        whole[tuple(slice(*each) for each in bounds)] = part
    return whole


def own_parts(array: jax.Array) -> dict[Bounds, jax.Array]:
    """Return the parts of an array that this process is to save: of those that several devices have, the first."""
    return {
        _bounds(shard.index, array.shape): shard.data
        for shard in array.addressable_shards
        if shard.replica_id == 0
    }


def find_own_indices(sharding: Sharding, shape: tuple[int, ...]) -> list[Bounds]:
    """Return where the parts lie that the devices of this process have of an array, each once.

    Args:
        sharding: How the array is divided.
        shape: Its shape.
    """
    found = sharding.addressable_devices_indices_map(shape).values()
    return list(dict.fromkeys(_bounds(index, shape) for index in found))


def place_parts(value: HostParts, sharding: Sharding) -> jax.Array:
    """Put an array on devices, each of which takes its part from the host.

    Args:
        value: What the host has of it: all parts of this process' devices.
        sharding: Which devices have which.
    """
    return jax.make_array_from_callback(
        value.shape, sharding, lambda index: value.parts[_bounds(index, value.shape)]
    )


def _bounds(index: Any, shape: tuple[int, ...]) -> Bounds:
    return tuple(
        (each.start or 0, size if each.stop is None else each.stop)
        for each, size in zip(index, shape, strict=True)
    )
