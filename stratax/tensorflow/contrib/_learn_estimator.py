"""`tf.contrib.learn.Estimator`: Estimators as they were before `tf.estimator`, over those of today."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from stratax import errors
from stratax.base.shown import shown
from stratax.tensorflow import estimator as estimators
from stratax.tensorflow.estimator import export
from stratax.tensorflow.estimator.inputs import numpy_input_fn


class ModelFnOps(NamedTuple):
    """What a `model_fn` returns, as `tf.contrib.learn.ModelFnOps`.

    Attributes:
        mode: What the model is called for.
        predictions: Tensors by name, or one.
        loss: A scalar.
        train_op: What trains.
        eval_metric_ops: Metrics by name.
        output_alternatives: Ignored.
        training_chief_hooks: Hooks of training.
        training_hooks: Likewise.
        scaffold: How the model begins, and is saved.
    """

    mode: Any
    predictions: Any = None
    loss: Any = None
    train_op: Any = None
    eval_metric_ops: Any = None
    output_alternatives: Any = None
    training_chief_hooks: Any = None
    training_hooks: Any = None
    scaffold: Any = None


class InputFnOps(NamedTuple):
    """What a model that is served is fed, as `tf.contrib.learn.InputFnOps`.

    Attributes:
        features: The features.
        labels: The labels; None for none.
        default_inputs: The tensors that are fed, by name.
    """

    features: Any
    labels: Any
    default_inputs: Any


class MetricSpec:
    """A metric of some of the predictions, as `tf.contrib.learn.MetricSpec`.

    Args:
        metric_fn: A metric, as those of `tf.contrib.metrics` and `tf.metrics` are.
        prediction_key: The prediction's name; None where there is one only.
        label_key: The label's name; None where there is one only.
        weight_key: The name of the feature that weighs examples; None for none.
    """

    def __init__(
        self,
        metric_fn: Callable[..., Any],
        prediction_key: str | None = None,
        label_key: str | None = None,
        weight_key: str | None = None,
    ) -> None:
        self._metric_fn = metric_fn
        self._keys = (prediction_key, label_key, weight_key)

    @property
    def prediction_key(self) -> str | None:
        """The prediction's name."""
        return self._keys[0]

    @property
    def label_key(self) -> str | None:
        """The name of the label that the metric takes."""
        return self._keys[1]

    @property
    def weight_key(self) -> str | None:
        """The name of the feature that weighs examples."""
        return self._keys[2]

    def create_metric_ops(self, inputs: Any, labels: object, predictions: object) -> Any:
        """Return the metric's value and its operation.

        Args:
            inputs: The features.
            labels: The labels.
            predictions: The predictions.

        Raises:
            BadArgumentError: If there are several predictions or labels, and no name says which.
        """
        chosen = _part("prediction", predictions, self.prediction_key)
        truth = _part("label", labels, self.label_key)
        given: dict[str, Any] = {"predictions": chosen, "labels": truth}
        if self.weight_key is not None:
            given["weights"] = inputs[self.weight_key]
        return self._metric_fn(**given)


def _part(kind: str, values: object, key: str | None) -> Any:
    if not isinstance(values, Mapping):
        return values
    if key is None and len(values) != 1:
        raise errors.BadArgumentError(
            f"MetricSpec without specified {kind}_key requires {kind}s tensor or single element dict, got "
            f"{shown(list(values))} instead"
        )
    return next(iter(values.values())) if key is None else values[key]


class LearnEstimator(estimators.Estimator):
    """An Estimator as it was before `tf.estimator`, as `tf.contrib.learn.Estimator`.

    Args:
        model_fn: A function of features, labels and, if it names them, `mode`, `params`, `config` and `model_dir`. It
            returns `ModelFnOps`, an `EstimatorSpec`, or predictions, a loss and what trains.
        model_dir: Where checkpoints are.
        config: How it runs.
        params: What the model's function is given.
        feature_engineering_fn: Called with features and labels, and returns what becomes of them.

    Raises:
        BadTypeError: If `model_fn` is no function.
    """

    def __init__(
        self,
        model_fn: Callable[..., Any] | None = None,
        model_dir: str | None = None,
        config: Any = None,
        params: Any = None,
        feature_engineering_fn: Callable[..., Any] | None = None,
    ) -> None:
        if not callable(model_fn):
            raise errors.BadTypeError(f"model_fn must be a function. Received: model_fn={shown(model_fn)}.")
        self._metrics: Mapping[str, Any] = {}
        names = list(inspect.signature(model_fn).parameters)

        def call_model(features: object, labels: object, mode: str, params: object, config: object) -> Any:
            if feature_engineering_fn is not None:
                features, labels = feature_engineering_fn(features, labels)
            others = {"mode": mode, "params": params, "config": config, "model_dir": self.model_dir}
            made = model_fn(features, labels, **{key: others[key] for key in names if key in others})
            return self._spec_of(made, features, labels, mode)

        super().__init__(call_model, model_dir, config, {} if params is None else params)

    def _spec_of(self, made: Any, features: object, labels: object, mode: str) -> Any:
        if isinstance(made, estimators.EstimatorSpec):
            spec = made
        else:
            ops = made if isinstance(made, ModelFnOps) else ModelFnOps(mode, *made)
            spec = estimators.EstimatorSpec(
                mode,
                predictions=ops.predictions,
                loss=None if mode == estimators.ModeKeys.PREDICT else ops.loss,
                train_op=ops.train_op if mode == estimators.ModeKeys.TRAIN else None,
                eval_metric_ops=ops.eval_metric_ops,
                training_hooks=ops.training_hooks or (),
                training_chief_hooks=ops.training_chief_hooks or (),
                scaffold=ops.scaffold,
            )
        if mode != estimators.ModeKeys.EVAL or not self._metrics:
            return spec
        added = {
            name: metric.create_metric_ops(features, labels, spec.predictions)
            for name, metric in self._metrics.items()
        }
        return spec._replace(eval_metric_ops={**(spec.eval_metric_ops or {}), **added})

    def fit(
        self,
        x: object = None,
        y: object = None,
        input_fn: Callable[[], Any] | None = None,
        steps: int | None = None,
        batch_size: int | None = None,
        monitors: Sequence[Any] | None = None,
        max_steps: int | None = None,
    ) -> "LearnEstimator":
        """Train, and return the Estimator.

        Args:
            x: Features, arrays; without `input_fn`.
            y: Labels, likewise.
            input_fn: Returns features and labels.
            steps: How many steps; None for the end of the input.
            batch_size: How many examples of `x` a step takes; by default all.
            monitors: Hooks.
            max_steps: The global step at which training ends.
        """
        own = input_fn or _arrays(x, y, batch_size, num_epochs=None)
        self.train(own, hooks=list(monitors or ()), steps=steps, max_steps=max_steps)
        return self

    def evaluate(  # type: ignore[override]
        self,
        x: Any = None,
        y: Any = None,
        input_fn: Callable[[], Any] | None = None,
        feed_fn: None = None,
        batch_size: int | None = None,
        steps: int | None = None,
        metrics: Mapping[str, Any] | None = None,
        name: str | None = None,
        checkpoint_path: str | None = None,
        hooks: Sequence[Any] | None = None,
        log_progress: bool = True,
    ) -> dict[str, Any]:
        """Evaluate, and return metrics by name.

        Args:
            x: Features, arrays, or `input_fn`; without it.
            y: Labels, likewise.
            input_fn: Returns features and labels.
            feed_fn: Must be None.
            batch_size: How many examples of `x` a step takes; by default all.
            steps: How many batches; None for the end of the input.
            metrics: A `MetricSpec` for each name.
            name: The evaluation's name.
            checkpoint_path: By default the latest.
            hooks: Hooks.
            log_progress: Ignored.

        Raises:
            BadArgumentError: If `feed_fn` is given.
        """
        if feed_fn is not None:
            raise errors.BadArgumentError("feed_fn must be None: there is no graph to feed. Use input_fn.")
        own = input_fn or (x if callable(x) else _arrays(x, y, batch_size, num_epochs=1))
        self._metrics = metrics or {}
        found: dict[str, Any] = super().evaluate(own, steps, hooks, checkpoint_path, name)
        return found

    def predict(  # type: ignore[override]
        self,
        x: object = None,
        input_fn: Callable[[], Any] | None = None,
        batch_size: int | None = None,
        outputs: Sequence[str] | None = None,
        as_iterable: bool = True,
        iterate_batches: bool = False,
    ) -> Any:
        """Return predictions, one after the other.

        Args:
            x: Features, arrays; without `input_fn`.
            input_fn: Returns features.
            batch_size: How many examples of `x` a step takes; by default all.
            outputs: The predictions' names; None for all.
            as_iterable: Must be True.
            iterate_batches: Must be False.

        Raises:
            BadArgumentError: If an argument is another one.
        """
        if not as_iterable or iterate_batches:
            raise errors.BadArgumentError(
                "predict gives one example after the other. Expected: as_iterable=True, iterate_batches=False. "
                f"Received: {as_iterable}, {iterate_batches}."
            )
        own = input_fn or _arrays(x, None, batch_size, num_epochs=1)
        return super().predict(own, list(outputs) if outputs else None)

    def export_savedmodel(  # type: ignore[override]
        self, export_dir_base: str, serving_input_fn: Callable[[], Any], *args: Any, **kwargs: Any
    ) -> Any:
        """Export what is served, and return the folder.

        Args:
            export_dir_base: The folder in which it is made.
            serving_input_fn: Returns `InputFnOps`, or what receives inputs.
            *args: Those of `tf.estimator.Estimator.export_saved_model`.
            **kwargs: Likewise.
        """
        kwargs.pop("default_output_alternative_key", None)
        return self.export_saved_model(export_dir_base, receiver_fn(serving_input_fn), *args, **kwargs)


def receiver_fn(serving_input_fn: Callable[[], Any]) -> Callable[[], Any]:
    """Return a function that gives what receives inputs, of one that may give `InputFnOps`.

    Args:
        serving_input_fn: The function.
    """

    def receive() -> Any:
        made = serving_input_fn()
        if isinstance(made, InputFnOps):
            return export.ServingInputReceiver(made.features, made.default_inputs)
        return made

    return receive


def _arrays(x: Any, y: Any, batch_size: int | None, num_epochs: int | None) -> Callable[[], Any]:
    if x is None:
        raise errors.BadArgumentError("Either x or input_fn must be provided.")
    size = batch_size or len(next(iter(x.values())) if isinstance(x, Mapping) else x)
    return numpy_input_fn(x, y, size, num_epochs, shuffle=y is not None and num_epochs is None)
