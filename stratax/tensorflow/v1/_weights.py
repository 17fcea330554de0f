"""How labels, predictions and weights are made to fit one another in losses and metrics (v1 layer)."""

from typing import Any

import jax.numpy as jnp

from stratax.base.typing import TensorLike
from stratax.errors import BadArgumentError
from stratax.tensorflow.ops.calls.creation import on_device


def check_same_shape(first: Any, second: Any) -> None:
    """Raise an error where two arrays differ in shape.

    Raises:
        BadArgumentError: They do.
    """
    if first.shape != second.shape:
        raise BadArgumentError(
            f"Shapes {first.shape} and {second.shape} are incompatible. Expected: predictions and labels of one shape. "
            "Reshape one of them, or use a loss or metric of sparse labels for class indices."
        )


def check_broadcastable(weights: Any, values: Any) -> None:
    """Raise an error where weights can't be broadcast to values by TensorFlow's rules.

    Args:
        weights: Scalar, or of the values' rank with each dimension 1 or that of the values.
        values: What is weighted.

    Raises:
        BadArgumentError: If the weights are neither.
    """
    if weights.ndim == 0:
        return
    # NumPy broadcasts other ranks, too, from the last dimension on: TensorFlow takes that for a mistake.
    if weights.ndim == values.ndim and all(
        size in (1, wanted) for size, wanted in zip(weights.shape, values.shape, strict=True)
    ):
        return
    raise BadArgumentError(
        "weights can not be broadcast to values. Expected: a scalar, or weights of the values' rank, each dimension 1 "
        f"or that of the values, values.shape={values.shape}. Received: weights.shape={weights.shape}. Reshape the "
        "weights, for instance with tf.expand_dims(weights, -1)."
    )


def broadcast(weights: Any, values: Any) -> Any:
    """Return weights in the values' shape, as float32.

    Raises:
        BadArgumentError: If they can't be broadcast by TensorFlow's rules.
    """
    check_broadcastable(weights, values)
    return jnp.broadcast_to(weights.astype(jnp.float32), values.shape)


def squeeze(labels: TensorLike, predictions: TensorLike, expected_rank_diff: int = 0) -> tuple[Any, Any]:
    """Drop a last dimension of size 1 that labels or predictions have too many.

    Args:
        labels: Labels.
        predictions: Predictions.
        expected_rank_diff: How many more dimensions the predictions should have.

    Returns:
        Labels and predictions, as arrays on a device.
    """
    labels, predictions = on_device(labels), on_device(predictions)
    # Only a rank that differs by one is TensorFlow's to mend: `(batch, 1)` where `(batch,)` was meant.
    too_many = predictions.ndim - labels.ndim - expected_rank_diff
    if too_many == 1 and predictions.shape[-1] == 1:
        predictions = predictions[..., 0]
    elif too_many == -1 and labels.shape[-1] == 1:
        labels = labels[..., 0]
    return labels, predictions


def align(predictions: TensorLike, labels: TensorLike, weights: TensorLike) -> tuple[Any, Any, Any]:
    """Make the ranks of predictions, labels and weights one, where they differ by one.

    Args:
        predictions: Predictions.
        labels: Labels, which lose or have predictions lose a last dimension of size 1; None for none.
        weights: Weights, which lose or gain a last dimension of size 1 unless they are scalar; None for none.

    Returns:
        The three, as arrays on a device, or None.

    Raises:
        BadArgumentError: If labels and predictions differ in shape.
    """
    if labels is None:
        predictions = on_device(predictions)
    else:
        labels, predictions = squeeze(labels, predictions)
        check_same_shape(predictions, labels)
    if weights is None:
        return predictions, labels, None
    weights = on_device(weights)
    # Scalars weigh everything, and have no dimension to lose.
    if weights.ndim and weights.ndim == predictions.ndim + 1 and weights.shape[-1] == 1:
        weights = weights[..., 0]
    elif weights.ndim and weights.ndim == predictions.ndim - 1:
        weights = weights[..., None]
    return predictions, labels, weights
