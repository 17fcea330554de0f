"""`Head`: the interface of heads, and what those on one array of logits have in common (estimator layer)."""

import abc
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax.numpy as jnp

from stratax import errors
from stratax.base.shown import shown
from stratax.tensorflow import v1
from stratax.tensorflow.estimator._mode_keys import ModeKeys
from stratax.tensorflow.estimator._spec import EstimatorSpec
from stratax.tensorflow.estimator.heads import _checks
from stratax.tensorflow.estimator.heads._keys import MetricKeys
from stratax.tensorflow.estimator.heads._measures import (
    HeadMetric,
    MeasuredBatch,
    keras_metrics,
    metric_ops,
    update_keras,
)
from stratax.tensorflow.estimator.heads._train_op import train_op


class Head(abc.ABC):
    """What a model makes of its logits, as `tf.estimator.Head`: predictions, a loss, metrics, and a training step.

    A subclass of your own has all of these methods.
    """

    @property
    @abc.abstractmethod
    def name(self) -> str | None:
        """The name behind its metrics and losses; None without one."""

    @property
    @abc.abstractmethod
    def logits_dimension(self) -> int:
        """The size of the logits' last dimension."""

    @property
    @abc.abstractmethod
    def loss_reduction(self) -> str:
        """How the examples' losses become one number."""

    @abc.abstractmethod
    def loss(
        self,
        labels: object,
        logits: object,
        features: object = None,
        mode: str | None = None,
        regularization_losses: Sequence[Any] | None = None,
    ) -> Any:
        """Return the loss of a batch, a scalar.

        Args:
            labels: The labels.
            logits: The logits.
            features: The features by name, where weights are among them.
            mode: One of `ModeKeys`.
            regularization_losses: Scalars that are added.
        """

    @abc.abstractmethod
    def predictions(self, logits: object, keys: Sequence[str] | None = None) -> dict[Any, Any]:
        """Return predictions by name.

        Args:
            logits: The logits.
            keys: Which of them; None for all.
        """

    @abc.abstractmethod
    def metrics(self, regularization_losses: Sequence[Any] | None = None) -> dict[str, Any]:
        """Return new metrics of Keras by name.

        Args:
            regularization_losses: Scalars that are added to the loss: with them there is a metric of their sum.
        """

    @abc.abstractmethod
    def update_metrics(
        self,
        eval_metrics: dict[str, Any],
        features: object,
        logits: object,
        labels: object,
        mode: str | None = None,
        regularization_losses: Sequence[Any] | None = None,
    ) -> dict[str, Any]:
        """Add a batch to metrics, and return them.

        Args:
            eval_metrics: What :meth:`metrics` gave.
            features: The features by name.
            logits: The logits.
            labels: The labels.
            mode: One of `ModeKeys`.
            regularization_losses: Scalars that are added to the loss.
        """

    def create_estimator_spec(
        self,
        features: object,
        mode: str,
        logits: object,
        labels: object = None,
        optimizer: object = None,
        trainable_variables: Sequence[Any] | None = None,
        train_op_fn: Callable[[Any], Any] | None = None,
        update_ops: Sequence[Any] | None = None,
        regularization_losses: Sequence[Any] | None = None,
    ) -> EstimatorSpec:
        """Return what a `model_fn` returns.

        Args:
            features: The features by name.
            mode: One of `ModeKeys`.
            logits: The logits.
            labels: The labels, but for prediction.
            optimizer: An optimizer of Keras or of TensorFlow 1, for training. It counts the global step, too.
            trainable_variables: What it trains; by default all that the `model_fn` trains.
            train_op_fn: A function of the loss that returns the operation of a step, in place of `optimizer`.
            update_ops: Operations that are run in each step besides.
            regularization_losses: Scalars that are added to the loss.

        Raises:
            BadArgumentError: If there is neither `optimizer` nor `train_op_fn`, or both, or logits, labels or weights
                don't fit.
        """
        with v1.name_scope(self.name or "head"):
            predictions = self.predictions(logits)
            if mode == ModeKeys.PREDICT:
                outputs = self.export_outputs(logits, predictions)
                return EstimatorSpec(mode, predictions=predictions, export_outputs=outputs)
            loss = self.loss(labels, logits, features, mode, regularization_losses)
            if mode == ModeKeys.EVAL:
                found = self._evaluate(features, logits, labels, regularization_losses)
                return EstimatorSpec(mode, predictions=predictions, loss=loss, eval_metric_ops=found)
            # Before the optimizer: it computes other operations where one replica stands for all.
            summaries = self._summaries(loss, features, logits, labels, regularization_losses)
            operation = self._train(loss, optimizer, train_op_fn, trainable_variables, update_ops)
        with v1.name_scope(""):
            for key, value in summaries.items():
                v1.summary.scalar(self._key(key), value)
        return EstimatorSpec(mode, predictions=predictions, loss=loss, train_op=operation)

    def export_outputs(self, logits: object, predictions: Mapping[Any, Any]) -> dict[str, Any] | None:
        """Return what an export answers with, by the names of signatures, of which one is the default.

        Args:
            logits: The logits.
            predictions: What :meth:`predictions` made of them.

        Returns:
            `tf.estimator.export.ExportOutput`s; None for the predictions.
        """
        del logits, predictions
        return None

    def _evaluate(
        self, features: object, logits: object, labels: object, regularization: Sequence[Any] | None
    ) -> dict[str, Any]:
        """Return the metrics of a step of evaluation."""
        found = self.metrics(regularization_losses=regularization)
        return self.update_metrics(found, features, logits, labels, regularization_losses=regularization)

    def _train(self, loss: Any, *how: Any) -> Any:
        """Return the operation of a step of training, of what :func:`train_op` takes."""
        # As Keras calls it: variables of TensorFlow 1's optimizers are named by it.
        with v1.name_scope(""), v1.name_scope(self._training_scope):
            return train_op(loss, *how)

    @property
    def _training_scope(self) -> str:
        """The name scope in which the operation of a step is made."""
        return "training"

    def _summaries(
        self,
        loss: object,
        features: object,
        logits: object,
        labels: object,
        regularization: Sequence[Any] | None,
    ) -> dict[str, Any]:
        """Return what a step of training writes."""
        del features, logits, labels
        found = {MetricKeys.LOSS: loss}
        return (
            found if regularization is None else found | {MetricKeys.LOSS_REGULARIZATION: sum(regularization)}
        )

    def _key(self, key: str) -> str:
        """Return a metric's key, with the head's name behind it."""
        return f"{key}/{self.name}" if self.name else key


class LogitsHead(Head):
    """A head on one array of logits.

    Args:
        logits_dimension: The size of the logits' last dimension.
        weight_column: The feature of weights, or a numeric column.
        loss_reduction: How the examples' losses become one number.
        loss_fn: A user's function of losses.
        name: The head's name.
    """

    def __init__(
        self,
        logits_dimension: int,
        weight_column: object,
        loss_reduction: str,
        loss_fn: Callable[..., Any] | None,
        name: str | None,
    ) -> None:
        self._reduction = _checks.reduction_of(loss_reduction, with_none=self._keeps_losses)
        _checks.check_loss_fn(loss_fn)
        self._logits_dimension = logits_dimension
        self._weight_column = weight_column
        self._loss_reduction = loss_reduction
        self._loss_fn = loss_fn
        self._name = name

    @property
    def name(self) -> str | None:
        return self._name

    @property
    def logits_dimension(self) -> int:
        return self._logits_dimension

    @property
    def loss_reduction(self) -> str:
        return self._loss_reduction

    def weights(self, features: object, logits: object) -> Any:
        """Return the examples' weights, of shape `(batch, ..., 1)` or that of the logits; 1.0 without a column."""
        return _checks.weights_of(features, self._weight_column, logits, per_logit=self._weights_per_logit)

    # What a kind of head says.

    _prediction_keys: tuple[str, ...]
    # The size of the last dimension of losses.
    _losses_dimension = 1
    _weights_per_logit = False
    # Whether `Reduction.NONE` is a reduction, too.
    _keeps_losses = False

    @abc.abstractmethod
    def _process(self, labels: object, logits: object) -> Any:
        """Return labels as numbers of the logits' batch, checked."""

    @abc.abstractmethod
    def _own_losses(self, labels: object, logits: object) -> Any:
        """Return the examples' losses."""

    @abc.abstractmethod
    def _check_losses(self, labels: object, losses: object) -> Any:
        """Return losses that are NaN for labels that a compiled step can't refuse."""

    @abc.abstractmethod
    def _measures(self) -> Mapping[str, HeadMetric]:
        """Return the metrics by key."""

    @abc.abstractmethod
    def _scores(self, logits: object) -> tuple[Any, Any]:
        """Return what is measured of predictions: scores, and the numbers of classes or None."""

    # What follows from it.

    def loss(
        self,
        labels: object,
        logits: object,
        features: object = None,
        mode: str | None = None,
        regularization_losses: Sequence[Any] | None = None,
    ) -> Any:
        del mode
        logits = _checks.check_logits(logits, self.logits_dimension)
        losses, weights, _ = self._weigh(labels, logits, features)
        total = v1.losses.compute_weighted_loss(
            losses, weights, loss_collection=None, reduction=self._reduction
        )
        return total if regularization_losses is None else total + sum(regularization_losses)

    def metrics(self, regularization_losses: Sequence[Any] | None = None) -> dict[str, Any]:
        return keras_metrics(self._all_measures(regularization_losses))

    def update_metrics(
        self,
        eval_metrics: dict[str, Any],
        features: object,
        logits: object,
        labels: object,
        mode: str | None = None,
        regularization_losses: Sequence[Any] | None = None,
    ) -> dict[str, Any]:
        del mode
        measures = self._check_measures(eval_metrics, regularization_losses)
        update_keras(eval_metrics, measures, self._batch(features, logits, labels, regularization_losses))
        return eval_metrics

    def _check_measures(
        self, eval_metrics: Mapping[str, Any], regularization_losses: Sequence[Any] | None
    ) -> dict[str, HeadMetric]:
        """Return what is measured, by key.

        Raises:
            BadArgumentError: If `eval_metrics` lacks one.
        """
        measures = self._all_measures(regularization_losses)
        if any(key not in eval_metrics for key in measures):
            raise errors.BadArgumentError(
                f"eval_metrics must be what metrics() gave. Expected: metrics {shown(list(measures))}. Received: "
                f"{shown(sorted(eval_metrics))}."
            )
        return measures

    def metric_pairs(
        self, features: object, logits: object, labels: object, regularization_losses: Sequence[Any] | None
    ) -> dict[str, Any]:
        """Return the metrics of a batch as TensorFlow 1's pairs of value and operation."""
        measures = self._all_measures(regularization_losses)
        return metric_ops(measures, self._batch(features, logits, labels, regularization_losses))

    def mean_loss(self, labels: object, logits: object, features: object) -> Any:
        """Return the mean of the examples' losses by their weights."""
        logits = _checks.check_logits(logits, self.logits_dimension)
        losses, weights, _ = self._weigh(labels, logits, features)
        mean = v1.losses.Reduction.MEAN
        return v1.losses.compute_weighted_loss(losses, weights, loss_collection=None, reduction=mean)

    def _all_measures(self, regularization: Sequence[Any] | None) -> dict[str, HeadMetric]:
        measures = {self._key(key): measure for key, measure in self._measures().items()}
        if regularization is not None:
            measures[self._key(MetricKeys.LOSS_REGULARIZATION)] = HeadMetric(kind="regularization")
        return measures

    def _batch(
        self, features: object, logits: object, labels: object, regularization: Sequence[Any] | None = None
    ) -> MeasuredBatch:
        """Return what of a batch is measured."""
        logits = _checks.check_logits(logits, self.logits_dimension)
        losses, weights, processed = self._weigh(labels, logits, features)
        scores, class_ids = self._scores(logits)
        return MeasuredBatch(
            losses=losses,
            weights=weights,
            labels=processed,
            scores=scores,
            class_ids=class_ids,
            regularization=None if regularization is None else jnp.asarray(sum(regularization)),
        )

    def _weigh(self, labels: object, logits: object, features: object) -> tuple[Any, Any, Any]:
        """Return the examples' losses, their weights, and the labels as numbers."""
        processed = self._process(labels, logits)
        if self._loss_fn is None:
            losses = self._own_losses(processed, logits)
        else:
            losses = _checks.call_loss(
                self._loss_fn, processed, logits, features, self._loss_reduction, self._losses_dimension
            )
        weights = self.weights(features, logits)
        return self._check_losses(processed, losses), weights, processed
