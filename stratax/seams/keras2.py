"""What programs for Keras 2 need of the inside of Keras 3 (seams layer).

- Attributes that Keras 3 dropped and that are added to its classes, `ADDED`; one that is there stays as it is.
- Attributes that are replaced to take arguments that Keras 3 refuses, `WIDENED`: a program that does not pass these
  sees no difference. Of them, `OF_LOGITS` give TensorFlow's numbers, where Keras has others on JAX.
"""

import contextlib
import functools
import inspect
import pkgutil
from collections.abc import Callable, Iterator
from typing import Any

import h5py
import keras
from keras.src import api_export, backend
from keras.src.backend.common import global_state
from keras.src.legacy.saving import json_utils, saving_utils
from keras.src.legacy.saving.legacy_h5_format import save_weights_to_hdf5_group
from keras.src.legacy.saving.saving_options import keras_option_scope
from keras.src.losses.loss import squeeze_or_expand_to_same_rank
from keras.src.ops.function import Function, map_graph
from keras.src.saving import serialization_lib
from keras.src.trainers.compile_utils import CompileMetrics
from keras.src.utils.io_utils import ask_to_proceed_with_overwrite as ask_to_proceed_with_overwrite

from stratax.base.surroundings import Slot, Surroundings

_TRAINER = "keras.src.trainers.trainer:Trainer"
_JAX_TRAINER = "keras.src.backend.jax.trainer:JAXTrainer"
_VARIABLE = "keras.src.backend.common.variables:Variable"
_OPTIMIZER = "keras.src.optimizers.base_optimizer:BaseOptimizer"
_PREPROCESSING = "keras.src.layers.preprocessing.image_preprocessing"
IMAGE_LAYER = f"{_PREPROCESSING}.base_image_preprocessing_layer:BaseImagePreprocessingLayer.call"
_MODEL = "keras.src.models.model:Model"
# What TensorFlow's variables have, and Keras' have not.
VARIABLE_METHODS = (
    "batch_scatter_update",
    "count_up_to",
    "device",
    "experimental_ref",
    "gather_nd",
    "get_shape",
    "initial_value",
    "initializer",
    "is_initialized",
    "load",
    "read_value",
    "ref",
    "scatter_add",
    "scatter_div",
    "scatter_max",
    "scatter_min",
    "scatter_mul",
    "scatter_nd_add",
    "scatter_nd_sub",
    "scatter_nd_update",
    "scatter_sub",
    "scatter_update",
    "set_shape",
    "sparse_read",
    # By which those are made.
    "_positions",
    "_scatter",
    "_update",
    "_with_rows",
)

ADDED = (
    "keras:Metric.reset_states",
    "keras:Model.reset_states",
    f"{_OPTIMIZER}.lr",
    f"{_OPTIMIZER}.minimize",
    f"{_TRAINER}.fit_generator",
    f"{_TRAINER}.evaluate_generator",
    f"{_TRAINER}.predict_generator",
    f"{_TRAINER}.compiled_loss",
    f"{_TRAINER}.compiled_metrics",
    "keras:Sequential.predict_classes",
    "keras:Sequential.predict_proba",
    "keras:Layer.apply",
    "keras:Layer.get_input_at",
    "keras:Layer.get_input_shape_at",
    "keras:Layer.get_losses_for",
    "keras:Layer.get_output_at",
    "keras:Layer.get_output_shape_at",
    "keras:Layer.get_updates_for",
    "keras:Layer.updates",
    "keras.src.models.functional:Functional.input_names",
    "keras:Sequential.input_names",
    "keras:Layer.input_shape",
    "keras:Layer.output_shape",
    *(f"{_VARIABLE}.{name}" for name in VARIABLE_METHODS),
    f"{_VARIABLE}.__iter__",
)
# Layers whose sizes have to be of type `int`.
SIZED = tuple(
    f"keras:layers.{name}.__init__"
    for name in (
        "Dense",
        "Embedding",
        "GroupNormalization",
        "MultiHeadAttention",
        "RepeatVector",
        "UpSampling1D",
    )
)
# What gives the states that cells begin with.
CELLS = tuple(
    f"keras:layers.{name}.get_initial_state"
    for name in ("GRUCell", "LSTMCell", "SimpleRNNCell", "StackedRNNCells")
)
# Functions that make known networks.
APPLICATIONS = tuple(
    f"keras.applications:{name}"
    for name, made in vars(keras.applications).items()
    if inspect.isfunction(made)
)
# Where Keras has the function that downloads a file or finds it among those that it has.
DOWNLOADING = (
    "keras.utils:get_file",
    *(
        f"keras.src.datasets.{name}:get_file"
        for name in ("boston_housing", "california_housing", "imdb", "mnist", "reuters")
    ),
)
# Where `load_model` is.
LOADING = ("keras.models:load_model", "keras.saving:load_model", "keras.src.saving.saving_api:load_model")
# Where Keras has the method that takes losses.
ADDING_LOSSES = ("keras:Layer.add_loss", "keras.src.models.functional:Functional.add_loss")
OF_LOGITS = tuple(
    f"keras.src.ops{name}"
    for name in (
        ":softmax",
        ":sigmoid",
        ".nn:Softmax.call",
        ".nn:Sigmoid.call",
        ":categorical_crossentropy",
        ":sparse_categorical_crossentropy",
        ":binary_crossentropy",
    )
)
WIDENED = (
    *SIZED,
    *OF_LOGITS,
    "keras.src.utils.image_dataset_utils:_load_image_tf",
    IMAGE_LAYER,
    f"{_OPTIMIZER}.__init__",
    f"{_OPTIMIZER}.iterations",
    f"{_OPTIMIZER}.apply_gradients",
    f"{_OPTIMIZER}._check_variables_are_known",
    f"{_OPTIMIZER}._get_current_learning_rate",
    f"{_OPTIMIZER}.stateless_apply",
    "keras.src.optimizers:get",
    "keras.src.backend:compute_output_spec",
    "keras:Optimizer.__init_subclass__",
    f"{_VARIABLE}.dtype",
    f"{_VARIABLE}.__bool__",
    *(f"{_VARIABLE}.__{side}{name}__" for name in ("and", "or", "xor") for side in ("", "r")),
    f"{_VARIABLE}.__eq__",
    f"{_VARIABLE}.__hash__",
    f"{_VARIABLE}.assign",
    f"{_VARIABLE}.assign_add",
    f"{_VARIABLE}.assign_sub",
    "keras:Layer.__call__",
    "keras:Operation.symbolic_call",
    "keras:Layer.add_weight",
    "keras:Layer.add_variable",
    "keras:Layer.__init__",
    "keras:layers.AveragePooling1D.__init__",
    "keras:layers.AveragePooling2D.__init__",
    "keras:layers.AveragePooling3D.__init__",
    "keras:layers.Lambda.__call__",
    "keras:layers.Normalization.adapt",
    "keras:metrics.MeanMetricWrapper.update_state",
    "keras:Sequential.add",
    "keras:Sequential.call",
    "keras:Sequential.input",
    "keras:Sequential.output",
    "keras:layers.Discretization.adapt",
    f"{_TRAINER}.compile",
    f"{_TRAINER}.compute_loss",
    f"{_TRAINER}.get_compile_config",
    f"{_JAX_TRAINER}.fit",
    f"{_JAX_TRAINER}.evaluate",
    f"{_JAX_TRAINER}.predict",
    f"{_JAX_TRAINER}.train_on_batch",
    f"{_JAX_TRAINER}.test_on_batch",
    f"{_MODEL}.export",
    f"{_MODEL}.save",
    f"{_MODEL}.save_weights",
    f"{_MODEL}.load_weights",
    "keras:callbacks.LearningRateScheduler.on_epoch_end",
    "keras:callbacks.ModelCheckpoint.__init__",
    "keras:callbacks.ModelCheckpoint.on_epoch_end",
    "keras:callbacks.ReduceLROnPlateau.on_epoch_end",
    "keras.src.callbacks.monitor_callback:MonitorCallback._set_monitor_op",
    "keras:Layer.__init_subclass__",
    "keras.utils:to_categorical",
    "keras.src.losses.losses:LossFunctionWrapper.call",
    f"{_TRAINER}.__init__",
    "keras.src.models.functional:Functional._convert_inputs_to_tensors",
    "keras.src.layers.layer:is_backend_tensor_or_symbolic",
    "keras:DTypePolicy.convert_input",
    "keras:Layer.compute_output_spec",
    "keras:utils.FeatureSpace.__call__",
    "keras:utils.FeatureSpace.adapt",
    "keras.src.models.functional:functional_from_config",
    "keras.src.legacy.saving.serialization:serialize_keras_object",
    "keras.src.legacy.saving.saving_utils:try_build_compiled_arguments",
    "keras.src.legacy.saving.legacy_h5_format:load_optimizer_weights_from_hdf5_group",
    "keras.src.losses:deserialize",
    "keras.src.optimizers:deserialize",
    f"{_OPTIMIZER}.set_weights",
    "keras:KerasTensor.__getitem__",
    "keras:Layer._get_own_losses",
    f"{_TRAINER}.metrics_names",
    f"{_TRAINER}._flatten_metrics_in_order",
    "keras.src.metrics.reduction_metrics:reduce_to_samplewise_values",
    "keras.src.metrics.iou_metrics:_IoUBase.__init__",
    "keras:Loss.__call__",
    "keras:Layer.add_metric",
    *ADDING_LOSSES,
    *CELLS,
    *APPLICATIONS,
    *DOWNLOADING,
    *LOADING,
)
# Whether layers that have no `build` are built by the call itself, and not by a symbolic one in front of it.
_BUILT_BY_CALLS: Slot[bool] = Slot("layers are built by calls", False)
# What has been put in its place: facts of Keras' classes, not of an object.
_installed: set[tuple[str, str]] = set()


def with_equal_ranks(y_true: Any, y_pred: Any) -> tuple[Any, Any]:
    """Return labels and outputs with as many dimensions, where one of them has a last one of size 1 more."""
    if not (hasattr(y_true, "shape") and hasattr(y_pred, "shape")):
        return y_true, y_pred
    y_pred, y_true = squeeze_or_expand_to_same_rank(y_pred, y_true)
    return y_true, y_pred


def takes_one_tensor(model: Any) -> bool:
    """Return whether a Sequential is built for one tensor, which is in no structure."""
    functional = model._functional
    return functional is not None and isinstance(functional._inputs_struct, keras.KerasTensor)


def graph_of(model: keras.Layer) -> Any:
    """Return the functional model that a model is or has inside, or None."""
    return model if isinstance(model, Function) else getattr(model, "_functional", None)


def add_layer(model: keras.Model, layer: keras.Layer) -> None:
    """Have a Sequential model know a layer that is none of its row: losses and metrics are found in such lists.

    Args:
        model: The model, which has its functional model in no list.
        layer: The layer.
    """
    model.layers[-1]._layers.append(layer)


def names_of_metrics(model: keras.Model) -> list[str]:
    """Return the names of what `evaluate` returns, in its order: losses, and metrics output by output.

    Args:
        model: A model that is compiled.
    """
    names: list[str] = []
    compiled: list[str] = []
    for metric in model.metrics:
        if isinstance(metric, CompileMetrics):
            compiled = _names_of_compiled(metric)
        elif metric.name not in names:
            names.append(metric.name)
    losses = [] if model._compile_loss is None else [each.name for each in model._compile_loss.metrics]
    # Behind the losses, and in front of what layers and the model itself measure.
    place = sum(name in ("loss", *losses) for name in names)
    return list(dict.fromkeys([*names[:place], *compiled, *names[place:]]))


def _names_of_compiled(compiled: CompileMetrics) -> list[str]:
    """Return the names of the results of what a model was compiled with, as `CompileMetrics.result` has them."""
    counts: dict[str, int] = {}
    for is_weighted, lists in ((False, compiled._flat_metrics), (True, compiled._flat_weighted_metrics)):
        for metrics in filter(None, lists):
            output = f"{metrics.output_name}_" if metrics.output_name else ""
            for metric in metrics.metrics:
                name = f"{output}{metric.name}"
                if name in counts and is_weighted:
                    name = f"{output}weighted_{metric.name}"
                count = counts.get(name, 0)
                counts[name] = count + 1
                if count:
                    counts[f"{name}_{count}"] = 1
    return list(counts)


def flatten_results(model: keras.Model, logs: dict[str, Any]) -> Any:
    """Return results as `evaluate` returns them: those of `names_of_metrics` in order, then the others by name.

    Args:
        model: The model.
        logs: Its results by name.
    """
    names = [name for name in names_of_metrics(model) if name in logs]
    results = [logs[name] for name in (*names, *sorted(set(logs) - set(names)))]
    return results[0] if len(results) == 1 else results


def stand_for(kind: type, name: str) -> None:
    """Have files name a class as one of Keras' own, whose configurations it takes and gives.

    Args:
        kind: The class.
        name: Keras' name for its own, as `"keras.layers.StringLookup"`.
    """
    api_export.REGISTERED_OBJS_TO_NAMES[kind] = name


def serialize(operation: keras.Operation) -> dict[str, Any]:
    """Return the description of an operation as Keras' own format has it, whatever the file."""
    return serialization_lib.serialize_keras_object(operation)  # type: ignore[no-any-return]


def save_hdf5_weights(model: keras.Model, path: str) -> None:
    """Write a model's weights as Keras 2 lays them out in HDF5, layer by layer under the layers' names.

    Args:
        model: The model.
        path: The file.
    """
    with h5py.File(path, "w") as file:
        save_weights_to_hdf5_group(file, model)


def model_of_keras2(config: str, custom_objects: dict[str, Any] | None) -> keras.Model:
    """Return the model that a configuration of Keras 2 describes; Python code in it is refused.

    Args:
        config: The configuration, as JSON.
        custom_objects: Classes and functions of the program by name.
    """
    with keras_option_scope(use_legacy_config=True), serialization_lib.SafeModeScope(True):
        return saving_utils.model_from_config(json_utils.decode(config), custom_objects=custom_objects)


def compile_as_keras2(model: keras.Model, training: str, custom_objects: dict[str, Any] | None) -> None:
    """Compile a model as it was when Keras 2 saved it.

    Args:
        model: The model.
        training: What it was compiled with, as JSON.
        custom_objects: Classes and functions of the program by name.
    """
    with keras_option_scope(use_legacy_config=True), serialization_lib.SafeModeScope(True):
        given = saving_utils.compile_args_from_training_config(json_utils.decode(training), custom_objects)
    model.compile(**given)
    saving_utils.try_build_compiled_arguments(model)


def compute_spec(function: Callable[..., Any], *args: object, **kwargs: object) -> Any:
    """Return the shapes and dtypes that a function gives for symbolic tensors."""
    return backend.compute_output_spec(function, *args, **kwargs)


def compute_also(model: keras.Model, tensor: keras.KerasTensor) -> None:
    """Have a functional model compute a symbolic tensor at each call, besides its outputs.

    Args:
        model: The model.
        tensor: Made of the model's inputs.

    Raises:
        ValueError: If it is made of something else.
    """
    also = [*vars(model).get("_stratax_also", ()), tensor]
    graph = map_graph(model._inputs, [*model._outputs, *also])
    known = {id(each) for each in model._inputs}
    # Nodes come in no order in `graph[0]`: those of one depth need those of greater depths.
    for depth in sorted(graph[1], reverse=True):
        for node in graph[1][depth]:
            if node.is_input:
                missing = [each for each in node.outputs if id(each) not in known]
            else:
                missing = [each for each in node.input_tensors if id(each) not in known]
            if missing:
                raise ValueError(
                    f"Graph disconnected: cannot obtain value for {missing[0]}. What is added to a model is made of "
                    f"its inputs: {[each.name for each in model._inputs]}."
                )
            known.update(map(id, node.outputs))
    model._nodes, model._nodes_by_depth, model._operations, model._operations_by_depth = graph
    vars(model)["_stratax_also"] = also
    for layer in model.layers:
        model._tracker.track(layer)


def tensors_of_call(layer: Any, number: int) -> tuple[list[Any], list[Any]]:
    """Return the symbolic tensors that a layer was called with, and what it gave.

    Args:
        layer: The layer.
        number: Of the call, from 0 on.

    Raises:
        IndexError: If it was not called as often.
    """
    node = layer._inbound_nodes[number]
    return list(node.input_tensors), list(node.output_tensors)


def set_input_shape(layer: Any, shape: Any) -> None:
    """Have a Sequential model that begins with a layer take inputs of a shape, as `input_shape` of the layer does.

    Args:
        layer: The layer.
        shape: The shape of one example.
    """
    layer._input_shape_arg = shape


def count_by(optimizer: Any, variable: Any) -> None:
    """Have an optimizer count its updates with a variable, in the place of its own.

    Args:
        optimizer: An optimizer that is not built.
        variable: The variable.
    """
    _take(optimizer, "_iterations", variable)


def take_rate(optimizer: Any, variable: Any) -> None:
    """Have an optimizer read its learning rate from a variable, in the place of its own.

    Args:
        optimizer: An optimizer that is not built.
        variable: The variable.
    """
    _take(optimizer, "_learning_rate", variable)


def _take(optimizer: Any, name: str, variable: Any) -> None:
    variables, own = optimizer._variables, getattr(optimizer, name)
    # An assignment to an attribute may have put it at the end.
    variables[:] = [variable if each is own else each for each in variables if each is not variable]
    # Past Keras' own assignment, which would put it there.
    vars(optimizer)[name] = variable


def loss_of(model: Any, y: Any, y_pred: Any, sample_weight: Any, others: Any) -> Any:
    """Return the loss that a model was compiled with, and others added to it; its metric of the loss takes note of it.

    Args:
        model: The model.
        y: Labels.
        y_pred: What the model has made of the features.
        sample_weight: Weights of examples, or None.
        others: Losses that are added, or None.
    """
    found = None if model._compile_loss is None else model._compile_loss(y, y_pred, sample_weight)
    losses = [each for each in (found, *(others or ())) if each is not None]
    loss = keras.ops.sum(keras.ops.stack(losses)) if losses else keras.ops.zeros(())
    model._loss_tracker.update_state(loss, sample_weight=keras.ops.shape(keras.tree.flatten(y_pred)[0])[0])
    return loss


def update_metrics(model: Any, y: Any, y_pred: Any, sample_weight: Any) -> None:
    """Update the metrics that a model was compiled with.

    Args:
        model: The model.
        y: Labels.
        y_pred: What the model has made of the features.
        sample_weight: Weights of examples, or None.
    """
    if model._compile_metrics is not None:
        model._compile_metrics.update_state(y, y_pred, sample_weight)


def _owner(path: str) -> tuple[Any, str]:
    module, _, attribute = path.partition(":")
    owner, _, name = attribute.rpartition(".")
    return pkgutil.resolve_name(f"{module}:{owner}"), name


def add(path: str, value: Any) -> None:
    """Add an attribute of `ADDED` to Keras, unless it has one.

    Args:
        path: Where, as in `ADDED`.
        value: The function or property.
    """
    owner, name = _owner(path)
    if path in ADDED and not hasattr(owner, name):
        setattr(owner, name, value)


def widen(path: str, make: Callable[[Any], Any]) -> None:
    """Replace an attribute of `WIDENED`, once by each function.

    Args:
        path: Where, as in `WIDENED`.
        make: Takes what is there and returns what takes its place.
    """
    kind = make.func if isinstance(make, functools.partial) else make
    key = path, f"{kind.__module__}:{kind.__qualname__}"
    if path in WIDENED and key not in _installed:
        owner, name = _owner(path)
        setattr(owner, name, make(inspect.getattr_static(owner, name)))
        _installed.add(key)


def training_of_call() -> bool | None:
    """Return the `training` argument of the layer that is called now, if one is and has it; else the phase, if set."""
    context = global_state.get_global_attribute("current_call_ctx")
    return phase() if context is None else context.get_value("training")


def phase() -> bool | None:
    """Return the learning phase that a program has set for calls that do not say it, if it has."""
    found: bool | None = global_state.get_global_attribute("stratax_learning_phase")
    return found


def sources_of(tensor: Any) -> list[Any]:
    """Return the symbolic tensors that one is computed of; none of an input."""
    history = getattr(tensor, "_keras_history", None)
    if history is None:
        return []
    return list(history.operation._inbound_nodes[history.node_index].input_tensors)


def set_phase(value: bool | None) -> None:
    """Set the learning phase of calls that do not say it, until `clear_session`."""
    global_state.set_global_attribute("stratax_learning_phase", value)


def building_by_calls() -> Surroundings:
    """Have layers of a block be built by their first call alone: what it adds to a graph is added once."""
    return _BUILT_BY_CALLS.holding(True)


def is_built_by_call(arguments: object) -> bool:
    """Return whether a symbolic call is only made to build a layer, and the layer's call of these arguments does."""
    return _BUILT_BY_CALLS.get() and not any(
        isinstance(each, keras.KerasTensor) for each in keras.tree.flatten(arguments)
    )


@contextlib.contextmanager
def without_phase() -> Iterator[None]:
    """Have calls in a block, which say what they do, not follow the phase that is set."""
    kept = phase()
    set_phase(None)
    try:
        yield
    finally:
        set_phase(kept)
