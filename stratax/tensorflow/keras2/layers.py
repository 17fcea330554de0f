"""Layers and functions for models that Keras 3 dropped (keras2 layer)."""

import functools
import importlib
import warnings
from collections.abc import Sequence
from typing import Any

import keras
import numpy as np
from keras import ops

from stratax.base.shown import shown
from stratax.base.typing import DTypeLike, TensorLike
from stratax.errors import BadArgumentError
from stratax.tensorflow.ops.calls.creation import convert_to_tensor

# The parent of layers that prepare data; Keras 3 has no class of its own for them.
PreprocessingLayer = keras.Layer


@functools.wraps(keras.Input)
def Input(shape: object = None, *args: object, tensor: TensorLike | None = None, **kwargs: object) -> Any:
    """Return a symbolic tensor; a tensor that has values is returned as it is. A number is the shape of a vector."""
    if tensor is None or isinstance(tensor, keras.KerasTensor):
        sizes = (shape,) if isinstance(shape, int) else shape
        return keras.Input(sizes, *args, tensor=tensor, **kwargs)
    # A `model_fn`'s feature: layers compute with it at once, and nothing else is fed in its place.
    return convert_to_tensor(tensor)


class ThresholdedReLU(keras.Layer):
    """Keeps what is over a threshold, and gives 0 for the rest, as `tf.keras.layers.ThresholdedReLU`.

    Args:
        theta: The threshold, not negative.
    """

    def __init__(self, theta: float = 1.0, **kwargs: object) -> None:
        super().__init__(**kwargs)
        if theta is None or theta < 0:
            raise BadArgumentError(f"theta must be a number from 0 on. Received: theta={shown(theta)}.")
        self.supports_masking = True
        self.theta = theta

    def call(self, inputs: Any) -> Any:
        """Return the inputs that are over the threshold, and 0 for others."""
        return inputs * ops.cast(ops.greater(inputs, self.theta), inputs.dtype)

    def get_config(self) -> dict[str, Any]:
        """Return what the layer is made of."""
        return {**super().get_config(), "theta": float(self.theta)}

    def compute_output_shape(self, input_shape: TensorLike) -> Any:
        """Return the shape of the input."""
        return input_shape


class AbstractRNNCell(keras.Layer):
    """The parent of users' cells of `tf.keras.layers.RNN`, as `tf.keras.layers.AbstractRNNCell`.

    A subclass has `state_size`, `output_size` and `call(inputs, states)`, which returns the output and the new states.
    """

    @property
    def state_size(self) -> Any:
        """The size of the state, or of each."""
        raise NotImplementedError(f"{type(self).__name__} needs a property state_size.")

    @property
    def output_size(self) -> Any:
        """The size of the output."""
        raise NotImplementedError(f"{type(self).__name__} needs a property output_size.")

    def get_initial_state(self, batch_size: Any = None, dtype: DTypeLike | None = None) -> Any:
        """Return states of zeros.

        Args:
            batch_size: The number of examples.
            dtype: The dtype of the states; None means that the layer computes in.
        """

        def of(size: Any) -> Any:
            shape = (size,) if isinstance(size, int) else tuple(size)
            return ops.zeros((batch_size, *shape), dtype=dtype or self.compute_dtype)

        sizes = self.state_size
        return [of(size) for size in sizes] if isinstance(sizes, (list, tuple)) else of(sizes)


class SyncBatchNormalization(keras.layers.BatchNormalization):
    """Normalises with the statistics of all replicas, as `tf.keras.layers.experimental.SyncBatchNormalization`.

    Its arguments are those of `tf.keras.layers.BatchNormalization`.
    """

    def __init__(self, *args: object, **kwargs: object) -> None:
        # What lets Keras' layer be synchronized on JAX.
        importlib.import_module("stratax.keras")
        super().__init__(*args, **(kwargs | {"synchronized": True}))


def model_from_config(config: dict[str, Any], custom_objects: dict[str, Any] | None = None) -> keras.Model:
    """Return a model that is made as another was, without its weights.

    Args:
        config: What `keras.saving.serialize_keras_object(model)` gives.
        custom_objects: Classes and functions that it names.
    """
    return keras.saving.deserialize_keras_object(config, custom_objects=custom_objects)


def multi_gpu_model(
    model: keras.Model,
    gpus: int | Sequence[int] | None = None,
    cpu_merge: bool = True,
    cpu_relocation: bool = False,
) -> keras.Model:
    """Return a model with the layers of another one, as TensorFlow 2.3's `tf.keras.utils.multi_gpu_model`.

    What it computes of a batch is what the parts of the batch would give on several GPUs. It is computed on one device,
    which a warning says: a strategy makes use of several.

    Args:
        model: A Functional or Sequential model.
        gpus: How many GPUs, or their numbers: at least two.
        cpu_merge: No effect.
        cpu_relocation: No effect.

    Raises:
        BadArgumentError: If it is for less than two GPUs.
    """
    count = len(gpus) if isinstance(gpus, Sequence) else gpus
    if count is None or count < 2:
        raise BadArgumentError(
            "For multi-gpu usage to be effective, call `multi_gpu_model` with `gpus >= 2`. Received: "
            f"gpus={shown(gpus)}."
        )
    warnings.warn(
        "multi_gpu_model gives a model that computes on one device. Make the model under the scope of a "
        "tf.distribute.MirroredStrategy to use several.",
        stacklevel=2,
    )
    return keras.Model(model.inputs, model.outputs[0] if len(model.outputs) == 1 else model.outputs)


def to_ordinal(y: TensorLike, num_classes: int | None = None, dtype: DTypeLike = "float32") -> np.ndarray:
    """Return ones up to each class, and zeros from it on, as `tf.keras.utils.to_ordinal`.

    Args:
        y: Numbers of classes.
        num_classes: How many there are; None means one more than the largest.
        dtype: Of the result.

    Returns:
        An array with one dimension more, of size `num_classes - 1`.
    """
    classes = np.asarray(y, np.int64)
    if classes.ndim > 1 and classes.shape[-1] == 1:
        classes = classes[..., 0]
    count = int(classes.max()) + 1 if num_classes is None else num_classes
    return (np.arange(count - 1) < classes[..., None]).astype(dtype)
