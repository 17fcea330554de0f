"""Poolings of `tf.layers` (v1 layer)."""

from collections.abc import Sequence
from typing import Any

import keras

from stratax.tensorflow.v1._layer import Layer, functional


class _Pooling(Layer):
    """Takes one number of each window, as `tf.layers` does.

    Args:
        pool_size: The window's size in each dimension, or one number for all.
        strides: The steps in each dimension, or one number for all.
        padding: `"valid"` or `"same"`, in letters of either case.
        data_format: `"channels_last"` or `"channels_first"`.
        name: The layer's name.
        **kwargs: Those of :class:`Layer`.
    """

    def __init__(
        self,
        pool_size: int | Sequence[int],
        strides: int | Sequence[int],
        padding: str = "valid",
        data_format: str = "channels_last",
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            pool_size=pool_size,
            strides=strides,
            # TensorFlow takes letters of either case.
            padding=padding.lower(),
            data_format=data_format,
            name=name,
            **kwargs,
        )


class AveragePooling1D(_Pooling, keras.layers.AveragePooling1D):
    """Gives each window's mean, as `tf.layers.AveragePooling1D`."""

    # TensorFlow pools sequences as images of one row, which this takes out again.
    _operation = "Squeeze"


class AveragePooling2D(_Pooling, keras.layers.AveragePooling2D):
    """Gives each window's mean, as `tf.layers.AveragePooling2D`."""

    _operation = "AvgPool"


class AveragePooling3D(_Pooling, keras.layers.AveragePooling3D):
    """Gives each window's mean, as `tf.layers.AveragePooling3D`."""

    _operation = "AvgPool3D"


class MaxPooling1D(_Pooling, keras.layers.MaxPooling1D):
    """Gives each window's largest number, as `tf.layers.MaxPooling1D`."""

    _operation = "Squeeze"


class MaxPooling2D(_Pooling, keras.layers.MaxPooling2D):
    """Gives each window's largest number, as `tf.layers.MaxPooling2D`."""

    _operation = "MaxPool"


class MaxPooling3D(_Pooling, keras.layers.MaxPooling3D):
    """Gives each window's largest number, as `tf.layers.MaxPooling3D`."""

    _operation = "MaxPool3D"


average_pooling1d = functional(AveragePooling1D, "average_pooling1d", is_shared=False)
average_pooling2d = functional(AveragePooling2D, "average_pooling2d", is_shared=False)
average_pooling3d = functional(AveragePooling3D, "average_pooling3d", is_shared=False)
max_pooling1d = functional(MaxPooling1D, "max_pooling1d", is_shared=False)
max_pooling2d = functional(MaxPooling2D, "max_pooling2d", is_shared=False)
max_pooling3d = functional(MaxPooling3D, "max_pooling3d", is_shared=False)
