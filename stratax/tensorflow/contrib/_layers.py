"""Layers of `tf.contrib.layers`: functions whose defaults an argument scope may change.

Each makes a layer of `tf.layers` whose variables have contrib's names (`weights` and `biases` for `kernel` and
`bias`), then normalizes or adds the bias, and applies the activation.
"""

import contextlib
import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import jax.numpy as jnp
import keras

from stratax import errors
from stratax.base.shown import shown
from stratax.base.typing import TensorLike
from stratax.tensorflow import v1
from stratax.tensorflow.contrib._arg_scope import layer_in_scope
from stratax.tensorflow.contrib._collected import Collections, collect_named_outputs, collect_variables
from stratax.tensorflow.ops.nn import nn

_Function = Callable[..., Any]
_Size = int | Sequence[int]

# What the variables of `tf.layers` are called in `tf.contrib.layers`.
_NAMES = {
    "kernel": "weights",
    "bias": "biases",
    "depthwise_kernel": "depthwise_weights",
    "pointwise_kernel": "pointwise_weights",
}
# What gives first values by default.
GLOROT, ZEROS = v1.glorot_uniform_initializer(), v1.zeros_initializer()
_CONVOLUTIONS = {3: v1.layers.Conv1D, 4: v1.layers.Conv2D, 5: v1.layers.Conv3D}
_TRANSPOSED = {4: v1.layers.Conv2DTranspose, 5: v1.layers.Conv3DTranspose}


def _rename(getter: _Function, name: str, *args: object, **kwargs: object) -> Any:
    """Make a variable of a layer under its name in contrib."""
    path, slash, last = name.rpartition("/")
    return getter(f"{path}{slash}{_NAMES.get(last, last)}", *args, **kwargs)


@contextlib.contextmanager
def enter(scope: object, default: str, reuse: object = None) -> Iterator[v1.VariableScope]:
    """Enter the variable scope of a layer, in which variables have contrib's names.

    Args:
        scope: Its name, or a scope; None for a free name like `default`.
        default: See there.
        reuse: Whether variables must be there already.
    """
    with v1.variable_scope(scope, default, reuse=reuse, custom_getter=_rename) as entered:
        yield entered


def is_channels_first(data_format: str | None) -> bool:
    """Return whether channels stand behind the batch.

    Raises:
        BadArgumentError: If `data_format` is none.
    """
    if data_format not in (None, "NWC", "NHWC", "NDHWC", "NCW", "NCHW", "NCDHW"):
        raise errors.BadArgumentError(
            f"data_format must be 'NHWC' or 'NCHW', with D or without H for other ranks. Received: "
            f"data_format={shown(data_format)}."
        )
    return bool(data_format) and str(data_format).startswith("NC")


def _format(data_format: str | None) -> str:
    return "channels_first" if is_channels_first(data_format) else "channels_last"


def _apply(layer: Any, inputs: Any, collections: Collections) -> Any:
    """Call a layer, and add its variables to collections."""
    outputs = layer.apply(inputs)
    found = {
        "weights": ("kernel", "depthwise_kernel", "pointwise_kernel"),
        "biases": ("bias",),
    }
    for kind, names in found.items():
        for name in names:
            variable = getattr(layer, name, None)
            if variable is not None:
                collect_variables({kind: variable}, collections)
    return outputs


def finish(
    outputs: Any,
    entered: v1.VariableScope,
    activation_fn: _Function | None,
    outputs_collections: Any,
    normalizer_fn: _Function | None = None,
    normalizer_params: Mapping[str, Any] | None = None,
) -> Any:
    """Normalize and activate what a layer gives, and collect it under the name of its variable scope."""
    if normalizer_fn is not None:
        outputs = normalizer_fn(outputs, **(normalizer_params or {}))
    if activation_fn is not None:
        outputs = activation_fn(outputs)
    return collect_named_outputs(outputs_collections, entered.name, outputs)


@layer_in_scope
def fully_connected(
    inputs: TensorLike,
    num_outputs: int,
    activation_fn: _Function | None = nn.relu,
    normalizer_fn: _Function | None = None,
    normalizer_params: Mapping[str, Any] | None = None,
    weights_initializer: object = GLOROT,
    weights_regularizer: _Function | None = None,
    biases_initializer: object = ZEROS,
    biases_regularizer: _Function | None = None,
    reuse: object = None,
    variables_collections: Collections = None,
    outputs_collections: object = None,
    trainable: bool = True,
    scope: object = None,
) -> Any:
    """Multiply by a matrix, normalize or add a bias, and activate, as `tf.contrib.layers.fully_connected`.

    Args:
        inputs: A tensor, shape `(..., features)`.
        num_outputs: The last dimension of the result.
        activation_fn: Applied to the result; None for none.
        normalizer_fn: Called with the product in the place of a bias, such as `batch_norm`.
        normalizer_params: Its other arguments.
        weights_initializer: Gives the matrix' first value.
        weights_regularizer: Gives a loss of the matrix.
        biases_initializer: Gives the bias' first value; None for no bias.
        biases_regularizer: Gives a loss of the bias.
        reuse: Whether the variables of `scope` must be there already.
        variables_collections: Collections of all variables, or of each kind, `"weights"` and `"biases"`.
        outputs_collections: Collections of the result.
        trainable: Whether optimizers see the variables.
        scope: The variable scope, or its name.

    Returns:
        A tensor, shape `(..., num_outputs)`.
    """
    with enter(scope, "fully_connected", reuse) as entered:
        layer = v1.layers.Dense(
            num_outputs,
            use_bias=normalizer_fn is None and biases_initializer is not None,
            kernel_initializer=weights_initializer,
            bias_initializer=biases_initializer,
            kernel_regularizer=weights_regularizer,
            bias_regularizer=biases_regularizer,
            trainable=trainable,
            _scope=entered,
            _reuse=reuse,
        )
        outputs = _apply(layer, inputs, variables_collections)
        return finish(outputs, entered, activation_fn, outputs_collections, normalizer_fn, normalizer_params)


@layer_in_scope
def convolution(
    inputs: TensorLike,
    num_outputs: int,
    kernel_size: _Size,
    stride: _Size = 1,
    padding: str = "SAME",
    data_format: str | None = None,
    rate: _Size = 1,
    activation_fn: _Function | None = nn.relu,
    normalizer_fn: _Function | None = None,
    normalizer_params: Mapping[str, Any] | None = None,
    weights_initializer: object = GLOROT,
    weights_regularizer: _Function | None = None,
    biases_initializer: object = ZEROS,
    biases_regularizer: _Function | None = None,
    reuse: object = None,
    variables_collections: Collections = None,
    outputs_collections: object = None,
    trainable: bool = True,
    scope: object = None,
    conv_dims: int | None = None,
) -> Any:
    """Convolve in one, two or three dimensions, as `tf.contrib.layers.conv2d` and its kin.

    Args:
        inputs: A tensor, shape `(batch, ..., channels)`.
        num_outputs: The result's channels.
        kernel_size: The kernel's size in each dimension, or one number for all.
        stride: The steps, likewise.
        padding: `"SAME"` or `"VALID"`.
        data_format: `"NCHW"` and its kin for channels behind the batch.
        rate: The distances between the kernel's elements.
        activation_fn: As in `fully_connected`.
        normalizer_fn: Likewise.
        normalizer_params: Likewise.
        weights_initializer: Likewise.
        weights_regularizer: Likewise.
        biases_initializer: Likewise.
        biases_regularizer: Likewise.
        reuse: Likewise.
        variables_collections: Likewise.
        outputs_collections: Likewise.
        trainable: Likewise.
        scope: Likewise.
        conv_dims: The number of dimensions; the inputs must have two more.

    Raises:
        BadArgumentError: If the inputs have another rank.
    """
    kinds = _CONVOLUTIONS if conv_dims is None else {conv_dims + 2: _CONVOLUTIONS[conv_dims + 2]}
    kind = _of_rank(kinds, inputs)
    with enter(scope, "Conv", reuse) as entered:
        layer = kind(
            num_outputs,
            kernel_size,
            strides=stride,
            padding=padding.lower(),
            data_format=_format(data_format),
            dilation_rate=rate,
            use_bias=normalizer_fn is None and biases_initializer is not None,
            kernel_initializer=weights_initializer,
            bias_initializer=biases_initializer,
            kernel_regularizer=weights_regularizer,
            bias_regularizer=biases_regularizer,
            trainable=trainable,
            _scope=entered,
            _reuse=reuse,
        )
        outputs = _apply(layer, inputs, variables_collections)
        return finish(outputs, entered, activation_fn, outputs_collections, normalizer_fn, normalizer_params)


def _of_rank(kinds: Mapping[int, Any], inputs: Any) -> Any:
    """Return what goes with the inputs' rank."""
    rank = jnp.ndim(inputs)
    if rank not in kinds:
        raise errors.BadArgumentError(
            f"The inputs must have {' or '.join(map(str, kinds))} dimensions. Received: shape "
            f"{tuple(jnp.shape(inputs))}."
        )
    return kinds[rank]


def _convolution_of(dims: int) -> _Function:
    """Return the convolution of a number of dimensions."""

    @functools.wraps(convolution, updated=())
    def function(*args: Any, **kwargs: Any) -> Any:
        return getattr(convolution, "__wrapped__")(*args, **kwargs, conv_dims=dims)  # noqa: B009

    function.__name__ = function.__qualname__ = f"convolution{dims}d"
    return layer_in_scope(function)


convolution1d, convolution2d, convolution3d = map(_convolution_of, (1, 2, 3))


def _make_transposed(rank: int, name: str) -> _Function:
    """Return the transposed convolution of inputs of a rank."""

    def function(
        inputs: TensorLike,
        num_outputs: int,
        kernel_size: _Size,
        stride: _Size = 1,
        padding: str = "SAME",
        data_format: str | None = None,
        activation_fn: _Function | None = nn.relu,
        normalizer_fn: _Function | None = None,
        normalizer_params: Mapping[str, Any] | None = None,
        weights_initializer: Any = GLOROT,
        weights_regularizer: _Function | None = None,
        biases_initializer: Any = ZEROS,
        biases_regularizer: _Function | None = None,
        reuse: object = None,
        variables_collections: Collections = None,
        outputs_collections: Any = None,
        trainable: bool = True,
        scope: Any = None,
    ) -> Any:
        """Spread with a kernel, the gradient of a convolution; the arguments are those of `convolution`."""
        kind = _of_rank({rank: _TRANSPOSED[rank]}, inputs)
        with enter(scope, f"Conv{rank - 2}d_transpose", reuse) as entered:
            layer = kind(
                num_outputs,
                kernel_size,
                strides=stride,
                padding=padding.lower(),
                data_format=_format(data_format),
                use_bias=normalizer_fn is None and biases_initializer is not None,
                kernel_initializer=weights_initializer,
                bias_initializer=biases_initializer,
                kernel_regularizer=weights_regularizer,
                bias_regularizer=biases_regularizer,
                trainable=trainable,
                _scope=entered,
                _reuse=reuse,
            )
            outputs = _apply(layer, inputs, variables_collections)
            return finish(
                outputs, entered, activation_fn, outputs_collections, normalizer_fn, normalizer_params
            )

    function.__name__ = function.__qualname__ = name
    return layer_in_scope(function)


convolution2d_transpose = _make_transposed(4, "convolution2d_transpose")
convolution3d_transpose = _make_transposed(5, "convolution3d_transpose")


@layer_in_scope
def separable_convolution2d(
    inputs: TensorLike,
    num_outputs: int | None,
    kernel_size: _Size,
    depth_multiplier: int = 1,
    stride: _Size = 1,
    padding: str = "SAME",
    data_format: str = "NHWC",
    rate: _Size = 1,
    activation_fn: _Function | None = nn.relu,
    normalizer_fn: _Function | None = None,
    normalizer_params: Mapping[str, Any] | None = None,
    weights_initializer: Any = GLOROT,
    pointwise_initializer: Any = None,
    weights_regularizer: _Function | None = None,
    biases_initializer: Any = ZEROS,
    biases_regularizer: _Function | None = None,
    reuse: object = None,
    variables_collections: Collections = None,
    outputs_collections: Any = None,
    trainable: bool = True,
    scope: Any = None,
) -> Any:
    """Convolve each channel by itself, and mix the channels, as `tf.contrib.layers.separable_conv2d`.

    Args:
        inputs: A tensor, shape `(batch, height, width, channels)`.
        num_outputs: The result's channels; None to leave the channels unmixed.
        kernel_size: The kernel's size.
        depth_multiplier: How many channels each becomes.
        stride: The steps.
        padding: `"SAME"` or `"VALID"`.
        data_format: `"NHWC"` or `"NCHW"`.
        rate: The distances between the kernel's elements.
        activation_fn: As in `fully_connected`.
        normalizer_fn: Likewise.
        normalizer_params: Likewise.
        weights_initializer: Of both kernels.
        pointwise_initializer: Of the kernel that mixes, if another.
        weights_regularizer: Of both kernels.
        biases_initializer: As in `fully_connected`.
        biases_regularizer: Likewise.
        reuse: Likewise.
        variables_collections: Likewise.
        outputs_collections: Likewise.
        trainable: Likewise.
        scope: Likewise.
    """
    shared = {
        "strides": stride,
        "padding": padding.lower(),
        "data_format": _format(data_format),
        "dilation_rate": rate,
        "depth_multiplier": depth_multiplier,
        "use_bias": normalizer_fn is None and biases_initializer is not None,
        "depthwise_initializer": weights_initializer,
        "depthwise_regularizer": weights_regularizer,
        "bias_initializer": biases_initializer,
        "bias_regularizer": biases_regularizer,
        "trainable": trainable,
    }
    with enter(scope, "SeparableConv2d", reuse) as entered:
        layer: Any
        if num_outputs is None:
            layer = _Depthwise(kernel_size=kernel_size, **shared, _scope=entered, _reuse=reuse)
        else:
            pointwise = weights_initializer if pointwise_initializer is None else pointwise_initializer
            layer = v1.layers.SeparableConv2D(
                num_outputs,
                kernel_size,
                **shared,
                pointwise_initializer=pointwise,
                pointwise_regularizer=weights_regularizer,
                _scope=entered,
                _reuse=reuse,
            )
        outputs = _apply(layer, inputs, variables_collections)
        return finish(outputs, entered, activation_fn, outputs_collections, normalizer_fn, normalizer_params)


class _Depthwise(v1.layers.Layer, keras.layers.DepthwiseConv2D):
    """Convolves each channel by itself; its kernel is called as that of a separable convolution."""

    def add_weight(self, name: str | None = None, *args: Any, **kwargs: Any) -> Any:
        """Make a variable, the kernel under its name in contrib."""
        return super().add_weight("depthwise_kernel" if name == "kernel" else name, *args, **kwargs)
