"""`EstimatorSpec`: what a `model_fn` returns (estimator layer)."""

import collections
from collections.abc import Iterable, Mapping
from typing import Any

import keras
import numpy as np

from stratax import errors
from stratax.base.shown import shown
from stratax.core import regions
from stratax.data.elements import Composite
from stratax.tensorflow.estimator._export_outputs import outputs_of
from stratax.tensorflow.estimator._mode_keys import MODES, ModeKeys
from stratax.tensorflow.estimator._scaffold import Scaffold
from stratax.tensorflow.estimator.hooks import SessionRunHook, check_hooks
from stratax.tensorflow.v1 import HostResult, Operation


class EstimatorSpec(
    collections.namedtuple(
        "EstimatorSpec",
        [
            "mode",
            "predictions",
            "loss",
            "train_op",
            "eval_metric_ops",
            "export_outputs",
            "training_chief_hooks",
            "training_hooks",
            "scaffold",
            "evaluation_hooks",
            "prediction_hooks",
        ],
    )
):
    """What a `model_fn` returns, checked, as `tf.estimator.EstimatorSpec`.

    Training needs `loss` and `train_op`, evaluation `loss`, prediction `predictions`. A `model_fn` may always pass all
    of them: what a mode does not need is not computed.

    Args:
        mode: One of `ModeKeys`; None in a `model_fn` that is not told it.
        predictions: A tensor, or a dict of tensors by name; the first dimension is the batch.
        loss: A tensor with one element.
        train_op: The operation, or tensor, that makes a training step.
        eval_metric_ops: By name, a Keras metric, or a pair `(value, update_op)` as functions of `tf.metrics` return.
        export_outputs: By name, what an export answers with; None for one output with the predictions. For prediction,
            one of them is also under the default's name.
        training_chief_hooks: Hooks of training on the chief only.
        training_hooks: Hooks of training.
        scaffold: A `Scaffold`, which says how variables get their first values and how they are saved; by default one
            that says nothing.
        evaluation_hooks: Hooks of evaluation.
        prediction_hooks: Hooks of prediction.

    Raises:
        BadArgumentError: If the mode does not exist, something that it needs is missing, or the loss has more than one
            element.
        BadTypeError: If a field has a wrong type.
    """

    __slots__ = ()

    def __new__(
        cls,
        mode: str | None,
        predictions: object = None,
        loss: object = None,
        train_op: object = None,
        eval_metric_ops: Mapping[str, Any] | None = None,
        export_outputs: Mapping[str, Any] | None = None,
        training_chief_hooks: Iterable[SessionRunHook] | None = None,
        training_hooks: Iterable[SessionRunHook] | None = None,
        scaffold: object = None,
        evaluation_hooks: Iterable[SessionRunHook] | None = None,
        prediction_hooks: Iterable[SessionRunHook] | None = None,
    ) -> "EstimatorSpec":
        """Check the fields and make the spec."""
        # As in TensorFlow, a model_fn that does not ask for its mode need not name one.
        if mode is not None and mode not in MODES:
            raise errors.BadArgumentError(
                f"mode must be one of tf.estimator.ModeKeys: {', '.join(map(repr, MODES))}. "
                f"Received: mode={shown(mode)}. Pass on the mode that the model_fn was called with."
            )
        return super().__new__(
            cls,
            mode=mode,
            train_op=_check_train_op(train_op, mode),
            loss=_check_loss(loss, mode),
            predictions=_check_predictions(predictions, mode),
            export_outputs=_check_export_outputs(export_outputs, predictions, mode),
            training_hooks=check_hooks(training_hooks, "training_hooks"),
            evaluation_hooks=check_hooks(evaluation_hooks, "evaluation_hooks"),
            prediction_hooks=check_hooks(prediction_hooks, "prediction_hooks"),
            training_chief_hooks=check_hooks(training_chief_hooks, "training_chief_hooks"),
            eval_metric_ops=_check_metrics(eval_metric_ops),
            scaffold=_check_scaffold(scaffold),
        )

    def _replace(self, **kwds: object) -> "EstimatorSpec":
        """Return a spec in which some fields have other values, checked anew; `mode` has to stay."""
        if kwds.get("mode", self.mode) != self.mode:
            raise errors.BadArgumentError(
                f"The mode of an EstimatorSpec can't be changed; it is {shown(self.mode)}. "
                f"Received: mode={shown(kwds['mode'])}."
            )
        unknown = set(kwds) - set(self._fields)
        if unknown:
            raise errors.BadArgumentError(
                f"An EstimatorSpec has the fields {', '.join(self._fields)}. Received: {', '.join(sorted(unknown))}."
            )
        return EstimatorSpec(**{**self._asdict(), **kwds})


def is_tensor(value: object) -> bool:
    """Return whether a value is what a `model_fn` calls a tensor: an array, a tracer, a variable or strings."""
    if isinstance(value, Composite):
        return False
    return isinstance(value, HostResult) or (hasattr(value, "shape") and hasattr(value, "dtype"))


def _check_train_op(train_op: object, mode: str | None) -> Any:
    if train_op is None and mode == ModeKeys.TRAIN:
        raise errors.BadArgumentError(
            "Missing train_op: an EstimatorSpec for training needs the operation that makes a step. "
            "Received: train_op=None. Pass train_op=optimizer.minimize(loss, "
            "global_step=tf.compat.v1.train.get_global_step())."
        )
    if train_op is None or isinstance(train_op, Operation) or is_tensor(train_op):
        return train_op
    several = " Join several with tf.group(...)." if isinstance(train_op, list | tuple) else ""
    raise errors.BadTypeError(
        f"train_op must be an operation or a tensor. Received: train_op={shown(train_op)}.{several}"
    )


def _check_loss(loss: Any, mode: str | None) -> Any:
    if loss is None:
        if mode in (ModeKeys.TRAIN, ModeKeys.EVAL):
            raise errors.BadArgumentError(
                f"Missing loss: an EstimatorSpec of mode {shown(mode)} needs one. Received: loss=None. "
                "Pass loss=... in this mode."
            )
        return None
    if not is_tensor(loss):
        raise errors.BadTypeError(f"loss must be a tensor. Received: loss={shown(loss)}.")
    if np.prod(loss.shape, dtype=int) != 1:
        raise errors.BadArgumentError(
            f"loss must be a scalar. Received: a tensor of shape {tuple(loss.shape)}. "
            "Reduce it, as tf.reduce_mean(loss) does."
        )
    # A scalar stays the object that it is: hooks that fetch it find it by its identity.
    return loss if len(loss.shape) == 0 else keras.ops.reshape(loss, ())


def _check_predictions(predictions: object, mode: str | None) -> Any:
    if predictions is None:
        if mode == ModeKeys.PREDICT:
            raise errors.BadArgumentError(
                "Missing predictions: an EstimatorSpec for prediction needs them. Received: predictions=None. "
                "Pass a tensor or a dict of tensors."
            )
        return {}
    if isinstance(predictions, Mapping):
        for key, value in predictions.items():
            if not is_tensor(value):
                raise errors.BadTypeError(
                    f"predictions[{shown(key)}] must be a tensor. Received: {shown(value)}."
                )
        return dict(predictions)
    if not is_tensor(predictions):
        raise errors.BadTypeError(
            f"predictions must be a tensor or a dict of tensors. Received: predictions={shown(predictions)}."
        )
    return predictions


def _check_export_outputs(export_outputs: object, predictions: object, mode: str | None) -> Any:
    if export_outputs is not None and not isinstance(export_outputs, Mapping):
        raise errors.BadTypeError(
            f"export_outputs must be a dict by name. Received: export_outputs={shown(export_outputs)}."
        )
    return outputs_of(predictions, export_outputs) if mode == ModeKeys.PREDICT else export_outputs


def _check_scaffold(scaffold: object) -> Scaffold:
    if scaffold is not None and not isinstance(scaffold, Scaffold):
        raise errors.BadTypeError(
            f"scaffold must be a tf.compat.v1.train.Scaffold. Received: scaffold={shown(scaffold)}."
        )
    return scaffold or Scaffold()


def _is_updated(metric: keras.metrics.Metric) -> bool:
    """Return whether a metric was updated in the step that is traced; outside of steps it is not known."""
    region = regions.current_region()
    if region is None:
        return True
    written = {id(regions.variable_of(each)) for each in region.writes.values()}
    return not metric.variables or any(id(each) in written for each in metric.variables)


def _check_metrics(metrics: object) -> dict[str, Any]:
    if metrics is None:
        return {}
    if not isinstance(metrics, Mapping):
        raise errors.BadTypeError(
            f"eval_metric_ops must be a dict by name. Received: eval_metric_ops={shown(metrics)}."
        )
    for key, value in metrics.items():
        is_pair = isinstance(value, tuple) and len(value) == 2
        if not (is_pair or isinstance(value, keras.metrics.Metric)):
            raise errors.BadTypeError(
                "Values of eval_metric_ops must be (metric_value, update_op) tuples or Keras metrics. "
                f"Received: eval_metric_ops[{shown(key)}]={shown(value)}. "
                "Use a function of tf.compat.v1.metrics, or a Keras metric after its update_state(...)."
            )
        if not is_pair and not _is_updated(value):
            raise errors.BadArgumentError(
                f"Please call update_state(...) on the metric eval_metric_ops[{shown(key)}], which has seen nothing of "
                f"the batch. Received: {shown(value)}."
            )
    return dict(metrics)
