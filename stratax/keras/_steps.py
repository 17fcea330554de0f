"""What one replica does with its part of one batch: the steps of training, testing and predicting (keras layer).

These are Keras' own steps, written with state in place instead of passed through, because the region that is
traced carries the state. A model's overridden `train_step`, `test_step` and `predict_step` are called instead.
"""

import contextlib
import functools
import inspect
from collections.abc import Callable
from typing import Any

import jax
import keras

from stratax.base.typing import PyTree
from stratax.core import regions, value_and_grad
from stratax.distribute import keras_hooks
from stratax.distribute.replicas import syncing_replicas
from stratax.keras import _metrics
from stratax.seams import keras as seam
from stratax.seams.keras import data_adapter_utils

Step = Callable[[Any], Any]
# What a model may override.
STEPS = ("train_step", "test_step", "predict_step")


def train_step(model: keras.Model) -> Step:
    """Return the training step: a function of a batch that updates the model and returns its own logs, or None."""
    return _step_with_logs(model, "train_step", _train, _TRAINING)


def test_step(model: keras.Model) -> Step:
    """Return the evaluation step: a function of a batch that updates metrics and returns its own logs, or None."""
    return _step_with_logs(model, "test_step", _test, _TESTING)


def _step_with_logs(
    model: keras.Model, name: str, step: Callable[[keras.Model, Any], Any], groups: tuple[str, ...]
) -> Step:
    override = _override(model, name)
    if override is None:
        return functools.partial(step, model)
    if _takes_state(override):
        return _with_global_results(model, functools.partial(_with_state, model, override, groups=groups))
    return _with_global_results(model, override)


def predict_step(model: keras.Model) -> Step:
    """Return the prediction step: a function of a batch that returns the model's outputs."""
    override = _override(model, "predict_step")
    if override is None:
        return lambda data: _predict(model, data)
    if _takes_state(override):
        return lambda data: _predict_with_state(model, override, data)
    return override


def _with_global_results(model: keras.Model, step: Step) -> Step:
    """Wrap a model's own step, in which its metrics give results of all replicas; None where it returns no logs."""

    def with_global_results(data: PyTree) -> Any:
        with _metrics.global_results(model):
            logs = step(data)
        return _values(logs) if isinstance(logs, dict) else None

    return with_global_results


def _values(results: object) -> Any:
    """Return metrics' results with the values of variables, which a metric of the user's own may give."""
    return keras.tree.map_structure(
        lambda result: result.value if isinstance(result, keras.Variable) else result, results
    )


def install() -> None:
    """Let a metric's result be a variable, as on TensorFlow, and means be divided on the host."""
    seam.install("stratax.keras", {"keras.src.trainers.trainer:Trainer.get_metrics_result": _results_hook})
    _metrics.install()


def _results_hook(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def get_metrics_result(self: keras.Model) -> Any:
        # Set without a block: each frame counts on the way of a step.
        before = _metrics.DIVIDED_ON_HOST.get()
        _metrics.DIVIDED_ON_HOST.set(True)
        try:
            return _values(original(self))
        finally:
            _metrics.DIVIDED_ON_HOST.set(before)

    return get_metrics_result


def builds_model(model: keras.Model) -> bool:
    """Return whether a model's own training step creates its variables: a model (a GAN, say) that can't be called."""
    return trains_by_itself(model) and type(model).call is keras.Model.call


def trains_by_itself(model: keras.Model) -> bool:
    """Return whether a model has a training step of its own that takes what the input gives, `(data)`."""
    override = _override(model, "train_step")
    return override is not None and not _takes_state(override)


def _override(model: keras.Model, name: str) -> Step | None:
    """Return the model's own version of a step, or None where it is Keras'."""
    # Of the class: the instance may carry replacements of Stratax's own.
    own = getattr(type(model), name)
    return None if own is getattr(keras.Model, name) else getattr(model, name)


def is_written_for_tensorflow(model: keras.Model) -> bool:
    """Return whether a step of the model's own takes `(data)` and leaves state in place, which JAX' Keras can't run."""
    overrides = [_override(model, name) for name in STEPS]
    return any(override is not None and not _takes_state(override) for override in overrides)


def updates_metrics_in_calls(model: keras.Model) -> bool:
    """Return whether the `call` of a model's layer, or its own, uses a metric that the layer has, or `add_metric`."""
    return any(_uses_metric(layer) for layer in model._flatten_layers())


def _uses_metric(layer: keras.Layer) -> bool:
    code = getattr(inspect.unwrap(type(layer).call), "__code__", None)
    names = () if code is None else code.co_names
    return any(name == "add_metric" or isinstance(vars(layer).get(name), keras.Metric) for name in names)


def _takes_state(step: Step) -> bool:
    """Return whether a step has the signature of Keras on JAX, `(state, data)`, rather than TensorFlow's, `(data)`."""
    parameters = list(inspect.signature(step).parameters.values())
    # `*args` takes whatever Keras passes.
    if any(parameter.kind is parameter.VAR_POSITIONAL for parameter in parameters):
        return True
    required = [
        parameter
        for parameter in parameters
        if parameter.default is parameter.empty and parameter.kind is not parameter.VAR_KEYWORD
    ]
    # Bound methods: `self` is not among the parameters.
    return len(required) == 2


def _call(model: keras.Model, x: PyTree, *, training: bool) -> Any:
    return model(x, training=training) if model._call_has_training_arg else model(x)


def _train(model: keras.Model, data: PyTree) -> None:
    x, y, sample_weight = data_adapter_utils.unpack_x_y_sample_weight(data)

    def loss_fn() -> tuple[Any, tuple[Any, Any, list[Any]]]:
        y_pred = _call(model, x, training=True)
        with keras_hooks.observing() as losses:
            loss = model._compute_loss(x=x, y=y, y_pred=y_pred, sample_weight=sample_weight, training=True)
        # Scaled for the gradient only; what is reported is the loss itself.
        scaled = model.optimizer.scale_loss(loss) if model.optimizer is not None else loss
        return scaled, (loss, y_pred, losses.only())

    trainable = model.trainable_variables
    (_, (loss, y_pred, weights)), gradients = value_and_grad(loss_fn, trainable, has_aux=True)()
    # A model without trainable variables may have no optimizer that could apply anything.
    if trainable:
        # What a window of accumulated gradients is divided by: the weight of the loss (of its mask, of sample
        # weights), else the number of examples.
        weight = weights[0] if weights else _examples(x) * _num_replicas()
        with keras_hooks.weighing(weight):
            model.optimizer.apply(gradients, trainable)
    _track(model, loss, x, y, y_pred, sample_weight)


def _test(model: keras.Model, data: PyTree) -> None:
    x, y, sample_weight = data_adapter_utils.unpack_x_y_sample_weight(data)
    y_pred = _call(model, x, training=False)
    loss = model._compute_loss(x=x, y=y, y_pred=y_pred, sample_weight=sample_weight, training=False)
    _track(model, loss, x, y, y_pred, sample_weight)


def _track(
    model: keras.Model,
    loss: PyTree,
    x: PyTree,
    y: PyTree,
    y_pred: object,
    sample_weight: PyTree,
) -> None:
    # As the loss tracker of Keras 3.15: the mean over examples, counted by the first array of x.
    model._loss_tracker.update_state(loss, sample_weight=_examples(x))
    model.compute_metrics(x, y, y_pred, sample_weight=sample_weight)


def keras_step(name: str, model: keras.Model, data: PyTree) -> Any:
    """Return Keras' own step in TensorFlow's form: what `super().train_step(data)` is in a model's own step.

    Args:
        name: Which of `STEPS`.
        model: The model.
        data: A batch, or a replica's part of one.

    Returns:
        The outputs of `predict_step`; of the others the metrics' results by name.
    """
    if name == "predict_step":
        return _predict(model, data)
    (_train if name == "train_step" else _test)(model, data)
    return model.get_metrics_result()


def _predict(model: keras.Model, data: PyTree) -> Any:
    return _call(model, data_adapter_utils.unpack_x_y_sample_weight(data)[0], training=False)


def _num_replicas() -> int:
    replicas = syncing_replicas()
    return 1 if replicas is None else replicas.num_replicas_in_sync


def _examples(x: PyTree) -> int:
    """Return how many examples a replica's part of a batch has."""
    return int(jax.tree.leaves(x)[0].shape[0])


_TRAINING = ("trainable_variables", "non_trainable_variables", "optimizer_variables", "metrics_variables")
_TESTING = ("trainable_variables", "non_trainable_variables", "metrics_variables")


def _variables(model: keras.Model, group: str) -> list[keras.Variable]:
    return list(model.optimizer.variables if group == "optimizer_variables" else getattr(model, group))


def _with_state(model: keras.Model, step: Callable[..., Any], data: PyTree, groups: tuple[str, ...]) -> Any:
    """Call a step of the signature `(state, data) -> (logs, state)`."""
    variables = [_variables(model, group) for group in groups]
    state = tuple([variable.value for variable in group] for group in variables)
    logs, new_state = step(state, data)
    for name, group, values in zip(groups, variables, new_state, strict=True):
        # An optimizer ran inside the step, on gradients that are equal on all replicas.
        with _equal_on_replicas(name in ("trainable_variables", "optimizer_variables")):
            for variable, value in zip(group, values, strict=True):
                variable.assign(value)
    return logs


def _predict_with_state(model: keras.Model, step: Callable[..., Any], data: PyTree) -> Any:
    trainable, rest = model.trainable_variables, model.non_trainable_variables
    outputs, new_rest = step(([v.value for v in trainable], [v.value for v in rest]), data)
    for variable, value in zip(rest, new_rest, strict=True):
        variable.assign(value)
    return outputs


def _equal_on_replicas(equal: bool) -> contextlib.AbstractContextManager[None]:
    return regions.equal_on_all_replicas() if equal else contextlib.nullcontext()
