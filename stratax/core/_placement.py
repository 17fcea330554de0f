"""Putting arrays where a program needs them, also on devices of several processes (core layer)."""

from typing import Any

import jax
import numpy as np
from jax.sharding import Sharding


def place(values: Any, sharding: Sharding) -> Any:
    """Puts a structure of arrays under one sharding.

    Over the devices of several processes every process gives its own shards and none waits for another.
    `jax.device_put` would compare the values of all processes first, which takes a collective.

    Args:
        values: Arrays of NumPy or JAX. Where the sharding spans processes, the same on each; an array of JAX has to
            have all of its value in this process.
        sharding: Where to.

    Returns:
        The structure, of arrays under `sharding`.
    """
    if sharding.is_fully_addressable:
        return jax.device_put(values, sharding)
    return jax.tree.map(lambda value: _across_processes(value, sharding), values)


def _across_processes(value: Any, sharding: Sharding) -> jax.Array:
    if isinstance(value, jax.Array) and value.sharding.is_equivalent_to(sharding, value.ndim):
        return value
    host = np.asarray(value)
    return jax.make_array_from_callback(host.shape, sharding, lambda index: host[index])


def place_local(value: Any, sharding: Sharding, shape: tuple[int, ...]) -> jax.Array:
    """Puts this process's part of an array that is divided among the devices of all processes.

    Args:
        value: The part, a NumPy array.
        sharding: Where to.
        shape: The shape of the whole.
    """
    if sharding.is_fully_addressable:
        return jax.device_put(value, sharding)
    return jax.make_array_from_process_local_data(sharding, np.asarray(value), shape)
