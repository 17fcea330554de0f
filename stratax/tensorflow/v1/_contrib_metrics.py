"""`tf.contrib.metrics`: those of `tf.compat.v1.metrics` as they were called before, and some others (v1 layer)."""

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax.numpy as jnp

from stratax import errors
from stratax.base.shown import shown
from stratax.base.typing import TensorLike
from stratax.tensorflow.ops.calls.creation import on_device
from stratax.tensorflow.ops.calls.described import make_function
from stratax.tensorflow.ops.nn.nn import in_top_k
from stratax.tensorflow.v1 import _answer_metrics, _mean_metrics, _threshold_metrics, _top_k_metrics
from stratax.tensorflow.v1._metric import Collections, Measure, Pair, Sums, metric, only, ratio
from stratax.tensorflow.v1._weights import align, broadcast

# TensorFlow's `kepsilon`: the outermost thresholds lie that far beyond 0 and 1.
_EPSILON = 1e-7


def _streaming(made: Callable[..., Pair], name: str | None = None, renamed: str = "predictions") -> Any:
    """Return a metric of `tf.compat.v1.metrics` whose predictions come first, under its older name.

    Args:
        made: The metric.
        name: The older name, where it is not `made`'s behind "streaming_".
        renamed: What the argument is called that comes first.
    """
    called = name or f"streaming_{made.__name__}"
    signature = inspect.signature(made)
    # `tf.contrib.metrics` has predictions first, `tf.compat.v1.metrics` labels.
    given = signature.parameters.get("predictions") or signature.parameters.get("predictions_idx")
    others = [each for each in signature.parameters.values() if each is not given]
    first = [] if given is None else [given.replace(name=renamed)]
    doc = (made.__doc__ or "").replace(
        f"`tf.compat.v1.metrics.{made.__name__}`", f"`tf.contrib.metrics.{called}`"
    )

    def call(arguments: dict[str, Any]) -> Pair:
        if given is not None:
            arguments[given.name] = arguments.pop(renamed)
        return made(**arguments)

    return make_function(called, __name__, [*first, *others], Pair, doc, call)


streaming_mean = _streaming(_mean_metrics.mean)
streaming_mean_tensor = _streaming(_mean_metrics.mean_tensor)
streaming_percentage_less = _streaming(_mean_metrics.percentage_below, "streaming_percentage_less")
streaming_accuracy = _streaming(_mean_metrics.accuracy)
streaming_mean_absolute_error = _streaming(_mean_metrics.mean_absolute_error)
streaming_mean_relative_error = _streaming(_mean_metrics.mean_relative_error)
streaming_mean_squared_error = _streaming(_mean_metrics.mean_squared_error)
streaming_root_mean_squared_error = _streaming(_mean_metrics.root_mean_squared_error)
streaming_mean_cosine_distance = _streaming(_mean_metrics.mean_cosine_distance)
streaming_mean_iou = _streaming(_mean_metrics.mean_iou)
streaming_precision = _streaming(_answer_metrics.precision)
streaming_recall = _streaming(_answer_metrics.recall)
streaming_true_positives = _streaming(_answer_metrics.true_positives)
streaming_true_negatives = _streaming(_answer_metrics.true_negatives)
streaming_false_positives = _streaming(_answer_metrics.false_positives)
streaming_false_negatives = _streaming(_answer_metrics.false_negatives)
streaming_auc = _streaming(_threshold_metrics.auc)
streaming_specificity_at_sensitivity = _streaming(_threshold_metrics.specificity_at_sensitivity)
streaming_sensitivity_at_specificity = _streaming(_threshold_metrics.sensitivity_at_specificity)
streaming_precision_at_thresholds = _streaming(_threshold_metrics.precision_at_thresholds)
streaming_recall_at_thresholds = _streaming(_threshold_metrics.recall_at_thresholds)
streaming_true_positives_at_thresholds = _streaming(_threshold_metrics.true_positives_at_thresholds)
streaming_true_negatives_at_thresholds = _streaming(_threshold_metrics.true_negatives_at_thresholds)
streaming_false_positives_at_thresholds = _streaming(_threshold_metrics.false_positives_at_thresholds)
streaming_false_negatives_at_thresholds = _streaming(_threshold_metrics.false_negatives_at_thresholds)
streaming_sparse_recall_at_k = _streaming(_top_k_metrics.recall_at_k, "streaming_sparse_recall_at_k")
streaming_sparse_precision_at_k = _streaming(_top_k_metrics.precision_at_k, "streaming_sparse_precision_at_k")
streaming_sparse_average_precision_at_k = _streaming(
    _top_k_metrics.average_precision_at_k, "streaming_sparse_average_precision_at_k"
)
streaming_sparse_precision_at_top_k = _streaming(
    _top_k_metrics.precision_at_top_k, "streaming_sparse_precision_at_top_k", "top_k_predictions"
)


def streaming_recall_at_k(
    predictions: TensorLike,
    labels: TensorLike,
    k: int,
    weights: TensorLike | None = None,
    metrics_collections: Collections = None,
    updates_collections: Collections = None,
    name: str | None = None,
) -> Pair:
    """Return how often the label is among the largest predictions, as `tf.contrib.metrics.streaming_recall_at_k`.

    Args:
        predictions: Shape `[batch_size, num_classes]`.
        labels: Class indices, shape `[batch_size]`.
        k: How many predictions count.
        weights: A scalar, or as many as there are labels; None for 1.
        metrics_collections: The collections that the value is added to.
        updates_collections: The collections that the operation is added to.
        name: The metric's name; by default `recall_at_` and the number.
    """
    hits = on_device(in_top_k(labels, predictions, k)).astype(jnp.float32)
    # TensorFlow's default name has the number in it.
    return _mean_metrics.mean(
        hits, weights, metrics_collections, updates_collections, name or f"recall_at_{k}"
    )


def accuracy(
    predictions: TensorLike, labels: TensorLike, weights: TensorLike | None = None, name: str | None = None
) -> Any:
    """Return which part of a batch's predictions is right, as `tf.contrib.metrics.accuracy`.

    Args:
        predictions: Whole numbers, booleans or text.
        labels: Of the same shape and dtype.
        weights: As many numbers, or one; None for 1.
        name: Ignored.

    Raises:
        BadArgumentError: If dtypes differ.
    """
    if on_device(labels).dtype != on_device(predictions).dtype:
        raise errors.BadArgumentError(
            f"Dtypes of predictions and labels should match. Given: predictions ({on_device(predictions).dtype}) and "
            f"labels ({on_device(labels).dtype})"
        )
    is_right = (on_device(predictions) == on_device(labels)).astype(jnp.float32)
    if weights is None:
        return jnp.mean(is_right)
    factors = on_device(weights).astype(jnp.float32)
    right = is_right * factors
    # A weight counts as often as it is broadcast.
    return jnp.sum(right) / jnp.sum(jnp.broadcast_to(factors, right.shape))


@metric(
    {
        "values": "An array, whose size counts.",
        "weights": "A scalar, or an array of the values' rank, each dimension 1 or that of the values; None for 1.",
    }
)
def count(values: TensorLike, weights: TensorLike | None = None) -> Measure:
    """Return the sum of weights, as `tf.contrib.metrics.count`."""
    values, _, factors = align(values, None, weights)
    if factors is None:
        return Measure({"count": jnp.float32(values.size)}, only)
    return Measure({"count": jnp.sum(broadcast(factors, values))}, only)


@metric(
    {
        "labels": "The truth; what is not 0 is positive.",
        "predictions": "Of the labels' shape, from 0 to 1.",
        "num_thresholds": "How many thresholds there are, from 0 to 1.",
    },
    default="f1",
)
def f1_score(
    labels: TensorLike, predictions: TensorLike, weights: TensorLike | None = None, num_thresholds: int = 200
) -> Measure:
    """Return the best F1 score at any threshold, as `tf.contrib.metrics.f1_score`."""
    inner = _threshold_metrics.inner_thresholds(num_thresholds)
    thresholds = [-_EPSILON, *inner, 1 + _EPSILON]
    kinds = ("true_positives", "false_positives", "false_negatives")
    return Measure(
        _threshold_metrics.at_thresholds(labels, predictions, thresholds, weights, kinds), _best_f1
    )


def _best_f1(sums: Sums) -> Any:
    # In the order of `kinds`.
    tp, fp, fn = sums.values()
    precision, recall = tp / (_EPSILON + tp + fp), tp / (_EPSILON + tp + fn)
    return jnp.max(2 * precision * recall / (precision + recall + _EPSILON))


@metric(
    {
        "labels": "Class indices.",
        "predictions_idx": "Class indices, of the labels' shape.",
        "num_classes": "How many classes there are, at least 2.",
        "weights": "As many as there are labels; None for 1.",
    },
    raises="If shapes don't fit, or there are too few classes.",
)
def cohen_kappa(
    labels: TensorLike, predictions_idx: TensorLike, num_classes: int, weights: TensorLike | None = None
) -> Measure:
    """Return how far labels and predictions agree beyond chance, as `tf.contrib.metrics.cohen_kappa`."""
    if num_classes < 2:
        raise errors.BadArgumentError(f"`num_classes` must be >= 2. Found: {shown(num_classes)}")
    predictions, truth, factors = align(predictions_idx, labels, weights)
    truth, predictions = truth.ravel(), predictions.ravel()
    counted = jnp.ones(truth.shape, jnp.float32) if factors is None else factors.astype(jnp.float32).ravel()
    # The whole confusion matrix is not needed: its diagonal, and how often classes are predicted and are there.
    nothing = jnp.zeros(num_classes, jnp.float32)
    sums = {
        "po": nothing.at[truth].add(jnp.where(truth == predictions, counted, 0)),
        "pe_row": nothing.at[predictions].add(counted),
        "pe_col": nothing.at[truth].add(counted),
    }
    return Measure(sums, _kappa)


def _kappa(sums: Sums) -> Any:
    total = jnp.sum(sums["pe_row"])
    by_chance = jnp.sum(ratio(sums["pe_row"] * sums["pe_col"], total))
    return ratio(jnp.sum(sums["po"]) - by_chance, total - by_chance)


_PAIRED = {"predictions": "Numbers.", "labels": "As many."}


@metric(_PAIRED, name="streaming_covariance", default="covariance")
def streaming_covariance(
    predictions: TensorLike, labels: TensorLike, weights: TensorLike | None = None
) -> Measure:
    """Return the covariance of a sample, as `tf.contrib.metrics.streaming_covariance`."""
    return Measure(_moments(predictions, labels, weights), functools.partial(_covariance, of=("x", "y")))


@metric(_PAIRED, name="streaming_pearson_correlation", default="pearson_r")
def streaming_pearson_correlation(
    predictions: TensorLike, labels: TensorLike, weights: TensorLike | None = None
) -> Measure:
    """Return Pearson's correlation, as `tf.contrib.metrics.streaming_pearson_correlation`."""
    return Measure(_moments(predictions, labels, weights), _correlation)


def _moments(predictions: TensorLike, labels: TensorLike, weights: TensorLike | None) -> Sums:
    x, y, factors = align(predictions, labels, weights)
    x, y = x.astype(jnp.float32), y.astype(jnp.float32)
    counted = jnp.ones_like(y) if factors is None else broadcast(factors, y)
    parts = {"count": counted, "x": x, "y": y, "xx": x * x, "xy": x * y, "yy": y * y}
    return {key: jnp.sum(part if key == "count" else part * counted) for key, part in parts.items()}


def _covariance(sums: Sums, of: Sequence[str]) -> Any:
    first, second = of
    number = sums["count"]
    # TensorFlow corrects a co-moment batch by batch; sums can be added up over batches and replicas alike.
    moment = sums[first + second] - sums[first] * sums[second] / jnp.maximum(number, 1)
    return jnp.where(number <= 1, jnp.nan, moment / jnp.where(number <= 1, 1, number - 1))


def _correlation(sums: Sums) -> Any:
    deviations = jnp.sqrt(_covariance(sums, "xx")) * jnp.sqrt(_covariance(sums, "yy"))
    return _covariance(sums, "xy") / deviations


def aggregate_metrics(*value_update_tuples: Pair) -> tuple[list[Any], list[Any]]:
    """Return metrics' values and their operations, as `tf.contrib.metrics.aggregate_metrics`.

    Args:
        *value_update_tuples: What functions of metrics have returned.

    Raises:
        BadArgumentError: If there are none.
    """
    if not value_update_tuples:
        raise errors.BadArgumentError("Expected at least one value_tensor/update_op pair")
    values, updates = zip(*value_update_tuples, strict=True)
    return list(values), list(updates)


def aggregate_metric_map(names_to_tuples: Mapping[str, Pair]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return metrics' values and their operations by name, as `tf.contrib.metrics.aggregate_metric_map`.

    Args:
        names_to_tuples: What functions of metrics have returned, by name.
    """
    values = {name: value for name, (value, _) in names_to_tuples.items()}
    return values, {name: update for name, (_, update) in names_to_tuples.items()}
