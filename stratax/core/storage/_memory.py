"""Memory that is not there: which variables take most of it, and what would divide them (core layer)."""

import math
from collections.abc import Iterable
from typing import NamedTuple

import jax
import keras
import numpy as np
from jax.sharding import NamedSharding, Sharding

from stratax import errors

_MOST = 3
_LONGEST_MESSAGE = 200


class _Held(NamedTuple):
    """A variable, and what a device has of it."""

    variable: keras.Variable
    sharding: Sharding | None
    size: int


def refuse_exhausted(
    error: jax.errors.JaxRuntimeError, held: Iterable[tuple[keras.Variable, Sharding | None]]
) -> None:
    """Raise an error of ours in the place of one that says that no memory is left; do nothing for others.

    Args:
        error: The error.
        held: The variables that devices have, and where each lies; None for a single device.

    Raises:
        ResourceExhaustedError: If no memory is left.
    """
    message = str(error)
    # What fails while it is dispatched is an internal error, on CPUs.
    if "RESOURCE_EXHAUSTED" in message or "Out of memory" in message:
        first = message.strip().splitlines()[0][:_LONGEST_MESSAGE]
        raise errors.ResourceExhaustedError(
            f"A device has no memory left. {describe_held(held)} Received: {first}"
        ) from error


def describe_held(held: Iterable[tuple[keras.Variable, Sharding | None]]) -> str:
    """Return which variables take most of a device's memory, and which rules of a layout would divide them.

    Args:
        held: The variables, and where each lies; None for a single device.
    """
    found = sorted((_measure(*each) for each in held), key=lambda each: -each.size)
    if not found:
        return "It holds no variables: use smaller batches."
    lines = [
        f"{each.variable.path!r} of shape {tuple(each.variable.shape)} {each.size:,} bytes, {_describe(each)}"
        # An optimizer's slots lie where their variables do.
        for each in ([each for each in found if each.variable.trainable] or found)[:_MOST]
    ]
    total = sum(each.size for each in found)
    return (
        f"Its variables take {total:,} bytes on each device, the largest: {'; '.join(lines)}. {_advise(found)} "
        "Of the rest, what is computed, smaller batches take less, and so do keras.mixed_precision, gradient "
        "accumulation and ShardedStrategy(remat='layer')."
    )


def _measure(variable: keras.Variable, sharding: Sharding | None) -> _Held:
    shape = tuple(variable.shape)
    part = shape if sharding is None else sharding.shard_shape(shape)
    return _Held(variable, sharding, math.prod(part) * np.dtype(variable.dtype).itemsize)


def _axes_of(sharding: Sharding | None) -> dict[str, int]:
    """Return the axes of a mesh that variables can be divided by: along its first one devices have the same."""
    if not isinstance(sharding, NamedSharding):
        return {}
    return {name: size for name, size in list(sharding.mesh.shape.items())[1:] if size > 1}


def _describe(held: _Held) -> str:
    """Return how a variable is divided, or the rule that would divide it further."""
    axes, spec = _axes_of(held.sharding), getattr(held.sharding, "spec", ())
    shape = tuple(held.variable.shape)
    taken = [*spec, *[None] * (len(shape) - len(spec))]
    used = [axis for axis in taken if axis is not None]
    divided = f"divided by {', '.join(map(repr, used))}" if used else "whole"
    for axis, size in axes.items():
        dims = [dim for dim, extent in enumerate(shape) if taken[dim] is None and extent % size == 0]
        if axis in used:
            continue
        if not dims:
            return f"{divided}: no dimension divides by {size}, a multiple of it would"
        chosen = max(dims, key=lambda dim: shape[dim])
        rule = tuple(axis if dim == chosen else each for dim, each in enumerate(taken))
        return f"{divided}: layout={{{held.variable.path + '$'!r}: {rule}}} divides it by {size}"
    return divided


def _advise(found: list[_Held]) -> str:
    devices = max(1 if each.sharding is None else len(each.sharding.device_set) for each in found)
    if any(_axes_of(each.sharding) for each in found):
        return "More devices have smaller parts of what is divided."
    if devices == 1:
        return "Several devices of a ShardedStrategy have a part of each."
    return f"Each of {devices} devices has a copy; with a ShardedStrategy it has a part of each."
