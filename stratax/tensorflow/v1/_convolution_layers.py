"""Convolutions of `tf.layers` (v1 layer)."""

from collections.abc import Callable

import keras

from stratax.tensorflow.v1._layer import Layer, functional
from stratax.tensorflow.v1._layer_arguments import with_arguments


@with_arguments(
    "filters kernel_size strides padding data_format dilation_rate activation use_bias kernel_initializer "
    "bias_initializer kernel_regularizer bias_regularizer activity_regularizer kernel_constraint "
    "bias_constraint trainable name"
)
class _Convolution(Layer):
    """Convolves inputs with a kernel, as `tf.layers` does."""

    __init__: Callable[..., None]


@with_arguments(
    "filters kernel_size strides padding data_format activation use_bias kernel_initializer "
    "bias_initializer kernel_regularizer bias_regularizer activity_regularizer kernel_constraint "
    "bias_constraint trainable name"
)
class _Transposed(Layer):
    """Spreads inputs with a kernel, the gradient of a convolution, as `tf.layers` does."""

    __init__: Callable[..., None]


@with_arguments(
    "filters kernel_size strides padding data_format dilation_rate depth_multiplier activation use_bias "
    "depthwise_initializer pointwise_initializer bias_initializer depthwise_regularizer "
    "pointwise_regularizer bias_regularizer activity_regularizer depthwise_constraint "
    "pointwise_constraint bias_constraint trainable name"
)
class _Separable(Layer):
    """Convolves each channel, and then mixes the channels, as `tf.layers` does."""

    __init__: Callable[..., None]


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
