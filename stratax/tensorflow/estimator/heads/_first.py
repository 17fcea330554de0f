"""Heads as TensorFlow 1 has them: its metrics, and update operations that are run by themselves (estimator layer)."""

from collections.abc import Sequence
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
from stratax.tensorflow.ops.calls.described import docstring, make_function, parameters_of

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


def _make_function(name: str, head: type[LogitsHead], what: str) -> Any:
    """Make a function that returns a head, of its class' arguments: with TensorFlow 1's default reduction and order."""
    parameters = [
        each.replace(default=_OVER_BATCH_SIZE) if each.name == "loss_reduction" else each
        for each in parameters_of(head)
    ]
    # There the size of labels follows on the column of weights.
    parameters.sort(key=lambda each: each.name not in ("n_classes", "weight_column"))
    of = head.__bases__[1].__name__
    doc = docstring(
        f"Return a head for {what}, as `tf.contrib.estimator.{name}`.",
        {"Args": {each.name: f"As of :class:`{of}`." for each in parameters}},
    )
    return make_function(name, __name__, parameters, Head, doc, lambda given: head(**given))


binary_classification_head = _make_function(
    "binary_classification_head", _Binary, "one of two classes; a score on a threshold is a yes for accuracy"
)
multi_class_head = _make_function("multi_class_head", _Classes, "one of several classes")
multi_label_head = _make_function("multi_label_head", _Labels, "any number of several classes")
regression_head = _make_function("regression_head", _Regression, "numbers")
poisson_regression_head = _make_function("poisson_regression_head", _Poisson, "counts")
logistic_regression_head = _make_function("logistic_regression_head", _Logistic, "probabilities")


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
