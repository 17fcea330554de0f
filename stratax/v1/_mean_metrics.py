"""Metrics that are means: of errors, of right answers, of classes (v1 layer)."""

import functools
from typing import Any

import jax.numpy as jnp

from stratax._typing import TensorLike
from stratax.distribute.replicas import get_replica_context
from stratax.ops.creation import on_device
from stratax.v1._metric import Collections, Pair, Sums, make_metric, mean_of, ratio
from stratax.v1._weights import aligned, broadcast, check_same_shape, squeezed


def mean(
    values: TensorLike,
    weights: TensorLike | None = None,
    metrics_collections: Collections = None,
    updates_collections: Collections = None,
    name: str | None = None,
) -> Pair:
    """Return the weighted mean of values, as `tf.compat.v1.metrics.mean`.

    Args:
        values: An array.
        weights: A scalar, or an array of the values' rank, each dimension 1 or that of the values; None for 1.
        metrics_collections: The collections that the value is added to.
        updates_collections: The collections that the operation is added to.
        name: The metric's name; by default `mean`.

    Returns:
        The value, a scalar, and the operation that adds this batch.

    Raises:
        BadArgumentError: If shapes don't fit.
        ModelScopeError: If it is called outside of a `model_fn`.
    """
    replica = get_replica_context()
    if (
        weights is None
        and replica is not None
        and replica.stands_for > 1
        and not jnp.shape(on_device(values))
    ):
        # One number for a whole step, such as its loss: in the other steps every replica counts one.
        weights = replica.stands_for
    sums = _sums_of_mean(values, weights)
    return make_metric(name or "mean", sums, mean_of, metrics_collections, updates_collections)


def mean_tensor(
    values: TensorLike,
    weights: TensorLike | None = None,
    metrics_collections: Collections = None,
    updates_collections: Collections = None,
    name: str | None = None,
) -> Pair:
    """Return the weighted mean of each element, as `tf.compat.v1.metrics.mean_tensor`.

    Args:
        values: An array, of the same shape in every batch.
        weights: A scalar, or an array of the values' rank, each dimension 1 or that of the values; None for 1.
        metrics_collections: The collections that the value is added to.
        updates_collections: The collections that the operation is added to.
        name: The metric's name; by default `mean`.

    Returns:
        The value, of the values' shape, and the operation that adds this batch.

    Raises:
        BadArgumentError: If shapes don't fit.
        ModelScopeError: If it is called outside of a `model_fn`.
    """
    values, _, factors = aligned(values, None, weights)
    values = values.astype(jnp.float32)
    counted = jnp.ones_like(values) if factors is None else broadcast(factors, values)
    sums = {"total_tensor": values * counted, "count_tensor": counted}
    compute = functools.partial(mean_of, total="total_tensor", count="count_tensor")
    return make_metric(name or "mean", sums, compute, metrics_collections, updates_collections)


def accuracy(
    labels: TensorLike,
    predictions: TensorLike,
    weights: TensorLike | None = None,
    metrics_collections: Collections = None,
    updates_collections: Collections = None,
    name: str | None = None,
) -> Pair:
    """Return how often predictions are the labels, as `tf.compat.v1.metrics.accuracy`.

    Args:
        labels: The truth.
        predictions: Of the labels' shape.
        weights: A scalar, or an array of the labels' rank, each dimension 1 or that of the labels; None for 1.
        metrics_collections: The collections that the value is added to.
        updates_collections: The collections that the operation is added to.
        name: The metric's name; by default `accuracy`.

    Returns:
        The value, a scalar, and the operation that adds this batch.

    Raises:
        BadArgumentError: If shapes don't fit.
        ModelScopeError: If it is called outside of a `model_fn`.
    """
    predictions, labels, weights = aligned(predictions, labels, weights)
    is_correct = predictions.astype(labels.dtype) == labels
    return mean(is_correct, weights, metrics_collections, updates_collections, name or "accuracy")


def mean_absolute_error(
    labels: TensorLike,
    predictions: TensorLike,
    weights: TensorLike | None = None,
    metrics_collections: Collections = None,
    updates_collections: Collections = None,
    name: str | None = None,
) -> Pair:
    """Return the mean absolute error, as `tf.compat.v1.metrics.mean_absolute_error`.

    Args:
        labels: The truth.
        predictions: Of the labels' shape.
        weights: A scalar, or an array of the labels' rank, each dimension 1 or that of the labels; None for 1.
        metrics_collections: The collections that the value is added to.
        updates_collections: The collections that the operation is added to.
        name: The metric's name; by default `mean_absolute_error`.

    Returns:
        The value, a scalar, and the operation that adds this batch.

    Raises:
        BadArgumentError: If shapes don't fit.
        ModelScopeError: If it is called outside of a `model_fn`.
    """
    predictions, labels, weights = aligned(predictions, labels, weights)
    return mean(
        jnp.abs(predictions - labels),
        weights,
        metrics_collections,
        updates_collections,
        name or "mean_absolute_error",
    )


def mean_squared_error(
    labels: TensorLike,
    predictions: TensorLike,
    weights: TensorLike | None = None,
    metrics_collections: Collections = None,
    updates_collections: Collections = None,
    name: str | None = None,
) -> Pair:
    """Return the mean squared error, as `tf.compat.v1.metrics.mean_squared_error`.

    Args:
        labels: The truth.
        predictions: Of the labels' shape.
        weights: A scalar, or an array of the labels' rank, each dimension 1 or that of the labels; None for 1.
        metrics_collections: The collections that the value is added to.
        updates_collections: The collections that the operation is added to.
        name: The metric's name; by default `mean_squared_error`.

    Returns:
        The value, a scalar, and the operation that adds this batch.

    Raises:
        BadArgumentError: If shapes don't fit.
        ModelScopeError: If it is called outside of a `model_fn`.
    """
    predictions, labels, weights = aligned(predictions, labels, weights)
    errors = jnp.square(predictions - labels)
    return mean(errors, weights, metrics_collections, updates_collections, name or "mean_squared_error")


def root_mean_squared_error(
    labels: TensorLike,
    predictions: TensorLike,
    weights: TensorLike | None = None,
    metrics_collections: Collections = None,
    updates_collections: Collections = None,
    name: str | None = None,
) -> Pair:
    """Return the root of the mean squared error, as TensorFlow's metric of that name.

    Args:
        labels: The truth.
        predictions: Of the labels' shape.
        weights: A scalar, or an array of the labels' rank, each dimension 1 or that of the labels; None for 1.
        metrics_collections: The collections that the value is added to.
        updates_collections: The collections that the operation is added to.
        name: The metric's name; by default `root_mean_squared_error`.

    Returns:
        The value, a scalar, and the operation that adds this batch.

    Raises:
        BadArgumentError: If shapes don't fit.
        ModelScopeError: If it is called outside of a `model_fn`.
    """
    predictions, labels, weights = aligned(predictions, labels, weights)
    sums = _sums_of_mean(jnp.square(predictions - labels), weights)
    path = name or "root_mean_squared_error"
    return make_metric(
        path, sums, lambda given: jnp.sqrt(mean_of(given)), metrics_collections, updates_collections
    )


def mean_relative_error(
    labels: TensorLike,
    predictions: TensorLike,
    normalizer: TensorLike,
    weights: TensorLike | None = None,
    metrics_collections: Collections = None,
    updates_collections: Collections = None,
    name: str | None = None,
) -> Pair:
    """Return the mean of errors divided by something, as TensorFlow's metric of that name.

    Args:
        labels: The truth.
        predictions: Of the labels' shape.
        normalizer: What errors are divided by, of the labels' shape; where it is 0, the error counts 0.
        weights: A scalar, or an array of the labels' rank, each dimension 1 or that of the labels; None for 1.
        metrics_collections: The collections that the value is added to.
        updates_collections: The collections that the operation is added to.
        name: The metric's name; by default `mean_relative_error`.

    Returns:
        The value, a scalar, and the operation that adds this batch.

    Raises:
        BadArgumentError: If shapes don't fit.
        ModelScopeError: If it is called outside of a `model_fn`.
    """
    predictions, labels, weights = aligned(predictions, labels, weights)
    predictions, divisor = squeezed(predictions, normalizer)
    check_same_shape(predictions, divisor)
    errors = jnp.abs(labels - predictions) / jnp.where(divisor == 0, 1, divisor)
    errors = jnp.where(divisor == 0, 0, errors)
    return mean(errors, weights, metrics_collections, updates_collections, name or "mean_relative_error")


def mean_cosine_distance(
    labels: TensorLike,
    predictions: TensorLike,
    dim: int,
    weights: TensorLike | None = None,
    metrics_collections: Collections = None,
    updates_collections: Collections = None,
    name: str | None = None,
) -> Pair:
    """Return 1 less the mean cosine of unit vectors, as TensorFlow's metric of that name.

    Args:
        labels: The truth, normalized.
        predictions: Of the labels' shape, normalized.
        dim: The dimension of the vectors.
        weights: A scalar, or an array of the labels' rank, of size 1 in `dim`; None for 1.
        metrics_collections: The collections that the value is added to.
        updates_collections: The collections that the operation is added to.
        name: The metric's name; by default `mean_cosine_distance`.

    Returns:
        The value, a scalar, and the operation that adds this batch.

    Raises:
        BadArgumentError: If shapes don't fit.
        ModelScopeError: If it is called outside of a `model_fn`.
    """
    predictions, labels, weights = aligned(predictions, labels, weights)
    sums = _sums_of_mean(jnp.sum(predictions * labels, dim, keepdims=True), weights)
    return make_metric(
        name or "mean_cosine_distance",
        sums,
        lambda given: 1 - mean_of(given),
        metrics_collections,
        updates_collections,
    )


def percentage_below(
    values: TensorLike,
    threshold: TensorLike,
    weights: TensorLike | None = None,
    metrics_collections: Collections = None,
    updates_collections: Collections = None,
    name: str | None = None,
) -> Pair:
    """Return which part of values is below a threshold, as `tf.compat.v1.metrics.percentage_below`.

    Args:
        values: An array.
        threshold: The threshold.
        weights: A scalar, or an array of the values' rank, each dimension 1 or that of the values; None for 1.
        metrics_collections: The collections that the value is added to.
        updates_collections: The collections that the operation is added to.
        name: The metric's name; by default `percentage_below_threshold`.

    Returns:
        The value, a scalar, and the operation that adds this batch.

    Raises:
        BadArgumentError: If shapes don't fit.
        ModelScopeError: If it is called outside of a `model_fn`.
    """
    is_below = on_device(values) < threshold
    return mean(
        is_below, weights, metrics_collections, updates_collections, name or "percentage_below_threshold"
    )


def mean_iou(
    labels: TensorLike,
    predictions: TensorLike,
    num_classes: int,
    weights: TensorLike | None = None,
    metrics_collections: Collections = None,
    updates_collections: Collections = None,
    name: str | None = None,
) -> Pair:
    """Return the classes' mean intersection over union, as `tf.compat.v1.metrics.mean_iou`.

    Args:
        labels: Class indices.
        predictions: Class indices, of the labels' shape.
        num_classes: How many classes there are; other indices count nowhere.
        weights: A scalar, or as many as there are labels; None for 1.
        metrics_collections: The collections that the value is added to.
        updates_collections: The collections that the operation is added to.
        name: The metric's name; by default `mean_iou`.

    Returns:
        The value, a scalar: the mean over the classes that there are, and the operation that adds this batch.

    Raises:
        BadArgumentError: If shapes don't fit.
        ModelScopeError: If it is called outside of a `model_fn`.
    """
    labels, predictions = on_device(labels), on_device(predictions)
    check_same_shape(predictions, labels)
    rows, columns = labels.astype(jnp.int32).ravel(), predictions.astype(jnp.int32).ravel()
    factors = _flat_weights(weights, rows)
    is_known = (rows >= 0) & (columns >= 0)
    counts = jnp.zeros((num_classes, num_classes))
    counts = counts.at[rows, columns].add(jnp.where(is_known, factors, 0), mode="drop")
    sums = {"total_confusion_matrix": counts}
    return make_metric(
        name or "mean_iou",
        sums,
        _mean_iou,
        metrics_collections,
        updates_collections,
        lambda given: given["total_confusion_matrix"],
    )


def mean_per_class_accuracy(
    labels: TensorLike,
    predictions: TensorLike,
    num_classes: int,
    weights: TensorLike | None = None,
    metrics_collections: Collections = None,
    updates_collections: Collections = None,
    name: str | None = None,
) -> Pair:
    """Return the mean of the classes' accuracies, as TensorFlow's metric of that name.

    Args:
        labels: Class indices.
        predictions: Class indices, of the labels' shape.
        num_classes: How many classes there are; those without examples have an accuracy of 0.
        weights: A scalar, or as many as there are labels; None for 1.
        metrics_collections: The collections that the value is added to.
        updates_collections: The collections that the operation is added to.
        name: The metric's name; by default `mean_accuracy`.

    Returns:
        The value, a scalar, and the operation that adds this batch.

    Raises:
        BadArgumentError: If shapes don't fit.
        ModelScopeError: If it is called outside of a `model_fn`.
    """
    labels, predictions = on_device(labels).astype(jnp.int32).ravel(), on_device(predictions).ravel()
    check_same_shape(predictions, labels)
    factors = _flat_weights(weights, labels)
    factors = jnp.where(labels >= 0, factors, 0)
    is_correct = (predictions.astype(labels.dtype) == labels) * factors
    zeros = jnp.zeros((num_classes,))
    sums = {
        "total": zeros.at[labels].add(factors, mode="drop"),
        "count": zeros.at[labels].add(is_correct, mode="drop"),
    }
    return make_metric(
        name or "mean_accuracy",
        sums,
        lambda given: jnp.mean(_by_class(given)),
        metrics_collections,
        updates_collections,
        _by_class,
    )


def _sums_of_mean(values: Any, weights: Any) -> Sums:
    values, _, factors = aligned(values, None, weights)
    values = values.astype(jnp.float32)
    if factors is None:
        return {"total": jnp.sum(values), "count": jnp.asarray(values.size, jnp.float32)}
    factors = broadcast(factors, values)
    return {"total": jnp.sum(values * factors), "count": jnp.sum(factors)}


def _flat_weights(weights: TensorLike | None, values: Any) -> Any:
    factors = jnp.ones(()) if weights is None else on_device(weights).astype(jnp.float32)
    return broadcast(factors.ravel() if factors.ndim else factors, values)


def _mean_iou(sums: Sums) -> Any:
    counts = sums["total_confusion_matrix"]
    hits = jnp.diagonal(counts)
    unions = jnp.sum(counts, 0) + jnp.sum(counts, 1) - hits
    num_classes = jnp.sum((unions != 0).astype(jnp.float32))
    return ratio(jnp.sum(hits / jnp.where(unions > 0, unions, 1)), num_classes)


def _by_class(sums: Sums) -> Any:
    return ratio(sums["count"], jnp.maximum(sums["total"], 0))
