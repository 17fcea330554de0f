"""Largest elements, approximately, and what is nearest in ascending order (ops layer). All compute on a device."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from stratax.base.shown import shown
from stratax.base.typing import TensorLike
from stratax.errors import BadArgumentError
from stratax.tensorflow.ops.calls.creation import on_device
from stratax.tensorflow.ops.calls.op import op


def _approximate(name: str, choose: Callable[..., Any], what: str) -> Any:
    def function(
        operand: TensorLike,
        k: int,
        reduction_dimension: int = -1,
        recall_target: float = 0.95,
        reduction_input_size_override: int = -1,
        aggregate_to_topk: bool = True,
        name: str | None = None,
    ) -> tuple[Any, Any]:
        array = on_device(operand)
        if not 0 <= int(k) <= array.shape[reduction_dimension]:
            raise BadArgumentError(
                f"k must be from 0 to {array.shape[reduction_dimension]}, the dimension's size. Received: k={shown(k)}."
            )
        return choose(
            array,
            int(k),
            reduction_dimension=reduction_dimension,
            recall_target=recall_target,
            reduction_input_size_override=reduction_input_size_override,
            aggregate_to_topk=aggregate_to_topk,
        )

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"""Return the `k` {what} elements along a dimension and their places, as `tf.nn.{name}`.

    Args:
        operand: Floating-point numbers.
        k: How many.
        reduction_dimension: The dimension.
        recall_target: Which share of them is found, on devices where that is quicker (TPUs).
        reduction_input_size_override: As in `jax.lax.{name}`.
        aggregate_to_topk: Likewise.
        name: Ignored.
    """
    return function


approx_max_k = _approximate("approx_max_k", jax.lax.approx_max_k, "largest")
approx_min_k = _approximate("approx_min_k", jax.lax.approx_min_k, "smallest")


@op
def isotonic_regression(inputs: TensorLike, decreasing: bool = True, axis: int = -1) -> tuple[Any, Any]:
    """Return what is nearest to arrays, by squares, and descends, as `tf.nn.isotonic_regression`.

    Args:
        inputs: The arrays.
        decreasing: Whether the result descends; else it ascends.
        axis: Their dimension. Time and memory grow with the square of its size.

    Returns:
        The values, of the inputs' shape, and for each the number of the run of equal ones that it belongs to.
    """
    given = on_device(inputs)
    array = jnp.moveaxis(
        given if jnp.issubdtype(given.dtype, jnp.floating) else given.astype("float32"), axis, -1
    )
    ascending = -array if decreasing else array
    size = array.shape[-1]
    # Sums up to each place, from which those of all runs follow.
    sums = jnp.cumsum(jnp.pad(ascending, [(0, 0)] * (array.ndim - 1) + [(1, 0)]), axis=-1)
    first, last = jnp.arange(size)[:, None], jnp.arange(size)
    # Shape (..., first, last): the mean from the one to the other.
    means = (sums[..., None, 1:] - sums[..., :-1, None]) / jnp.maximum(last - first + 1, 1)
    # The largest, over beginnings, of the smallest mean, over ends: the definition without a loop.
    lowest = jnp.where(last >= first, means, jnp.inf)
    suffix = jax.lax.cummin(lowest, axis=lowest.ndim - 1, reverse=True)
    nearest = jnp.max(jnp.where(last >= first, suffix, -jnp.inf), axis=-2)
    nearest = -nearest if decreasing else nearest
    # Rounding has numbers of one run differ in their last bits.
    begins = jnp.abs(jnp.diff(nearest, axis=-1)) > 1e-6 * jnp.maximum(jnp.abs(nearest[..., 1:]), 1e-30)
    runs = jnp.pad(jnp.cumsum(begins, axis=-1, dtype="int32"), [(0, 0)] * (array.ndim - 1) + [(1, 0)])
    return jnp.moveaxis(nearest, -1, axis), jnp.moveaxis(runs, -1, axis)
