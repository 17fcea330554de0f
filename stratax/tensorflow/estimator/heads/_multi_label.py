"""`MultiLabelHead`: any number of several classes (estimator layer)."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import jax.numpy as jnp

from stratax import errors
from stratax.base.shown import shown
from stratax.data import SparseTensor
from stratax.tensorflow import v1
from stratax.tensorflow.estimator.heads import _checks, _classes, _exports
from stratax.tensorflow.estimator.heads._binary_class import at_thresholds
from stratax.tensorflow.estimator.heads._classes import all_class_ids
from stratax.tensorflow.estimator.heads._head import LogitsHead
from stratax.tensorflow.estimator.heads._keys import MetricKeys, PredictionKeys
from stratax.tensorflow.estimator.heads._measures import HeadMetric
from stratax.tensorflow.ops.math import elementwise
from stratax.tensorflow.ops.nn import nn


class MultiLabelHead(LogitsHead):
    """A head for examples of any number of classes, as `tf.estimator.MultiLabelHead`.

    The loss of an example is the mean over classes of the cross entropy of each logit's sigmoid. Labels are rows of
    zeros and ones, or a SparseTensor of the classes' numbers or names.

    Args:
        n_classes: The number of classes, at least 2.
        weight_column: The feature of the examples' weights, or a numeric column.
        thresholds: Numbers between 0 and 1: accuracy, precision and recall are measured at each of them.
        label_vocabulary: The classes' names, where labels are a SparseTensor of these.
        loss_reduction: How the examples' losses become one number.
        loss_fn: A function of `labels` and `logits`, and if it likes `features` and `loss_reduction`, that returns
            losses of shape `(batch, ..., 1)`.
        classes_for_class_based_metrics: Numbers or names of classes that are measured by themselves.
        name: Stands behind the keys of metrics and summaries, and before the names of tensors.

    Raises:
        BadArgumentError: If an argument can't be.

    Example:
        >>> import stratax.estimator as estimator
        >>> head = estimator.MultiLabelHead(n_classes=2)
        >>> float(head.loss(labels=[[1, 0], [1, 1]], logits=[[-10.0, 10.0], [-15.0, 10.0]]))
        8.75003433227539
    """

    _prediction_keys = (PredictionKeys.LOGITS, PredictionKeys.PROBABILITIES, PredictionKeys.CLASSES)

    def __init__(
        self,
        n_classes: int,
        weight_column: object = None,
        thresholds: Iterable[float] | None = None,
        label_vocabulary: Sequence[str] | None = None,
        loss_reduction: str = "sum_over_batch_size",
        loss_fn: Callable[..., Any] | None = None,
        classes_for_class_based_metrics: Sequence[Any] | None = None,
        name: str | None = None,
    ) -> None:
        if n_classes is None or n_classes < 2:
            raise errors.BadArgumentError(
                f"n_classes must be > 1 for multi-label classification. Received: n_classes={shown(n_classes)}."
            )
        self._thresholds = _checks.check_thresholds(thresholds)
        self._label_vocabulary = _checks.check_vocabulary(label_vocabulary, n_classes)
        self._classes = _class_numbers(classes_for_class_based_metrics, n_classes, self._label_vocabulary)
        super().__init__(n_classes, weight_column, loss_reduction, loss_fn, name)

    def predictions(self, logits: object, keys: Sequence[str] | None = None) -> dict[Any, Any]:
        wanted = _checks.check_keys(keys, self._prediction_keys)
        logits = _checks.check_logits(logits, self.logits_dimension)
        made = {
            PredictionKeys.LOGITS: lambda: logits,
            PredictionKeys.PROBABILITIES: lambda: elementwise.sigmoid(
                logits, name="predictions/probabilities"
            ),
            PredictionKeys.CLASSES: lambda: _classes.names_of(
                all_class_ids(logits, self.logits_dimension), self._label_vocabulary
            ),
        }
        return {key: make() for key, make in made.items() if key in wanted}

    def export_outputs(self, logits: object, predictions: Mapping[Any, Any]) -> dict[str, Any]:
        logits = _checks.check_logits(logits, self.logits_dimension)
        scores = elementwise.sigmoid(logits)
        return _exports.of_classes(logits, scores, self.logits_dimension, self._label_vocabulary, predictions)

    def _process(self, labels: object, logits: object) -> Any:
        is_sparse = isinstance(labels, SparseTensor) or (
            isinstance(labels, v1.HostTensor)
            and (labels.dtype != object or self._label_vocabulary is not None)
        )
        if is_sparse:
            labels = _classes.number_sparse_labels(labels, self.logits_dimension, self._label_vocabulary)
        found = _checks.dense_labels(labels, logits, self.logits_dimension)
        _checks.check_range(labels, 1, "Labels of several classes are zeros and ones: they")
        return found

    def _own_losses(self, labels: object, logits: object) -> Any:
        losses = nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits)
        return jnp.mean(losses, -1, keepdims=True)

    def _check_losses(self, labels: Any, losses: Any) -> Any:
        is_right = jnp.all((labels >= 0) & (labels <= 1), -1, keepdims=True)
        return jnp.where(is_right, losses, jnp.nan)

    def _scores(self, logits: object) -> tuple[Any, Any]:
        return elementwise.sigmoid(logits), None

    def _measures(self) -> Mapping[str, HeadMetric]:
        measures = {
            MetricKeys.LOSS_MEAN: HeadMetric(kind="loss"),
            MetricKeys.AUC: HeadMetric(kind="auc"),
            MetricKeys.AUC_PR: HeadMetric(kind="auc_pr"),
        }
        measures |= at_thresholds(self._thresholds)
        for number in self._classes:
            named = self._label_vocabulary is not None
            of = self._label_vocabulary[number] if self._label_vocabulary is not None else number
            mean = MetricKeys.PROBABILITY_MEAN_AT_NAME if named else MetricKeys.PROBABILITY_MEAN_AT_CLASS
            auc = MetricKeys.AUC_AT_NAME if named else MetricKeys.AUC_AT_CLASS
            auc_pr = MetricKeys.AUC_PR_AT_NAME if named else MetricKeys.AUC_PR_AT_CLASS
            measures[mean % of] = HeadMetric(kind="scores", column=number)
            measures[auc % of] = HeadMetric(kind="auc", column=number)
            measures[auc_pr % of] = HeadMetric(kind="auc_pr", column=number)
        return measures


def _class_numbers(
    classes: Sequence[Any] | None, n_classes: int, vocabulary: tuple[str, ...] | None
) -> tuple[int, ...]:
    """Return the numbers of classes that are given by number or name."""
    given = tuple(classes or ())
    if given and isinstance(given[0], str):
        unknown = [each for each in given if vocabulary is None or each not in vocabulary]
        if vocabulary is None or unknown:
            raise errors.BadArgumentError(
                "classes_for_class_based_metrics are names, which must be in label_vocabulary. Expected: some of "
                f"{shown(vocabulary)}. Received: {shown(given)}."
            )
        return tuple(vocabulary.index(each) for each in given)
    if not all(0 <= each < n_classes for each in given):
        raise errors.BadArgumentError(
            f"All classes_for_class_based_metrics must be in range [0, {n_classes - 1}]. Received: {shown(given)}."
        )
    return given
