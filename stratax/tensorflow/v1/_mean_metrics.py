"""Metrics that are means: of errors, of right answers, of classes (v1 layer)."""

import functools
from typing import Any

import jax.numpy as jnp

from stratax.base.typing import TensorLike
from stratax.distribute.replicas import get_replica_context
from stratax.tensorflow.ops.calls.creation import on_device
from stratax.tensorflow.v1._metric import Measure, Sums, mean_of, metric, ratio
from stratax.tensorflow.v1._weights import align, broadcast, check_same_shape, squeeze

_VALUES = {
    "values": "An array.",
    "weights": "A scalar, or an array of the values' rank, each dimension 1 or that of the values; None for 1.",
}
_CLASSES = {
    "labels": "Class indices.",
    "predictions": "Class indices, of the labels' shape.",
    "weights": "A scalar, or as many as there are labels; None for 1.",
}


@metric(_VALUES)
def mean(values: TensorLike, weights: TensorLike | None = None) -> Measure:
    """Return the weighted mean of values, as `tf.compat.v1.metrics.mean`."""
    return _mean(values, weights)


@metric(
    {**_VALUES, "values": "An array, of the same shape in every batch."},
    returns="of the values' shape,",
    default="mean",
)
def mean_tensor(values: TensorLike, weights: TensorLike | None = None) -> Measure:
    """Return the weighted mean of each element, as `tf.compat.v1.metrics.mean_tensor`."""
    values, _, factors = align(values, None, weights)
    values = values.astype(jnp.float32)
    counted = jnp.ones_like(values) if factors is None else broadcast(factors, values)
    sums = {"total_tensor": values * counted, "count_tensor": counted}
    return Measure(sums, functools.partial(mean_of, total="total_tensor", count="count_tensor"))


@metric()
def accuracy(labels: TensorLike, predictions: TensorLike, weights: TensorLike | None = None) -> Measure:
    """Return how often predictions are the labels, as `tf.compat.v1.metrics.accuracy`."""
    predictions, labels, weights = align(predictions, labels, weights)
    # TensorFlow, too, converts predictions to the labels' dtype.
    return _mean(predictions.astype(labels.dtype) == labels, weights)


@metric()
def mean_absolute_error(
    labels: TensorLike, predictions: TensorLike, weights: TensorLike | None = None
) -> Measure:
    """Return the mean absolute error, as `tf.compat.v1.metrics.mean_absolute_error`."""
    predictions, labels, weights = align(predictions, labels, weights)
    return _mean(jnp.abs(predictions - labels), weights)


@metric()
def mean_squared_error(
    labels: TensorLike, predictions: TensorLike, weights: TensorLike | None = None
) -> Measure:
    """Return the mean squared error, as `tf.compat.v1.metrics.mean_squared_error`."""
    predictions, labels, weights = align(predictions, labels, weights)
    return _mean(jnp.square(predictions - labels), weights)


@metric()
def root_mean_squared_error(
    labels: TensorLike, predictions: TensorLike, weights: TensorLike | None = None
) -> Measure:
    """Return the root of the mean squared error, as TensorFlow's metric of that name."""
    predictions, labels, weights = align(predictions, labels, weights)
    sums = _sums_of_mean(jnp.square(predictions - labels), weights)
    return Measure(sums, lambda given: jnp.sqrt(mean_of(given)))


@metric(
    {"normalizer": "What errors are divided by, of the labels' shape; where it is 0, the error counts 0."}
)
def mean_relative_error(
    labels: TensorLike, predictions: TensorLike, normalizer: TensorLike, weights: TensorLike | None = None
) -> Measure:
    """Return the mean of errors divided by something, as TensorFlow's metric of that name."""
    predictions, labels, weights = align(predictions, labels, weights)
    # The normalizer, too, may have a dimension of size 1 too many.
    predictions, divisor = squeeze(predictions, normalizer)
    check_same_shape(predictions, divisor)
    errors = jnp.abs(labels - predictions) / jnp.where(divisor == 0, 1, divisor)
    return _mean(jnp.where(divisor == 0, 0, errors), weights)


@metric(
    {
        "labels": "The truth, normalized.",
        "predictions": "Of the labels' shape, normalized.",
        "dim": "The dimension of the vectors.",
        "weights": "A scalar, or an array of the labels' rank, of size 1 in `dim`; None for 1.",
    }
)
def mean_cosine_distance(
    labels: TensorLike, predictions: TensorLike, dim: int, weights: TensorLike | None = None
) -> Measure:
    """Return 1 less the mean cosine of unit vectors, as TensorFlow's metric of that name."""
    predictions, labels, weights = align(predictions, labels, weights)
    sums = _sums_of_mean(jnp.sum(predictions * labels, dim, keepdims=True), weights)
    return Measure(sums, lambda given: 1 - mean_of(given))


@metric({**_VALUES, "threshold": "The threshold."}, default="percentage_below_threshold")
def percentage_below(values: TensorLike, threshold: TensorLike, weights: TensorLike | None = None) -> Measure:
    """Return which part of values is below a threshold, as `tf.compat.v1.metrics.percentage_below`."""
    return _mean(on_device(values) < threshold, weights)


@metric(
    {**_CLASSES, "num_classes": "How many classes there are; other indices count nowhere."},
    returns="a scalar: the mean over the classes that there are,",
)
def mean_iou(
    labels: TensorLike, predictions: TensorLike, num_classes: int, weights: TensorLike | None = None
) -> Measure:
    """Return the classes' mean intersection over union, as `tf.compat.v1.metrics.mean_iou`."""
    counts = _confusion(labels, predictions, num_classes, weights)
    # TensorFlow's operation is worth the matrix, and not the mean.
    return Measure(
        {"total_confusion_matrix": counts}, _mean_iou, lambda given: given["total_confusion_matrix"]
    )


@metric({**_CLASSES, "num_classes": "How many classes there are."}, default="confusion_matrix")
def streaming_confusion_matrix(
    labels: TensorLike, predictions: TensorLike, num_classes: int, weights: TensorLike | None = None
) -> Measure:
    """Return how often each class (the row) was taken for each (the column), of `metrics_impl`."""
    counts = _confusion(labels, predictions, num_classes, weights)
    return Measure({"total_confusion_matrix": counts}, lambda given: given["total_confusion_matrix"])


def _confusion(
    labels: TensorLike, predictions: TensorLike, num_classes: int, weights: TensorLike | None
) -> Any:
    labels, predictions = on_device(labels), on_device(predictions)
    check_same_shape(predictions, labels)
    rows, columns = labels.astype(jnp.int32).ravel(), predictions.astype(jnp.int32).ravel()
    factors = _flat_weights(weights, rows)
    # What is beyond the last class is dropped; a negative index would count from the end.
    is_known = (rows >= 0) & (columns >= 0)
    counts = jnp.zeros((num_classes, num_classes))
    return counts.at[rows, columns].add(jnp.where(is_known, factors, 0), mode="drop")


@metric(
    {**_CLASSES, "num_classes": "How many classes there are; those without examples have an accuracy of 0."},
    default="mean_accuracy",
)
def mean_per_class_accuracy(
    labels: TensorLike, predictions: TensorLike, num_classes: int, weights: TensorLike | None = None
) -> Measure:
    """Return the mean of the classes' accuracies, as TensorFlow's metric of that name."""
    labels, predictions = on_device(labels).astype(jnp.int32).ravel(), on_device(predictions).ravel()
    check_same_shape(predictions, labels)
    factors = _flat_weights(weights, labels)
    factors = jnp.where(labels >= 0, factors, 0)
    is_correct = (predictions.astype(labels.dtype) == labels) * factors
    zeros = jnp.zeros((num_classes,))
    # TensorFlow's names: `total` has the examples of each class, `count` those that are right.
    sums = {
        "total": zeros.at[labels].add(factors, mode="drop"),
        "count": zeros.at[labels].add(is_correct, mode="drop"),
    }
    return Measure(sums, lambda given: jnp.mean(_by_class(given)), _by_class)


def _mean(values: TensorLike, weights: TensorLike) -> Measure:
    replica = get_replica_context()
    if (
        weights is None
        and replica is not None
        and replica.stands_for > 1
        and not jnp.shape(on_device(values))
    ):
        # One number for a whole step, such as its loss: in the other steps every replica counts one.
        weights = replica.stands_for
    return Measure(_sums_of_mean(values, weights), mean_of)


def _sums_of_mean(values: TensorLike, weights: TensorLike) -> Sums:
    values, _, factors = align(values, None, weights)
    values = values.astype(jnp.float32)
    if factors is None:
        return {"total": jnp.sum(values), "count": jnp.asarray(values.size, jnp.float32)}
    factors = broadcast(factors, values)
    return {"total": jnp.sum(values * factors), "count": jnp.sum(factors)}


def _flat_weights(weights: TensorLike | None, values: TensorLike) -> Any:
    factors = jnp.ones(()) if weights is None else on_device(weights).astype(jnp.float32)
    return broadcast(factors.ravel() if factors.ndim else factors, values)


def _mean_iou(sums: Sums) -> Any:
    counts = sums["total_confusion_matrix"]
    hits = jnp.diagonal(counts)
    unions = jnp.sum(counts, 0) + jnp.sum(counts, 1) - hits
    # Classes that neither are nor were predicted do not count.
    num_classes = jnp.sum((unions != 0).astype(jnp.float32))
    return ratio(jnp.sum(hits / jnp.where(unions > 0, unions, 1)), num_classes)


def _by_class(sums: Sums) -> Any:
    # As TensorFlow's: a class whose weights add up to less than 0 counts 0.
    return ratio(sums["count"], jnp.maximum(sums["total"], 0))
