"""Metrics of the k classes that are predicted first (v1 layer).

Sums are in float32, where TensorFlow has float64 for some.
"""

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from stratax.base.shown import shown
from stratax.base.typing import Array, TensorLike
from stratax.errors import BadArgumentError
from stratax.tensorflow.ops.calls.creation import on_device
from stratax.tensorflow.v1._metric import Measure, Pair, Sums, mean_of, metric
from stratax.tensorflow.v1._weights import broadcast, check_broadcastable

_ARGUMENTS = {
    "labels": "Class indices, shape `(..., labels)` or `(...)`, each counted once.",
    "predictions": "Scores, shape `(..., classes)`.",
    "predictions_idx": "The top predictions' class indices, shape `(..., k)`.",
    "k": "How many predictions count.",
    "class_id": "The only class that counts; None for all.",
    "weights": "A scalar, or an array of the labels' shape without the last dimension; None for 1.",
}
_RETURNS = "a scalar, not a number where there is nothing,"


def _at_k(name: str, kind: str, what: str) -> Callable[..., Pair]:
    """Make a metric of the classes with the k highest scores; see :func:`_measure`."""

    @metric(_ARGUMENTS, name=name, what=what, returns=_RETURNS, default=f"{kind}_at_K")
    def measure(
        labels: TensorLike,
        predictions: TensorLike,
        k: int,
        class_id: int | None = None,
        weights: TensorLike | None = None,
    ) -> Measure:
        # Of equal scores the class with the lower index comes first, as in TensorFlow.
        _, indices = jax.lax.top_k(on_device(predictions), k)
        return _measure(kind, labels, indices, k, class_id, weights)

    return measure


def _at_top_k(name: str, kind: str, what: str) -> Callable[..., Pair]:
    """Make a metric of classes that are the top predictions; see :func:`_measure`."""

    @metric(
        {**_ARGUMENTS, "k": "How many they are, for the name."},
        name=name,
        what=what,
        returns=_RETURNS,
        default=f"{kind}_at_K",
    )
    def measure(
        labels: TensorLike,
        predictions_idx: TensorLike,
        k: int | None = None,
        class_id: int | None = None,
        weights: TensorLike | None = None,
    ) -> Measure:
        return _measure(kind, labels, predictions_idx, k, class_id, weights)

    return measure


def _measure(
    kind: str,
    labels: TensorLike,
    indices: TensorLike,
    k: int | None,
    class_id: int | None,
    weights: TensorLike | None,
) -> Measure:
    """Measure which part of the top predictions is true ("precision"), or of the labels is predicted ("recall")."""
    hits, misses, rest = _set_sizes(labels, indices, class_id)
    # Precision loses by what is predicted wrongly, recall by what is missed.
    wrong, others = ("false_positive", rest) if kind == "precision" else ("false_negative", misses)
    sums = {
        _at_k_name("true_positive", k, class_id): _sum_weighted(hits, weights),
        _at_k_name(wrong, k, class_id): _sum_weighted(others, weights),
    }
    return Measure(sums, _quotient, name=_at_k_name(kind, k, class_id))


_PRECISION = "Return which part of the top predictions is true"
_RECALL = "Return which part of the labels is among the top predictions"

precision_at_k = _at_k("precision_at_k", "precision", _PRECISION)
precision_at_top_k = _at_top_k("precision_at_top_k", "precision", _PRECISION)
recall_at_k = _at_k("recall_at_k", "recall", _RECALL)
recall_at_top_k = _at_top_k("recall_at_top_k", "recall", _RECALL)


@metric(
    {
        **_ARGUMENTS,
        "labels": "Class indices, shape `(..., labels)` or `(...)`; negative ones count nowhere.",
    },
    raises="If shapes don't fit, or k is below 1.",
    default="average_precision_at_K",
)
def average_precision_at_k(
    labels: TensorLike, predictions: TensorLike, k: int, weights: TensorLike | None = None
) -> Measure:
    """Return the mean over examples of the average precision, as TensorFlow's metric of that name."""
    if k < 1:
        raise BadArgumentError(f"Invalid k={shown(k)}. `k` should be >= 1.")
    scores = on_device(predictions)
    _, indices = jax.lax.top_k(scores, k)
    average = _average_precision(labels, indices, scores.shape[-1])
    factors = jnp.ones(()) if weights is None else on_device(weights).astype(jnp.float32)
    factors = broadcast(factors, average)
    weighted = average if weights is None else average * factors
    # TensorFlow's names: `max` has the sum of weights.
    sums = {"max": jnp.sum(factors), "total": jnp.sum(weighted)}
    compute = functools.partial(mean_of, count="max")
    return Measure(sums, compute, name=_at_k_name("average_precision", k))


sparse_precision_at_k = precision_at_k

sparse_average_precision_at_k = average_precision_at_k


def _quotient(sums: Sums) -> Any:
    hits, others = sums.values()
    return hits / (hits + others)


def _at_k_name(name: str, k: int | None = None, class_id: int | None = None) -> str:
    of_class = "" if class_id is None else f"_class{class_id}"
    return f"{name}_at_{'k' if k is None else k}{of_class}"


def _labels_of(labels: TensorLike, indices: Array) -> Any:
    """Return labels with one dimension for those of an example, as integers."""
    found = on_device(labels)
    # One label for each example.
    if found.ndim == indices.ndim - 1:
        found = found[..., None]
    if found.ndim != indices.ndim or found.shape[:-1] != indices.shape[:-1]:
        raise BadArgumentError(
            f"Labels do not fit predictions. Expected: labels.shape={indices.shape[:-1]}, with or without one more "
            f"dimension, as the predictions'. Received: labels.shape={found.shape}."
        )
    return found.astype(jnp.int32)


def _set_sizes(labels: TensorLike, predictions_idx: TensorLike, class_id: int | None) -> tuple[Any, Any, Any]:
    """Return how many classes an example has in both labels and predictions, in labels only, in predictions only."""
    indices = on_device(predictions_idx).astype(jnp.int32)
    truth = _labels_of(labels, indices)
    # Shape (..., labels, k). A class that is there twice counts once.
    is_equal = truth[..., :, None] == indices[..., None, :]
    of_truth, of_indices = _is_first(truth), _is_first(indices)
    if class_id is not None:
        of_truth, of_indices = of_truth & (truth == class_id), of_indices & (indices == class_id)
    is_found, is_right = jnp.any(is_equal, -1), jnp.any(is_equal, -2)
    counts = (of_indices & is_right, of_truth & ~is_found, of_indices & ~is_right)
    hits, misses, rest = (jnp.sum(counted.astype(jnp.float32), -1) for counted in counts)
    return hits, misses, rest


def _is_first(values: Array) -> Any:
    """Return for each element along the last dimension whether none before it is equal."""
    is_equal = values[..., :, None] == values[..., None, :]
    return ~jnp.any(jnp.tril(is_equal, -1), -1)


def _sum_weighted(values: Array, weights: TensorLike | None) -> Any:
    if weights is None:
        return jnp.sum(values)
    factors = on_device(weights).astype(jnp.float32)
    check_broadcastable(factors, values)
    return jnp.sum(values * factors)


def _average_precision(labels: TensorLike, indices: Array, num_classes: int) -> Any:
    """Return the average precision of each example's top predictions."""
    truth = _labels_of(labels, indices)
    is_label = (truth >= 0) & (truth < num_classes)
    is_equal = (truth[..., :, None] == indices[..., None, :]) & is_label[..., :, None]
    is_right = jnp.any(is_equal, -2).astype(jnp.float32)
    # The precision at each place, of which those with a true class are averaged.
    precision_of = jnp.cumsum(is_right, -1) / jnp.arange(1, indices.shape[-1] + 1)
    # No more than k labels can be found.
    num_labels = jnp.minimum(jnp.sum(is_label.astype(jnp.float32), -1), indices.shape[-1])
    return jnp.sum(precision_of * is_right, -1) / num_labels
