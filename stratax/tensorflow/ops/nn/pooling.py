"""Poolings of `tf.nn`, and what takes the largest of shifted images (ops layer). All compute on a device."""

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from stratax.base.shown import shown
from stratax.base.typing import Array, DTypeLike, TensorLike
from stratax.errors import BadArgumentError
from stratax.tensorflow.ops.calls.creation import on_device
from stratax.tensorflow.ops.calls.dtypes import device_dtype
from stratax.tensorflow.ops.calls.op import op
from stratax.tensorflow.ops.nn.convolutions import edges_of, inner, layout_of

_Sizes = int | Sequence[int]
_Padding = str | Sequence[Sequence[int]]


def _whole(name: str, given: Any, layout: str) -> tuple[int, ...]:
    """Return a number for each dimension: windows may reach over the channels."""
    if np.ndim(given) and len(given) == len(layout):
        return tuple(int(number) for number in given)
    sizes = iter(inner(name, given, layout))
    return tuple(1 if dim in "NC" else int(next(sizes)) for dim in layout)


def _least(dtype: np.dtype) -> Any:
    # Padding has it, which is larger than no element.
    return -jnp.inf if jnp.issubdtype(dtype, jnp.floating) else jnp.iinfo(dtype).min


def _windows(
    array: Array,
    start: TensorLike,
    reduce: Callable[..., Any],
    ksize: _Sizes,
    strides: _Sizes,
    padding: _Padding,
    layout: str,
    dilations: _Sizes = 1,
) -> Any:
    edges = edges_of(padding, layout)
    if not isinstance(edges, str):
        pairs = iter(edges)
        edges = [(0, 0) if dim in "NC" else next(pairs) for dim in layout]
    # A literal start is what JAX knows the gradient of.
    return jax.lax.reduce_window(
        array,
        start,
        reduce,
        _whole("ksize", ksize, layout),
        _whole("strides", strides, layout),
        edges,
        window_dilation=_whole("dilations", dilations, layout),
    )


def _largest(array: Array, *given: Any) -> Any:
    return _windows(array, _least(array.dtype), jax.lax.max, *given)


def _mean(array: Array, *given: Any) -> Any:
    total = _windows(array, 0.0, jax.lax.add, *given)
    # What lies outside of the input does not count.
    return total / _windows(jnp.ones_like(array), 0.0, jax.lax.add, *given)


def _array_of(input: TensorLike, rank: int | None) -> Any:
    array = on_device(input)
    if rank is not None and array.ndim != rank:
        raise BadArgumentError(
            f"The input must have {rank} dimensions: batch, {rank - 2} of space, channels. Received: one of shape "
            f"{array.shape}."
        )
    return array


_DOC = """Args:
        input: Batch, {num} between it and the channels, and channels, in the order that `data_format` says.
        ksize: The window: one number, one for each of these dimensions, or one for each of all.
        strides: The steps, likewise.
        padding: `"VALID"`, `"SAME"`, or for `max_pool` a pair of numbers for each dimension.
        data_format: Such as `"NHWC"`, the default for images, or `"NCHW"`."""


def _pooling(name: str, pooled: Callable[..., Any], what: str, num: int | None = None) -> Callable[..., Any]:
    default = None if num is None else layout_of(None, num)

    def function(
        input: TensorLike,
        ksize: _Sizes,
        strides: _Sizes,
        padding: _Padding,
        data_format: str | None = default,
    ) -> Any:
        array = _array_of(input, None if num is None else num + 2)
        return pooled(array, ksize, strides, padding, layout_of(data_format, array.ndim - 2))

    dims = "one to three dimensions" if num is None else f"{num} dimensions"
    doc = f"Return the {what} of each window, as `tf.nn.{name}`.\n\n    {_DOC.format(num=dims)}"
    return op(name=name, doc=doc, arrays=["input"])(function)


max_pool = _pooling("max_pool", _largest, "largest element")
max_pool1d = _pooling("max_pool1d", _largest, "largest element", 1)
max_pool2d = _pooling("max_pool2d", _largest, "largest element", 2)
max_pool3d = _pooling("max_pool3d", _largest, "largest element", 3)
avg_pool = _pooling("avg_pool", _mean, "mean")
avg_pool1d = _pooling("avg_pool1d", _mean, "mean", 1)
avg_pool2d = _pooling("avg_pool2d", _mean, "mean", 2)
avg_pool3d = _pooling("avg_pool3d", _mean, "mean", 3)


@op
def pool(
    input: TensorLike,
    window_shape: Sequence[int],
    pooling_type: str,
    strides: Sequence[int] | None = None,
    padding: _Padding = "VALID",
    data_format: str | None = None,
    dilations: Sequence[int] | None = None,
) -> Any:
    """Return the largest element or the mean of each window, as `tf.nn.pool`.

    Args:
        input: Of one to three dimensions between the batch and the channels.
        window_shape: The window's sizes.
        pooling_type: `"MAX"` or `"AVG"`.
        strides: The steps; None for 1.
        padding: `"VALID"` or `"SAME"`.
        data_format: Such as `"NHWC"`, the default, or `"NCHW"`.
        dilations: The distances of a window's elements; None for 1.
    """
    pooled = {"MAX": _largest, "AVG": _mean}.get(pooling_type.upper())
    if pooled is None:
        raise BadArgumentError(
            f'pooling_type is "MAX" or "AVG". Received: pooling_type={shown(pooling_type)}.'
        )
    array = on_device(input)
    layout = layout_of(data_format, array.ndim - 2)
    return pooled(array, window_shape, strides, padding, layout, dilations)


def _shift(
    array: Array, sizes: tuple[int, int], strides: object, padding: Any, dilations: object, outside: Any
) -> Iterator[tuple[int, int, Any]]:
    """Yield for each place in a window of images its row, its column and what all windows have there."""
    steps, spread = inner("strides", strides, "NHWC"), inner("dilations", dilations, "NHWC")
    # How far a window reaches with gaps between its elements.
    wide = [(size - 1) * gap + 1 for size, gap in zip(sizes, spread, strict=True)]
    edges = edges_of(padding, "NHWC")
    if isinstance(edges, str):
        edges = jax.lax.padtype_to_pads(array.shape[1:3], wide, steps, edges)
    padded = jnp.pad(array, [(0, 0), *edges, (0, 0)], constant_values=outside)
    counts = [
        (size - window) // step + 1 for size, window, step in zip(padded.shape[1:3], wide, steps, strict=True)
    ]
    # One strided slice for each place in a window, instead of an array of all windows.
    for row, column in itertools.product(*map(range, sizes)):
        first = (row * spread[0], column * spread[1])
        rows, columns = (
            slice(begin, begin + (count - 1) * step + 1, step)
            for begin, count, step in zip(first, counts, steps, strict=True)
        )
        yield first[0], first[1], padded[:, rows, columns]


@op
def max_pool_with_argmax(
    input: TensorLike,
    ksize: _Sizes,
    strides: _Sizes,
    padding: str,
    data_format: str = "NHWC",
    output_dtype: DTypeLike = "int64",
    include_batch_in_index: bool = False,
) -> tuple[Any, Any]:
    """Return the largest element of each window of images and where it is, as `tf.nn.max_pool_with_argmax`.

    Args:
        input: Images, shape `(batch, height, width, channels)`.
        ksize: The window.
        strides: The steps.
        padding: `"VALID"` or `"SAME"`.
        data_format: `"NHWC"`.
        output_dtype: The dtype of the places; on a device int64 becomes int32.
        include_batch_in_index: Whether places are counted through the whole batch, not each image.

    Returns:
        The elements, and their places: `(row * width + column) * channels + channel`.
    """
    array = _array_of(input, 4)
    if data_format != "NHWC":
        raise BadArgumentError(
            f'data_format must be "NHWC" here. Received: data_format={shown(data_format)}.'
        )
    sizes = inner("ksize", ksize, "NHWC")
    images = array.shape if include_batch_in_index else (1, *array.shape[1:])
    # Of each element its place, pooled beside it. One image's numbers do for all where the batch does not count.
    numbers = jnp.arange(images[0] * images[1] * images[2] * images[3], dtype="int32").reshape(images)
    values = _shift(array, sizes, strides, padding, 1, _least(array.dtype))
    places = _shift(numbers, sizes, strides, padding, 1, -1)
    best: Any = None
    where: Any = None
    for (*_, value), (*_, place) in zip(values, places, strict=True):
        place = jnp.broadcast_to(place, value.shape)
        # The first of several that are alike; a place outside of the image never.
        is_better = (place >= 0) & ((value > best) | (where < 0)) if best is not None else True
        best, where = (
            (value, place)
            if best is None
            else (jnp.where(is_better, value, best), jnp.where(is_better, place, where))
        )
    return best, where.astype(device_dtype(output_dtype))


@op
def dilation2d(
    input: TensorLike,
    filters: TensorLike,
    strides: Sequence[int],
    padding: str,
    data_format: str,
    dilations: Sequence[int],
) -> Any:
    """Return the largest sum of an element and its filter's number in each window, as `tf.nn.dilation2d`.

    Args:
        input: Images, shape `(batch, height, width, channels)`.
        filters: Shape `(height, width, channels)`.
        strides: The steps, four numbers.
        padding: `"VALID"` or `"SAME"`.
        data_format: `"NHWC"`.
        dilations: The distances of a window's elements, four numbers.
    """
    array, kernel = _array_of(input, 4), on_device(filters)
    if data_format != "NHWC" or kernel.ndim != 3 or kernel.shape[2] != array.shape[3]:
        raise BadArgumentError(
            'dilation2d and erosion2d take data_format="NHWC" and filters of shape [height, width, channels]. '
            f"Received: data_format={shown(data_format)}, filters of shape {kernel.shape}, input of shape "
            f"{array.shape}."
        )
    rows, columns = kernel.shape[:2]
    parts = _shift(array, (rows, columns), strides, padding, dilations, _least(array.dtype))
    # A row for each place in a window, in the order in which `_shift` yields them.
    numbers = kernel.reshape([rows * columns, -1])
    result: Any = None
    for (*_, part), number in zip(parts, numbers, strict=True):
        result = part + number if result is None else jnp.maximum(result, part + number)
    return result


@op
def erosion2d(
    value: TensorLike,
    filters: TensorLike,
    strides: Sequence[int],
    padding: str,
    data_format: str,
    dilations: Sequence[int],
) -> Any:
    """Return the smallest difference of an element and its filter's number in each window, as `tf.nn.erosion2d`.

    The arguments are those of :func:`dilation2d`; the filters are turned around, as in TensorFlow.
    """
    # Erosion is dilation of the negative by the filter turned around its middle.
    turned = on_device(filters)[::-1, ::-1]
    return -dilation2d(-on_device(value), turned, strides, padding, data_format, dilations)
