"""Convolutions, poolings and what else `tf.nn` does with layers' weights (ops layer). All compute on a device."""

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp

from stratax._shown import shown
from stratax._typing import TensorLike
from stratax.errors import BadArgumentError
from stratax.ops.creation import on_device
from stratax.ops.naming import nameable

_FIRST = ("NCHW", "NCW", "NCDHW")


@nameable
def conv2d(
    input: TensorLike,
    filters: TensorLike,
    strides: int | Sequence[int],
    padding: str | Sequence[Sequence[int]],
    data_format: str = "NHWC",
    dilations: int | Sequence[int] | None = None,
    name: str | None = None,
) -> Any:
    """Convolve images with a kernel, as `tf.nn.conv2d`.

    Args:
        input: Images, shape `(batch, height, width, channels)`, or as `data_format` says.
        filters: The kernel, shape `(height, width, channels, filters)`.
        strides: The steps: one number, one for height and width, or four for all dimensions.
        padding: `"VALID"`, `"SAME"`, or a pair of numbers for each of the four dimensions.
        data_format: `"NHWC"` or `"NCHW"`.
        dilations: The distances of the kernel's elements, as `strides`.
        name: By which hooks find the result, in a `model_fn`.

    Returns:
        Images, shape `(batch, height, width, filters)`, or as `data_format` says.
    """
    layout = (data_format, "HWIO", data_format)
    image, kernel = on_device(input), on_device(filters)
    edges = padding.upper() if isinstance(padding, str) else _inner("padding", padding, data_format)
    return jax.lax.conv_general_dilated(
        image,
        kernel,
        _inner("strides", strides, data_format),
        edges,
        rhs_dilation=None if dilations is None else _inner("dilations", dilations, data_format),
        dimension_numbers=layout,
        feature_group_count=image.shape[data_format.index("C")] // kernel.shape[2],
    )


@nameable
def max_pool(
    input: TensorLike,
    ksize: int | Sequence[int],
    strides: int | Sequence[int],
    padding: str,
    data_format: str | None = None,
    name: str | None = None,
) -> Any:
    """Return the largest element of each window, as `tf.nn.max_pool`.

    Args:
        input: Of one to three dimensions between the batch and the channels.
        ksize: The window: one number, one for each of these dimensions, or one for each of all.
        strides: The steps, likewise.
        padding: `"VALID"` or `"SAME"`.
        data_format: Such as `"NHWC"`, the default, or `"NCHW"`.
        name: By which hooks find the result, in a `model_fn`.
    """
    array = on_device(input)
    least = -jnp.inf if jnp.issubdtype(array.dtype, jnp.floating) else jnp.iinfo(array.dtype).min
    return _windows(array, least, jax.lax.max, ksize, strides, padding, data_format)


@nameable
def avg_pool(
    input: TensorLike,
    ksize: int | Sequence[int],
    strides: int | Sequence[int],
    padding: str,
    data_format: str | None = None,
    name: str | None = None,
) -> Any:
    """Return the mean of each window, as `tf.nn.avg_pool`: what lies outside of the input does not count.

    The arguments are those of :func:`max_pool`.
    """
    array = on_device(input)
    given = (ksize, strides, padding, data_format)
    total = _windows(array, 0.0, jax.lax.add, *given)
    return total / _windows(jnp.ones_like(array), 0.0, jax.lax.add, *given)


def _windows(
    array: Any, start: Any, reduce: Any, ksize: Any, strides: Any, padding: str, data_format: str | None
) -> Any:
    layout = data_format or {3: "NWC", 4: "NHWC", 5: "NDHWC"}[array.ndim]
    window, steps = (_whole(name, given, layout) for name, given in (("ksize", ksize), ("strides", strides)))
    # A literal start is what JAX knows the gradient of.
    return jax.lax.reduce_window(array, start, reduce, window, steps, padding.upper())


def _inner(name: str, given: Any, layout: str) -> Any:
    """Return what belongs to the dimensions between batch and channels."""
    num = len(layout) - 2
    values = [given] if isinstance(given, int) else list(given)
    if len(values) == 1:
        return tuple(values * num)
    if len(values) == num:
        return tuple(values)
    if len(values) == num + 2:
        return tuple(value for dim, value in zip(layout, values, strict=True) if dim not in "NC")
    raise BadArgumentError(
        f"{name} says something of one, of {num} or of all {num + 2} dimensions of {layout}. Received: "
        f"{name}={shown(given)}."
    )


def _whole(name: str, given: Any, layout: str) -> tuple[int, ...]:
    inner = iter(_inner(name, given, layout))
    return tuple(1 if dim in "NC" else next(inner) for dim in layout)


@nameable
def bias_add(
    value: TensorLike, bias: TensorLike, data_format: str | None = None, name: str | None = None
) -> Any:
    """Add a number to each channel, as `tf.nn.bias_add`.

    Args:
        value: A tensor.
        bias: As many numbers as it has channels.
        data_format: Where they are: last, or in dimension 1 if it begins with `"NC"`.
        name: By which hooks find the result, in a `model_fn`.
    """
    array = on_device(value)
    if data_format in _FIRST:
        return array + on_device(bias).reshape([-1, *[1] * (array.ndim - 2)])
    return array + on_device(bias)


def moments(
    x: TensorLike, axes: Sequence[int], shift: object = None, keepdims: bool = False, name: str | None = None
) -> tuple[Any, Any]:
    """Return mean and variance over dimensions, as `tf.nn.moments`.

    Args:
        x: A tensor.
        axes: The dimensions.
        shift: Ignored, as in TensorFlow.
        keepdims: Whether reduced dimensions stay, with size 1.
        name: Ignored.
    """
    array, dims = on_device(x), tuple(axes)
    return jnp.mean(array, dims, keepdims=keepdims), jnp.var(array, dims, keepdims=keepdims)


@nameable
def batch_normalization(
    x: TensorLike,
    mean: TensorLike,
    variance: TensorLike,
    offset: TensorLike | None,
    scale: TensorLike | None,
    variance_epsilon: float,
    name: str | None = None,
) -> Any:
    """Return `(x - mean) / sqrt(variance + variance_epsilon) * scale + offset`, as `tf.nn.batch_normalization`."""
    factor = jax.lax.rsqrt(on_device(variance) + variance_epsilon)
    if scale is not None:
        factor = factor * on_device(scale)
    result = (on_device(x) - on_device(mean)) * factor
    return result if offset is None else result + on_device(offset)


@nameable
def l2_normalize(x: TensorLike, axis: Any = None, epsilon: float = 1e-12, name: str | None = None) -> Any:
    """Divide by the root of the sum of squares, of at least `epsilon`, along dimensions, as `tf.math.l2_normalize`."""
    array = on_device(x)
    dims = tuple(axis) if isinstance(axis, list | tuple) else axis
    return array * jax.lax.rsqrt(jnp.maximum(jnp.sum(jnp.square(array), dims, keepdims=True), epsilon))


@nameable
def embedding_lookup(
    params: Any, ids: TensorLike, max_norm: float | None = None, name: str | None = None
) -> Any:
    """Return rows of a matrix, as `tf.nn.embedding_lookup`.

    Args:
        params: The matrix. One that is cut into several is refused: a strategy places variables.
        ids: The rows' numbers, of any shape.
        max_norm: Rows that are longer are scaled to this length.
        name: By which hooks find the result, in a `model_fn`.
    """
    if isinstance(params, list | tuple):
        if len(params) != 1:
            raise BadArgumentError(
                f"embedding_lookup takes one matrix. Received: {len(params)} of them. Make one variable."
            )
        params = params[0]
    rows = jnp.take(on_device(params), on_device(ids), axis=0)
    if max_norm is None:
        return rows
    length = jnp.sqrt(jnp.sum(jnp.square(rows), -1, keepdims=True))
    return rows * max_norm / jnp.maximum(length, max_norm)


@nameable
def in_top_k(targets: TensorLike, predictions: TensorLike, k: int, name: str | None = None) -> Any:
    """Return whether each target is among the `k` largest predictions, ties included, as `tf.math.in_top_k`."""
    scores = on_device(predictions)
    own = jnp.take_along_axis(scores, on_device(targets)[:, None], axis=1)
    return jnp.isfinite(own[:, 0]) & (jnp.sum(scores > own, axis=1) < k)
