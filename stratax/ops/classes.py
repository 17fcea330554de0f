"""Labels that are no class: errors where they are known, and NaN in compiled functions (ops layer)."""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from stratax._indices import is_known
from stratax._shown import shown
from stratax.errors import BadArgumentError
from stratax.seams import keras as seam


def check_labels(labels: Any, count: int) -> None:
    """Raise for a label that is known and is not the number of a class.

    Args:
        labels: Whole numbers, which may have the dtype of fractions.
        count: How many classes there are.

    Raises:
        BadArgumentError: As TensorFlow on a CPU.
    """
    if not is_known(labels):
        return
    numbers = np.asarray(labels).astype(np.int64)
    if numbers.size and (numbers.min() < 0 or numbers.max() >= count):
        wrong = numbers[(numbers < 0) | (numbers >= count)][0]
        raise BadArgumentError(
            f"Received a label value of {wrong} which is outside the valid range of [0, {count}). Label values: "
            f"{shown(numbers)}. Give the logits a number for each class."
        )


def install_in_keras() -> None:
    """Have Keras' losses take labels of classes only: on JAX any other one would cost nothing."""
    seam.install("stratax.ops", {"keras.src.backend.jax.nn:sparse_categorical_crossentropy": _of_classes})


def _of_classes(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def sparse_categorical_crossentropy(
        target: Any, output: Any, from_logits: bool = False, axis: int = -1
    ) -> Any:
        losses = original(target, output, from_logits=from_logits, axis=axis)
        count = np.shape(output)[axis]
        check_labels(target, count)
        if is_known(target):
            return losses
        import jax.numpy as jnp

        # A compiled program can't raise. There the loss is NaN, as in TensorFlow on a GPU.
        labels = jnp.asarray(target).astype("int32").reshape(losses.shape)
        return jnp.where((labels < 0) | (labels >= count), jnp.nan, losses)

    return sparse_categorical_crossentropy
