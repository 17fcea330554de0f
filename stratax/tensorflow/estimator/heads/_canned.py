"""Heads as `tensorflow_estimator.python.estimator.canned.head` has them (estimator layer).

That module is private, and programs inherit from its classes all the same: for an update that takes the examples'
losses one by one, say. Such a head overrides `_create_tpu_estimator_spec`, which makes whatever a `model_fn` returns,
and is written with the functions below. Their names are therefore TensorFlow's.
"""

import abc
import collections
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import jax

from stratax.tensorflow import v1
from stratax.tensorflow.estimator._export_outputs import DEFAULT, PREDICT, ClassificationOutput
from stratax.tensorflow.estimator._mode_keys import ModeKeys
from stratax.tensorflow.estimator._spec import EstimatorSpec
from stratax.tensorflow.estimator.heads import _checks, _classes
from stratax.tensorflow.estimator.heads._first import _Binary, _Classes, _Regression
from stratax.tensorflow.estimator.heads._head import LogitsHead
from stratax.tensorflow.estimator.heads._measures import MeasuredBatch, metric_ops
from stratax.tensorflow.estimator.heads._train_op import add_updates, train_op
from stratax.tensorflow.estimator.tpu._spec import TPUEstimatorSpec

_SUM = v1.losses.Reduction.SUM

DEFAULT_SERVING_KEY = DEFAULT
CLASSIFY_SERVING_KEY = "classification"
REGRESS_SERVING_KEY = "regression"
PREDICT_SERVING_KEY = PREDICT

# How :class:`MeasuredBatch` calls what TensorFlow's heads measure.
_MEASURED = {
    "unreduced_loss": "losses",
    "regularization_loss": "regularization",
    "logistic": "scores",
    "predicted_value": "scores",
}

LossSpec = collections.namedtuple(
    "LossSpec", ["training_loss", "unreduced_loss", "weights", "processed_labels"]
)


def add_name(head_name: str | None, val: str) -> str:
    """Return a metric's key with the head's name behind it."""
    return f"{val}/{head_name}" if head_name else val


def make_eval_metrics(fn: Callable[..., Any], kwargs: Mapping[str, Any]) -> tuple[Callable[..., Any], Any]:
    """Return what a TPUEstimatorSpec takes as `eval_metrics`: a function of tensors alone, and these.

    Args:
        fn: A function of tensors and other values.
        kwargs: All of its arguments.
    """
    tensors = {key: value for key, value in kwargs.items() if isinstance(value, jax.Array)}
    others = {key: value for key, value in kwargs.items() if key not in tensors}

    def of_tensors(**named: object) -> Any:
        return fn(**others, **named)

    return of_tensors, tensors


def list_class_ids(logits: object, n_classes: int) -> Any:
    """Return the numbers of all classes for each example."""
    return _classes.all_class_ids(logits, n_classes)


def list_classes(logits: object, n_classes: int, label_vocabulary: Sequence[str] | None = None) -> Any:
    """Return the names of all classes for each example."""
    return _classes.names_of(list_class_ids(logits, n_classes), _checks.check_vocabulary(label_vocabulary))


def make_classification(
    scores: object, n_classes: int, label_vocabulary: Sequence[str] | None = None
) -> ClassificationOutput:
    """Return the output of a classifier's export: each class' score, with its name."""
    return ClassificationOutput(scores, list_classes(scores, n_classes, label_vocabulary))


class _Interface:
    """What a `model_fn` calls of TensorFlow 1's private heads."""

    def create_loss(self, features: object, mode: str | None, logits: object, labels: object) -> LossSpec:
        """Return a batch's loss, and what it is made of.

        Args:
            features: The features by name.
            mode: One of `ModeKeys`.
            logits: The logits.
            labels: The labels.
        """
        raise NotImplementedError

    def create_estimator_spec(
        self,
        features: object,
        mode: str,
        logits: object,
        labels: object = None,
        optimizer: object = None,
        train_op_fn: Callable[[Any], Any] | None = None,
        regularization_losses: Sequence[Any] | None = None,
    ) -> EstimatorSpec:
        """Return what a `model_fn` returns.

        Args:
            features: The features by name.
            mode: One of `ModeKeys`.
            logits: The logits.
            labels: The labels, but for prediction.
            optimizer: An optimizer, for training. It counts the global step, too.
            train_op_fn: A function of the loss that returns the operation of a step, in place of `optimizer`.
            regularization_losses: Scalars that are added to the loss.
        """
        spec = self._create_tpu_estimator_spec(
            features=features,
            mode=mode,
            logits=logits,
            labels=labels,
            optimizer=optimizer,
            train_op_fn=train_op_fn,
            regularization_losses=regularization_losses,
        )
        return spec.as_estimator_spec()

    def _create_tpu_estimator_spec(
        self,
        features: object,
        mode: str,
        logits: object,
        labels: object = None,
        optimizer: object = None,
        train_op_fn: Callable[[Any], Any] | None = None,
        regularization_losses: Sequence[Any] | None = None,
    ) -> TPUEstimatorSpec:
        """Return what a `model_fn` for TPUs returns, of what :meth:`create_estimator_spec` takes."""
        raise NotImplementedError("A head has to have _create_tpu_estimator_spec or create_estimator_spec.")


class CannedHead(_Interface, abc.ABC):
    """TensorFlow 1's interface of heads, `_Head`: a subclass of your own has what it likes of it."""

    @property
    def name(self) -> str | None:
        """The name behind its metrics and losses; None without one."""
        raise NotImplementedError

    @property
    def logits_dimension(self) -> int:
        """The size of the logits' last dimension."""
        raise NotImplementedError


class _Canned(_Interface, LogitsHead):  # type: ignore[misc]  # TensorFlow 1's arguments
    """A head on one array of logits, in TensorFlow 1's interface."""

    # A program's own update may want each example's loss.
    _keeps_losses = True
    # What `_eval_metric_ops` takes, in order.
    _measured_names: tuple[str, ...]

    def create_loss(self, features: object, mode: str | None, logits: object, labels: object) -> LossSpec:
        del mode
        logits = _checks.check_logits(logits, self.logits_dimension)
        losses, weights, processed = self._weigh(labels, logits, features)
        total = v1.losses.compute_weighted_loss(
            losses, weights, loss_collection=None, reduction=self._reduction
        )
        return LossSpec(total, losses, weights, processed)

    def _eval_metric_ops(self, *args: object, **kwargs: object) -> dict[str, Any]:
        """Return the metrics of a batch as pairs of value and operation."""
        given = dict(zip(self._measured_names, args, strict=False)) | kwargs
        values = {_MEASURED.get(name, name): value for name, value in given.items() if name != "logits"}
        return self._measure(**{"scores": values.get("class_ids"), **values})

    def _measure(self, regularization: Any = None, **values: Any) -> dict[str, Any]:
        """Return the metrics of a batch as pairs of value and operation."""
        measures = self._all_measures(None if regularization is None else [regularization])
        return metric_ops(measures, MeasuredBatch(regularization=regularization, **values))

    def _create_tpu_estimator_spec(
        self,
        features: object,
        mode: str,
        logits: object,
        labels: object = None,
        optimizer: object = None,
        train_op_fn: Callable[[Any], Any] | None = None,
        regularization_losses: Sequence[Any] | None = None,
    ) -> TPUEstimatorSpec:
        with v1.name_scope(self.name or "head"):
            logits = _checks.check_logits(logits, self.logits_dimension)
            predictions = self.predictions(logits)
            if mode == ModeKeys.PREDICT:
                outputs = self.export_outputs(logits, predictions)
                return TPUEstimatorSpec(mode, predictions=predictions, export_outputs=outputs)
            made = self.create_loss(features=features, mode=mode, logits=logits, labels=labels)
            more = sum(regularization_losses) if regularization_losses else None
            loss = made.training_loss if more is None else made.training_loss + more
            if mode == ModeKeys.EVAL:
                found = make_eval_metrics(self._measure, self._measured(logits, made, more))
                return TPUEstimatorSpec(mode, predictions=predictions, loss=loss, eval_metrics=found)
            operation = add_updates(train_op(loss, optimizer, train_op_fn))
        with v1.name_scope(""):
            for key, value in self._summaries(loss, features, logits, labels, regularization_losses).items():
                v1.summary.scalar(self._key(key), value)
        return TPUEstimatorSpec(mode, predictions=predictions, loss=loss, train_op=operation)

    def _measured(self, logits: Any, made: LossSpec, more: object) -> dict[str, Any]:
        """Return what is measured of a batch, by the names of :class:`MeasuredBatch`."""
        scores, class_ids = self._scores(logits)
        return {
            "losses": made.unreduced_loss,
            "weights": made.weights,
            "labels": made.processed_labels,
            "scores": scores,
            "class_ids": class_ids,
            "regularization": more,
        }


CannedHead.register(_Canned)  # type: ignore[type-abstract]


class BinaryLogisticHead(_Canned, _Binary):  # type: ignore[misc]  # TensorFlow 1's arguments
    """TensorFlow 1's head for two classes, `_BinaryLogisticHeadWithSigmoidCrossEntropyLoss`.

    Args:
        weight_column: As of :class:`BinaryClassHead`.
        thresholds: Likewise.
        label_vocabulary: Likewise.
        loss_reduction: How the examples' losses become one number; `Reduction.NONE` keeps them.
        loss_fn: As of :class:`BinaryClassHead`.
        name: Likewise.
    """

    _measured_names = (
        "labels",
        "logits",
        "logistic",
        "class_ids",
        "weights",
        "unreduced_loss",
        "regularization_loss",
    )

    def __init__(
        self,
        weight_column: object = None,
        thresholds: Iterable[float] | None = None,
        label_vocabulary: Sequence[str] | None = None,
        loss_reduction: str = _SUM,
        loss_fn: Callable[..., Any] | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__(weight_column, thresholds, label_vocabulary, loss_reduction, loss_fn, name)


class MultiClassSoftmaxHead(_Canned, _Classes):  # type: ignore[misc]  # TensorFlow 1's arguments
    """TensorFlow 1's head for several classes, `_MultiClassHeadWithSoftmaxCrossEntropyLoss`.

    Args:
        n_classes: As of :class:`MultiClassHead`.
        weight_column: Likewise.
        label_vocabulary: Likewise.
        loss_reduction: How the examples' losses become one number; `Reduction.NONE` keeps them.
        loss_fn: As of :class:`MultiClassHead`.
        name: Likewise.
    """

    _measured_names = ("labels", "class_ids", "weights", "unreduced_loss", "regularization_loss")

    def __init__(
        self,
        n_classes: int,
        weight_column: object = None,
        label_vocabulary: Sequence[str] | None = None,
        loss_reduction: str = _SUM,
        loss_fn: Callable[..., Any] | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__(n_classes, weight_column, label_vocabulary, loss_reduction, loss_fn, name)
        self._n_classes = n_classes


class MeanSquaredErrorHead(_Canned, _Regression):  # type: ignore[misc]  # TensorFlow 1's arguments
    """TensorFlow 1's head for numbers, `_RegressionHeadWithMeanSquaredErrorLoss`.

    Args:
        label_dimension: As of :class:`RegressionHead`.
        weight_column: Likewise.
        loss_reduction: How the losses become one number; `Reduction.NONE` keeps them.
        loss_fn: As of :class:`RegressionHead`.
        inverse_link_fn: Likewise.
        name: Likewise.
    """

    _measured_names = ("predicted_value", "labels", "weights", "unreduced_loss", "regularization_loss")

    def __init__(
        self,
        label_dimension: int = 1,
        weight_column: object = None,
        loss_reduction: str = _SUM,
        loss_fn: Callable[..., Any] | None = None,
        inverse_link_fn: Callable[[Any], Any] | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__(label_dimension, weight_column, loss_reduction, loss_fn, inverse_link_fn, name)


def make_regression_head(
    weight_column: object = None,
    label_dimension: int = 1,
    loss_reduction: str = _SUM,
    loss_fn: Callable[..., Any] | None = None,
    inverse_link_fn: Callable[[Any], Any] | None = None,
    name: str | None = None,
) -> MeanSquaredErrorHead:
    """Return TensorFlow 1's head for numbers, of what :class:`MeanSquaredErrorHead` takes."""
    return MeanSquaredErrorHead(
        label_dimension, weight_column, loss_reduction, loss_fn, inverse_link_fn, name
    )


def make_classifier_head(
    n_classes: int, weight_column: object, label_vocabulary: Sequence[str] | None, loss_reduction: str
) -> BinaryLogisticHead | MultiClassSoftmaxHead:
    """Return TensorFlow 1's head for two classes, or for more."""
    if n_classes == 2:
        return BinaryLogisticHead(weight_column, None, label_vocabulary, loss_reduction)
    return MultiClassSoftmaxHead(n_classes, weight_column, label_vocabulary, loss_reduction)
