"""What is used of `tf.contrib.layers` beside `tf.layers`: regularizers and initializers (v1 layer)."""

import numbers
from collections.abc import Callable, Sequence
from typing import Any

import keras

from stratax import errors
from stratax.base.shown import shown
from stratax.base.typing import DTypeLike, TensorLike
from stratax.tensorflow.v1._current import current
from stratax.tensorflow.v1._initializers import GlorotNormal, GlorotUniform, Initializer

_Regularizer = Callable[[Any], Any]


def l1_regularizer(scale: float, scope: object = None) -> _Regularizer:
    """Return a function that gives `scale` times the sum of a tensor's absolute values.

    Args:
        scale: A floating-point number from 0 on; with 0 the function gives None.
        scope: Ignored.

    Raises:
        BadArgumentError: If `scale` is an integer or negative.
    """
    _check_scale("scale", scale)
    # A scale of 0 gives no loss at all, as in TensorFlow, and not one of 0.
    return lambda weights: scale * keras.ops.sum(keras.ops.abs(weights)) if scale else None


def l2_regularizer(scale: float, scope: object = None) -> _Regularizer:
    """Return a function that gives `scale` times half the sum of a tensor's squares, like `l1_regularizer`."""
    _check_scale("scale", scale)
    return lambda weights: scale * keras.ops.sum(keras.ops.square(weights)) / 2 if scale else None


def l1_l2_regularizer(scale_l1: float = 1.0, scale_l2: float = 1.0, scope: object = None) -> _Regularizer:
    """Return a function that gives the sum of `l1_regularizer`'s and `l2_regularizer`'s."""
    _check_scale("scale_l1", scale_l1)
    _check_scale("scale_l2", scale_l2)
    return sum_regularizer([l1_regularizer(scale_l1), l2_regularizer(scale_l2)])


def sum_regularizer(regularizer_list: Sequence[_Regularizer | None], scope: object = None) -> _Regularizer:
    """Return a function that gives the sum of what others give, where they give something."""

    def total(weights: TensorLike) -> Any:
        losses = [regularizer(weights) for regularizer in regularizer_list if regularizer is not None]
        losses = [loss for loss in losses if loss is not None]
        return sum(losses[1:], losses[0]) if losses else None

    return total


def apply_regularization(regularizer: _Regularizer, weights_list: Sequence[Any] | None = None) -> Any:
    """Return the sum of a regularizer's losses, and add them to the collection ``"regularization_losses"``.

    Args:
        regularizer: Gives a tensor's loss.
        weights_list: The tensors; by default the collection ``"weights"``.
    """
    scope = current()
    weights = scope.collections.get("weights") if weights_list is None else weights_list
    losses = [loss for loss in map(regularizer, weights) if loss is not None]
    for loss in losses:
        scope.collections.add("regularization_losses", loss)
    return sum(losses, keras.ops.zeros(()))


def xavier_initializer(
    uniform: bool = True, seed: int | None = None, dtype: DTypeLike = "float32"
) -> Initializer:
    """Return Glorot's initializer, evenly or normally distributed."""
    return GlorotUniform(seed, dtype) if uniform else GlorotNormal(seed, dtype)


def _check_scale(name: str, scale: object) -> None:
    # TensorFlow, too, refuses whole numbers.
    if isinstance(scale, numbers.Integral) or not isinstance(scale, numbers.Real) or scale < 0:
        raise errors.BadArgumentError(
            f"{name} must be a floating-point number from 0 on. Received: {name}={shown(scale)}."
        )
