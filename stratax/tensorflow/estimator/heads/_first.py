"""Heads as TensorFlow 1 has them: its metrics, and update operations that are run by themselves (estimator layer)."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from stratax.tensorflow import v1
from stratax.tensorflow.estimator.heads import _checks
from stratax.tensorflow.estimator.heads._binary_class import BinaryClassHead
from stratax.tensorflow.estimator.heads._head import Head, LogitsHead
from stratax.tensorflow.estimator.heads._keys import MetricKeys
from stratax.tensorflow.estimator.heads._multi_class import MultiClassHead
from stratax.tensorflow.estimator.heads._multi_head import MultiHead
from stratax.tensorflow.estimator.heads._multi_label import MultiLabelHead
from stratax.tensorflow.estimator.heads._regression import (
    LogisticRegressionHead,
    PoissonRegressionHead,
    RegressionHead,
)
from stratax.tensorflow.estimator.heads._train_op import add_updates, train_op

_OVER_BATCH_SIZE = v1.losses.Reduction.SUM_OVER_BATCH_SIZE


class _First(LogitsHead):
    """A head whose metrics are those of TensorFlow 1."""

    def _evaluate(
        self, features: object, logits: object, labels: object, regularization: Sequence[Any] | None
    ) -> dict[str, Any]:
        return self.metric_pairs(features, logits, labels, regularization)

    def _train(self, loss: Any, *how: Any) -> Any:
        return add_updates(train_op(loss, *how))

    def _summaries(
        self,
        loss: object,
        features: object,
        logits: object,
        labels: object,
        regularization: Sequence[Any] | None,
    ) -> dict[str, Any]:
        found = super()._summaries(loss, features, logits, labels, regularization)
        if self._reduction == v1.losses.Reduction.SUM:
            found[MetricKeys.LOSS_MEAN] = self.mean_loss(labels, logits, features)
        return found


class _Binary(_First, BinaryClassHead):
    """TensorFlow 1's head for two classes."""


class _Classes(_First, MultiClassHead):
    """TensorFlow 1's head for several classes."""


class _Labels(_First, MultiLabelHead):
    """TensorFlow 1's head for any number of several classes."""


class _Regression(_First, RegressionHead):
    """TensorFlow 1's head for numbers."""


class _Poisson(_First, PoissonRegressionHead):
    """TensorFlow 1's head for counts."""


class _Logistic(_First, LogisticRegressionHead):
    """TensorFlow 1's head for probabilities."""


class _Several(MultiHead):
    """TensorFlow 1's heads on one model."""

    def _evaluate(
        self, features: object, logits: object, labels: object, regularization: Sequence[Any] | None
    ) -> dict[str, Any]:
        parts, own = self._parts(logits), self._labels(labels)
        found: dict[str, Any] = {}
        if regularization is not None:
            key = self._key(MetricKeys.LOSS_REGULARIZATION)
            found[key] = v1.metrics.mean(sum(regularization), name=key)
        for name, head in self._heads.items():
            key = f"{MetricKeys.LOSS}/{name}"
            found[key] = v1.metrics.mean(head.loss(own[name], parts[name], features), name=key)
            found |= head._evaluate(features, parts[name], own[name], None)
        return found

    def _train(self, loss: Any, *how: Any) -> Any:
        return add_updates(train_op(loss, *how))


def binary_classification_head(
    weight_column: object = None,
    thresholds: Iterable[float] | None = None,
    label_vocabulary: Sequence[str] | None = None,
    loss_reduction: str = _OVER_BATCH_SIZE,
    loss_fn: Callable[..., Any] | None = None,
    name: str | None = None,
) -> Head:
    """Return a head for one of two classes, as `tf.contrib.estimator.binary_classification_head`.

    Args:
        weight_column: As of :class:`BinaryClassHead`.
        thresholds: Likewise; a score on a threshold is a yes for accuracy.
        label_vocabulary: Likewise.
        loss_reduction: Likewise.
        loss_fn: Likewise.
        name: Likewise.
    """
    return _Binary(weight_column, thresholds, label_vocabulary, loss_reduction, loss_fn, name)


def multi_class_head(
    n_classes: int,
    weight_column: object = None,
    label_vocabulary: Sequence[str] | None = None,
    loss_reduction: str = _OVER_BATCH_SIZE,
    loss_fn: Callable[..., Any] | None = None,
    name: str | None = None,
) -> Head:
    """Return a head for one of several classes, as `tf.contrib.estimator.multi_class_head`.

    Args:
        n_classes: As of :class:`MultiClassHead`.
        weight_column: Likewise.
        label_vocabulary: Likewise.
        loss_reduction: Likewise.
        loss_fn: Likewise.
        name: Likewise.
    """
    return _Classes(n_classes, weight_column, label_vocabulary, loss_reduction, loss_fn, name)


def multi_label_head(
    n_classes: int,
    weight_column: object = None,
    thresholds: Iterable[float] | None = None,
    label_vocabulary: Sequence[str] | None = None,
    loss_reduction: str = _OVER_BATCH_SIZE,
    loss_fn: Callable[..., Any] | None = None,
    classes_for_class_based_metrics: Sequence[Any] | None = None,
    name: str | None = None,
) -> Head:
    """Return a head for any number of several classes, as `tf.contrib.estimator.multi_label_head`.

    Args:
        n_classes: As of :class:`MultiLabelHead`.
        weight_column: Likewise.
        thresholds: Likewise.
        label_vocabulary: Likewise.
        loss_reduction: Likewise.
        loss_fn: Likewise.
        classes_for_class_based_metrics: Likewise.
        name: Likewise.
    """
    return _Labels(
        n_classes,
        weight_column,
        thresholds,
        label_vocabulary,
        loss_reduction,
        loss_fn,
        classes_for_class_based_metrics,
        name,
    )


def regression_head(
    weight_column: object = None,
    label_dimension: int = 1,
    loss_reduction: str = _OVER_BATCH_SIZE,
    loss_fn: Callable[..., Any] | None = None,
    inverse_link_fn: Callable[[Any], Any] | None = None,
    name: str | None = None,
) -> Head:
    """Return a head for numbers, as `tf.contrib.estimator.regression_head`.

    Args:
        weight_column: As of :class:`RegressionHead`.
        label_dimension: Likewise.
        loss_reduction: Likewise.
        loss_fn: Likewise.
        inverse_link_fn: Likewise.
        name: Likewise.
    """
    return _Regression(label_dimension, weight_column, loss_reduction, loss_fn, inverse_link_fn, name)


def poisson_regression_head(
    weight_column: object = None,
    label_dimension: int = 1,
    loss_reduction: str = _OVER_BATCH_SIZE,
    compute_full_loss: bool = True,
    name: str | None = None,
) -> Head:
    """Return a head for counts, as `tf.contrib.estimator.poisson_regression_head`.

    Args:
        weight_column: As of :class:`PoissonRegressionHead`.
        label_dimension: Likewise.
        loss_reduction: Likewise.
        compute_full_loss: Likewise.
        name: Likewise.
    """
    return _Poisson(label_dimension, weight_column, loss_reduction, compute_full_loss, name)


def logistic_regression_head(
    weight_column: object = None, loss_reduction: str = _OVER_BATCH_SIZE, name: str | None = None
) -> Head:
    """Return a head for probabilities, as `tf.contrib.estimator.logistic_regression_head`.

    Args:
        weight_column: As of :class:`LogisticRegressionHead`.
        loss_reduction: Likewise.
        name: Likewise.
    """
    return _Logistic(weight_column, loss_reduction, name)


def multi_head(heads: Sequence[Head], head_weights: Sequence[float] | None = None) -> Head:
    """Return several heads on one model, as `tf.contrib.estimator.multi_head`.

    Args:
        heads: Heads that the functions of `tf.contrib.estimator` give, each with a name of its own.
        head_weights: What each head's loss is multiplied by; None for 1.
    """
    return _Several(heads, head_weights)


def classifier_head(
    n_classes: int, weight_column: Any, label_vocabulary: Any, loss_reduction: str, *, is_first: bool
) -> Head:
    """Return the head of a classifier.

    Args:
        n_classes: The number of classes, at least 2.
        weight_column: The feature of the examples' weights.
        label_vocabulary: The classes' names.
        loss_reduction: How the examples' losses become one number.
        is_first: Whether its metrics are TensorFlow 1's.

    Raises:
        BadArgumentError: If there are fewer than two classes.
    """
    _checks.check_n_classes(n_classes)
    if n_classes == 2:
        binary = _Binary if is_first else BinaryClassHead
        return binary(weight_column, None, label_vocabulary, loss_reduction)
    several = _Classes if is_first else MultiClassHead
    return several(n_classes, weight_column, label_vocabulary, loss_reduction)


def regressor_head(
    label_dimension: int, weight_column: object, loss_reduction: str, *, is_first: bool
) -> Head:
    """Return the head of a regressor.

    Args:
        label_dimension: How many numbers an example has.
        weight_column: The feature of the examples' weights.
        loss_reduction: How the losses become one number.
        is_first: Whether its metrics are TensorFlow 1's.
    """
    head = _Regression if is_first else RegressionHead
    return head(label_dimension, weight_column, loss_reduction)
