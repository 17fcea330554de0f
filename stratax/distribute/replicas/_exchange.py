"""Collectives of replicas, in a compiled program and where replicas run in Python (distribute layer)."""

import abc
import contextlib
from collections.abc import Callable, Mapping
from typing import Any

import jax

from stratax.core import regions
from stratax.distribute.replicas._values import REPLICA_AXES
from stratax.seams.jax import core, inside_axes


class TakesTurns(abc.ABC):
    """Capability of a region: its replica runs in Python, and meets the others in collectives.

    Attributes:
        num_replicas: How many replicas there are.
        axes: The sizes of the axes of their mesh.
    """

    num_replicas: int
    axes: Mapping[str, int]


def replica_index() -> Any:
    """Return the number of the replica that is computed, an int32 scalar."""
    region = regions.current_region()
    with inside_axes(region.axes) if isinstance(region, TakesTurns) else contextlib.nullcontext():
        return jax.lax.axis_index(REPLICA_AXES)


def over_replicas(function: Callable[..., Any], *values: object) -> Any:
    """Call a function that has collectives over the axis of the replicas.

    Where a replica runs in Python its values are known, and JAX takes them for constants of the program, equal on all
    replicas. So the function is traced, and what was traced is computed operation by operation.

    Args:
        function: A function of arrays; it reads no variables.
        values: Its arguments, arrays in structures.

    Returns:
        What it returns, arrays in a structure.
    """
    region = regions.current_region()
    if region is not None:
        # A branch or loop that not all replicas run would leave the others waiting.
        region.note_meeting()
    if not isinstance(region, TakesTurns):
        return function(*values)
    with inside_axes(region.axes):
        closed, described = jax.make_jaxpr(function, return_shape=True)(*values)
        leaves = core.jaxpr_as_fun(closed)(*jax.tree.leaves(values))
    return jax.tree.unflatten(jax.tree.structure(described), leaves)


def sum_over_replicas(value: object) -> Any:
    """Return the sum of all replicas' arrays, which each of them gets; of a structure, of each array in it."""
    return over_replicas(lambda own: jax.lax.psum(own, REPLICA_AXES), value)


def merge_or_pack(merged: Callable[..., Any], packed: Callable[..., Any], *values: object) -> Any:
    """Call the one of two functions with collectives of many arrays that suits the compiler for the replicas' devices.

    XLA for GPUs and TPUs makes one collective of many by itself. There packing them into a buffer would only copy them,
    on a TPU with a change of layout before and behind. XLA for CPUs does not, nor does anybody where replicas run in
    Python.

    Args:
        merged: Has a collective for each array.
        packed: Has one for buffers of them.
        values: The arguments of either, arrays in structures.

    Returns:
        What it returns, arrays in a structure.
    """
    device = jax.sharding.get_abstract_mesh().abstract_device
    if device is None:
        return packed(*values)
    if device.platform != "cpu":
        return merged(*values)
    # A listener may compile the program for other devices, as it was traced for these.
    if regions.is_heard():
        return jax.lax.platform_dependent(*values, cpu=packed, default=merged)
    return packed(*values)
