"""`BinaryClassHead`: one of two classes (estimator layer)."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import jax.numpy as jnp

from stratax.tensorflow.estimator.heads import _checks, _classes, _exports
from stratax.tensorflow.estimator.heads._classes import all_class_ids
from stratax.tensorflow.estimator.heads._head import LogitsHead
from stratax.tensorflow.estimator.heads._keys import MetricKeys, PredictionKeys
from stratax.tensorflow.estimator.heads._measures import HeadMetric
from stratax.tensorflow.ops.math import elementwise, reductions
from stratax.tensorflow.ops.nn import nn


class BinaryClassHead(LogitsHead):
    """A head for one of two classes, as `tf.estimator.BinaryClassHead`: the cross entropy of a logit's sigmoid.

    Args:
        weight_column: The feature of the examples' weights, or a numeric column.
        thresholds: Numbers between 0 and 1: accuracy, precision and recall are measured at each of them.
        label_vocabulary: The labels' two names; None where labels are numbers from 0 to 1.
        loss_reduction: How the examples' losses become one number.
        loss_fn: A function of `labels` and `logits`, and if it likes `features` and `loss_reduction`, that returns
            losses of shape `(batch, ..., 1)`.
        name: Stands behind the keys of metrics and summaries, and before the names of tensors.

    Raises:
        BadArgumentError: If an argument can't be.

    Example:
        >>> import stratax.estimator as estimator
        >>> head = estimator.BinaryClassHead()
        >>> float(head.loss(labels=[[1], [1]], logits=[[45.0], [-41.0]]))
        20.5
    """

    _prediction_keys = (
        PredictionKeys.LOGITS,
        PredictionKeys.LOGISTIC,
        PredictionKeys.PROBABILITIES,
        PredictionKeys.CLASS_IDS,
        PredictionKeys.CLASSES,
        PredictionKeys.ALL_CLASS_IDS,
        PredictionKeys.ALL_CLASSES,
    )

    def __init__(
        self,
        weight_column: object = None,
        thresholds: Iterable[float] | None = None,
        label_vocabulary: Sequence[str] | None = None,
        loss_reduction: str = "sum_over_batch_size",
        loss_fn: Callable[..., Any] | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__(1, weight_column, loss_reduction, loss_fn, name)
        self._thresholds = _checks.check_thresholds(thresholds)
        self._label_vocabulary = _checks.check_vocabulary(label_vocabulary, 2)

    def predictions(self, logits: Any, keys: Sequence[str] | None = None) -> dict[Any, Any]:
        wanted = _checks.check_keys(keys, self._prediction_keys)
        logits = _checks.check_logits(logits, 1)
        two = jnp.concatenate([jnp.zeros_like(logits), logits], -1)
        ids = class_ids(two)
        every = all_class_ids(logits, 2)
        made = {
            PredictionKeys.LOGITS: lambda: logits,
            PredictionKeys.LOGISTIC: lambda: elementwise.sigmoid(logits, name="predictions/logistic"),
            PredictionKeys.PROBABILITIES: lambda: nn.softmax(two, name="predictions/probabilities"),
            PredictionKeys.CLASS_IDS: lambda: ids,
            PredictionKeys.CLASSES: lambda: _classes.names_of(ids, self._label_vocabulary),
            PredictionKeys.ALL_CLASS_IDS: lambda: every,
            PredictionKeys.ALL_CLASSES: lambda: _classes.names_of(every, self._label_vocabulary),
        }
        return {key: make() for key, make in made.items() if key in wanted}

    def export_outputs(self, logits: Any, predictions: Mapping[Any, Any]) -> dict[str, Any]:
        logits = _checks.check_logits(logits, 1)
        scores = nn.softmax(jnp.concatenate([jnp.zeros_like(logits), logits], -1))
        made = _exports.of_classes(logits, scores, 2, self._label_vocabulary, predictions)
        return _exports.with_regression(made, elementwise.sigmoid(logits))

    def _process(self, labels: object, logits: object) -> Any:
        if self._label_vocabulary is not None and labels is not None:
            labels = _classes.number_labels(labels, self._label_vocabulary)
        found = _checks.dense_labels(labels, logits, 1)
        _checks.check_range(labels, 1)
        return found.astype(jnp.float32)

    def _own_losses(self, labels: object, logits: object) -> Any:
        return nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits)

    def _check_losses(self, labels: object, losses: object) -> Any:
        return _checks.spoiling_outside(labels, 1, losses)

    def _scores(self, logits: Any) -> tuple[Any, Any]:
        return elementwise.sigmoid(logits), (logits > 0).astype(jnp.int32)

    def _measures(self) -> Mapping[str, HeadMetric]:
        measures = {
            MetricKeys.LOSS_MEAN: HeadMetric(kind="loss"),
            MetricKeys.ACCURACY: HeadMetric(kind="accuracy"),
            MetricKeys.PRECISION: HeadMetric(kind="precision"),
            MetricKeys.RECALL: HeadMetric(kind="recall"),
            MetricKeys.PREDICTION_MEAN: HeadMetric(kind="scores"),
            MetricKeys.LABEL_MEAN: HeadMetric(kind="labels"),
            MetricKeys.ACCURACY_BASELINE: HeadMetric(kind="baseline"),
            MetricKeys.AUC: HeadMetric(kind="auc"),
            MetricKeys.AUC_PR: HeadMetric(kind="auc_pr"),
        }
        return measures | at_thresholds(self._thresholds)


def at_thresholds(thresholds: Iterable[float]) -> dict[str, HeadMetric]:
    """Return the metrics at thresholds, by key."""
    measures = {}
    for threshold in thresholds:
        measures[MetricKeys.ACCURACY_AT_THRESHOLD % threshold] = HeadMetric(
            kind="accuracy_above", threshold=threshold
        )
        measures[MetricKeys.PRECISION_AT_THRESHOLD % threshold] = HeadMetric(
            kind="precision_above", threshold=threshold
        )
        measures[MetricKeys.RECALL_AT_THRESHOLD % threshold] = HeadMetric(
            kind="recall_above", threshold=threshold
        )
    return measures


def class_ids(logits: object) -> Any:
    """Return which logit is the largest, of shape `(batch, ..., 1)`; of equal ones the first."""
    return jnp.expand_dims(reductions.argmax(logits, axis=-1, name="predictions/class_ids"), -1)
