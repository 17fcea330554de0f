"""Metrics of answers of yes and no: how many are right and wrong, precision and recall (v1 layer)."""

from typing import Any

import jax.numpy as jnp

from stratax._typing import TensorLike
from stratax.ops.creation import on_device
from stratax.v1._metric import Collections, Pair, Sums, make_metric, only
from stratax.v1._weights import aligned, check_broadcastable


def true_positives(
    labels: TensorLike,
    predictions: TensorLike,
    weights: TensorLike | None = None,
    metrics_collections: Collections = None,
    updates_collections: Collections = None,
    name: str | None = None,
) -> Pair:
    """Return the sum of the weights of true positives, as `tf.compat.v1.metrics.true_positives`.

    Args:
        labels: The truth; what is not 0 is positive.
        predictions: Of the labels' shape; what is not 0 is positive.
        weights: A scalar, or an array of the labels' rank, each dimension 1 or that of the labels; None for 1.
        metrics_collections: The collections that the value is added to.
        updates_collections: The collections that the operation is added to.
        name: The metric's name; by default `true_positives`.

    Returns:
        The value, a scalar, and the operation that adds this batch.

    Raises:
        BadArgumentError: If shapes don't fit.
        ModelScopeError: If it is called outside of a `model_fn`.
    """
    predicted, truth, factors = _answers(labels, predictions, weights)
    sums = {"count": _count(truth & predicted, factors)}
    return make_metric(name or "true_positives", sums, only, metrics_collections, updates_collections)


def false_positives(
    labels: TensorLike,
    predictions: TensorLike,
    weights: TensorLike | None = None,
    metrics_collections: Collections = None,
    updates_collections: Collections = None,
    name: str | None = None,
) -> Pair:
    """Return the sum of the weights of false positives, as `tf.compat.v1.metrics.false_positives`.

    Args:
        labels: The truth; what is not 0 is positive.
        predictions: Of the labels' shape; what is not 0 is positive.
        weights: A scalar, or an array of the labels' rank, each dimension 1 or that of the labels; None for 1.
        metrics_collections: The collections that the value is added to.
        updates_collections: The collections that the operation is added to.
        name: The metric's name; by default `false_positives`.

    Returns:
        The value, a scalar, and the operation that adds this batch.

    Raises:
        BadArgumentError: If shapes don't fit.
        ModelScopeError: If it is called outside of a `model_fn`.
    """
    predicted, truth, factors = _answers(labels, predictions, weights)
    sums = {"count": _count(~truth & predicted, factors)}
    return make_metric(name or "false_positives", sums, only, metrics_collections, updates_collections)


def false_negatives(
    labels: TensorLike,
    predictions: TensorLike,
    weights: TensorLike | None = None,
    metrics_collections: Collections = None,
    updates_collections: Collections = None,
    name: str | None = None,
) -> Pair:
    """Return the sum of the weights of false negatives, as `tf.compat.v1.metrics.false_negatives`.

    Args:
        labels: The truth; what is not 0 is positive.
        predictions: Of the labels' shape; what is not 0 is positive.
        weights: A scalar, or an array of the labels' rank, each dimension 1 or that of the labels; None for 1.
        metrics_collections: The collections that the value is added to.
        updates_collections: The collections that the operation is added to.
        name: The metric's name; by default `false_negatives`.

    Returns:
        The value, a scalar, and the operation that adds this batch.

    Raises:
        BadArgumentError: If shapes don't fit.
        ModelScopeError: If it is called outside of a `model_fn`.
    """
    predicted, truth, factors = _answers(labels, predictions, weights)
    sums = {"count": _count(truth & ~predicted, factors)}
    return make_metric(name or "false_negatives", sums, only, metrics_collections, updates_collections)


def true_negatives(
    labels: TensorLike,
    predictions: TensorLike,
    weights: TensorLike | None = None,
    metrics_collections: Collections = None,
    updates_collections: Collections = None,
    name: str | None = None,
) -> Pair:
    """Return the sum of the weights of true negatives, as `tf.compat.v1.metrics.true_negatives`.

    Args:
        labels: The truth; what is not 0 is positive.
        predictions: Of the labels' shape; what is not 0 is positive.
        weights: A scalar, or an array of the labels' rank, each dimension 1 or that of the labels; None for 1.
        metrics_collections: The collections that the value is added to.
        updates_collections: The collections that the operation is added to.
        name: The metric's name; by default `true_negatives`.

    Returns:
        The value, a scalar, and the operation that adds this batch.

    Raises:
        BadArgumentError: If shapes don't fit.
        ModelScopeError: If it is called outside of a `model_fn`.
    """
    predicted, truth, factors = _answers(labels, predictions, weights)
    sums = {"count": _count(~truth & ~predicted, factors)}
    return make_metric(name or "true_negatives", sums, only, metrics_collections, updates_collections)


def precision(
    labels: TensorLike,
    predictions: TensorLike,
    weights: TensorLike | None = None,
    metrics_collections: Collections = None,
    updates_collections: Collections = None,
    name: str | None = None,
) -> Pair:
    """Return which part of what is predicted is true, as `tf.compat.v1.metrics.precision`.

    Args:
        labels: The truth; what is not 0 is positive.
        predictions: Of the labels' shape; what is not 0 is positive.
        weights: A scalar, or an array of the labels' rank, each dimension 1 or that of the labels; None for 1.
        metrics_collections: The collections that the value is added to.
        updates_collections: The collections that the operation is added to.
        name: The metric's name; by default `precision`.

    Returns:
        The value, a scalar; 0 where there is nothing, and the operation that adds this batch.

    Raises:
        BadArgumentError: If shapes don't fit.
        ModelScopeError: If it is called outside of a `model_fn`.
    """
    predicted, truth, factors = _answers(labels, predictions, weights)
    sums = {
        "true_positives/count": _count(truth & predicted, factors),
        "false_positives/count": _count(~truth & predicted, factors),
    }
    return make_metric(name or "precision", sums, _part_of_all, metrics_collections, updates_collections)


def recall(
    labels: TensorLike,
    predictions: TensorLike,
    weights: TensorLike | None = None,
    metrics_collections: Collections = None,
    updates_collections: Collections = None,
    name: str | None = None,
) -> Pair:
    """Return which part of what is true is predicted, as `tf.compat.v1.metrics.recall`.

    Args:
        labels: The truth; what is not 0 is positive.
        predictions: Of the labels' shape; what is not 0 is positive.
        weights: A scalar, or an array of the labels' rank, each dimension 1 or that of the labels; None for 1.
        metrics_collections: The collections that the value is added to.
        updates_collections: The collections that the operation is added to.
        name: The metric's name; by default `recall`.

    Returns:
        The value, a scalar; 0 where there is nothing, and the operation that adds this batch.

    Raises:
        BadArgumentError: If shapes don't fit.
        ModelScopeError: If it is called outside of a `model_fn`.
    """
    predicted, truth, factors = _answers(labels, predictions, weights)
    sums = {
        "true_positives/count": _count(truth & predicted, factors),
        "false_negatives/count": _count(truth & ~predicted, factors),
    }
    return make_metric(name or "recall", sums, _part_of_all, metrics_collections, updates_collections)


def _answers(labels: TensorLike, predictions: TensorLike, weights: TensorLike | None) -> tuple[Any, Any, Any]:
    return aligned(on_device(predictions).astype(bool), on_device(labels).astype(bool), weights)


def _count(is_counted: Any, weights: Any) -> Any:
    counted = is_counted.astype(jnp.float32)
    if weights is None:
        return jnp.sum(counted)
    check_broadcastable(weights, counted)
    return jnp.sum(counted * weights.astype(jnp.float32))


def _part_of_all(sums: Sums) -> Any:
    hits, others = sums.values()
    return jnp.where(hits + others > 0, hits / jnp.where(hits + others > 0, hits + others, 1), 0)
