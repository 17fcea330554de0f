"""Heads for numbers: `RegressionHead`, `PoissonRegressionHead`, `LogisticRegressionHead` (estimator layer)."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax.numpy as jnp

from stratax import errors
from stratax.base.shown import shown
from stratax.tensorflow.estimator.heads import _checks, _exports
from stratax.tensorflow.estimator.heads._head import LogitsHead
from stratax.tensorflow.estimator.heads._keys import MetricKeys, PredictionKeys
from stratax.tensorflow.estimator.heads._measures import HeadMetric
from stratax.tensorflow.ops.math import elementwise
from stratax.tensorflow.ops.nn import nn


class RegressionHead(LogitsHead):
    """A head for numbers, as `tf.estimator.RegressionHead`: the squared error.

    Args:
        label_dimension: How many numbers an example has.
        weight_column: The feature of weights, or a numeric column: one for each example, or for each number.
        loss_reduction: How the losses become one number.
        loss_fn: A function of `labels` and `logits`, and if it likes `features` and `loss_reduction`, that returns
            losses of the labels' shape.
        inverse_link_fn: Makes predictions of logits; by default they are the same.
        name: Stands behind the keys of metrics and summaries, and before the names of tensors.

    Raises:
        BadArgumentError: If an argument can't be.

    Example:
        >>> import stratax.estimator as estimator
        >>> head = estimator.RegressionHead()
        >>> float(head.loss(labels=[[43.0], [44.0]], logits=[[45.0], [41.0]]))
        6.5
    """

    _weights_per_logit = True

    def __init__(
        self,
        label_dimension: int = 1,
        weight_column: object = None,
        loss_reduction: str = "sum_over_batch_size",
        loss_fn: Callable[..., Any] | None = None,
        inverse_link_fn: Callable[[Any], Any] | None = None,
        name: str | None = None,
    ) -> None:
        if label_dimension < 1:
            raise errors.BadArgumentError(
                f"label_dimension must be at least 1. Received: label_dimension={shown(label_dimension)}."
            )
        super().__init__(label_dimension, weight_column, loss_reduction, loss_fn, name)
        self._losses_dimension = label_dimension
        self._inverse_link_fn = inverse_link_fn

    @property
    def _prediction_keys(self) -> tuple[str, ...]:  # type: ignore[override]
        both = (PredictionKeys.PREDICTIONS, PredictionKeys.LOGITS)
        return both[:1] if self._inverse_link_fn is None else both

    def predictions(self, logits: object, keys: Sequence[str] | None = None) -> dict[Any, Any]:
        wanted = _checks.check_keys(keys, self._prediction_keys)
        logits = _checks.check_logits(logits, self.logits_dimension)
        made = {PredictionKeys.PREDICTIONS: self._predict(logits), PredictionKeys.LOGITS: logits}
        return {key: made[key] for key in self._prediction_keys if key in wanted}

    def export_outputs(self, logits: object, predictions: Mapping[Any, Any]) -> dict[str, Any]:
        numbers = self._predict(_checks.check_logits(logits, self.logits_dimension))
        return _exports.of_numbers(numbers, predictions)

    def _predict(self, logits: object) -> Any:
        return logits if self._inverse_link_fn is None else self._inverse_link_fn(logits)

    def _process(self, labels: object, logits: object) -> Any:
        return _checks.dense_labels(labels, logits, self.logits_dimension).astype(jnp.float32)

    def _own_losses(self, labels: Any, logits: Any) -> Any:
        return jnp.square(logits - labels)

    def _check_losses(self, labels: object, losses: object) -> Any:
        del labels
        return losses

    def _scores(self, logits: object) -> tuple[Any, Any]:
        return self._predict(logits), None

    def _measures(self) -> Mapping[str, HeadMetric]:
        return {
            MetricKeys.LOSS_MEAN: HeadMetric(kind="loss"),
            MetricKeys.PREDICTION_MEAN: HeadMetric(kind="scores"),
            MetricKeys.LABEL_MEAN: HeadMetric(kind="labels"),
        }


class PoissonRegressionHead(RegressionHead):
    """A head for counts, as `tf.estimator.PoissonRegressionHead`: logits are the logarithms of means.

    Args:
        label_dimension: How many numbers an example has.
        weight_column: The feature of weights, or a numeric column: one for each example, or for each number.
        loss_reduction: How the losses become one number.
        compute_full_loss: Whether the loss has the term of the label's factorial (by Stirling's formula), which does
            not depend on the logits.
        name: Stands behind the keys of metrics and summaries, and before the names of tensors.
    """

    def __init__(
        self,
        label_dimension: int = 1,
        weight_column: object = None,
        loss_reduction: str = "sum_over_batch_size",
        compute_full_loss: bool = True,
        name: str | None = None,
    ) -> None:
        super().__init__(label_dimension, weight_column, loss_reduction, None, elementwise.exp, name)
        self._compute_full_loss = compute_full_loss

    def _own_losses(self, labels: Any, logits: Any) -> Any:
        losses = jnp.exp(logits) - logits * labels
        if not self._compute_full_loss:
            return losses
        # Of labels up to 1 the factorial is 1; elsewhere the other branch must not be infinite, nor its gradient.
        large = jnp.where(labels > 1, labels, 1.0)
        stirling = large * jnp.log(large) - large + 0.5 * jnp.log(2 * math.pi * large)
        return losses + jnp.where((labels >= 0) & (labels <= 1), 0.0, stirling)


class LogisticRegressionHead(RegressionHead):
    """A head for probabilities, as `tf.estimator.LogisticRegressionHead`: labels are numbers from 0 to 1.

    Args:
        weight_column: The feature of the examples' weights, or a numeric column.
        loss_reduction: How the examples' losses become one number.
        name: Stands behind the keys of metrics and summaries, and before the names of tensors.
    """

    def __init__(
        self,
        weight_column: object = None,
        loss_reduction: str = "sum_over_batch_size",
        name: str | None = None,
    ) -> None:
        super().__init__(1, weight_column, loss_reduction, None, elementwise.sigmoid, name)

    def _process(self, labels: object, logits: object) -> Any:
        found = super()._process(labels, logits)
        _checks.check_range(labels, 1)
        return found

    def _own_losses(self, labels: object, logits: object) -> Any:
        return nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits)

    def _check_losses(self, labels: object, losses: object) -> Any:
        return _checks.spoiling_outside(labels, 1, losses)
