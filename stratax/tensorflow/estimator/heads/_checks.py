"""What heads check of their arguments, logits, labels and weights (estimator layer)."""

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from stratax import errors
from stratax.base.shown import shown
from stratax.data import SparseTensor
from stratax.tensorflow import v1
from stratax.tensorflow.feature_column import NumericColumn, numeric_column
from stratax.tensorflow.ops.calls.creation import on_device

# Keras' names of reductions, beside TensorFlow 1's own.
_REDUCTIONS = {
    "auto": v1.losses.Reduction.SUM_OVER_BATCH_SIZE,
    "sum": v1.losses.Reduction.SUM,
    "sum_over_batch_size": v1.losses.Reduction.SUM_OVER_BATCH_SIZE,
}
_LOSS_ARGUMENTS = ("labels", "logits", "features", "loss_reduction")


def reduction_of(loss_reduction: object, *, with_none: bool = False) -> str:
    """Return which of `tf.compat.v1.losses.Reduction` a head's `loss_reduction` is.

    Raises:
        BadArgumentError: It is none, or does not give one number.
    """
    found = _REDUCTIONS.get(loss_reduction, loss_reduction) if isinstance(loss_reduction, str) else None
    if found not in v1.losses.Reduction.all() or (found == v1.losses.Reduction.NONE and not with_none):
        raise errors.BadArgumentError(
            "loss_reduction must make one number of the examples' losses. Expected: tf.losses.Reduction.SUM, "
            f"SUM_OVER_BATCH_SIZE or another one but NONE. Received: loss_reduction={shown(loss_reduction)}."
        )
    return found


def check_vocabulary(label_vocabulary: object, n_classes: int | None = None) -> tuple[str, ...] | None:
    """Return a vocabulary of labels as a tuple.

    Raises:
        BadTypeError: It is no list or tuple.
        BadArgumentError: It has another number of labels than there are classes, or one twice.
    """
    if label_vocabulary is None:
        return None
    if not isinstance(label_vocabulary, list | tuple):
        raise errors.BadTypeError(
            "label_vocabulary must be a list or a tuple of strings. Received: "
            f"label_vocabulary={shown(label_vocabulary)} ({type(label_vocabulary).__name__})."
        )
    if n_classes is not None and len(label_vocabulary) != n_classes:
        raise errors.BadArgumentError(
            f"label_vocabulary must have one label for each class. Expected: n_classes={n_classes} labels. Received: "
            f"{len(label_vocabulary)}, label_vocabulary={shown(label_vocabulary)}."
        )
    found = tuple(label.decode() if isinstance(label, bytes) else str(label) for label in label_vocabulary)
    if len(set(found)) != len(found):
        raise errors.BadArgumentError(
            f"label_vocabulary has a label twice. Received: label_vocabulary={shown(label_vocabulary)}."
        )
    return found


def check_thresholds(thresholds: Iterable[float] | None) -> tuple[float, ...]:
    """Return thresholds as a tuple.

    Raises:
        BadArgumentError: One is not between 0 and 1.
    """
    found = tuple(thresholds) if thresholds is not None else ()
    if not all(0 < threshold < 1 for threshold in found):
        raise errors.BadArgumentError(
            f"thresholds must be between 0 and 1, without these. Received: thresholds={shown(found)}."
        )
    return found


def check_loss_fn(loss_fn: Callable[..., Any] | None) -> None:
    """Check that a function of losses takes labels and logits, and nothing unknown.

    Raises:
        BadTypeError: It is no function.
        BadArgumentError: It has other arguments.
    """
    if loss_fn is None:
        return
    if not callable(loss_fn):
        raise errors.BadTypeError(f"loss_fn must be a function. Received: loss_fn={shown(loss_fn)}.")
    names = list(inspect.signature(loss_fn).parameters)
    if not {"labels", "logits"} <= set(names) <= set(_LOSS_ARGUMENTS):
        raise errors.BadArgumentError(
            "loss_fn must take labels and logits. Expected: arguments labels, logits and, if it needs them, features "
            f"and loss_reduction. Received: {', '.join(names) or 'none'}."
        )


def check_logits(logits: object, size: int) -> Any:
    """Return logits as float32.

    Raises:
        BadArgumentError: They have one dimension only, or their last one has another size.
    """
    found = on_device(logits).astype(jnp.float32)
    if found.ndim < 2 or found.shape[-1] != size:
        raise errors.BadArgumentError(
            "logits must have the head's logits_dimension as their last one. Expected: shape (batch, ..., "
            f"{size}). Received: logits.shape={tuple(found.shape)}. Give the last layer {size} units "
            "(head.logits_dimension)."
        )
    return found


def dense_labels(labels: Any, logits: Any, size: int) -> Any:
    """Return labels of the logits' batch, with a last dimension.

    Args:
        labels: Numbers.
        logits: Logits, which were checked.
        size: The size of the labels' last dimension; they may lack it where it is 1.

    Raises:
        BadArgumentError: Labels are missing, sparse, strings, or of another shape.
    """
    if labels is None:
        raise errors.BadArgumentError(
            "The labels are missing. Expected: an input_fn that gives pairs of features and labels. Received: "
            "labels=None. Check that the label is among what is parsed and returned."
        )
    if isinstance(labels, SparseTensor):
        raise errors.BadArgumentError(
            f"Sparse labels are not supported by this head. Expected: an array of shape (batch, {size}). Received: "
            f"{shown(labels)}. Make it dense with tf.sparse.to_dense."
        )
    if isinstance(labels, v1.HostTensor) or np.asarray(_example(labels)).dtype.kind in "OSU":
        raise errors.BadArgumentError(
            f"Labels are strings, and the head has no label_vocabulary. Received: {shown(labels)}. Pass "
            "label_vocabulary=[...] to the head, or make them numbers."
        )
    found = on_device(labels)
    if found.ndim == logits.ndim - 1:
        found = found[..., None]
    if found.shape != (*logits.shape[:-1], size):
        raise errors.BadArgumentError(
            f"Mismatched label shape. Expected: {(*logits.shape[:-1], size)}, as logits.shape={tuple(logits.shape)}. "
            f"Received: labels.shape={tuple(found.shape)}. Check n_classes or label_dimension, and whether labels are "
            "class numbers or one-hot."
        )
    return found


def _example(labels: object) -> Any:
    """Return what has the labels' dtype: themselves, but for a traced array."""
    return np.zeros(0, labels.dtype) if isinstance(labels, jax.Array) else labels


def check_range(labels: object, most: int, what: str = "") -> None:
    """Raise where labels are not from 0 to a number; of traced ones only the first batch's are known.

    Raises:
        BadArgumentError: They are not.
    """
    scope = v1.current_or_none()
    if isinstance(labels, jax.core.Tracer):
        labels = () if scope is None else scope.features.example_of(labels)
    found = np.asarray(() if labels is None else labels)
    if found.size and not (found.min() >= 0 and found.max() <= most):
        raise errors.BadArgumentError(
            f"{what or 'Labels'} must be from 0 to {most}. Received: values from {found.min()} to {found.max()}. "
            "Check n_classes, and that the labels count from 0."
        )


def spoiling_outside(labels: Any, most: int, losses: Any) -> Any:
    """Return losses that are NaN where a label is not from 0 to a number, as a compiled step can't raise."""
    is_right = (labels >= 0) & (labels <= most)
    return jnp.where(is_right, losses, jnp.nan)


def weights_of(features: object, weight_column: object, logits: Any, *, per_logit: bool = False) -> Any:
    """Return the examples' weights.

    Args:
        features: The features by name.
        weight_column: The feature's name, or a numeric column; None for none.
        logits: Logits, which were checked.
        per_logit: Whether there may be a weight for each logit.

    Returns:
        1.0 without a column; else float32, of shape `(batch, ..., 1)` or that of the logits.

    Raises:
        BadArgumentError: The feature is missing, no number, or of another shape.
        BadTypeError: The column is neither a name nor a numeric column.
    """
    if weight_column is None:
        return 1.0
    column = numeric_column(weight_column) if isinstance(weight_column, str) else weight_column
    if not isinstance(column, NumericColumn):
        raise errors.BadTypeError(
            "weight_column must be the name of a feature or a tf.feature_column.numeric_column. Received: "
            f"weight_column={shown(weight_column)} ({type(weight_column).__name__})."
        )
    names = sorted(features) if isinstance(features, Mapping) else features
    if not isinstance(features, Mapping) or column.key not in features:
        raise errors.BadArgumentError(
            f"The weight column is not among the features. Expected: a feature {shown(column.key)}. Received: "
            f"{shown(names)}. Give it in the input_fn, in training and in evaluation."
        )
    value = features[column.key]
    if isinstance(value, v1.HostTensor | SparseTensor):
        raise errors.BadArgumentError(
            f"Weights must be numbers. Received: feature {shown(column.key)}, {shown(value)}."
        )
    given = on_device(value)
    if given.ndim < logits.ndim:
        given = given.reshape(*given.shape, *(1,) * (logits.ndim - given.ndim))
    if column.normalizer_fn is not None:
        given = on_device(column.normalizer_fn(given))
    allowed = [(*logits.shape[:-1], 1), *([tuple(logits.shape)] if per_logit else [])]
    if tuple(given.shape) not in allowed:
        raise errors.BadArgumentError(
            f"Weights have another shape than the logits. Expected: {' or '.join(map(str, allowed))}. Received: "
            f"feature {shown(column.key)} of shape {tuple(np.shape(value))}."
        )
    return given.astype(jnp.float32)


def call_loss(
    loss_fn: Callable[..., Any], labels: object, logits: Any, features: object, reduction: object, size: int
) -> Any:
    """Call a user's function of losses.

    Raises:
        BadArgumentError: It returns another shape than one loss for each example, or for each logit.
    """
    names = inspect.signature(loss_fn).parameters
    extra = {
        key: value for key, value in (("features", features), ("loss_reduction", reduction)) if key in names
    }
    losses = on_device(loss_fn(labels=labels, logits=logits, **extra))
    wanted = (*logits.shape[:-1], size)
    if tuple(losses.shape) != wanted:
        raise errors.BadArgumentError(
            f"loss_fn must return losses of shape {wanted}. Received: shape {tuple(losses.shape)}, for "
            f"logits.shape={tuple(logits.shape)}. Do not reduce over the batch in loss_fn."
        )
    return losses


def check_keys(keys: Sequence[str] | None, known: Sequence[str]) -> Sequence[str]:
    """Return which predictions are asked for: all where none are named.

    Raises:
        BadArgumentError: One does not exist.
    """
    if not keys:
        return known
    unknown = [key for key in keys if key not in known]
    if unknown:
        raise errors.BadArgumentError(
            f"Prediction key must be in PredictionKeys. Expected: some of {shown(list(known))}. Received: "
            f"{shown(unknown)}."
        )
    return keys


def check_n_classes(n_classes: object) -> None:
    """Raise where there are fewer than two classes.

    Raises:
        BadArgumentError: There are.
    """
    if not isinstance(n_classes, int) or n_classes < 2:
        raise errors.BadArgumentError(
            f"n_classes must be an integer of at least 2. Received: n_classes={shown(n_classes)}."
        )
