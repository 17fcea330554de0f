"""Loops over stacked rows of arrays (core layer)."""

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp

from stratax import errors
from stratax.core import jaxprs, regions
from stratax.core.control import _body, _carry, _locals
from stratax.core.control._loops import TracedLoop


def for_rows(stacked: object, function: Callable[[Any], Any], *, keep: bool) -> Any:
    """Call a function with each row of stacked arrays, in one compiled loop in the program that is being traced.

    Args:
        stacked: A structure of arrays with the same leading dimension: the number of iterations, at least 1.
        function: Gets a structure of arrays without that dimension, and returns a structure of arrays.
        keep: Whether the results of all iterations are wanted, or those of the last.

    Returns:
        The last iteration's results; with `keep` those of all, stacked on a leading dimension.

    Raises:
        TracingError: If no program is being traced.
    """
    return _over_rows(stacked, (), lambda _, row: ((), function(row)), keep=keep)[1]


def scan_rows(stacked: object, initial: object, function: Callable[[Any, Any], tuple[Any, Any]]) -> Any:
    """Carry a state through the rows of stacked arrays, in one compiled loop in the program that is being traced.

    Args:
        stacked: A structure of arrays with the same leading dimension: the number of iterations.
        initial: The state before the first row.
        function: Gets the state and a structure of arrays without that dimension, and returns the next state and a
            structure of arrays.

    Returns:
        The last state, and the results of all iterations, stacked on a leading dimension.

    Raises:
        TracingError: If no program is being traced, or the state changes its structure, a shape or a dtype.
    """
    return _over_rows(stacked, initial, function, keep=True)


def _over_rows(
    stacked: object, initial: object, function: Callable[[Any, Any], tuple[Any, Any]], *, keep: bool
) -> tuple[Any, Any]:
    parent = regions.current_region()
    leaves, treedef = jax.tree.flatten(stacked)
    if parent is None and any(isinstance(leaf, jax.core.Tracer) for leaf in leaves):
        # A step of Keras' own, or a derivative: it is JAX alone that traces.
        return jax.lax.scan(jaxprs.settle_within(function), initial, stacked)
    if parent is None:
        raise errors.TracingError(
            "A loop over stacked rows was run outside of a compiled function. Expected: a call while a program is "
            "traced. Received: no program."
        )
    # The result has no value on entry, and so is not carried from one call to the next.
    local: list[Any] = [initial, _locals.Undefined("result")]

    def body(_: object) -> None:
        region = regions.current_region()
        if not isinstance(region, _body.LoopRegion):
            raise AssertionError  # A loop's body is traced in the loop's region.
        row = [
            region.new_input(_body.RowLeaf(position), leaf.shape[1:], leaf.dtype)
            for position, leaf in enumerate(leaves)
        ]
        state, result = function(local[0], jax.tree.unflatten(treedef, row))
        local[:] = state, jax.tree.map(jnp.asarray, result)

    def set_local(values: Sequence[Any]) -> None:
        local[:] = values

    elements = _carry.Elements(leaves[0].shape[0])
    loop = TracedLoop(parent, elements, body, None, lambda: tuple(local), set_local, ("state", "result"))
    return loop.over_rows(leaves, keep=keep)
