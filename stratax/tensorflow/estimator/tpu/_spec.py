"""`TPUEstimatorSpec`: what the `model_fn` of a TPUEstimator returns (estimator layer)."""

import collections
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp

from stratax import errors
from stratax.base.shown import shown
from stratax.distribute import get_replica_context
from stratax.tensorflow.estimator._mode_keys import ModeKeys
from stratax.tensorflow.estimator._results import ResultsHook
from stratax.tensorflow.estimator._spec import EstimatorSpec
from stratax.tensorflow.v1 import current_or_none


class TPUEstimatorSpec(
    collections.namedtuple(
        "TPUEstimatorSpec",
        [
            "mode",
            "predictions",
            "loss",
            "train_op",
            "eval_metrics",
            "export_outputs",
            "scaffold_fn",
            "host_call",
            "training_hooks",
            "evaluation_hooks",
            "prediction_hooks",
        ],
    )
):
    """What a `model_fn` returns, as `tf.estimator.tpu.TPUEstimatorSpec`.

    Args:
        mode: One of `ModeKeys`.
        predictions: A dict of tensors.
        loss: The loss.
        train_op: The operation of a training step.
        eval_metrics: A function and its arguments, a list or dict of tensors whose first dimension is the batch; it
            returns what `EstimatorSpec` takes as `eval_metric_ops`.
        export_outputs: As of `EstimatorSpec`.
        scaffold_fn: A function that returns a `Scaffold`.
        host_call: A function and its arguments, likewise. It is called on the host with what steps gave: in training
            and in evaluation.
        training_hooks: Hooks of training.
        evaluation_hooks: Hooks of evaluation.
        prediction_hooks: Hooks of prediction.

    Raises:
        BadArgumentError: If `eval_metrics` or `host_call` is no pair of a function and its arguments.
    """

    __slots__ = ()

    def __new__(
        cls,
        mode: str,
        predictions: Mapping[str, Any] | None = None,
        loss: object = None,
        train_op: object = None,
        eval_metrics: object = None,
        export_outputs: Mapping[str, Any] | None = None,
        scaffold_fn: Callable[[], Any] | None = None,
        host_call: object = None,
        training_hooks: Any = None,
        evaluation_hooks: Any = None,
        prediction_hooks: Any = None,
    ) -> "TPUEstimatorSpec":
        """Check the fields and make the spec."""
        _check_call("eval_metrics", eval_metrics)
        _check_call("host_call", host_call)
        return super().__new__(
            cls,
            mode=mode,
            predictions=predictions,
            loss=loss,
            train_op=train_op,
            eval_metrics=eval_metrics,
            export_outputs=export_outputs,
            scaffold_fn=scaffold_fn,
            host_call=host_call,
            training_hooks=tuple(training_hooks or ()),
            evaluation_hooks=tuple(evaluation_hooks or ()),
            prediction_hooks=tuple(prediction_hooks or ()),
        )

    def as_estimator_spec(self, host_call_every: int = 1) -> EstimatorSpec:
        """Return the same as an `EstimatorSpec`: the function of `eval_metrics` is called.

        Args:
            host_call_every: At every how many steps the host call is made.
        """
        hooks: tuple[Any, ...] = ()
        # TensorFlow's, too, is not made in training where it has no tensors.
        if self.host_call is not None and self.host_call[1]:
            function, tensors = self.host_call
            gathered = jax.tree.map(lambda tensor: _name(_of_all_cores(tensor)), tensors)
            # The rate is training's.
            every = host_call_every if self.mode == ModeKeys.TRAIN else 1
            hooks = (ResultsHook(gathered, lambda values: call((function, values)), every),)
        return EstimatorSpec(
            mode=self.mode,
            predictions=self.predictions,
            loss=self.loss,
            train_op=self.train_op,
            # Only where they count: elsewhere they would make variables and compute for nothing.
            eval_metric_ops=call(self.eval_metrics)
            if self.mode == ModeKeys.EVAL and self.eval_metrics
            else None,
            export_outputs=self.export_outputs,
            scaffold=None if self.scaffold_fn is None else self.scaffold_fn(),
            training_hooks=(*self.training_hooks, *hooks),
            evaluation_hooks=(*self.evaluation_hooks, *hooks),
            prediction_hooks=(*self.prediction_hooks, *hooks),
        )


def call(pair: tuple[Callable[..., Any], Any]) -> Any:
    """Call a function with its arguments: a list of them, or a dict by name."""
    function, arguments = pair
    return function(**arguments) if isinstance(arguments, Mapping) else function(*arguments)


def _name(tensor: object) -> Any:
    """Return what a hook asks for a tensor by, also in a step that one core computes for all, in other operations."""
    scope = current_or_none()
    return tensor if scope is None else scope.names.give("host_call", tensor)


def _of_all_cores(tensor: object) -> Any:
    """Return the cores' tensors behind one another."""
    context = get_replica_context()
    array = jnp.asarray(tensor)
    if not array.shape:
        raise errors.BadArgumentError(
            "The tensors of a host_call need a first dimension, in which those of all cores are put together. "
            "Received: a scalar. Use tf.reshape(tensor, [1])."
        )
    return array + 0 if context is None else context.all_gather(array, 0)


def _check_call(name: str, value: object) -> None:
    if value is None:
        return
    if (
        not isinstance(value, list | tuple)
        or len(value) != 2
        or not callable(value[0])
        or not isinstance(value[1], Mapping | Sequence)
    ):
        raise errors.BadArgumentError(
            f"{name} should be a tuple of a function and its tensors, a list or a dict. "
            f"Received: {name}={shown(value)}."
        )
    function, tensors = value
    parameters = _positional(function)
    if not isinstance(tensors, Mapping) and parameters is not None and len(tensors) != len(parameters):
        raise errors.BadArgumentError(
            f"In TPUEstimatorSpec.{name}, the number of tensors does not match the function's arguments. Expected: "
            f"{len(parameters)} of them, for {', '.join(parameters) or 'none'}. Received: {len(tensors)}."
        )


def _positional(function: Callable[..., Any]) -> list[str] | None:
    """Return the names of a function's arguments; None if it takes any number."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except ValueError:  # Python can't tell the arguments of some functions that are written in C.
        return None
    if any(parameter.kind is parameter.VAR_POSITIONAL for parameter in parameters):
        return None
    return [
        parameter.name
        for parameter in parameters
        if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)
    ]
