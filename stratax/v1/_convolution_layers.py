"""Convolutions of `tf.layers` (v1 layer)."""

from collections.abc import Callable, Sequence
from typing import Any

import keras

from stratax.v1._layer import Layer, functional


class _Convolution(Layer):
    """Convolves inputs with a kernel, as `tf.layers` does.

    Args:
        filters: The number of channels of what it gives.
        kernel_size: The kernel's size in each dimension, or one number for all.
        strides: The steps in each dimension, or one number for all.
        padding: `"valid"` or `"same"`, in letters of either case.
        data_format: `"channels_last"` or `"channels_first"`.
        dilation_rate: The distances between the kernel's elements, or one number for all.
        activation: A function of a tensor, or the name of one of Keras'.
        use_bias: Whether a bias is added.
        kernel_initializer: Gives the kernel's first value; by default the variable scope's, or Glorot's uniform.
        bias_initializer: Gives the bias' first value.
        kernel_regularizer: A function of the kernel that gives a loss.
        bias_regularizer: A function of the bias that gives a loss.
        activity_regularizer: A function of what the layer gives that gives a loss, which is divided by the batch size.
        kernel_constraint: Applied to the kernel after each update of an optimizer.
        bias_constraint: Likewise to the bias.
        trainable: Whether optimizers see the variables.
        name: The layer's name.
        **kwargs: Those of :class:`Layer`.
    """

    def __init__(
        self,
        filters: int,
        kernel_size: int | Sequence[int],
        strides: int | Sequence[int] = 1,
        padding: str = "valid",
        data_format: str = "channels_last",
        dilation_rate: int | Sequence[int] = 1,
        activation: Callable[..., Any] | str | None = None,
        use_bias: bool = True,
        kernel_initializer: Any = None,
        bias_initializer: Any = "zeros",
        kernel_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        kernel_constraint: Any = None,
        bias_constraint: Any = None,
        trainable: bool = True,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            filters=int(filters),
            kernel_size=kernel_size,
            strides=strides,
            padding=padding,
            data_format=data_format,
            dilation_rate=dilation_rate,
            activation=activation,
            use_bias=use_bias,
            kernel_initializer=kernel_initializer,
            bias_initializer=bias_initializer,
            kernel_regularizer=kernel_regularizer,
            bias_regularizer=bias_regularizer,
            activity_regularizer=activity_regularizer,
            kernel_constraint=kernel_constraint,
            bias_constraint=bias_constraint,
            trainable=trainable,
            name=name,
            **kwargs,
        )


class _Transposed(Layer):
    """Spreads inputs with a kernel, the gradient of a convolution, as `tf.layers` does.

    Args:
        filters: The number of channels of what it gives.
        kernel_size: The kernel's size in each dimension, or one number for all.
        strides: The steps in each dimension, or one number for all.
        padding: `"valid"` or `"same"`, in letters of either case.
        data_format: `"channels_last"` or `"channels_first"`.
        activation: A function of a tensor, or the name of one of Keras'.
        use_bias: Whether a bias is added.
        kernel_initializer: Gives the kernel's first value; by default the variable scope's, or Glorot's uniform.
        bias_initializer: Gives the bias' first value.
        kernel_regularizer: A function of the kernel that gives a loss.
        bias_regularizer: A function of the bias that gives a loss.
        activity_regularizer: A function of what the layer gives that gives a loss, which is divided by the batch size.
        kernel_constraint: Applied to the kernel after each update of an optimizer.
        bias_constraint: Likewise to the bias.
        trainable: Whether optimizers see the variables.
        name: The layer's name.
        **kwargs: Those of :class:`Layer`.
    """

    def __init__(
        self,
        filters: int,
        kernel_size: int | Sequence[int],
        strides: int | Sequence[int] = 1,
        padding: str = "valid",
        data_format: str = "channels_last",
        activation: Callable[..., Any] | str | None = None,
        use_bias: bool = True,
        kernel_initializer: Any = None,
        bias_initializer: Any = "zeros",
        kernel_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        kernel_constraint: Any = None,
        bias_constraint: Any = None,
        trainable: bool = True,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            filters=int(filters),
            kernel_size=kernel_size,
            strides=strides,
            padding=padding,
            data_format=data_format,
            activation=activation,
            use_bias=use_bias,
            kernel_initializer=kernel_initializer,
            bias_initializer=bias_initializer,
            kernel_regularizer=kernel_regularizer,
            bias_regularizer=bias_regularizer,
            activity_regularizer=activity_regularizer,
            kernel_constraint=kernel_constraint,
            bias_constraint=bias_constraint,
            trainable=trainable,
            name=name,
            **kwargs,
        )


class _Separable(Layer):
    """Convolves each channel, and then mixes the channels, as `tf.layers` does.

    Args:
        filters: The number of channels of what it gives.
        kernel_size: The kernel's size in each dimension, or one number for all.
        strides: The steps in each dimension, or one number for all.
        padding: `"valid"` or `"same"`, in letters of either case.
        data_format: `"channels_last"` or `"channels_first"`.
        dilation_rate: The distances between the kernel's elements, or one number for all.
        depth_multiplier: How many channels each channel becomes at first.
        activation: A function of a tensor, or the name of one of Keras'.
        use_bias: Whether a bias is added.
        depthwise_initializer: Gives the depthwise kernel's first value; by default the variable scope's.
        pointwise_initializer: Gives the pointwise kernel's first value; by default the variable scope's.
        bias_initializer: Gives the bias' first value.
        depthwise_regularizer: A function of the depthwise kernel that gives a loss.
        pointwise_regularizer: A function of the pointwise kernel that gives a loss.
        bias_regularizer: A function of the bias that gives a loss.
        activity_regularizer: A function of what the layer gives that gives a loss, which is divided by the batch size.
        depthwise_constraint: Applied to the depthwise kernel after each update of an optimizer.
        pointwise_constraint: Applied to the pointwise kernel after each update of an optimizer.
        bias_constraint: Applied to the bias after each update of an optimizer.
        trainable: Whether optimizers see the variables.
        name: The layer's name.
        **kwargs: Those of :class:`Layer`.
    """

    def __init__(
        self,
        filters: int,
        kernel_size: int | Sequence[int],
        strides: int | Sequence[int] = 1,
        padding: str = "valid",
        data_format: str = "channels_last",
        dilation_rate: int | Sequence[int] = 1,
        depth_multiplier: int = 1,
        activation: Callable[..., Any] | str | None = None,
        use_bias: bool = True,
        depthwise_initializer: Any = None,
        pointwise_initializer: Any = None,
        bias_initializer: Any = "zeros",
        depthwise_regularizer: Any = None,
        pointwise_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        depthwise_constraint: Any = None,
        pointwise_constraint: Any = None,
        bias_constraint: Any = None,
        trainable: bool = True,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            filters=int(filters),
            kernel_size=kernel_size,
            strides=strides,
            padding=padding,
            data_format=data_format,
            dilation_rate=dilation_rate,
            depth_multiplier=depth_multiplier,
            activation=activation,
            use_bias=use_bias,
            depthwise_initializer=depthwise_initializer,
            pointwise_initializer=pointwise_initializer,
            bias_initializer=bias_initializer,
            depthwise_regularizer=depthwise_regularizer,
            pointwise_regularizer=pointwise_regularizer,
            bias_regularizer=bias_regularizer,
            activity_regularizer=activity_regularizer,
            depthwise_constraint=depthwise_constraint,
            pointwise_constraint=pointwise_constraint,
            bias_constraint=bias_constraint,
            trainable=trainable,
            name=name,
            **kwargs,
        )


class Conv1D(_Convolution, keras.layers.Conv1D):
    """Convolves in one dimension, as `tf.layers.Conv1D`."""


class Conv2D(_Convolution, keras.layers.Conv2D):
    """Convolves in two dimensions, as `tf.layers.Conv2D`."""

    _operation = "Conv2D"


class Conv3D(_Convolution, keras.layers.Conv3D):
    """Convolves in three dimensions, as `tf.layers.Conv3D`."""

    _operation = "Conv3D"


class Conv2DTranspose(_Transposed, keras.layers.Conv2DTranspose):
    """Spreads in two dimensions, as `tf.layers.Conv2DTranspose`."""


class Conv3DTranspose(_Transposed, keras.layers.Conv3DTranspose):
    """Spreads in three dimensions, as `tf.layers.Conv3DTranspose`."""


class SeparableConv1D(_Separable, keras.layers.SeparableConv1D):
    """Convolves channel by channel in one dimension, as `tf.layers.SeparableConv1D`."""


class SeparableConv2D(_Separable, keras.layers.SeparableConv2D):
    """Convolves channel by channel in two dimensions, as `tf.layers.SeparableConv2D`."""


conv1d = functional(Conv1D, "conv1d")
conv2d = functional(Conv2D, "conv2d")
conv3d = functional(Conv3D, "conv3d")
conv2d_transpose = functional(Conv2DTranspose, "conv2d_transpose")
conv3d_transpose = functional(Conv3DTranspose, "conv3d_transpose")
separable_conv1d = functional(SeparableConv1D, "separable_conv1d")
separable_conv2d = functional(SeparableConv2D, "separable_conv2d")
