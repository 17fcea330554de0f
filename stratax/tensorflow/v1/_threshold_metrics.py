"""Metrics of probabilities, at thresholds: right and wrong answers, curves and the areas below (v1 layer)."""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax.numpy as jnp

from stratax.base.shown import shown
from stratax.base.typing import TensorLike
from stratax.errors import BadArgumentError
from stratax.tensorflow.ops.calls.creation import on_device
from stratax.tensorflow.v1._metric import Measure, Pair, Sums, metric, only, ratio
from stratax.tensorflow.v1._weights import align, broadcast

# In the order in which functions of their sums take them apart.
_KINDS = ("true_positives", "false_negatives", "true_negatives", "false_positives")

# By how much the outer thresholds are beyond 0 and 1, and what keeps quotients from being 0/0.
_EDGE = 1e-7

# TensorFlow's `epsilon` for areas.
_AREA_EPSILON = 1e-6


# What most metrics at thresholds are given.
_ARGUMENTS = {
    "labels": "The truth; what is not 0 is positive.",
    "predictions": "Of the labels' shape, from 0 to 1.",
    "thresholds": "Above which predictions are positive.",
    "num_thresholds": "How many thresholds there are, from 0 to 1.",
}


def _at_each_threshold(
    name: str, what: str, kinds: Sequence[str], compute: Callable[[Sums], Any], default: str | None = None
) -> Callable[..., Pair]:
    """Make a metric with one value for each threshold, of the sums of some kinds of answers."""

    @metric(_ARGUMENTS, name=name, what=what, returns="one for each threshold,", default=default)
    def measure(
        labels: TensorLike,
        predictions: TensorLike,
        thresholds: Sequence[float],
        weights: TensorLike | None = None,
    ) -> Measure:
        return Measure(at_thresholds(labels, predictions, thresholds, weights, kinds), compute)

    return measure


def _part_of_almost_all(sums: Sums) -> Any:
    hits, others = sums.values()
    return hits / (_EDGE + hits + others)


true_positives_at_thresholds = _at_each_threshold(
    "true_positives_at_thresholds",
    "Return the sums of the weights of true positives",
    ("true_positives",),
    only,
    default="true_positives",
)
false_positives_at_thresholds = _at_each_threshold(
    "false_positives_at_thresholds",
    "Return the sums of the weights of false positives",
    ("false_positives",),
    only,
    default="false_positives",
)
false_negatives_at_thresholds = _at_each_threshold(
    "false_negatives_at_thresholds",
    "Return the sums of the weights of false negatives",
    ("false_negatives",),
    only,
    default="false_negatives",
)
true_negatives_at_thresholds = _at_each_threshold(
    "true_negatives_at_thresholds",
    "Return the sums of the weights of true negatives",
    ("true_negatives",),
    only,
    default="true_negatives",
)
precision_at_thresholds = _at_each_threshold(
    "precision_at_thresholds",
    "Return which part of what is predicted is true, at thresholds",
    ("true_positives", "false_positives"),
    _part_of_almost_all,
)
recall_at_thresholds = _at_each_threshold(
    "recall_at_thresholds",
    "Return which part of what is true is predicted, at thresholds",
    ("true_positives", "false_negatives"),
    _part_of_almost_all,
)


@metric(
    {
        **_ARGUMENTS,
        "curve": '`"ROC"`, or `"PR"` for precision over recall.',
        "summation_method": '`"trapezoidal"`; `"careful_interpolation"`, which is right for `"PR"` (Davis & Goadrich, '
        '2006); `"minoring"` or `"majoring"`.',
        "thresholds": "Thresholds between 0 and 1 instead of `num_thresholds`.",
    },
    raises="If shapes don't fit, or an argument is unknown.",
    order="labels predictions weights num_thresholds metrics_collections updates_collections curve name "
    "summation_method thresholds",
)
def auc(
    labels: TensorLike,
    predictions: TensorLike,
    weights: TensorLike | None = None,
    num_thresholds: int = 200,
    curve: str = "ROC",
    summation_method: str = "trapezoidal",
    thresholds: Sequence[float] | None = None,
) -> Measure:
    """Return the area under a curve, as `tf.compat.v1.metrics.auc`."""
    if curve not in ("ROC", "PR"):
        raise BadArgumentError(f"curve must be either 'ROC' or 'PR'. Received: curve={shown(curve)}.")
    if summation_method not in _SUMMATIONS:
        raise BadArgumentError(
            f"summation_method must be one of {tuple(_SUMMATIONS)}. Received: "
            f"summation_method={shown(summation_method)}."
        )
    # The area is added up between neighbours.
    inner = inner_thresholds(num_thresholds) if thresholds is None else sorted(thresholds)
    edges = [-_EDGE, *inner, 1 + _EDGE]
    sums = at_thresholds(labels, predictions, edges, weights, _KINDS)
    compute = functools.partial(_area, curve=curve, summation=summation_method)
    return Measure(sums, compute)


@metric(
    {**_ARGUMENTS, "specificity": "The number, from 0 to 1."},
    raises="If shapes don't fit, or the number is out of range.",
)
def sensitivity_at_specificity(
    labels: TensorLike,
    predictions: TensorLike,
    specificity: float,
    weights: TensorLike | None = None,
    num_thresholds: int = 200,
) -> Measure:
    """Return the sensitivity where the specificity is nearest to a number, as TensorFlow's metric of that name."""
    _check_part("specificity", specificity)
    edges = [-_EDGE, *inner_thresholds(num_thresholds), 1 + _EDGE]
    sums = at_thresholds(labels, predictions, edges, weights, _KINDS)
    return Measure(sums, functools.partial(_sensitivity_at, specificity=specificity))


@metric(
    {**_ARGUMENTS, "sensitivity": "The number, from 0 to 1."},
    raises="If shapes don't fit, or the number is out of range.",
)
def specificity_at_sensitivity(
    labels: TensorLike,
    predictions: TensorLike,
    sensitivity: float,
    weights: TensorLike | None = None,
    num_thresholds: int = 200,
) -> Measure:
    """Return the specificity where the sensitivity is nearest to a number, as TensorFlow's metric of that name."""
    _check_part("sensitivity", sensitivity)
    # Not beyond 1, as TensorFlow has it in this metric alone.
    edges = [-_EDGE, *inner_thresholds(num_thresholds), 1 - _EDGE]
    sums = at_thresholds(labels, predictions, edges, weights, _KINDS)
    return Measure(sums, functools.partial(_specificity_at, sensitivity=sensitivity))


def at_thresholds(
    labels: TensorLike,
    predictions: TensorLike,
    thresholds: Sequence[float],
    weights: TensorLike | None,
    kinds: Sequence[str],
) -> Sums:
    """Return the sums of weights of each kind of answer, one for each threshold."""
    scores, truth, factors = align(
        on_device(predictions).astype(jnp.float32), on_device(labels).astype(bool), weights
    )
    factors = jnp.ones_like(scores) if factors is None else broadcast(factors, scores)
    # Shape (thresholds, examples).
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


def inner_thresholds(num_thresholds: int) -> list[float]:
    # Evenly between 0 and 1, both ends left out.
    return [(index + 1) / (num_thresholds - 1) for index in range(num_thresholds - 2)]


def _area(sums: Sums, curve: str, summation: str) -> Any:
    tp, fn, tn, fp = (sums[kind] for kind in _KINDS)
    if curve == "PR" and summation == "careful_interpolation":
        return _interpolate_area(tp, fp, fn)
    # As TensorFlow keeps divisors from 0: a curve of no examples ends at 1.
    recall = (tp + _AREA_EPSILON) / (tp + fn + _AREA_EPSILON)
    if curve == "ROC":
        x, y = fp / (fp + tn + _AREA_EPSILON), recall
    else:
        x, y = recall, (tp + _AREA_EPSILON) / (tp + fp + _AREA_EPSILON)
    # Thresholds rise, so that x falls.
    return jnp.sum((x[:-1] - x[1:]) * _SUMMATIONS[summation](y[:-1], y[1:]))


# How high the curve is between two of its points.
_SUMMATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "trapezoidal": lambda left, right: (left + right) / 2,
    "careful_interpolation": lambda left, right: (left + right) / 2,
    "minoring": jnp.minimum,
    "majoring": jnp.maximum,
}


def _interpolate_area(tp: Any, fp: Any, fn: Any) -> Any:
    """Return the area under precision over recall, between whose points precision is no straight line.

    Between two thresholds true positives grow linearly with all positives; the integral of their quotient has a
    logarithm in it (Davis & Goadrich, 2006).
    """
    positives = tp + fp
    steps = tp[:-1] - tp[1:]
    slope = ratio(steps, jnp.maximum(positives[:-1] - positives[1:], 0))
    # tp = intercept + slope * positives between two thresholds.
    intercept = tp[1:] - slope * positives[1:]
    # Where nothing is predicted the logarithm is 0.
    is_there = (positives[:-1] > 0) & (positives[1:] > 0)
    growth = jnp.where(is_there, positives[:-1] / jnp.where(is_there, positives[1:], 1), 1)
    return jnp.sum(ratio(slope * (steps + intercept * jnp.log(growth)), jnp.maximum(tp[1:] + fn[1:], 0)))


def _sensitivity_at(sums: Sums, specificity: float) -> Any:
    tp, fn, tn, fp = (sums[kind] for kind in _KINDS)
    # The first of those that are equally near, as in TensorFlow.
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
