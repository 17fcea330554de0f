"""Dense, Dropout and Flatten of `tf.layers` (v1 layer)."""

from collections.abc import Callable, Sequence
from typing import Any

import keras

from stratax.base.typing import TensorLike
from stratax.tensorflow.ops.calls.creation import on_device
from stratax.tensorflow.ops.nn import nn
from stratax.tensorflow.v1._layer import Layer, functional
from stratax.tensorflow.v1._layer_arguments import with_arguments


@with_arguments(
    "units activation use_bias kernel_initializer bias_initializer kernel_regularizer bias_regularizer "
    "activity_regularizer kernel_constraint bias_constraint trainable name"
)
class Dense(Layer, keras.layers.Dense):
    """`activation(inputs @ kernel + bias)`, as `tf.layers.Dense`."""

    _operation = "MatMul"
    __init__: Callable[..., None]


class Dropout(Layer):
    """Sets elements to 0 by chance in training and divides the others by the chance to stay, as `tf.layers.Dropout`.

    Args:
        rate: The chance, from 0 to 1, that an element becomes 0.
        noise_shape: The shape of what is drawn, which is broadcast to that of the inputs.
        seed: Of the layer's own generator; by default it draws from that of all functions.
        name: The layer's name.
        **kwargs: Those of :class:`Layer`.
    """

    def __init__(
        self,
        rate: float = 0.5,
        noise_shape: Sequence[int | None] | None = None,
        seed: int | None = None,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(name=name, **kwargs)
        self.rate = rate
        self.noise_shape = noise_shape
        self.seed = seed
        self.generator: keras.random.SeedGenerator | None = None

    def build(self, input_shape: object) -> None:
        """Make the generator, which is part of the model's state."""
        # Without a seed it draws from the generator of the model.
        if self.seed is not None:
            self.generator = keras.random.SeedGenerator(self.seed)

    def call(self, inputs: TensorLike, training: object = False) -> Any:
        """Drop elements if `training`, which may be a tensor."""
        inputs = on_device(inputs)
        is_training = as_known(training)
        if is_training is False:
            return inputs
        shape = self.noise_shape
        if shape is not None:
            # None stands for the size of the inputs.
            shape = [
                size if drawn is None else drawn for drawn, size in zip(shape, inputs.shape, strict=True)
            ]
        dropped = nn.dropout(inputs, self.rate, noise_shape=shape, seed=self.generator)
        # Both are computed: which one counts is known when the program runs.
        return dropped if is_training else keras.ops.where(training, dropped, inputs)


def as_known(training: object) -> bool | None:
    """Return `training` if it is known now, and None if it is a tensor of a program."""
    if training is None:
        return False
    try:
        # A traced value has no truth; what that raises depends on its kind.
        return bool(training)
    except Exception:
        return None


class Flatten(Layer, keras.layers.Flatten):
    """Joins all dimensions but the batch's, as `tf.layers.Flatten`.

    Args:
        data_format: Where the channels are: they become last ones, as in `"channels_last"`.
        **kwargs: Those of :class:`Layer`.
    """

    _operation = "Reshape"

    def __init__(self, data_format: str | None = None, **kwargs: Any) -> None:
        super().__init__(data_format=data_format or "channels_last", **kwargs)


dense = functional(Dense, "dense")


def dropout(
    inputs: TensorLike,
    rate: float = 0.5,
    noise_shape: Sequence[int | None] | None = None,
    seed: int | None = None,
    training: object = False,
    name: str | None = None,
) -> Any:
    """Set elements to 0 by chance in training, as `tf.layers.dropout`.

    Args:
        inputs: A tensor.
        rate: The chance, from 0 to 1, that an element becomes 0.
        noise_shape: The shape of what is drawn, which is broadcast to that of the inputs.
        seed: Of a generator of the layer's own.
        training: Whether elements are dropped: a boolean or a tensor of one.
        name: The layer's name.

    Returns:
        A tensor of the inputs' shape.
    """
    return Dropout(rate, noise_shape, seed, name=name).apply(inputs, training=training)


def flatten(inputs: TensorLike, name: str | None = None, data_format: str = "channels_last") -> Any:
    """Join all dimensions but the batch's, as `tf.layers.flatten`.

    Args:
        inputs: A tensor.
        name: The layer's name.
        data_format: Where the channels are: they become last ones.

    Returns:
        A tensor of two dimensions.
    """
    return Flatten(data_format, name=name).apply(inputs)
