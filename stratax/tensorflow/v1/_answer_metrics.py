"""Metrics of answers of yes and no: how many are right and wrong, precision and recall (v1 layer)."""

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp

from stratax.base.typing import Array, TensorLike
from stratax.tensorflow.ops.calls.creation import on_device
from stratax.tensorflow.v1._metric import Measure, Pair, Sums, metric, only
from stratax.tensorflow.v1._weights import align, check_broadcastable

# Which answers are of each kind, by what is true and what is predicted.
_KINDS: dict[str, Callable[[Any, Any], Any]] = {
    "true_positives": lambda truth, predicted: truth & predicted,
    "false_positives": lambda truth, predicted: ~truth & predicted,
    "false_negatives": lambda truth, predicted: truth & ~predicted,
    "true_negatives": lambda truth, predicted: ~truth & ~predicted,
}
_ARGUMENTS = {
    "labels": "The truth; what is not 0 is positive.",
    "predictions": "Of the labels' shape; what is not 0 is positive.",
}


def _count_of(kind: str) -> Callable[..., Pair]:
    """Make the metric that counts answers of a kind."""

    @metric(_ARGUMENTS, name=kind, what=f"Return the sum of the weights of {kind.replace('_', ' ')}")
    def measure(labels: TensorLike, predictions: TensorLike, weights: TensorLike | None = None) -> Measure:
        return Measure({"count": _counts(labels, predictions, weights, kind)[kind]}, only)

    return measure


def _part_of(name: str, what: str, wrong: str) -> Callable[..., Pair]:
    """Make the metric of the part that true positives have of themselves and another kind."""

    @metric(_ARGUMENTS, name=name, what=what, returns="a scalar; 0 where there is nothing,")
    def measure(labels: TensorLike, predictions: TensorLike, weights: TensorLike | None = None) -> Measure:
        counts = _counts(labels, predictions, weights, "true_positives", wrong)
        # TensorFlow nests a metric in another one: `precision/true_positives/count`.
        return Measure({f"{kind}/count": count for kind, count in counts.items()}, _part_of_all)

    return measure


true_positives = _count_of("true_positives")
false_positives = _count_of("false_positives")
false_negatives = _count_of("false_negatives")
true_negatives = _count_of("true_negatives")
precision = _part_of("precision", "Return which part of what is predicted is true", "false_positives")
recall = _part_of("recall", "Return which part of what is true is predicted", "false_negatives")


def _counts(labels: TensorLike, predictions: TensorLike, weights: TensorLike | None, *kinds: str) -> Sums:
    predicted, truth, factors = align(
        on_device(predictions).astype(bool), on_device(labels).astype(bool), weights
    )
    return {kind: _count(_KINDS[kind](truth, predicted), factors) for kind in kinds}


def _count(is_counted: Any, weights: Array) -> Any:
    counted = is_counted.astype(jnp.float32)
    if weights is None:
        return jnp.sum(counted)
    check_broadcastable(weights, counted)
    return jnp.sum(counted * weights.astype(jnp.float32))


def _part_of_all(sums: Sums) -> Any:
    # In the order in which `_part_of` has counted them.
    hits, others = sums.values()
    return jnp.where(hits + others > 0, hits / jnp.where(hits + others > 0, hits + others, 1), 0)
