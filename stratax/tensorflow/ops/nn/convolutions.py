"""Convolutions of `tf.nn` (ops layer). All compute on a device."""

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np

from stratax.base.shown import shown
from stratax.base.typing import Array, TensorLike
from stratax.data.elements import sizes_of
from stratax.errors import BadArgumentError
from stratax.tensorflow.ops.calls.creation import on_device
from stratax.tensorflow.ops.calls.op import op

_Steps = int | Sequence[int] | None
_Padding = str | Sequence[Sequence[int]]
_LAYOUTS = {1: ("NWC", "NCW"), 2: ("NHWC", "NCHW"), 3: ("NDHWC", "NCDHW")}
# How JAX is told the order of a kernel's dimensions: channels of the input, then of the output, come last.
_KERNELS = {1: "WIO", 2: "HWIO", 3: "DHWIO"}


def layout_of(data_format: str | None, num_spatial: int) -> str:
    """Return the order of dimensions that is said, or the default one.

    Raises:
        BadArgumentError: There is none for so many dimensions, or another one is said.
    """
    # Channels last by default, as in TensorFlow.
    names = _LAYOUTS.get(num_spatial)
    if names is None:
        raise BadArgumentError(
            f"Convolutions and pooling work along one to three dimensions. Received: {num_spatial} of them. Expected: "
            "a tensor of rank 3, 4 or 5."
        )
    layout = data_format or names[0]
    if layout not in names:
        raise BadArgumentError(
            f"data_format must be one of {names} here. Received: data_format={shown(data_format)}. Choose one."
        )
    return layout


def inner(name: str, given: Any, layout: str) -> tuple[Any, ...]:
    """Return what is said of the dimensions between batch and channels; None stands for 1.

    Raises:
        BadArgumentError: It is said of another number of dimensions.
    """
    num = len(layout) - 2
    values = [1] if given is None else [given] if np.ndim(given) == 0 else list(given)
    if len(values) == 1:
        return tuple(values * num)
    if len(values) == num:
        return tuple(values)
    # TensorFlow says it of all dimensions, and 1 of batch and channels.
    if len(values) == num + 2:
        return tuple(value for dim, value in zip(layout, values, strict=True) if dim not in "NC")
    raise BadArgumentError(
        f"{name} says something of one, of {num} or of all {num + 2} dimensions of {layout}. Received: "
        f"{name}={shown(given)}."
    )


def edges_of(padding: _Padding, layout: str) -> Any:
    """Return a padding as JAX takes it: a name, or a pair for each dimension between batch and channels.

    Raises:
        BadArgumentError: It is another name.
    """
    if not isinstance(padding, str):
        # TensorFlow has a pair for each dimension of the layout.
        return [tuple(int(number) for number in pair) for pair in inner("padding", padding, layout)]
    if padding.upper() not in ("VALID", "SAME"):
        raise BadArgumentError(
            f'padding must be "VALID", "SAME", or numbers for each side. Received: padding={shown(padding)}.'
        )
    return padding.upper()


def _convolve(
    image: Array,
    kernel: Array,
    strides: object,
    padding: Any,
    layout: str,
    dilations: Any,
    groups: int | None = None,
) -> Any:
    channels, num = image.shape[layout.index("C")], len(layout) - 2
    # Kernels with a part of the channels convolve them in groups.
    if kernel.ndim != num + 2 or not kernel.shape[-2] or channels % kernel.shape[-2]:
        raise BadArgumentError(
            f"The filters must have the shape [{'size, ' * num}input channels, output channels], and the input's "
            f"channels be a multiple of theirs. Received: filters of shape {kernel.shape} for {channels} channels."
        )
    return jax.lax.conv_general_dilated(
        image,
        kernel,
        inner("strides", strides, layout),
        edges_of(padding, layout),
        rhs_dilation=inner("dilations", dilations, layout),
        dimension_numbers=(layout, _KERNELS[num], layout),
        feature_group_count=groups or channels // kernel.shape[-2],
    )


def _flatten_batch(image: Array, num: int) -> Any:
    """Return the image with one dimension for the batch, and the sizes that the batch had."""
    if image.ndim < num + 2:
        raise BadArgumentError(
            f"The input needs at least {num + 2} dimensions: batch, {num} of space, channels. Received: one of shape "
            f"{image.shape}. Add dimensions with tf.expand_dims."
        )
    batch = image.shape[: image.ndim - num - 1]
    return image.reshape([math.prod(batch), *image.shape[len(batch) :]]), batch


def _convolution(
    num: int,
    input: TensorLike,
    filters: TensorLike,
    strides: Any,
    padding: Any,
    data_format: Any,
    dilations: Any,
) -> Any:
    # TensorFlow takes any number of leading dimensions for the batch.
    image, batch = _flatten_batch(on_device(input), num)
    layout = layout_of(data_format, num)
    result = _convolve(image, on_device(filters), strides, padding, layout, dilations)
    return result.reshape([*batch, *result.shape[1:]])


@op(arrays=["input", "filters"])
def conv1d(
    input: TensorLike,
    filters: TensorLike,
    stride: _Steps,
    padding: _Padding,
    data_format: str | None = "NWC",
    dilations: _Steps = None,
) -> Any:
    """Convolve sequences with a kernel, as `tf.nn.conv1d`.

    Args:
        input: Sequences, shape `(batch, width, channels)`, or as `data_format` says.
        filters: The kernel, shape `(width, channels, filters)`.
        stride: The step.
        padding: `"VALID"`, `"SAME"`, or a pair of numbers for each of the three dimensions.
        data_format: `"NWC"` or `"NCW"`.
        dilations: The distance of the kernel's elements.

    Returns:
        Sequences, shape `(batch, width, filters)`, or as `data_format` says.
    """
    return _convolution(1, input, filters, stride, padding, data_format, dilations)


@op(arrays=["input", "filters"])
def conv2d(
    input: TensorLike,
    filters: TensorLike,
    strides: _Steps,
    padding: _Padding,
    data_format: str | None = "NHWC",
    dilations: _Steps = None,
) -> Any:
    """Convolve images with a kernel, as `tf.nn.conv2d`.

    Args:
        input: Images, shape `(batch, height, width, channels)`, or as `data_format` says.
        filters: The kernel, shape `(height, width, channels, filters)`; with a part of the input's channels, the
            channels are convolved in groups.
        strides: The steps: one number, one for height and width, or four for all dimensions.
        padding: `"VALID"`, `"SAME"`, or a pair of numbers for each of the four dimensions.
        data_format: `"NHWC"` or `"NCHW"`.
        dilations: The distances of the kernel's elements, as `strides`.

    Returns:
        Images, shape `(batch, height, width, filters)`, or as `data_format` says.
    """
    return _convolution(2, input, filters, strides, padding, data_format, dilations)


@op(arrays=["input", "filters"])
def conv3d(
    input: TensorLike,
    filters: TensorLike,
    strides: _Steps,
    padding: _Padding,
    data_format: str | None = "NDHWC",
    dilations: _Steps = None,
) -> Any:
    """Convolve volumes with a kernel of shape `(depth, height, width, channels, filters)`, as `tf.nn.conv3d`.

    The arguments are those of :func:`conv2d`, with one dimension more.
    """
    return _convolution(3, input, filters, strides, padding, data_format, dilations)


@op(arrays=["input", "filters"])
def convolution(
    input: TensorLike,
    filters: TensorLike,
    strides: _Steps = None,
    padding: _Padding = "VALID",
    data_format: str | None = None,
    dilations: _Steps = None,
) -> Any:
    """Convolve along as many dimensions as the kernel has, as `tf.nn.convolution`: one to three.

    The arguments are those of :func:`conv2d`.
    """
    kernel = on_device(filters)
    return _convolution(kernel.ndim - 2, input, kernel, strides, padding, data_format, dilations)


def _convolve_transposed(
    num: int,
    input: TensorLike,
    filters: TensorLike,
    output_shape: TensorLike,
    strides: object,
    padding: object,
    data_format: Any,
    dilations: object,
) -> Any:
    image, kernel = on_device(input), on_device(filters)
    layout = layout_of(data_format, num)
    sizes = sizes_of("output_shape", output_shape)
    # Of the convolution that makes `image` of such an output this is the gradient.
    forward = functools.partial(
        _convolve, kernel=kernel, strides=strides, padding=padding, layout=layout, dilations=dilations
    )
    if len(sizes) == num:
        # The sizes of space alone are enough: batch and channels follow from the operands.
        around = (image.shape[0], *sizes, kernel.shape[-2])
        sizes = around if layout[-1] == "C" else (around[0], around[-1], *sizes)
    output = jax.ShapeDtypeStruct(sizes, image.dtype)
    # Several sizes give one of a strided convolution, which is why the output's has to be said, and is checked.
    made = jax.eval_shape(forward, output) if len(sizes) == num + 2 else None
    if made is None or made.shape != image.shape:
        raise BadArgumentError(
            "output_shape must be that of a tensor whose convolution has the input's shape. Received: "
            f"output_shape={shown(sizes)}, input of shape {image.shape}, filters of shape {kernel.shape}, "
            f"strides={shown(strides)}, padding={shown(padding)}."
        )
    return jax.linear_transpose(forward, output)(image)[0]


_TRANSPOSED_DOC = """Args:
        input: What is convolved, batch first and channels last, or as `data_format` says.
        filters: The kernel, shape `(sizes, output channels, input channels)`.
        output_shape: The shape of the result, known while a program is traced.
        strides: The steps of the convolution whose gradient this is.
        padding: `"VALID"`, `"SAME"`, or a pair of numbers for each dimension.
        data_format: Where the channels are, as in :func:`conv2d`.
        dilations: The distances of the kernel's elements, as `strides`.

    Returns:
        An array of shape `output_shape`.

    Raises:
        BadArgumentError: If no convolution makes the input of an array of that shape."""


def _make_transposed(num: int) -> Callable[..., Any]:
    layout = _LAYOUTS[num][0]

    def function(
        input: TensorLike,
        filters: TensorLike,
        output_shape: TensorLike,
        strides: _Steps,
        padding: _Padding = "SAME",
        data_format: str | None = layout,
        dilations: _Steps = None,
    ) -> Any:
        return _convolve_transposed(
            num, input, filters, output_shape, strides, padding, data_format, dilations
        )

    name = f"conv{num}d_transpose"
    what = f"Compute the gradient of a convolution, also called a deconvolution, as `tf.nn.{name}`."
    doc = f"{what}\n\n    {_TRANSPOSED_DOC}"
    return op(name=name, doc=doc, arrays=["input", "filters"])(function)


conv1d_transpose = _make_transposed(1)
conv2d_transpose = _make_transposed(2)
conv3d_transpose = _make_transposed(3)


@op(arrays=["input", "filters"])
def conv_transpose(
    input: TensorLike,
    filters: TensorLike,
    output_shape: TensorLike,
    strides: _Steps,
    padding: _Padding = "SAME",
    data_format: str | None = None,
    dilations: _Steps = None,
) -> Any:
    """Compute the gradient of a convolution along one to three dimensions, as `tf.nn.conv_transpose`.

    The arguments are those of :func:`conv2d_transpose`.
    """
    kernel = on_device(filters)
    return _convolve_transposed(
        kernel.ndim - 2, input, kernel, output_shape, strides, padding, data_format, dilations
    )


@op(arrays=["value", "filters"])
def atrous_conv2d(value: TensorLike, filters: TensorLike, rate: int, padding: _Padding) -> Any:
    """Convolve images with a kernel whose elements are `rate` pixels apart, as `tf.nn.atrous_conv2d`."""
    return _convolution(2, value, filters, 1, padding, "NHWC", rate)


@op(arrays=["value", "filters"])
def atrous_conv2d_transpose(
    value: TensorLike, filters: TensorLike, output_shape: TensorLike, rate: int, padding: _Padding
) -> Any:
    """Compute the gradient of :func:`atrous_conv2d`, as `tf.nn.atrous_conv2d_transpose`."""
    return _convolve_transposed(2, value, filters, output_shape, 1, padding, "NHWC", rate)


def _depthwise(
    image: Array, kernel: Array, strides: object, padding: object, layout: str, dilations: object
) -> Any:
    channels = image.shape[layout.index("C")]
    if kernel.ndim != 4 or kernel.shape[2] != channels:
        raise BadArgumentError(
            "The filters of a depthwise convolution have the shape [height, width, input channels, multiplier]. "
            f"Received: filters of shape {kernel.shape} for {channels} channels."
        )
    # As a convolution in groups of one channel.
    # Input channel c has the outputs from c * multiplier on.
    each = kernel.reshape([*kernel.shape[:2], 1, channels * kernel.shape[3]])
    return _convolve(image, each, strides, padding, layout, dilations, channels)


@op(arrays=["input", "filter"])
def depthwise_conv2d(
    input: TensorLike,
    filter: TensorLike,
    strides: _Steps,
    padding: _Padding,
    data_format: str | None = None,
    dilations: _Steps = None,
) -> Any:
    """Convolve each channel with filters of its own, as `tf.nn.depthwise_conv2d`.

    Args:
        input: Images, shape `(batch, height, width, channels)`, or as `data_format` says.
        filter: The kernel, shape `(height, width, channels, multiplier)`.
        strides: The steps, four numbers.
        padding: `"VALID"`, `"SAME"`, or a pair of numbers for each of the four dimensions.
        data_format: `"NHWC"`, the default, or `"NCHW"`.
        dilations: The distances of the kernel's elements in height and width.

    Returns:
        Images with `channels * multiplier` channels.
    """
    layout = layout_of(data_format, 2)
    return _depthwise(on_device(input), on_device(filter), strides, padding, layout, dilations)


@op
def depthwise_conv2d_backprop_input(
    input_sizes: TensorLike,
    filter: TensorLike,
    out_backprop: TensorLike,
    strides: _Steps,
    padding: _Padding,
    data_format: str = "NHWC",
    dilations: _Steps = (1, 1, 1, 1),
) -> Any:
    """Return the gradient of :func:`depthwise_conv2d` by its input, as `tf.nn.depthwise_conv2d_backprop_input`."""
    kernel, incoming = on_device(filter), on_device(out_backprop)
    image = jax.ShapeDtypeStruct(sizes_of("input_sizes", input_sizes), incoming.dtype)
    layout = layout_of(data_format, 2)
    forward = lambda image: _depthwise(image, kernel, strides, padding, layout, dilations)  # noqa: E731
    return jax.linear_transpose(forward, image)(incoming)[0]


@op
def depthwise_conv2d_backprop_filter(
    input: TensorLike,
    filter_sizes: TensorLike,
    out_backprop: TensorLike,
    strides: _Steps,
    padding: _Padding,
    data_format: str = "NHWC",
    dilations: _Steps = (1, 1, 1, 1),
) -> Any:
    """Return the gradient of :func:`depthwise_conv2d` by its filters, as `tf.nn.depthwise_conv2d_backprop_filter`."""
    image, incoming = on_device(input), on_device(out_backprop)
    kernel = jax.ShapeDtypeStruct(sizes_of("filter_sizes", filter_sizes), incoming.dtype)
    layout = layout_of(data_format, 2)
    forward = lambda kernel: _depthwise(image, kernel, strides, padding, layout, dilations)  # noqa: E731
    return jax.linear_transpose(forward, kernel)(incoming)[0]


@op(arrays=["input", "depthwise_filter", "pointwise_filter"])
def separable_conv2d(
    input: TensorLike,
    depthwise_filter: TensorLike,
    pointwise_filter: TensorLike,
    strides: _Steps,
    padding: _Padding,
    data_format: str | None = None,
    dilations: _Steps = None,
) -> Any:
    """Convolve each channel by itself and then mix the channels of each pixel, as `tf.nn.separable_conv2d`.

    Args:
        input: Images, as in :func:`depthwise_conv2d`.
        depthwise_filter: The kernel of each channel, shape `(height, width, channels, multiplier)`.
        pointwise_filter: What mixes channels, shape `(1, 1, channels * multiplier, filters)`.
        strides: The steps, four numbers.
        padding: As in :func:`depthwise_conv2d`.
        data_format: `"NHWC"`, the default, or `"NCHW"`.
        dilations: The distances of the kernel's elements in height and width.
    """
    layout = layout_of(data_format, 2)
    each = _depthwise(on_device(input), on_device(depthwise_filter), strides, padding, layout, dilations)
    return _convolve(each, on_device(pointwise_filter), 1, "VALID", layout, 1)
