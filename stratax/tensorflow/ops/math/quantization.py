"""Functions of `tf.quantization` that round floats as quantised kernels would (ops layer).

NumPy arrays stay on the host.
"""

from types import ModuleType
from typing import Any

import numpy as np

from stratax.base.shown import shown
from stratax.base.typing import Array, TensorLike
from stratax.errors import BadArgumentError
from stratax.tensorflow.ops.calls._computed import call_with_library
from stratax.tensorflow.ops.calls.op import op

# TensorFlow's own limit.
_MOST_BITS = 16


@op
def fake_quant_with_min_max_vars(
    inputs: TensorLike, min: TensorLike, max: TensorLike, num_bits: int = 8, narrow_range: bool = False
) -> Any:
    """Return `inputs` rounded to what `num_bits` can hold, as `tf.quantization.fake_quant_with_min_max_vars`.

    Args:
        inputs: An array of floats.
        min: The smallest number that is held, a scalar; it is moved so that 0 is held exactly.
        max: The largest one.
        num_bits: How many bits, from 2 to 16.
        narrow_range: Whether the smallest whole number is not used.

    Returns:
        An array of the same shape, where `inputs` is. Gradients pass where the input is within the range, elsewhere to
        the end that it is beyond.

    Raises:
        BadArgumentError: If `num_bits` is out of range, or `min` or `max` do not fit.
    """
    if np.ndim(min) or np.ndim(max):
        raise BadArgumentError(
            f"min and max are scalars here. Received: min={shown(min)}, max={shown(max)}. Use "
            "tf.quantization.fake_quant_with_min_max_vars_per_channel."
        )
    return _round(inputs, min, max, num_bits, narrow_range)


@op
def fake_quant_with_min_max_vars_per_channel(
    inputs: TensorLike, min: TensorLike, max: TensorLike, num_bits: int = 8, narrow_range: bool = False
) -> Any:
    """Return :func:`fake_quant_with_min_max_vars` with a range for each place of the last dimension.

    Args:
        inputs: An array of floats.
        min: The smallest numbers, an array of one dimension.
        max: The largest ones.
        num_bits: How many bits, from 2 to 16.
        narrow_range: Whether the smallest whole number is not used.

    Raises:
        BadArgumentError: If `num_bits` is out of range, or `min` or `max` do not fit.
    """
    channels = np.shape(inputs)[-1:]
    if np.shape(min) != channels or np.shape(max) != channels:
        raise BadArgumentError(
            f"min and max have a number for each channel. Expected: shape {tuple(channels)}. Received: "
            f"min={shown(min)}, max={shown(max)}."
        )
    return _round(inputs, min, max, num_bits, narrow_range)


@op
def fake_quant_with_min_max_args(
    inputs: TensorLike, min: float = -6, max: float = 6, num_bits: int = 8, narrow_range: bool = False
) -> Any:
    """Return :func:`fake_quant_with_min_max_vars` of ends that are numbers of Python.

    Raises:
        BadArgumentError: If `num_bits` is out of range, or `min` is not less than `max`.
    """
    if min >= max:
        raise BadArgumentError(f"min must be less than max. Received: min={shown(min)}, max={shown(max)}.")
    return _round(inputs, np.float32(min), np.float32(max), num_bits, narrow_range)


def _round(inputs: TensorLike, low: TensorLike, high: TensorLike, num_bits: int, narrow_range: bool) -> Any:
    if not 2 <= num_bits <= _MOST_BITS:
        raise BadArgumentError(
            f"num_bits must be from 2 to {_MOST_BITS}. Received: num_bits={shown(num_bits)}."
        )
    # A narrow range leaves out the lowest number, so that as many lie on both sides of the middle one.
    first, last = int(narrow_range), 2**num_bits - 1

    def round_inputs(xp: ModuleType, x: Array, low: TensorLike, high: TensorLike) -> Any:
        # The range itself is a constant; its ends get gradients by `passed` alone.
        stop = _stop_gradient if xp is not np else np.asarray
        start, end = stop(low), stop(high)
        scale = (end - start) / np.float32(last - first)
        # The number that stands for 0 is a whole one; halves are rounded away from 0, as in C.
        zero = xp.clip(xp.floor(first - start / scale + np.float32(0.5)), first, last)
        smallest, largest = (first - zero) * scale, (last - zero) * scale
        # What a gradient passes through: the input, or the end that it is beyond.
        passed = xp.where(x < smallest, low, xp.where(x > largest, high, x))
        clipped = xp.clip(stop(x), smallest, largest)
        result = xp.floor((clipped - smallest) / scale + np.float32(0.5)) * scale + smallest
        is_empty = (start == 0) & (end == 0)
        held = xp.where(is_empty, xp.zeros_like(result), result)
        # The value of `held` with the gradient of `passed`.
        return (passed + stop(held - passed)).astype(x.dtype) if xp is not np else held.astype(x.dtype)

    return call_with_library(round_inputs, inputs, low, high)


def _stop_gradient(array: TensorLike) -> Any:
    from jax import lax

    return lax.stop_gradient(array)
