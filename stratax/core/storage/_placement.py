"""Putting arrays where a program needs them, also on devices of several processes (core layer)."""

from collections.abc import Iterable
from typing import Any

import jax
import keras
import numpy as np
from jax.sharding import NamedSharding, Sharding

from stratax import errors
from stratax.base.shown import shown

# Objects, bytes and text.
_NOT_OF_DEVICES = "OSU"
_DEVICE_LIMITS = {np.dtype(f"{kind}64"): np.iinfo(f"{kind}32") for kind in ("int", "uint")}


def check_fits(values: Iterable[Any]) -> None:
    """Refuse what a device can't hold: text, and whole numbers of 64 bits that it would change without a word.

    Without JAX' `jax_enable_x64`, arrays of int64 and uint64 become arrays of 32 bits on a device, and larger numbers
    wrap. What is on a device already is not looked at.

    Args:
        values: Arrays of NumPy and other values.

    Raises:
        BadArgumentError: If a number does not fit into 32 bits.
        BadTypeError: If an array holds text or other objects.
    """
    for value in values:
        if not isinstance(value, np.ndarray | np.generic):
            continue
        if value.dtype in _DEVICE_LIMITS:
            _check_range(value, _DEVICE_LIMITS[value.dtype])
        elif value.dtype.kind in _NOT_OF_DEVICES:
            raise errors.BadTypeError(
                "Text does not go to a device. Expected: numbers or booleans. Received: an array of dtype "
                f"{value.dtype} and shape {value.shape}. Turn it into numbers before a strategy divides it, in "
                "Dataset.map: by keras.layers.StringLookup, tf.strings.to_hash_bucket_fast or tf.strings.to_number."
            )


def _check_range(value: np.ndarray | np.generic, limits: np.iinfo) -> None:
    # With 64-bit numbers enabled nothing is cut off. (`jax.config.values` makes a dict of all settings.)
    if jax.config.jax_enable_x64 or not value.size:  # type: ignore[attr-defined]
        return
    # The extremes decide for all elements.
    for extreme in (value.min(), value.max()):
        if not limits.min <= extreme <= limits.max:
            raise errors.BadArgumentError(
                "A number does not fit into the 32 bits that whole numbers have on a device. Expected: "
                f"{limits.min} to {limits.max}. Received: {shown(int(extreme))} in an array of {value.dtype} of shape "
                f"{value.shape}. Make it smaller before (identifiers: their remainder, or a hash), split it into two "
                "numbers, or set JAX' jax_enable_x64 before anything computes."
            )


def place(values: Any, sharding: Sharding) -> Any:
    """Put a structure of arrays under one sharding.

    Over the devices of several processes every process gives its own shards and none waits for another.
    `jax.device_put` would compare the values of all processes first, which takes a collective.

    Args:
        values: Arrays of NumPy or JAX. Where the sharding spans processes, the same on each.
        sharding: Where to.

    Returns:
        The structure, of arrays under `sharding`.

    Raises:
        BadArgumentError: If a whole number of 64 bits does not fit into 32.
        BadTypeError: If there is text among the values.
    """
    check_fits(jax.tree.leaves(values))
    # All devices belong to this process: JAX can place a whole structure in one call.
    if sharding.is_fully_addressable:
        return jax.device_put(values, sharding)
    return jax.tree.map(lambda value: _across_processes(value, sharding), values)


def _across_processes(value: object, sharding: Sharding) -> jax.Array:
    if isinstance(value, jax.Array):
        # Already there.
        if value.sharding.is_equivalent_to(sharding, value.ndim):
            return value
        # No process could read it alone: a program of all of them moves it.
        if not (value.is_fully_addressable or value.is_fully_replicated):
            return jax.device_put(value, sharding)
        if jax.dtypes.issubdtype(value.dtype, jax.dtypes.prng_key):
            data = _across_processes(jax.random.key_data(value), sharding)
            return jax.random.wrap_key_data(data, impl=jax.random.key_impl(value))
    host = np.asarray(value)

    def part(index: Any) -> np.ndarray:
        found = host[index]
        # JAX shares NumPy's memory on CPUs: a part would keep the whole.
        return found if found.size == host.size else found.copy()

    # `device_put` would compare the values between the processes; each takes its own part instead.
    return jax.make_array_from_callback(host.shape, sharding, part)


def place_local(value: object, sharding: Sharding, shape: tuple[int, ...]) -> jax.Array:
    """Put this process's part of an array that is divided among the devices of all processes.

    Args:
        value: The part, a NumPy array.
        sharding: Where to.
        shape: The shape of the whole.
    """
    check_fits([value])
    if sharding.is_fully_addressable:
        return jax.device_put(value, sharding)
    return jax.make_array_from_process_local_data(sharding, np.asarray(value), shape)


def sharding_in(variable: keras.Variable, placement: object) -> Any:
    """Return where the value of a variable is in a program that has its variables in one place.

    A variable whose dimensions are divided among devices is so on the program's devices: by the axes of their mesh,
    where it has axes of these names.

    Args:
        variable: The variable.
        placement: The sharding of all variables that are not divided, or None for wherever they are.
    """
    layout = variable._layout
    if not isinstance(layout, NamedSharding) or not isinstance(placement, NamedSharding) or not layout.spec:
        return placement
    if layout.mesh == placement.mesh:
        return layout
    sizes = placement.mesh.shape
    fits = len(layout.spec) <= len(variable.shape) and all(
        axis is None or (axis in sizes and extent % sizes[axis] == 0)
        for axis, extent in zip(layout.spec, variable.shape, strict=False)
    )
    return NamedSharding(placement.mesh, layout.spec) if fits else placement
