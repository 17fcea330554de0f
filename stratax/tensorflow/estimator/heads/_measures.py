"""What heads measure in an evaluation: as Keras' metrics, and as TensorFlow 1's pairs (estimator layer)."""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import jax.numpy as jnp
import keras

from stratax.distribute.replicas import get_replica_context
from stratax.tensorflow import v1


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MeasuredBatch:
    """What of a batch is measured.

    Attributes:
        losses: The examples' losses.
        weights: Their weights, of the losses' rank; 1.0 for none.
        labels: The labels, as numbers.
        scores: What is predicted: probabilities, or values.
        class_ids: Which classes are predicted.
        regularization: The sum of further losses.
    """

    losses: Any
    weights: Any
    labels: Any
    scores: Any
    class_ids: Any = None
    regularization: Any = None


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class HeadMetric:
    """One metric.

    Attributes:
        kind: Of the kinds below.
        threshold: Above which a score is a yes.
        column: The class that it is of; None for all.
    """

    kind: str
    threshold: float = 0.5
    column: int | None = None


def _flat(batch: MeasuredBatch, measure: HeadMetric, *names: str) -> list[Any]:
    """Return values and, last, their weights, each in one row."""
    values = [jnp.asarray(getattr(batch, name)).astype(jnp.float32) for name in names]
    if measure.column is not None:
        values = [value[..., measure.column, None] for value in values]
    weights = jnp.broadcast_to(jnp.asarray(batch.weights, jnp.float32), values[0].shape)
    return [jnp.ravel(each) for each in (*values, weights)]


def _mean_of(name: str) -> Callable[[MeasuredBatch, HeadMetric], Any]:
    return lambda batch, measure: _flat(batch, measure, name)


def _right_classes(batch: MeasuredBatch, measure: HeadMetric) -> Any:
    labels, classes, weights = _flat(batch, measure, "labels", "class_ids")
    return labels == classes, weights


def _right_above(batch: MeasuredBatch, measure: HeadMetric) -> Any:
    labels, scores, weights = _flat(batch, measure, "labels", "scores")
    return labels == (scores > measure.threshold), weights


def _right_from(batch: MeasuredBatch, measure: HeadMetric) -> Any:
    labels, scores, weights = _flat(batch, measure, "labels", "scores")
    return labels == (scores >= measure.threshold), weights


def _alone(batch: MeasuredBatch, measure: HeadMetric) -> Any:
    del measure
    return batch.regularization, None


# What each mean is a mean of. In one thing TensorFlow 1 differs: a score on the threshold is a yes.
_MEANS: dict[str, Callable[[MeasuredBatch, HeadMetric], Any]] = {
    "loss": _mean_of("losses"),
    "labels": _mean_of("labels"),
    "scores": _mean_of("scores"),
    "accuracy": _right_classes,
    "accuracy_above": _right_above,
    "regularization": _alone,
}


def scalar_weight() -> int:
    """Return what a number of a whole step counts: in the other steps every replica counts one."""
    replica = get_replica_context()
    return 1 if replica is None else replica.stands_for


class AccuracyBaseline(keras.metrics.Metric):
    """The accuracy of always predicting the more frequent one of two classes.

    Args:
        labels: The metric of the labels' mean, from which it follows.
        name: Its name.
    """

    def __init__(self, labels: keras.metrics.Mean, name: str) -> None:
        super().__init__(name=name)
        self._labels = labels

    def update_state(self, *args: object, **kwargs: object) -> None:
        """Do nothing: the labels' mean is updated."""

    def reset_state(self) -> None:
        """Do nothing: the labels' mean is reset."""

    def result(self) -> Any:
        """Return the larger one of the classes' parts."""
        total, count = self._labels.total.value, self._labels.count.value
        return jnp.where(count == 0, 0.0, jnp.maximum(total, count - total) / jnp.where(count == 0, 1, count))


def keras_metrics(measures: Mapping[str, HeadMetric]) -> dict[str, keras.metrics.Metric]:
    """Return new metrics of Keras, by the measures' keys."""
    made: dict[str, Any] = {}
    for key, measure in measures.items():
        name = key.replace("/", "_")
        match measure.kind:
            case "precision":
                made[key] = keras.metrics.Precision(name=name)
            case "recall":
                made[key] = keras.metrics.Recall(name=name)
            case "precision_above":
                made[key] = keras.metrics.Precision(thresholds=measure.threshold, name=name)
            case "recall_above":
                made[key] = keras.metrics.Recall(thresholds=measure.threshold, name=name)
            case "auc":
                made[key] = keras.metrics.AUC(name=name)
            case "auc_pr":
                made[key] = keras.metrics.AUC(curve="PR", name=name)
            case "baseline":
                labels = next(made[other] for other, each in measures.items() if each.kind == "labels")
                made[key] = AccuracyBaseline(labels, name)
            case _:
                made[key] = keras.metrics.Mean(name=name)
    return made


def update_keras(
    metrics: Mapping[str, Any], measures: Mapping[str, HeadMetric], batch: MeasuredBatch
) -> None:
    """Add a batch to metrics of Keras."""
    for key, measure in measures.items():
        metric, kind = metrics[key], measure.kind
        if kind == "regularization":
            metric.update_state(batch.regularization, sample_weight=scalar_weight())
        elif kind in _MEANS:
            values, weights = _MEANS[kind](batch, measure)
            metric.update_state(values, sample_weight=weights)
        elif kind != "baseline":
            predicted = "class_ids" if kind in ("precision", "recall") else "scores"
            labels, values, weights = _flat(batch, measure, "labels", predicted)
            metric.update_state(labels, values, sample_weight=weights)


def metric_ops(measures: Mapping[str, HeadMetric], batch: MeasuredBatch) -> dict[str, Any]:
    """Return the measures of a batch as pairs of value and operation, in a `model_fn`."""
    made: dict[str, Any] = {}
    for key, measure in measures.items():
        if measure.kind == "baseline":
            value, update = next(made[other] for other, each in measures.items() if each.kind == "labels")
            made[key] = (_Baseline(value), update)
        else:
            made[key] = _pair(measure, batch, key)
    return made


class _Baseline:
    """The value of a metric that follows from the mean of labels; see :class:`AccuracyBaseline`."""

    def __init__(self, labels: Any) -> None:
        self._labels = labels

    def result(self) -> Any:
        """Return it as the variables are now."""
        mean = self._labels.result()
        return jnp.maximum(mean, 1.0 - mean)


def _pair(measure: HeadMetric, batch: MeasuredBatch, name: str) -> Any:
    kind, metrics = measure.kind, v1.metrics
    if kind in _MEANS or kind == "accuracy_above":
        compute = _right_from if kind == "accuracy_above" else _MEANS[kind]
        values, weights = compute(batch, measure)
        return metrics.mean(values, weights, name=name)
    predicted = "class_ids" if kind in ("precision", "recall") else "scores"
    labels, values, weights = _flat(batch, measure, "labels", predicted)
    match kind:
        case "precision":
            return metrics.precision(labels, values, weights, name=name)
        case "recall":
            return metrics.recall(labels, values, weights, name=name)
        case "auc" | "auc_pr":
            curve = "ROC" if kind == "auc" else "PR"
            return metrics.auc(labels, values, weights, curve=curve, name=name)
    at = metrics.precision_at_thresholds if kind == "precision_above" else metrics.recall_at_thresholds
    value, update = at(labels, values, (measure.threshold,), weights, name=name)
    return value[0], update
