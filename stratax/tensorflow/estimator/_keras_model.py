"""`model_to_estimator`: a compiled Keras model as an Estimator (estimator layer)."""

import contextlib
import copy
import itertools
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import keras
import numpy as np

from stratax import errors
from stratax.base.shown import shown
from stratax.core import regions
from stratax.seams.keras import Functional, to_snake_case
from stratax.tensorflow.estimator._estimator import Estimator
from stratax.tensorflow.estimator._mode_keys import ModeKeys
from stratax.tensorflow.estimator._run_config import RunConfig
from stratax.tensorflow.estimator._spec import EstimatorSpec
from stratax.tensorflow.v1 import current, group

_FORMATS = (None, "checkpoint", "saver")
_FEATURES, _WEIGHTS = "features", "sample_weights"


def model_to_estimator(
    keras_model: object = None,
    keras_model_path: str | os.PathLike[str] | None = None,
    custom_objects: Mapping[str, Any] | None = None,
    model_dir: str | os.PathLike[str] | None = None,
    config: RunConfig | None = None,
    checkpoint_format: str | None = None,
    use_v2_estimator: bool = False,
    metric_names_map: Mapping[str, str] | None = None,
    export_outputs: Mapping[str, Any] | None = None,
) -> Estimator:
    """Return an Estimator that trains a copy of a compiled Keras model, as `tf.keras.estimator.model_to_estimator`.

    The copy begins with the model's present weights, and a new optimizer of the same settings; the model itself stays
    as it is. Each replica takes a batch of its own, as of every Estimator.

    Features are what the model takes: an array, a list, or a dict by the names of its inputs; or
    ``{"features": ..., "sample_weights": ...}``.

    Args:
        keras_model: The model. A subclass of `keras.Model` has to implement `get_config`.
        keras_model_path: The file of a saved model, instead.
        custom_objects: Classes and functions of the model that Keras does not know, by name.
        model_dir: Where checkpoints and summaries are; before that of `config`.
        config: A :class:`RunConfig`, whose strategies count.
        checkpoint_format: ``"checkpoint"`` or ``"saver"``; checkpoints are the same.
        use_v2_estimator: Ignored: there is one Estimator.
        metric_names_map: New names of the compiled metrics: of each of them.
        export_outputs: Classes of export outputs by name of an output.

    Returns:
        The Estimator. Its predictions are a dict by name of the output.

    Raises:
        BadArgumentError: If not exactly one of the first two is given, the model is not compiled or can't be copied, or
            another argument has a wrong value.
        BadTypeError: If `keras_model` is no Keras model.

    Example:
        >>> import keras, stratax as sx
        >>> model = keras.Sequential([keras.layers.Input((2,)), keras.layers.Dense(1)])
        >>> model.compile("sgd", "mse", metrics=["mae"])
        >>> made = sx.estimator.model_to_estimator(model)
    """
    del use_v2_estimator
    if (keras_model is None) == (keras_model_path is None):
        raise errors.BadArgumentError(
            "Either keras_model or keras_model_path needs to be provided, but not both. Received: "
            f"keras_model={shown(keras_model)}, keras_model_path={shown(keras_model_path)}."
        )
    if checkpoint_format not in _FORMATS:
        raise errors.BadArgumentError(
            'checkpoint_format must be one of "checkpoint" or "saver". Received: '
            f"checkpoint_format={shown(checkpoint_format)}."
        )
    custom_objects = dict(custom_objects or {})
    if keras_model_path is not None:
        with keras.saving.custom_object_scope(custom_objects):
            keras_model = keras.saving.load_model(os.fspath(keras_model_path))
    _check_model(keras_model)
    if config is not None and model_dir is not None:
        config = config.replace(model_dir=os.fspath(model_dir))
    source = _Source(keras_model, custom_objects, metric_names_map, export_outputs)
    return _OfKerasModel(source.model_fn, model_dir, config)


class _OfKerasModel(Estimator):
    """An Estimator whose variables begin with those of a model: it is exported without a training, too."""

    @property
    def _has_values(self) -> bool:
        return True


class _Source:
    """A compiled model that others are made of, each for one trace.

    Args:
        model: The model.
        custom_objects: Classes and functions of it.
        metric_names_map: New names of its metrics.
        export_outputs: Classes of export outputs.
    """

    def __init__(
        self,
        model: Any,
        custom_objects: dict[str, Any],
        metric_names_map: Mapping[str, str] | None,
        export_outputs: Mapping[str, Any] | None,
    ) -> None:
        # A Sequential's variables have TensorFlow's names where the same layers are a functional model.
        self._model = _as_functional(model)
        self._compiled_with = dict(model._compile_config.config)
        self._custom_objects = custom_objects
        self._metric_names = metric_names_map
        self._export_outputs = export_outputs
        # A copy: whoever trains the model afterwards does not change what the Estimator begins with.
        self._values = [
            np.asarray(value).copy() for value in regions.concrete_values(_find_kept(self._model))
        ]
        # Here: in a trace its learning rate is no number.
        self._new_optimizer = _find_maker(model.optimizer)
        self._layer_names = _fresh_names(self._model)
        _check_copied(self._model, custom_objects)

    def model_fn(self, features: object, labels: object, mode: str) -> EstimatorSpec:
        """Describe one step of a copy of the model."""
        model = self._copy()
        features, weights = _without_weights(features)
        outputs = self._call(model, _inputs_of(self._model, features), training=mode == ModeKeys.TRAIN)
        self._begin(model)
        names = _output_names(self._model, outputs)
        predictions = dict(zip(names, keras.tree.flatten(outputs), strict=True))
        exported = {key: export(predictions[key]) for key, export in self._check_exports(predictions).items()}
        if mode == ModeKeys.PREDICT:
            return EstimatorSpec(mode, predictions=predictions, export_outputs=exported or None)
        labels, weights = _like(outputs, names, labels, "labels"), _like(outputs, names, weights, _WEIGHTS)
        self._compile(model, with_optimizer=mode == ModeKeys.TRAIN)
        loss = model._compute_loss(features, labels, outputs, weights, training=mode == ModeKeys.TRAIN)
        if mode == ModeKeys.TRAIN:
            train_op = _train_op(model, loss)
            return EstimatorSpec(mode, predictions, loss, train_op, export_outputs=exported or None)
        model.compute_metrics(features, labels, outputs, weights)
        metrics = self._rename(_metrics(model))
        return EstimatorSpec(
            mode, predictions, loss, eval_metric_ops=metrics, export_outputs=exported or None
        )

    def _copy(self) -> Any:
        with keras.saving.custom_object_scope(self._custom_objects), _leave_uncompiled(self._model):
            if isinstance(self._model, Functional | keras.Sequential):
                made = keras.models.clone_model(self._model, clone_function=self._copy_layer, recursive=True)
            else:
                made = type(self._model).from_config(self._model.get_config())
        if isinstance(self._model, Functional):
            # By these losses and metrics are named.
            made.output_names = list(self._model.output_names)
        elif (parts := _match_made_up_name(self._model)) is not None:
            # Its variables are below its name.
            made.name = parts[1]
        return made

    def _copy_layer(self, layer: Any) -> Any:
        config = layer.get_config()
        if id(layer) in self._layer_names:
            config["name"] = self._layer_names[id(layer)]
        if isinstance(layer, keras.layers.Lambda):
            # Keras makes no function of a configuration unless it is told that it may.
            kept = {key: config[key] for key in ("name", "trainable", "dtype")}
            return keras.layers.Lambda(
                layer.function, layer._output_shape, layer.mask, layer.arguments, **kept
            )
        return type(layer).from_config(config)

    def _call(self, model: Any, inputs: Any, *, training: bool) -> Any:
        return model(inputs, training=training) if model._call_has_training_arg else model(inputs)

    def _compile(self, model: Any, *, with_optimizer: bool) -> None:
        """Compile a copy as the model is, with a new optimizer, where it is trained, and new metrics."""
        given = self._compiled_with
        with keras.saving.custom_object_scope(self._custom_objects):
            optimizer = self._new_optimizer() if with_optimizer else None
            metrics = {key: _new_metrics(given[key]) for key in ("metrics", "weighted_metrics")}
        model.compile(optimizer, given["loss"], loss_weights=given["loss_weights"], **metrics)

    def _begin(self, model: object) -> None:
        """Give the copy's variables the model's values, where a training begins."""
        variables = _find_kept(model)
        if len(variables) != len(self._values) and self._values:
            raise errors.BadArgumentError(
                f"A copy of the model {shown(self._model.name)} has other variables than the model. Expected: "
                f"{len(self._values)}. Received: {len(variables)}. Build the model before it is converted, with the "
                "inputs that input_fn gives."
            )
        state = current().state
        if state.begins and self._values:
            paths = [variable.path for variable in variables]
            state.given.update(zip(paths, self._values, strict=True))

    def _rename(self, metrics: dict[str, Any]) -> dict[str, Any]:
        names = self._metric_names
        if not names:
            return metrics
        if set(names) != set(metrics):
            raise errors.BadArgumentError(
                f"metric_names_map must have the names of the compiled metrics. Expected: {sorted(metrics)}. "
                f"Received: {sorted(names)}."
            )
        return {names[name]: metric for name, metric in metrics.items()}

    def _check_exports(self, predictions: Mapping[str, Any]) -> Mapping[str, Any]:
        unknown = sorted(set(self._export_outputs or ()) - set(predictions))
        if unknown:
            raise errors.BadArgumentError(
                f"export_outputs has names of outputs that the model does not have. Expected: some of "
                f"{sorted(predictions)}. Received: {unknown}."
            )
        return self._export_outputs or {}


def _check_model(model: object) -> None:
    if not isinstance(model, keras.Model):
        raise errors.BadTypeError(f"keras_model must be a keras.Model. Received: keras_model={shown(model)}.")
    if not model.compiled or model.optimizer is None:
        raise errors.BadArgumentError(
            "The given Keras model has not been compiled yet. Received: "
            f"{shown(model)}. Compile it with model.compile(optimizer, loss) before."
        )


def _as_functional(model: object) -> Any:
    if not (isinstance(model, keras.Sequential) and model.built):
        return model
    # Not the model itself: what is made of it knows neither its optimizer nor that it is compiled.
    return keras.Model(model.inputs[0], model.outputs[0], name=model.name)


def _check_copied(model: Any, custom_objects: Mapping[str, Any]) -> None:
    """Check that a model has what copies are made of: here, where an error names the model and not a trace of it."""
    try:
        if isinstance(model, Functional | keras.Sequential):
            for layer in model.layers:
                layer.get_config()
        else:
            # Without variables, as long as it is not called.
            with keras.saving.custom_object_scope(custom_objects):
                type(model).from_config(model.get_config())
    except (NotImplementedError, TypeError, ValueError) as error:
        raise errors.BadArgumentError(
            f"A copy of the model {shown(model.name)} can't be made. Expected: layers with get_config and from_config; "
            f"a subclass of keras.Model has to implement both. Received: {shown(model)}, which gave "
            f"{type(error).__name__}: {str(error)[:200]}."
        ) from error


@contextlib.contextmanager
def _leave_uncompiled(model: Any) -> Iterator[None]:
    """Have Keras copy a model, and models inside it, without what they were compiled with.

    It would make optimizers and metrics of their configurations, of which losses that are plain functions have none.
    """
    compiled = [each for each in model._flatten_layers() if isinstance(each, keras.Model) and each.compiled]
    for each in compiled:
        each.compiled = False
    try:
        yield
    finally:
        for each in compiled:
            each.compiled = True


def _match_made_up_name(made: Any) -> re.Match[str] | None:
    """Return the parts of a name that Keras has made of a class, such as `dense_3`; None for one that was given."""
    return re.fullmatch(rf"({re.escape(to_snake_case(type(made).__name__))})(?:_(\d+))?", made.name)


def _fresh_names(model: Any) -> dict[int, str]:
    """Return names of layers by id, as a program has them that makes this model alone.

    Keras counts layers in a process. A model that is made a second time finds its variables by these names.
    """
    found: dict[str, list[tuple[int, Any]]] = {}
    for layer in model.layers:
        if (name := _match_made_up_name(layer)) is not None and not isinstance(layer, keras.Model):
            found.setdefault(name[1], []).append((int(name[2] or 0), layer))
    layers = {id(layer) for each in found.values() for _, layer in each}
    given = {layer.name for layer in model.layers if id(layer) not in layers}
    names: dict[int, str] = {}
    for prefix, numbered in found.items():
        free = (name for name in _number_names(prefix) if name not in given)
        for _, layer in sorted(numbered, key=lambda pair: pair[0]):
            names[id(layer)] = next(free)
    return names


def _number_names(prefix: str) -> Iterator[str]:
    yield prefix
    for number in itertools.count(1):
        yield f"{prefix}_{number}"


def _find_maker(optimizer: Any) -> Callable[[], Any]:
    """Return what makes optimizers like another one."""
    if getattr(optimizer, "is_of_the_first", False):
        # One of TensorFlow 1's has no configuration.
        return optimizer.copy  # type: ignore[no-any-return]
    kind, config = type(optimizer), _without_made_up_name(optimizer)
    # A copy: some optimizers take parts out of it.
    return lambda: kind.from_config(copy.deepcopy(config))


def _without_made_up_name(optimizer: Any) -> dict[str, Any]:
    config: dict[str, Any] = optimizer.get_config()
    if _match_made_up_name(optimizer) is not None:
        del config["name"]
    inner = getattr(optimizer, "inner_optimizer", None)
    if inner is not None and _match_made_up_name(inner) is not None:
        # That of a LossScaleOptimizer, whose configuration Keras has made an object's.
        config["inner_optimizer"]["config"].pop("name", None)
    return config


def _find_kept(model: Any) -> list[keras.Variable]:
    """Return a model's variables, also the states of its generators, without those of metrics and the optimizer."""
    metrics = {id(variable) for metric in model.metrics for variable in metric.variables}
    return [variable for variable in model.variables if id(variable) not in metrics]


def _without_weights(features: object) -> tuple[Any, Any]:
    if isinstance(features, dict) and set(features) == {_FEATURES, _WEIGHTS}:
        return features[_FEATURES], features[_WEIGHTS]
    return features, None


def _inputs_of(model: object, features: object) -> Any:
    """Return what a model is called with."""
    if not isinstance(features, dict) or not isinstance(model, Functional | keras.Sequential):
        return features
    # A Sequential is functional here once it is built.
    names = [each.name for each in model.inputs] if isinstance(model, Functional) else ["inputs"]
    if len(names) == len(features) == 1:
        # Keras makes names of inputs up, others than in TensorFlow.
        return next(iter(features.values()))
    struct = model._inputs_struct if isinstance(model, Functional) else names
    wanted = list(struct) if isinstance(struct, dict) else names
    missing = sorted(set(wanted) - set(features))
    if missing:
        raise errors.BadArgumentError(
            f"The features do not cover the inputs of the model {shown(model.name)}. Expected: {wanted}. Received: "
            f"{sorted(features)}; missing are {missing}."
        )
    if isinstance(struct, dict):
        return {name: features[name] for name in wanted}
    return [features[name] for name in wanted]


def _output_names(model: object, outputs: object) -> list[str]:
    flat = keras.tree.flatten(outputs)
    if isinstance(outputs, dict) and len(outputs) == len(flat):
        # In the order of `keras.tree`.
        return [str(path[0]) for path, _ in keras.tree.flatten_with_path(outputs)]
    if isinstance(model, Functional):
        names = list(model.output_names)
    elif isinstance(model, keras.Sequential):
        names = [model.layers[-1].name]
    else:
        names = []
    if len(set(names)) != len(flat):
        return [f"output_{number + 1}" for number in range(len(flat))]
    return names


def _like(outputs: object, names: Sequence[str], given: object, what: str) -> Any:
    """Return labels or weights, which may be a dict by name of the output, in the structure of the outputs."""
    if not isinstance(given, dict) or isinstance(outputs, dict):
        return given
    missing = sorted(set(names) - set(given))
    if missing:
        raise errors.BadArgumentError(
            f"The {what} do not cover the outputs of the model. Expected: {list(names)}. Received: {sorted(given)}; "
            f"missing are {missing}."
        )
    found = [given[name] for name in names]
    return found if keras.tree.is_nested(outputs) else found[0]


def _new_metrics(metrics: object) -> Any:
    return keras.tree.map_structure(_new_metric, metrics)


def _new_metric(metric: object) -> Any:
    if not isinstance(metric, keras.metrics.Metric):
        return metric
    if type(metric) is keras.metrics.MeanMetricWrapper:
        # Its function may be any.
        return keras.metrics.MeanMetricWrapper(metric._fn, metric.name, metric.dtype, **metric._fn_kwargs)
    return type(metric).from_config(metric.get_config())


def _train_op(model: Any, loss: Any) -> Any:
    scope = current()
    trained = model.trainable_variables
    gradients = scope.derivatives.gradients(model.optimizer.scale_loss(loss), trained)
    applied = model.optimizer.apply_gradients(list(zip(gradients, trained, strict=True)))
    step = scope.global_step()
    counted = scope.operation(lambda: keras.Variable.assign(step, step.value + 1), name="AssignAdd")
    return group(applied, counted)


def _metrics(model: Any) -> dict[str, Any]:
    """Return the compiled metrics by the names that Keras gives to their results."""
    compiled = model._compile_metrics
    if compiled is None:
        return {}
    found: dict[str, Any] = {}
    for prefix, lists in (("", compiled._flat_metrics), ("weighted_", compiled._flat_weighted_metrics)):
        for metrics in lists:
            for metric in [] if metrics is None else metrics.metrics:
                output = f"{metrics.output_name}_" if metrics.output_name else ""
                name = f"{output}{metric.name}"
                if name in found:
                    name = f"{output}{prefix}{metric.name}"
                number = 1
                while name in found:
                    name = f"{output}{prefix}{metric.name}_{number}"
                    number += 1
                found[name] = metric
    return found
