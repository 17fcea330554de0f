"""Metrics of probabilities, at thresholds: right and wrong answers, curves and the areas below (v1 layer)."""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax.numpy as jnp

from stratax._shown import shown
from stratax._typing import TensorLike
from stratax.errors import BadArgumentError
from stratax.ops.creation import on_device
from stratax.v1._metric import Collections, Pair, Sums, make_metric, only, ratio
from stratax.v1._weights import aligned, broadcast

_KINDS = ("true_positives", "false_negatives", "true_negatives", "false_positives")

# By how much the outer thresholds are beyond 0 and 1, and what keeps quotients from being 0/0.
_EDGE = 1e-7

_AREA_EPSILON = 1e-6


def true_positives_at_thresholds(
    labels: TensorLike,
    predictions: TensorLike,
    thresholds: Sequence[float],
    weights: TensorLike | None = None,
    metrics_collections: Collections = None,
    updates_collections: Collections = None,
    name: str | None = None,
) -> Pair:
    """Return the sums of the weights of true positives, as TensorFlow's metric of that name.

    Args:
        labels: The truth; what is not 0 is positive.
        predictions: Of the labels' shape, from 0 to 1.
        thresholds: Above which predictions are positive.
        weights: A scalar, or an array of the labels' rank, each dimension 1 or that of the labels; None for 1.
        metrics_collections: The collections that the value is added to.
        updates_collections: The collections that the operation is added to.
        name: The metric's name; by default `true_positives`.

    Returns:
        The value, one for each threshold, and the operation that adds this batch.

    Raises:
        BadArgumentError: If shapes don't fit.
        ModelScopeError: If it is called outside of a `model_fn`.
    """
    sums = _at_thresholds(labels, predictions, thresholds, weights, ("true_positives",))
    return make_metric(name or "true_positives", sums, only, metrics_collections, updates_collections)


def false_positives_at_thresholds(
    labels: TensorLike,
    predictions: TensorLike,
    thresholds: Sequence[float],
    weights: TensorLike | None = None,
    metrics_collections: Collections = None,
    updates_collections: Collections = None,
    name: str | None = None,
) -> Pair:
    """Return the sums of the weights of false positives, as TensorFlow's metric of that name.

    Args:
        labels: The truth; what is not 0 is positive.
        predictions: Of the labels' shape, from 0 to 1.
        thresholds: Above which predictions are positive.
        weights: A scalar, or an array of the labels' rank, each dimension 1 or that of the labels; None for 1.
        metrics_collections: The collections that the value is added to.
        updates_collections: The collections that the operation is added to.
        name: The metric's name; by default `false_positives`.

    Returns:
        The value, one for each threshold, and the operation that adds this batch.

    Raises:
        BadArgumentError: If shapes don't fit.
        ModelScopeError: If it is called outside of a `model_fn`.
    """
    sums = _at_thresholds(labels, predictions, thresholds, weights, ("false_positives",))
    return make_metric(name or "false_positives", sums, only, metrics_collections, updates_collections)


def false_negatives_at_thresholds(
    labels: TensorLike,
    predictions: TensorLike,
    thresholds: Sequence[float],
    weights: TensorLike | None = None,
    metrics_collections: Collections = None,
    updates_collections: Collections = None,
    name: str | None = None,
) -> Pair:
    """Return the sums of the weights of false negatives, as TensorFlow's metric of that name.

    Args:
        labels: The truth; what is not 0 is positive.
        predictions: Of the labels' shape, from 0 to 1.
        thresholds: Above which predictions are positive.
        weights: A scalar, or an array of the labels' rank, each dimension 1 or that of the labels; None for 1.
        metrics_collections: The collections that the value is added to.
        updates_collections: The collections that the operation is added to.
        name: The metric's name; by default `false_negatives`.

    Returns:
        The value, one for each threshold, and the operation that adds this batch.

    Raises:
        BadArgumentError: If shapes don't fit.
        ModelScopeError: If it is called outside of a `model_fn`.
    """
    sums = _at_thresholds(labels, predictions, thresholds, weights, ("false_negatives",))
    return make_metric(name or "false_negatives", sums, only, metrics_collections, updates_collections)


def true_negatives_at_thresholds(
    labels: TensorLike,
    predictions: TensorLike,
    thresholds: Sequence[float],
    weights: TensorLike | None = None,
    metrics_collections: Collections = None,
    updates_collections: Collections = None,
    name: str | None = None,
) -> Pair:
    """Return the sums of the weights of true negatives, as TensorFlow's metric of that name.

    Args:
        labels: The truth; what is not 0 is positive.
        predictions: Of the labels' shape, from 0 to 1.
        thresholds: Above which predictions are positive.
        weights: A scalar, or an array of the labels' rank, each dimension 1 or that of the labels; None for 1.
        metrics_collections: The collections that the value is added to.
        updates_collections: The collections that the operation is added to.
        name: The metric's name; by default `true_negatives`.

    Returns:
        The value, one for each threshold, and the operation that adds this batch.

    Raises:
        BadArgumentError: If shapes don't fit.
        ModelScopeError: If it is called outside of a `model_fn`.
    """
    sums = _at_thresholds(labels, predictions, thresholds, weights, ("true_negatives",))
    return make_metric(name or "true_negatives", sums, only, metrics_collections, updates_collections)


def precision_at_thresholds(
    labels: TensorLike,
    predictions: TensorLike,
    thresholds: Sequence[float],
    weights: TensorLike | None = None,
    metrics_collections: Collections = None,
    updates_collections: Collections = None,
    name: str | None = None,
) -> Pair:
    """Return which part of what is predicted is true, at thresholds, as TensorFlow's metric of that name.

    Args:
        labels: The truth; what is not 0 is positive.
        predictions: Of the labels' shape, from 0 to 1.
        thresholds: Above which predictions are positive.
        weights: A scalar, or an array of the labels' rank, each dimension 1 or that of the labels; None for 1.
        metrics_collections: The collections that the value is added to.
        updates_collections: The collections that the operation is added to.
        name: The metric's name; by default `precision_at_thresholds`.

    Returns:
        The value, one for each threshold, and the operation that adds this batch.

    Raises:
        BadArgumentError: If shapes don't fit.
        ModelScopeError: If it is called outside of a `model_fn`.
    """
    kinds = ("true_positives", "false_positives")
    sums = _at_thresholds(labels, predictions, thresholds, weights, kinds)
    return make_metric(
        name or "precision_at_thresholds", sums, _part_of_almost_all, metrics_collections, updates_collections
    )


def recall_at_thresholds(
    labels: TensorLike,
    predictions: TensorLike,
    thresholds: Sequence[float],
    weights: TensorLike | None = None,
    metrics_collections: Collections = None,
    updates_collections: Collections = None,
    name: str | None = None,
) -> Pair:
    """Return which part of what is true is predicted, at thresholds, as TensorFlow's metric of that name.

    Args:
        labels: The truth; what is not 0 is positive.
        predictions: Of the labels' shape, from 0 to 1.
        thresholds: Above which predictions are positive.
        weights: A scalar, or an array of the labels' rank, each dimension 1 or that of the labels; None for 1.
        metrics_collections: The collections that the value is added to.
        updates_collections: The collections that the operation is added to.
        name: The metric's name; by default `recall_at_thresholds`.

    Returns:
        The value, one for each threshold, and the operation that adds this batch.

    Raises:
        BadArgumentError: If shapes don't fit.
        ModelScopeError: If it is called outside of a `model_fn`.
    """
    kinds = ("true_positives", "false_negatives")
    sums = _at_thresholds(labels, predictions, thresholds, weights, kinds)
    return make_metric(
        name or "recall_at_thresholds", sums, _part_of_almost_all, metrics_collections, updates_collections
    )


def auc(
    labels: TensorLike,
    predictions: TensorLike,
    weights: TensorLike | None = None,
    num_thresholds: int = 200,
    metrics_collections: Collections = None,
    updates_collections: Collections = None,
    curve: str = "ROC",
    name: str | None = None,
    summation_method: str = "trapezoidal",
    thresholds: Sequence[float] | None = None,
) -> Pair:
    """Return the area under a curve, as `tf.compat.v1.metrics.auc`.

    Args:
        labels: The truth; what is not 0 is positive.
        predictions: Of the labels' shape, from 0 to 1.
        weights: A scalar, or an array of the labels' rank, each dimension 1 or that of the labels; None for 1.
        num_thresholds: How many thresholds there are, from 0 to 1.
        metrics_collections: The collections that the value is added to.
        updates_collections: The collections that the operation is added to.
        curve: `"ROC"`, or `"PR"` for precision over recall.
        name: The metric's name; by default `auc`.
        summation_method: `"trapezoidal"`; `"careful_interpolation"`, which is right for `"PR"` (Davis & Goadrich,
            2006); `"minoring"` or `"majoring"`.
        thresholds: Thresholds between 0 and 1 instead of `num_thresholds`.

    Returns:
        The value, a scalar, and the operation that adds this batch.

    Raises:
        BadArgumentError: If shapes don't fit, or an argument is unknown.
        ModelScopeError: If it is called outside of a `model_fn`.
    """
    if curve not in ("ROC", "PR"):
        raise BadArgumentError(f"curve must be either 'ROC' or 'PR'. Received: curve={shown(curve)}.")
    if summation_method not in _SUMMATIONS:
        raise BadArgumentError(
            f"summation_method must be one of {tuple(_SUMMATIONS)}. Received: "
            f"summation_method={shown(summation_method)}."
        )
    inner = _inner_thresholds(num_thresholds) if thresholds is None else sorted(thresholds)
    edges = [-_EDGE, *inner, 1 + _EDGE]
    sums = _at_thresholds(labels, predictions, edges, weights, _KINDS)
    compute = functools.partial(_area, curve=curve, summation=summation_method)
    return make_metric(name or "auc", sums, compute, metrics_collections, updates_collections)


def sensitivity_at_specificity(
    labels: TensorLike,
    predictions: TensorLike,
    specificity: float,
    weights: TensorLike | None = None,
    num_thresholds: int = 200,
    metrics_collections: Collections = None,
    updates_collections: Collections = None,
    name: str | None = None,
) -> Pair:
    """Return the sensitivity where the specificity is nearest to a number, as TensorFlow's metric of that name.

    Args:
        labels: The truth; what is not 0 is positive.
        predictions: Of the labels' shape, from 0 to 1.
        specificity: The number, from 0 to 1.
        weights: A scalar, or an array of the labels' rank, each dimension 1 or that of the labels; None for 1.
        num_thresholds: How many thresholds there are, from 0 to 1.
        metrics_collections: The collections that the value is added to.
        updates_collections: The collections that the operation is added to.
        name: The metric's name; by default `sensitivity_at_specificity`.

    Returns:
        The value, a scalar, and the operation that adds this batch.

    Raises:
        BadArgumentError: If shapes don't fit, or the number is out of range.
        ModelScopeError: If it is called outside of a `model_fn`.
    """
    _check_part("specificity", specificity)
    edges = [-_EDGE, *_inner_thresholds(num_thresholds), 1 + _EDGE]
    sums = _at_thresholds(labels, predictions, edges, weights, _KINDS)
    compute = functools.partial(_sensitivity_at, specificity=specificity)
    return make_metric(
        name or "sensitivity_at_specificity", sums, compute, metrics_collections, updates_collections
    )


def specificity_at_sensitivity(
    labels: TensorLike,
    predictions: TensorLike,
    sensitivity: float,
    weights: TensorLike | None = None,
    num_thresholds: int = 200,
    metrics_collections: Collections = None,
    updates_collections: Collections = None,
    name: str | None = None,
) -> Pair:
    """Return the specificity where the sensitivity is nearest to a number, as TensorFlow's metric of that name.

    Args:
        labels: The truth; what is not 0 is positive.
        predictions: Of the labels' shape, from 0 to 1.
        sensitivity: The number, from 0 to 1.
        weights: A scalar, or an array of the labels' rank, each dimension 1 or that of the labels; None for 1.
        num_thresholds: How many thresholds there are, from 0 to 1.
        metrics_collections: The collections that the value is added to.
        updates_collections: The collections that the operation is added to.
        name: The metric's name; by default `specificity_at_sensitivity`.

    Returns:
        The value, a scalar, and the operation that adds this batch.

    Raises:
        BadArgumentError: If shapes don't fit, or the number is out of range.
        ModelScopeError: If it is called outside of a `model_fn`.
    """
    _check_part("sensitivity", sensitivity)
    edges = [-_EDGE, *_inner_thresholds(num_thresholds), 1 - _EDGE]
    sums = _at_thresholds(labels, predictions, edges, weights, _KINDS)
    compute = functools.partial(_specificity_at, sensitivity=sensitivity)
    return make_metric(
        name or "specificity_at_sensitivity", sums, compute, metrics_collections, updates_collections
    )


def _part_of_almost_all(sums: Sums) -> Any:
    hits, others = sums.values()
    return hits / (_EDGE + hits + others)


def _at_thresholds(
    labels: TensorLike,
    predictions: TensorLike,
    thresholds: Sequence[float],
    weights: TensorLike | None,
    kinds: Sequence[str],
) -> Sums:
    """Return the sums of weights of each kind of answer, one for each threshold."""
    scores, truth, factors = aligned(
        on_device(predictions).astype(jnp.float32), on_device(labels).astype(bool), weights
    )
    factors = jnp.ones_like(scores) if factors is None else broadcast(factors, scores)
    is_positive = scores.ravel() > jnp.asarray(thresholds, jnp.float32)[:, None]
    of_truth, of_rest = (truth * factors).ravel(), (~truth * factors).ravel()
    parts = {
        "true_positives": (is_positive, of_truth),
        "false_negatives": (~is_positive, of_truth),
        "true_negatives": (~is_positive, of_rest),
        "false_positives": (is_positive, of_rest),
    }
    # Not as a product of matrices, which devices may round to fewer bits.
    return {kind: jnp.sum(jnp.where(parts[kind][0], parts[kind][1], 0), 1) for kind in kinds}


def _inner_thresholds(num_thresholds: int) -> list[float]:
    return [(index + 1) / (num_thresholds - 1) for index in range(num_thresholds - 2)]


def _area(sums: Sums, curve: str, summation: str) -> Any:
    tp, fn, tn, fp = (sums[kind] for kind in _KINDS)
    if curve == "PR" and summation == "careful_interpolation":
        return _interpolated_area(tp, fp, fn)
    recall = (tp + _AREA_EPSILON) / (tp + fn + _AREA_EPSILON)
    if curve == "ROC":
        x, y = fp / (fp + tn + _AREA_EPSILON), recall
    else:
        x, y = recall, (tp + _AREA_EPSILON) / (tp + fp + _AREA_EPSILON)
    return jnp.sum((x[:-1] - x[1:]) * _SUMMATIONS[summation](y[:-1], y[1:]))


# How high the curve is between two of its points.
_SUMMATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "trapezoidal": lambda left, right: (left + right) / 2,
    "careful_interpolation": lambda left, right: (left + right) / 2,
    "minoring": jnp.minimum,
    "majoring": jnp.maximum,
}


def _interpolated_area(tp: Any, fp: Any, fn: Any) -> Any:
    """Return the area under precision over recall, between whose points precision is no straight line.

    Between two thresholds true positives grow linearly with all positives; the integral of their quotient has a
    logarithm in it (Davis & Goadrich, 2006).
    """
    positives = tp + fp
    steps = tp[:-1] - tp[1:]
    slope = ratio(steps, jnp.maximum(positives[:-1] - positives[1:], 0))
    intercept = tp[1:] - slope * positives[1:]
    is_there = (positives[:-1] > 0) & (positives[1:] > 0)
    growth = jnp.where(is_there, positives[:-1] / jnp.where(is_there, positives[1:], 1), 1)
    return jnp.sum(ratio(slope * (steps + intercept * jnp.log(growth)), jnp.maximum(tp[1:] + fn[1:], 0)))


def _sensitivity_at(sums: Sums, specificity: float) -> Any:
    tp, fn, tn, fp = (sums[kind] for kind in _KINDS)
    index = jnp.argmin(jnp.abs(tn / (tn + fp + _EDGE) - specificity))
    return tp[index] / (tp[index] + fn[index] + _EDGE)


def _specificity_at(sums: Sums, sensitivity: float) -> Any:
    tp, fn, tn, fp = (sums[kind] for kind in _KINDS)
    distances = jnp.abs(tp / (tp + fn + _EDGE) - sensitivity)
    # The last of those that are equally near.
    index = distances.size - 1 - jnp.argmin(distances[::-1])
    return tn[index] / (tn[index] + fp[index] + _EDGE)


def _check_part(name: str, value: float) -> None:
    if not 0 <= value <= 1:
        raise BadArgumentError(f"`{name}` must be in the range [0, 1]. Received: {name}={shown(value)}.")
