"""Labels that are no class, and ids of no row: errors where a program is given them, else NaN (seams layer)."""

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from stratax.base.indices import Bound, check_bound, check_labels, dim_of, is_known
from stratax.base.shown import shown
from stratax.seams import keras as seam


def install() -> None:
    """Have Keras take labels of classes and ids of rows only: on JAX any other one would cost nothing, or be NaN."""
    seam.install(
        "stratax.seams",
        {
            "keras.src.backend.jax.nn:sparse_categorical_crossentropy": _of_classes,
            "keras.src.backend.jax.numpy:take": _of_rows,
            "keras.src.backend.jax.numpy:take_along_axis": _of_rows,
        },
    )


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

        # What the program computes itself is not looked at. There the loss is NaN, as in TensorFlow on a GPU.
        labels = jnp.asarray(target).astype("int32").reshape(losses.shape)
        return jnp.where((labels < 0) | (labels >= count), jnp.nan, losses)

    return sparse_categorical_crossentropy


def _of_rows(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def take(x: Any, indices: Any, axis: int | None = None) -> Any:
        shape = np.shape(x)
        size = math.prod(shape) if axis is None else shape[dim_of(axis, len(shape))]
        # Not a symbol of JAX', which an export has in the place of a size.
        if type(size) is int:
            check_bound(indices, Bound(-size, size, functools.partial(_no_row, size)))
        return original(x, indices, axis=axis)

    return take


def _no_row(size: int, numbers: np.ndarray, wrong: float, place: str) -> str:
    return (
        f"indices{place} = {wrong} is not in [{-size}, {size}), the rows of an array or embedding. "
        f"Received: {shown(numbers)}. Give an Embedding an input_dim above every id."
    )
