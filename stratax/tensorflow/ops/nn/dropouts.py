"""Dropout that follows from a seed or from numbers of one's own: `tf.nn.experimental` (ops layer)."""

from collections.abc import Callable
from typing import Any

from stratax.base.shown import shown
from stratax.base.typing import DTypeLike, TensorLike
from stratax.data.elements import sizes_of
from stratax.errors import BadArgumentError
from stratax.tensorflow.ops.calls._keras_ops import ops
from stratax.tensorflow.ops.calls.creation import on_device
from stratax.tensorflow.ops.calls.op import op
from stratax.tensorflow.ops.random.stateless import stateless_uniform


@op
def general_dropout(
    x: TensorLike, rate: Any, uniform_sampler: Callable[..., Any], noise_shape: TensorLike | None = None
) -> Any:
    """Return `x` with a share of its elements set to 0, as `tf.nn.experimental.general_dropout`.

    Args:
        x: Floats.
        rate: The share, from 0 up to but not 1.
        uniform_sampler: Gives numbers from 0 to 1, from a shape and a dtype.
        noise_shape: The shape of the decisions, which are broadcast.

    Raises:
        BadArgumentError: If `rate` is out of its range.
    """
    array = on_device(x)
    if isinstance(rate, int | float) and not 0 <= rate < 1:
        raise BadArgumentError(f"The rate is from 0 up to but not 1. Received: rate={shown(rate)}.")
    shape = array.shape if noise_shape is None else sizes_of("noise_shape", noise_shape)
    # With `>=` a rate of 0 keeps all, since the sampler gives numbers from 0 up to but not 1.
    is_kept = uniform_sampler(shape=shape, dtype=array.dtype) >= rate
    return ops.where(is_kept, array * ops.cast(1 / (1 - rate), array.dtype), ops.zeros_like(array))


@op
def stateless_dropout(
    x: TensorLike,
    rate: TensorLike,
    seed: TensorLike,
    rng_alg: object = "auto_select",
    noise_shape: TensorLike | None = None,
) -> Any:
    """Return `x` with a share of its elements set to 0, by a seed, as `tf.nn.experimental.stateless_dropout`.

    Args:
        x: Floats.
        rate: The share, from 0 up to but not 1.
        seed: Two whole numbers, from which alone the decisions follow.
        rng_alg: Ignored.
        noise_shape: The shape of the decisions, which are broadcast.
    """

    def sampler(shape: TensorLike, dtype: DTypeLike) -> Any:
        return stateless_uniform(shape, seed, dtype=dtype)

    return general_dropout(x, rate, sampler, noise_shape)
