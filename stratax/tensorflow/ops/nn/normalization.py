"""Means, variances and what normalizes by them, of `tf.nn` (ops layer). All compute on a device."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from stratax.base.shown import shown
from stratax.base.typing import Array, Axis, TensorLike
from stratax.errors import BadArgumentError
from stratax.tensorflow.ops.calls._computed import with_lists_alike
from stratax.tensorflow.ops.calls.creation import on_device
from stratax.tensorflow.ops.calls.op import op
from stratax.tensorflow.ops.math.reductions import axes_of

_FIRST = ("NCHW", "NCW", "NCDHW")


@op(arrays=["value", "bias"])
def bias_add(value: TensorLike, bias: TensorLike, data_format: str | None = None) -> Any:
    """Add a number to each channel, as `tf.nn.bias_add`.

    Args:
        value: A tensor.
        bias: As many numbers as it has channels.
        data_format: Where they are: last, or in dimension 1 if it begins with `"NC"`.

    Raises:
        BadArgumentError: If there is another number of channels, or the format is none.
    """
    array, numbers = map(on_device, with_lists_alike(value, bias))
    is_first = data_format in _FIRST
    if data_format is not None and not (
        is_first or data_format in ("NHWC", "NWC", "NDHWC", "N...C", "NC...")
    ):
        raise BadArgumentError(
            f'data_format says where the channels are, such as "NHWC" or "NCHW". Received: {shown(data_format)}.'
        )
    # TensorFlow's name for channels first in any number of dimensions.
    is_first = is_first or data_format == "NC..."
    dim = 1 if is_first else array.ndim - 1
    if array.ndim < 2 or numbers.shape != (array.shape[dim],):
        raise BadArgumentError(
            f"The bias has one number for each channel. Received: bias of shape {numbers.shape}, value of shape "
            f"{array.shape}. Expected: {array.shape[dim] if array.ndim > dim else 'a value of two dimensions or more'}."
        )
    return array + (numbers.reshape([-1, *[1] * (array.ndim - 2)]) if is_first else numbers)


@op(is_told=False, is_raw=True)
def moments(x: TensorLike, axes: Axis, shift: object = None, keepdims: bool = False) -> tuple[Any, Any]:
    """Return mean and variance over dimensions, as `tf.nn.moments`.

    Args:
        x: A tensor.
        axes: The dimensions.
        shift: Ignored, as in TensorFlow.
        keepdims: Whether reduced dimensions stay, with size 1.
    """
    array = on_device(x)
    # Squares of half precision would overflow.
    wide, dims = _wide(array), axes_of(axes)
    results = jnp.mean(wide, dims, keepdims=keepdims), jnp.var(wide, dims, keepdims=keepdims)
    return results[0].astype(array.dtype), results[1].astype(array.dtype)


def _wide(array: Array) -> Any:
    return array.astype("float32") if array.dtype == "float16" else array


@op(is_told=False, is_raw=True)
def weighted_moments(
    x: TensorLike, axes: Axis, frequency_weights: TensorLike, keepdims: bool = False
) -> tuple[Any, Any]:
    """Return mean and variance of what counts by weights, as `tf.nn.weighted_moments`.

    Args:
        x: A tensor.
        axes: The dimensions.
        frequency_weights: Positive numbers, of a shape that broadcasts with x's.
        keepdims: Whether reduced dimensions stay, with size 1.
    """
    array, weights = on_device(x), on_device(frequency_weights)
    wide, counts, dims = _wide(array), _wide(weights), axes_of(axes)
    # So that each element has a weight, and the sum of weights is that of the elements that count.
    counts = jnp.broadcast_to(counts, jnp.broadcast_shapes(counts.shape, wide.shape))
    total = jnp.sum(counts, dims, keepdims=True)
    mean = jnp.sum(counts * wide, dims, keepdims=True) / total
    variance = jnp.sum(counts * jnp.square(wide - mean), dims, keepdims=True) / total
    if not keepdims:
        mean, variance = jnp.squeeze(mean, dims), jnp.squeeze(variance, dims)
    return mean.astype(array.dtype), variance.astype(array.dtype)


@op(is_told=False, is_raw=True)
def sufficient_statistics(
    x: TensorLike, axes: Axis, shift: TensorLike | None = None, keepdims: bool = False
) -> tuple[Any, Any, Any, Any]:
    """Return count, sum and sum of squares over dimensions, and the shift, as `tf.nn.sufficient_statistics`.

    Args:
        x: A tensor.
        axes: The dimensions, of which there is at least one.
        shift: Subtracted from `x` before; None for 0.
        keepdims: Whether reduced dimensions stay, with size 1.
    """
    array, dims = on_device(x), tuple(np.atleast_1d(np.asarray(axes)).tolist())
    moved = array if shift is None else array - on_device(shift)
    # In the dtype of the sums, as TensorFlow gives it.
    count = jnp.asarray(np.prod([array.shape[dim] for dim in dims]), array.dtype)
    sums = jnp.sum(moved, dims, keepdims=keepdims), jnp.sum(jnp.square(moved), dims, keepdims=keepdims)
    return count, *sums, None if shift is None else on_device(shift)


@op(is_told=False, is_raw=True)
def normalize_moments(
    counts: TensorLike, mean_ss: TensorLike, variance_ss: TensorLike, shift: TensorLike | None
) -> tuple[Any, Any]:
    """Return mean and variance of what :func:`sufficient_statistics` gives, as `tf.nn.normalize_moments`."""
    share = 1 / on_device(counts)
    moved = on_device(mean_ss) * share
    mean = moved if shift is None else moved + on_device(shift)
    # About the shifted mean: the shift keeps the difference of two large numbers small.
    return mean, on_device(variance_ss) * share - jnp.square(moved)


@op
def batch_normalization(
    x: TensorLike,
    mean: TensorLike,
    variance: TensorLike,
    offset: TensorLike | None,
    scale: TensorLike | None,
    variance_epsilon: float,
) -> Any:
    """Return `(x - mean) / sqrt(variance + variance_epsilon) * scale + offset`, as `tf.nn.batch_normalization`."""
    array = on_device(x)
    factor = jax.lax.rsqrt(on_device(variance) + variance_epsilon)
    if scale is not None:
        factor = factor * on_device(scale)
    result = (array - on_device(mean)) * factor
    return (result if offset is None else result + on_device(offset)).astype(array.dtype)


@op
def batch_norm_with_global_normalization(
    input: TensorLike,
    mean: TensorLike,
    variance: TensorLike,
    beta: TensorLike,
    gamma: TensorLike,
    variance_epsilon: float,
    scale_after_normalization: bool,
) -> Any:
    """Normalize with given means and variances, as `tf.nn.batch_norm_with_global_normalization`.

    Args:
        input: Of four dimensions.
        mean: Of each channel.
        variance: Of each channel.
        beta: Added afterwards.
        gamma: A factor, if `scale_after_normalization`.
        variance_epsilon: Added to the variance.
        scale_after_normalization: Whether `gamma` counts.
    """
    scale = gamma if scale_after_normalization else None
    return batch_normalization(input, mean, variance, beta, scale, variance_epsilon)


@op(name_after="is_training")
def fused_batch_norm(
    x: TensorLike,
    scale: TensorLike,
    offset: TensorLike,
    mean: TensorLike | None = None,
    variance: TensorLike | None = None,
    epsilon: float = 0.001,
    data_format: str = "NHWC",
    is_training: bool = True,
    exponential_avg_factor: float = 1.0,
) -> tuple[Any, Any, Any]:
    """Normalize each channel, as `tf.compat.v1.nn.fused_batch_norm`.

    Args:
        x: Images or volumes.
        scale: A factor for each channel.
        offset: Added to each channel afterwards.
        mean: Of each channel; while training what the batch's mean is averaged with, if at all.
        variance: Likewise.
        epsilon: Added to the variance.
        data_format: Where the channels are.
        is_training: Whether the batch's own mean and variance count.
        exponential_avg_factor: How much the batch counts in the mean and variance that are returned.

    Returns:
        The normalized array, the mean, and the variance (that of the batch as an estimate, divided by one less).
    """
    array = on_device(x)
    channel = 1 if data_format in _FIRST else array.ndim - 1
    dims = tuple(dim for dim in range(array.ndim) if dim != channel)
    shape = [-1 if dim == channel else 1 for dim in range(array.ndim)]
    # Half precision is normalized in float32, as TensorFlow's kernel does.
    wide = array.astype("float32")
    if is_training:
        own_mean, own_variance = jnp.mean(wide, dims), jnp.var(wide, dims)
        count = array.size // array.shape[channel]
        # What is normalized with divides by the number of elements, what is kept by one less, as in TensorFlow's
        # kernel.
        new = own_mean, own_variance * (count / max(count - 1, 1))
    elif mean is None or variance is None:
        raise BadArgumentError(
            "fused_batch_norm needs mean and variance where it does not train. Received: neither, or one of them."
        )
    else:
        own_mean, own_variance = new = on_device(mean), on_device(variance)
    if is_training and exponential_avg_factor != 1.0 and mean is not None and variance is not None:
        share = exponential_avg_factor
        new = (
            on_device(mean) * (1 - share) + new[0] * share,
            on_device(variance) * (1 - share) + new[1] * share,
        )
    factor = jax.lax.rsqrt(own_variance + epsilon) * on_device(scale)
    result = (wide - own_mean.reshape(shape)) * factor.reshape(shape) + on_device(offset).reshape(shape)
    return result.astype(array.dtype), *new


@op
def local_response_normalization(
    input: TensorLike, depth_radius: int = 5, bias: float = 1, alpha: float = 1, beta: float = 0.5
) -> Any:
    """Divide by the squares of neighbouring channels, as `tf.nn.local_response_normalization`.

    Args:
        input: Images, channels last.
        depth_radius: How many channels on either side count.
        bias: Added to the sum.
        alpha: A factor of the sum.
        beta: The power of the sum.
    """
    array = on_device(input)
    if array.ndim != 4:
        raise BadArgumentError(
            f"local_response_normalization takes images of four dimensions. Received: shape {array.shape}."
        )
    # Along the channels alone.
    window = (1, 1, 1, 2 * depth_radius + 1)
    edges = [(0, 0)] * 3 + [(depth_radius, depth_radius)]
    squares = jax.lax.reduce_window(jnp.square(array), 0.0, jax.lax.add, window, (1, 1, 1, 1), edges)
    return array / (bias + alpha * squares) ** beta


lrn = local_response_normalization
