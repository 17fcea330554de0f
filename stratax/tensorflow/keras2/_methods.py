"""Methods and arguments of Keras 2 on Keras 3's classes (keras2 layer).

They are put there once Keras and `stratax.tf` are imported. A method is added only where Keras has none of its name,
and an argument is taken only where Keras would refuse it.
"""

import functools
import inspect
import itertools
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import keras
import numpy as np

from stratax.base import callers, tracebacks
from stratax.base.recording import NOT_RECORDED, RECORDER
from stratax.base.shown import shown
from stratax.base.typing import Array, DTypeLike, TensorLike
from stratax.core import state
from stratax.errors import BadArgumentError, FailedPreconditionError
from stratax.seams import keras2 as seam
from stratax.seams.keras import is_in_layer
from stratax.tensorflow.keras2 import (
    _added,
    _callbacks,
    _files,
    _images,
    _lists,
    _logits,
    _measures,
    _shapes,
    _variables,
    compiled,
    exported,
    layer_text,
    text_models,
)
from stratax.tensorflow.keras2._dtype_names import dtype_name

_TRAINER = "keras.src.trainers.trainer:Trainer"
_JAX_TRAINER = "keras.src.backend.jax.trainer:JAXTrainer"
_VARIABLE = "keras.src.backend.common.variables:Variable"
_OPTIMIZER = "keras.src.optimizers.base_optimizer:BaseOptimizer"
# Losses that compare numbers with numbers, place by place.
_OF_ERRORS = {
    "binary_crossentropy",
    "binary_focal_crossentropy",
    "hinge",
    "huber",
    "kl_divergence",
    "log_cosh",
    "mean_absolute_error",
    "mean_absolute_percentage_error",
    "mean_squared_error",
    "mean_squared_logarithmic_error",
    "poisson",
    "squared_hinge",
}
# Those of which Keras 3 refuses arrays of two shapes, of which Keras 2 repeats the smaller one.
_OF_ONE_SHAPE = {"binary_crossentropy", "binary_focal_crossentropy"}
_INPUT_SHAPE = (
    "Do not pass an `input_shape`/`input_dim` argument to a layer: Keras 3 wants a `tf.keras.Input(shape)` as the "
    "first layer of a Sequential model."
)
# Where a layer keeps its `batch_input_shape`.
_BATCH_SHAPE = "_batch_input_shape_arg"
# How many threads and processes prepare batches: a PyDataset says it itself in Keras 3.
_PREPARATION = ("max_queue_size", "workers", "use_multiprocessing")


def install() -> None:
    """Put the methods and arguments in place; safe to call again."""
    _logits.install()
    seam.add("keras:Metric.reset_states", _reset_states)
    seam.add(f"{_OPTIMIZER}.lr", property(_learning_rate, _set_learning_rate))
    seam.add(f"{_OPTIMIZER}.minimize", minimize)
    for name in ("fit", "evaluate", "predict"):
        seam.add(f"{_TRAINER}.{name}_generator", _of_generator(name))
    seam.add(f"{_TRAINER}.compiled_loss", _compute_compiled_loss)
    seam.add(f"{_TRAINER}.compiled_metrics", property(_CompiledMetrics))
    seam.add("keras:Model.reset_states", _reset_layers)
    seam.add("keras:Sequential.predict_classes", _predict_classes)
    seam.add("keras:Sequential.predict_proba", _predict_probabilities)
    seam.add("keras:Layer.apply", _apply)
    seam.add("keras:Layer.updates", property(lambda self: []))
    seam.add("keras:Layer.get_updates_for", lambda self, inputs: [])
    seam.add("keras:Layer.get_losses_for", lambda self, inputs: self.losses)
    for place, side in enumerate(("input", "output")):
        seam.add(f"keras:Layer.get_{side}_at", _of_call(place))
        seam.add(f"keras:Layer.get_{side}_shape_at", _shape_of_call(place))
    for kind in ("keras.src.models.functional:Functional", "keras:Sequential"):
        seam.add(f"{kind}.input_names", _InputNames())
    seam.add("keras:Layer.input_shape", property(_input_shape))
    seam.add("keras:Layer.output_shape", property(_output_shape))
    seam.widen(f"{_OPTIMIZER}.__init__", _with_lr_and_decay)
    seam.widen(f"{_OPTIMIZER}.iterations", lambda given: given.setter(_set_iterations))
    seam.widen(f"{_OPTIMIZER}.apply_gradients", _with_aggregation)
    seam.widen(f"{_OPTIMIZER}._get_current_learning_rate", _of_schedules)
    seam.widen(f"{_OPTIMIZER}._check_variables_are_known", compiled.with_more_variables)
    seam.widen("keras.src.optimizers:get", _of_the_first)
    seam.widen("keras:Optimizer.__init_subclass__", _adopting)
    seam.widen(f"{_VARIABLE}.dtype", _with_attributes)
    seam.widen(f"{_VARIABLE}.__eq__", _by_identity)
    seam.widen(f"{_VARIABLE}.__hash__", lambda given: _hash_variable)
    for name in seam.VARIABLE_METHODS:
        seam.add(f"{_VARIABLE}.{name}", vars(state.VariableMethods)[name])
    for name in ("assign", "assign_add", "assign_sub"):
        seam.widen(f"{_VARIABLE}.{name}", _without_locks)
    seam.widen(
        "keras:Layer.__call__",
        lambda call: _of_graphs(_with_training_by_position(layer_text.with_text(call))),
    )
    seam.widen("keras:Operation.symbolic_call", _of_graphs)
    for side in ("input", "output"):
        seam.widen(f"keras:Sequential.{side}", functools.partial(_of_built, f"{side}s"))
    seam.widen("keras:Layer.add_weight", _with_name_first)
    seam.widen("keras:Layer.add_variable", _as_add_weight)
    seam.widen("keras:Layer.__init__", _with_batch_input_shape)
    for dimensions in (1, 2, 3):
        seam.widen(f"keras:layers.AveragePooling{dimensions}D.__init__", _with_pool_size)
    for sized in seam.SIZED:
        seam.widen(sized, _with_numpys_numbers)
    seam.widen("keras:metrics.MeanMetricWrapper.update_state", _with_equal_ranks)
    seam.widen("keras:layers.Normalization.adapt", _of_datasets)
    seam.widen("keras:layers.Discretization.adapt", _without_tensorflow)
    seam.widen("keras:Sequential.add", _with_batch_size)
    seam.widen("keras:Sequential.call", _of_named_input)
    seam.widen("keras.src.utils.image_dataset_utils:_load_image_tf", _images.cropping)
    seam.widen(seam.IMAGE_LAYER, _images.taking_lists)
    seam.widen("keras.utils:to_categorical", _with_labels_by_name)
    seam.widen("keras.src.losses.losses:LossFunctionWrapper.call", _of_labels_in_a_row)
    seam.widen(f"{_TRAINER}.__init__", _with_own_methods)
    # Keras 3 says "compile_metrics" for all that `compile` was given, whatever `evaluate` returns.
    seam.widen(f"{_TRAINER}.metrics_names", lambda given: property(seam.names_of_metrics))
    seam.widen(f"{_TRAINER}._flatten_metrics_in_order", lambda given: seam.flatten_results)
    for path in seam.CELLS:
        seam.widen(path, _with_dtype)
    for path in seam.APPLICATIONS:
        seam.widen(path, _of_tensors)
    _added.install()
    _callbacks.install()
    _files.install()
    _measures.install()
    _shapes.install()
    _variables.install()
    text_models.install()
    exported.install()


def install_training() -> None:
    """Put the arguments of `compile`, `fit` and their like in place, on top of what makes models follow strategies."""
    seam.widen(f"{_TRAINER}.compile", _without_tensorflows_options)
    seam.widen(f"{_TRAINER}.get_compile_config", _without_the_first)
    seam.widen(f"{_TRAINER}.compute_loss", _with_a_loss)
    for name in ("evaluate", "predict"):
        seam.widen(f"{_JAX_TRAINER}.{name}", _with_preparation)
    seam.widen(f"{_JAX_TRAINER}.fit", lambda fit: _with_preparation(_as_compiled(fit)))
    seam.widen(
        f"{_JAX_TRAINER}.train_on_batch",
        lambda train: tracebacks.shortened(_counting_on(_as_compiled(train))),
    )
    seam.widen(f"{_JAX_TRAINER}.test_on_batch", lambda test: tracebacks.shortened(_counting_on(test)))
    seam.widen(f"{_OPTIMIZER}.stateless_apply", compiled.of_trained_model)


def _adopting(original: object) -> Any:
    """Have classes that follow Keras 2's rules for optimizers be found when they are defined."""

    def init_subclass(cls: Any, /, **kwargs: object) -> None:
        super(keras.Optimizer, cls).__init_subclass__(**kwargs)
        if cls.__module__.partition(".")[0] not in ("keras", "stratax"):
            from stratax.tensorflow.keras2 import optimizer_v2

            optimizer_v2.adopt(cls)

    return classmethod(init_subclass)


def _with_aggregation(original: Any) -> Any:
    """Have gradients be applied as they are where a program has combined those of the replicas itself."""

    @functools.wraps(original)
    def apply_gradients(
        self: Any,
        grads_and_vars: Any,
        name: str | None = None,
        skip_gradients_aggregation: bool = False,
        experimental_aggregate_gradients: bool = True,
    ) -> Any:
        grads_and_vars = list(grads_and_vars)
        if not grads_and_vars:
            # As in Keras 2, where a model is not built yet.
            return self.iterations
        if experimental_aggregate_gradients and not skip_gradients_aggregation:
            return original(self, grads_and_vars)
        from stratax.distribute.keras_hooks import as_given

        with as_given():
            return original(self, grads_and_vars)

    return apply_gradients


def _of_built(name: str, original: Any) -> Any:
    """Have a model of layers one after the other say what its ends are, once it is built.

    Args:
        name: The attribute that has them in a list.
        original: Keras' property, which asks for a call.
    """

    def find(self: Any) -> Any:
        # Keras' own property, which raises before.
        found = getattr(self, name, None)
        if found is None:
            return original.fget(self)
        return found[0] if len(found) == 1 else found

    return property(find, doc=original.__doc__)


def _of_graphs(original: Any) -> Any:
    """Have layers and operations that are called with tensors of a graph be added to it."""

    @functools.wraps(original)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        if (recorder := RECORDER.get()) is not None:
            made = recorder.record_operation(self, args, kwargs)
            if made is not NOT_RECORDED:
                return made
        return original(self, *args, **kwargs)

    return call


def _of_the_first(original: Any) -> Any:
    """Have Keras take an optimizer of TensorFlow 1."""

    @functools.wraps(original)
    def get(identifier: Any) -> Any:
        form = getattr(identifier, "_keras_form", None)
        return original(identifier) if form is None else form()

    return get


def _without_the_first(original: Any) -> Any:
    """Have a model be saved without an optimizer of TensorFlow 1, as TensorFlow does."""

    @functools.wraps(original)
    def get_compile_config(self: Any) -> Any:
        if not hasattr(getattr(self, "optimizer", None), "is_of_the_first"):
            return original(self)
        warnings.warn(
            "A model is saved without its optimizer if that is one of TensorFlow 1's. Compile the model again when it "
            "is loaded.",
            stacklevel=2,
        )
        return None

    return get_compile_config


def _with_attributes(original: Any) -> Any:
    """Have the dtype of a variable know what TensorFlow's knows."""
    return property(lambda self: dtype_name(original.fget(self)), doc=original.__doc__)


def _is_in_graph() -> bool:
    from stratax.tensorflow import v1

    return v1.current_or_none() is not None


def _by_identity(original: Any) -> Any:
    """Have two variables of a `model_fn` be equal where they are the same one, as in a graph."""

    @functools.wraps(original)
    def equals(self: Any, other: object) -> Any:
        if isinstance(other, keras.Variable) and _is_in_graph():
            return self is other
        return original(self, other)

    return equals


def _hash_variable(self: object) -> int:
    """Return a hash in a `model_fn`, where variables are elements of sets; elsewhere `ref()` has one.

    Raises:
        TypeError: As of whatever has no hash.
    """
    if not _is_in_graph():
        raise TypeError("Variable is unhashable. Instead, use variable.ref() as the key.")
    return object.__hash__(self)


def _without_locks(original: Any) -> Any:
    """Have an assignment take what TensorFlow's takes and what means nothing here."""

    @functools.wraps(original)
    def assign(
        self: Any,
        value: TensorLike,
        use_locking: bool = False,
        name: str | None = None,
        read_value: bool = True,
    ) -> Any:
        return original(self, value)

    return assign


def _reset_states(self: keras.Metric) -> None:
    """Reset the metric, as `reset_state`."""
    self.reset_state()


def _reset_layers(self: keras.Model) -> None:
    """Have the layers that keep states from batch to batch begin anew, as Keras 2's `Model.reset_states`."""
    for layer in self.layers:
        if getattr(layer, "stateful", False) and hasattr(layer, "reset_states"):
            layer.reset_states()


def _learning_rate(self: Any) -> Any:
    """The learning rate, as `learning_rate`."""
    return self.learning_rate


def _set_learning_rate(self: Any, value: TensorLike) -> None:
    self.learning_rate = value


def _set_iterations(self: Any, variable: Any) -> None:
    """Count updates with another variable, such as the global step; a number is the count of those made before."""
    if not isinstance(variable, keras.Variable):
        self._iterations.assign(variable)
    elif self.built:
        raise FailedPreconditionError(
            "Cannot set `iterations` to a new Variable after the Optimizer weights have been created. Received: "
            f"iterations={shown(variable)}. Set it before the first step, or assign a number to optimizer.iterations."
        )
    else:
        seam.count_by(self, variable)


def _compute_compiled_loss(
    self: object,
    y_true: object,
    y_pred: object,
    sample_weight: object = None,
    regularization_losses: Sequence[Any] | None = None,
) -> Any:
    """Return the loss of `compile` for a batch, as Keras 2's `Model.compiled_loss` in a `train_step`.

    Args:
        self: The model.
        y_true: Labels.
        y_pred: What the model has made of the features.
        sample_weight: Weights of examples, or None.
        regularization_losses: Losses that are added: `model.losses`.
    """
    return seam.loss_of(self, y_true, y_pred, sample_weight, regularization_losses)


class _CompiledMetrics:
    """The metrics of `compile`, as Keras 2's `Model.compiled_metrics`.

    Args:
        model: The model.
    """

    def __init__(self, model: object) -> None:
        self._model = model

    def update_state(self, y_true: object, y_pred: object, sample_weight: object = None) -> None:
        """Update the metrics of `compile`.

        Args:
            y_true: Labels.
            y_pred: What the model has made of the features.
            sample_weight: Weights of examples, or None.
        """
        seam.update_metrics(self._model, y_true, y_pred, sample_weight)


def minimize(
    self: Any,
    loss: TensorLike,
    var_list: Sequence[keras.Variable] | Callable[[], Sequence[keras.Variable]],
    grad_loss: Any = None,
    name: str | None = None,
    tape: Any = None,
) -> Any:
    """Compute the gradients of a loss and apply them, as `tf.keras.optimizers.Optimizer.minimize`.

    Args:
        self: The optimizer.
        loss: A function without arguments, or, with `tape`, an array that the tape has recorded.
        var_list: The variables, or a function that returns them.
        grad_loss: None; the loss' own gradient is 1.
        name: No effect.
        tape: The tape that has recorded the loss.

    Returns:
        What `apply_gradients` returns.
    """
    if grad_loss is not None:
        raise BadArgumentError(
            f"minimize takes no gradient of the loss. Expected: grad_loss=None. Received: {shown(grad_loss)}. Use "
            "GradientTape.gradient with output_gradients, and apply_gradients."
        )
    if not callable(loss) and tape is None:
        raise BadArgumentError(
            "The loss is an array, and no tape has recorded it. Expected: a function without arguments, or a tape as "
            f"`tape`. Received: loss={shown(loss)}."
        )
    if callable(loss):
        # Keras may just be imported by what makes the tape.
        from stratax.core import GradientTape

        with tape or GradientTape() as tape:
            loss = loss()
    variables = list(var_list() if callable(var_list) else var_list)
    return self.apply_gradients(list(zip(tape.gradient(loss, variables), variables, strict=True)))


# What Keras 1 called arguments of methods for generators, which Keras 2 took, too.
_OF_GENERATORS = {
    "max_q_size": "max_queue_size",
    "nb_epoch": "epochs",
    "nb_val_samples": "validation_steps",
    "nb_worker": "workers",
    "pickle_safe": "use_multiprocessing",
    "val_samples": "steps",
}


def _of_generator(name: str) -> Callable[..., Any]:
    """Return Keras 2's method for generators, which is the one for everything now."""

    def method(
        self: object, generator: object, steps: int | None = None, *args: object, **kwargs: object
    ) -> Any:
        # `fit_generator` calls its second argument steps_per_epoch, and has the epochs as the third.
        step_name = "steps_per_epoch" if name == "fit" else "steps"
        kwargs = {_OF_GENERATORS.get(each, each): value for each, value in kwargs.items()}
        if "samples_per_epoch" in kwargs:
            samples: Any = kwargs.pop("samples_per_epoch")
            steps = samples // getattr(generator, "batch_size", 1)
        kwargs.setdefault(step_name, steps)
        rest = (
            dict(zip(("epochs", "verbose", "callbacks", "validation_data"), args, strict=False))
            if name == "fit"
            else {}
        )
        return getattr(self, name)(generator, **rest, **kwargs)

    method.__name__ = method.__qualname__ = f"{name}_generator"
    method.__doc__ = f"Call `{name}`, which takes generators."
    return method


def _as_compiled(method: Callable[..., Any]) -> Callable[..., Any]:
    """Return a method that trains, for the layers that its model was compiled to train.

    Args:
        method: `fit` or `train_on_batch` of a model.
    """

    @functools.wraps(method)
    def train(self: keras.Model, *args: object, **kwargs: object) -> Any:
        # Nothing is called where nothing has changed since `compile`.
        # Keras' own error tells of a model that is not compiled, which has none.
        noted, optimizer = self.__dict__.get(compiled.NOTED), getattr(self, "optimizer", None)
        changed: list[tuple[Any, bool]] = []
        for layer, value in () if noted is None else noted.layers:
            if layer._trainable is not value:
                changed = [(each, each.trainable) for each, _ in noted.layers]
                compiled.set_trainable(noted.layers)
                break
        around = compiled.TRAINED.get()
        compiled.TRAINED.set(self)
        is_served = noted is not None and noted.served_by is optimizer
        if optimizer is not None and not is_served and optimizer.built:
            compiled.extend_for(self)
        try:
            return method(self, *args, **kwargs)
        finally:
            compiled.TRAINED.set(around)
            if changed:
                compiled.set_trainable(changed)

    return train


def _counting_on(original: Callable[..., Any]) -> Callable[..., Any]:
    """Let the metrics of a batch go on from those of the batches before, as Keras 2 does with `reset_metrics=False`."""

    @functools.wraps(original)
    def on_batch(self: Any, *args: object, reset_metrics: bool = True, **kwargs: object) -> Any:
        if reset_metrics:
            return original(self, *args, **kwargs)
        # Both trainers ask the model for it, around Keras' own bookkeeping of attributes.
        self.__dict__["reset_metrics"] = lambda: None
        try:
            return original(self, *args, **kwargs)
        finally:
            del self.__dict__["reset_metrics"]

    return on_batch


def _with_a_loss(original: Callable[..., Any]) -> Callable[..., Any]:
    """Refuse to train a model that has no loss, which Keras 3 does on JAX, by zeros."""

    @functools.wraps(original)
    def compute_loss(
        self: Any,
        x: TensorLike | None = None,
        y: TensorLike | None = None,
        y_pred: TensorLike | None = None,
        sample_weight: TensorLike | None = None,
        training: bool = True,
    ) -> Any:
        if training and self._compile_loss is None and not self.losses:
            raise BadArgumentError(
                "No loss found. Expected: a `loss` in `compile`, or one that a layer adds by `add_loss`. Received: a "
                f"model without, {shown(self.name)}."
            )
        return original(self, x, y, y_pred, sample_weight, training)

    return compute_loss


def _with_preparation(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def method(self: object, x: TensorLike | None = None, *args: object, **kwargs: object) -> Any:
        given = {name: kwargs.pop(name) for name in _PREPARATION if name in kwargs}
        if given and isinstance(x, keras.utils.PyDataset):
            for name, value in given.items():
                setattr(x, name, value)
        if args and isinstance(args[0], _lists.KINDS):
            args = (_lists.as_given(args[0]), *args[1:])
        for name in ("y", "validation_data"):
            if name in kwargs:
                kwargs[name] = _lists.as_given(kwargs[name])
        x = _lists.as_given(x) if isinstance(x, _lists.KINDS) else x
        with seam.without_phase():
            return original(self, x, *args, **kwargs)

    # Or this function would be a line of the traceback.
    return tracebacks.shortened(method)


def _predict_probabilities(
    self: keras.Sequential, x: TensorLike, batch_size: int | None = None, verbose: object = 0
) -> Any:
    """Predict, as `predict`."""
    return self.predict(x, batch_size=batch_size, verbose=verbose)


def _predict_classes(
    self: keras.Sequential, x: TensorLike, batch_size: int | None = None, verbose: object = 0
) -> Any:
    """Return the class of the largest prediction; of a single output, whether it is over 0.5."""
    predicted = self.predict(x, batch_size=batch_size, verbose=verbose)
    if predicted.shape[-1] > 1:
        return predicted.argmax(axis=-1)
    return (predicted > 0.5).astype(np.int32)


def _apply(self: keras.Layer, inputs: TensorLike, *args: object, **kwargs: object) -> Any:
    """Call the layer, by the name that Keras 2 had for it, too."""
    return self(inputs, *args, **kwargs)


def _of_call(place: int) -> Callable[..., Any]:
    """Return a method that gives the inputs (0) or outputs (1) of a layer's call in a functional model."""

    def method(self: keras.Layer, node_index: int) -> Any:
        """Return the tensor of a call, or a list of several."""
        found = seam.tensors_of_call(self, node_index)[place]
        return found[0] if len(found) == 1 else found

    return method


def _shape_of_call(place: int) -> Callable[..., Any]:
    tensors_of = _of_call(place)

    def method(self: keras.Layer, node_index: int) -> Any:
        """Return the shape of a call's tensor, or shapes of several."""
        return keras.tree.map_structure(lambda tensor: tensor.shape, tensors_of(self, node_index))

    return method


class _InputNames:
    """Gives the names of a model's inputs, by which an Estimator's features are called; a program may set others."""

    def __get__(self, model: Any, owner: object = None) -> Any:
        if model is None:
            return self
        return [tensor._keras_history.operation.name for tensor in keras.tree.flatten(model.inputs)]


def _input_shape(self: keras.Layer) -> Any:
    """The shape of the layer's input in a functional model."""
    return keras.tree.map_structure(lambda tensor: tensor.shape, self.input)


def _output_shape(self: keras.Layer) -> Any:
    """The shape of the layer's output in a functional model."""
    return keras.tree.map_structure(lambda tensor: tensor.shape, self.output)


def _with_lr_and_decay(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def __init__(self: object, learning_rate: Array, *args: object, **kwargs: Any) -> None:
        learning_rate = kwargs.pop("lr", learning_rate)
        # Adam of Keras 2's `legacy` module has these names, too.
        if decay := kwargs.pop("decay", None):
            learning_rate = keras.optimizers.schedules.InverseTimeDecay(learning_rate, 1, decay)
        # What Keras 2 compiles, JAX compiles here anyway.
        kwargs.pop("jit_compile", None)
        original(self, learning_rate, *args, **kwargs)

    return __init__


def _with_name_first(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def add_weight(self: Any, *args: Any, **kwargs: Any) -> Any:
        if args and (args[0] is None or isinstance(args[0], str)):
            kwargs |= dict(
                zip(("name", "shape", "dtype", "initializer", "regularizer", "trainable"), args, strict=False)
            )
            args = ()
        # One size is a shape, as in TensorFlow.
        if isinstance(kwargs.get("shape"), int):
            kwargs["shape"] = (kwargs["shape"],)
        # TensorFlow's options, which say nothing here.
        for name in ("use_resource", "experimental_autocast", "partitioner", "getter"):
            kwargs.pop(name, None)
        synchronization = kwargs.pop("synchronization", None)
        # An enumeration's member, as `tf.VariableAggregation.SUM`.
        if hasattr(kwargs.get("aggregation"), "name"):
            kwargs["aggregation"] = kwargs["aggregation"].name.lower()
        variable = original(self, *args, **kwargs)
        if synchronization is not None:
            # Keras 3 takes it for variables, and not for weights.
            variable._synchronization = str(getattr(synchronization, "name", synchronization)).lower()
        return variable

    return add_weight


def _with_pool_size(original: Callable[..., Any]) -> Callable[..., Any]:
    # Keras reads the names of a layer's arguments from here: they are those of the original.
    def __init__(
        self: object,
        pool_size: object = 2,
        strides: object = None,
        padding: str = "valid",
        data_format: object = None,
        **kwargs: object,
    ) -> None:
        original(self, pool_size, strides, padding, data_format, **kwargs)

    return __init__


def _with_numpys_numbers(original: Callable[..., Any]) -> Callable[..., Any]:
    """Let a layer whose sizes Keras 3 wants to be of type `int` take NumPy's, such as `data["id"].max() + 1`."""

    @functools.wraps(original)
    def __init__(self: object, *args: object, **kwargs: object) -> None:
        original(self, *map(_as_int, args), **{name: _as_int(each) for name, each in kwargs.items()})

    # Keras reads the names of a layer's arguments from here, and follows no wrappers.
    __init__.__signature__ = inspect.signature(original)  # type: ignore[attr-defined]
    return __init__


def _with_equal_ranks(original: Callable[..., Any]) -> Callable[..., Any]:
    """Let a function that is a metric compare labels of shape (n,) with outputs of shape (n, 1), as losses do."""

    @functools.wraps(original)
    def update_state(self: object, y_true: object, y_pred: object, sample_weight: object = None) -> Any:
        y_true, y_pred = _lists.as_tensor(y_true), _lists.as_tensor(y_pred)
        y_true, y_pred = seam.with_equal_ranks(_in_column(self, y_true, y_pred), y_pred)
        return original(self, y_true, y_pred, sample_weight)

    return update_state


def _as_int(value: object) -> Any:
    return int(value) if isinstance(value, np.integer) else value


def _as_add_weight(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def add_variable(self: Any, *args: object, **kwargs: object) -> Any:
        return self.add_weight(*args, **kwargs)

    return add_variable


def _with_batch_input_shape(original: Callable[..., Any]) -> Callable[..., Any]:
    # Not wrapped: Keras reads the arguments of the function itself.
    def __init__(
        self: object,
        *,
        activity_regularizer: object = None,
        trainable: bool = True,
        dtype: DTypeLike | None = None,
        autocast: bool = True,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        if (shape := kwargs.pop("batch_input_shape", None)) is not None:
            kwargs["input_shape"] = tuple(shape[1:])
            # For a Sequential: layers with states need the size of a batch.
            vars(self)[_BATCH_SHAPE] = tuple(shape)
        kwargs.pop("dynamic", None)
        size = kwargs.pop("input_dim", None)
        shape = kwargs.pop("input_shape", None) if size is None else (size,)
        if shape is not None:
            # Keras' own warning would point to this function.
            warnings.warn(_INPUT_SHAPE, stacklevel=callers.stack_level())
            seam.set_input_shape(self, shape)
        original(
            self,
            activity_regularizer=activity_regularizer,
            trainable=trainable,
            dtype=dtype,
            autocast=autocast,
            name=name,
            **kwargs,
        )

    return __init__


def _with_batch_size(original: Callable[..., None]) -> Callable[..., None]:
    """Let a model begin with batches of the size that its first layer's `batch_input_shape` says."""

    @functools.wraps(original)
    def add(self: Any, layer: Any, *args: Any, **kwargs: Any) -> None:
        shape = vars(layer).get(_BATCH_SHAPE) if isinstance(layer, keras.Layer) else None
        if shape is not None and not self._layers:
            original(self, keras.layers.InputLayer(batch_shape=shape), *args, **kwargs)
        original(self, layer, *args, **kwargs)

    return add


def _of_datasets(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def adapt(self: Any, data: Any, *args: object, **kwargs: object) -> None:
        if hasattr(data, "element_spec"):
            data = np.concatenate([np.asarray(batch) for batch in data])
        return original(self, data, *args, **kwargs)

    return adapt


def _with_training_by_position(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def __call__(self: Any, *args: Any, **kwargs: Any) -> Any:
        if len(args) > 1:
            # Keras 3 takes tensors by position only; what comes after a truth is given by name, too.
            first = next((i for i, each in enumerate(args) if isinstance(each, (bool, np.bool_))), 0)
            names = list(self._call_signature.parameters)
            if first > 0 and len(args) <= len(names):
                args, kwargs = args[:first], kwargs | dict(zip(names[first:], args[first:], strict=False))
        if "training" not in kwargs and seam.phase() is not None and not is_in_layer():
            kwargs["training"] = seam.phase()
        return original(self, *args, **kwargs)

    return __call__


def _of_named_input(original: Callable[..., Any]) -> Callable[..., Any]:
    """Let a Sequential take a dict that has its input by name."""

    @functools.wraps(original)
    def call(self: Any, inputs: Any, training: Any = None, mask: Any = None, **kwargs: object) -> Any:
        if type(inputs) is dict and len(inputs) == 1 and seam.takes_one_tensor(self):
            (inputs,) = inputs.values()
        return original(self, inputs, training=training, mask=mask, **kwargs)

    return call


def _of_schedules(original: Callable[..., Any]) -> Callable[..., Any]:
    """Give a program's own schedule the step as a fraction, as TensorFlow 2.10 did, if it refuses a whole number."""

    @functools.wraps(original)
    def _get_current_learning_rate(self: keras.Optimizer) -> Any:
        schedule = self._learning_rate
        if not isinstance(schedule, keras.optimizers.schedules.LearningRateSchedule):
            return original(self)
        try:
            return original(self)
        except (TypeError, ValueError):
            if type(schedule).__module__.partition(".")[0] in ("keras", "stratax"):
                raise
        return schedule(keras.ops.cast(self._iterations, "float32"))

    return _get_current_learning_rate


def _with_labels_by_name(original: Callable[..., Any]) -> Callable[..., Any]:
    """Let `to_categorical` take its first argument by the name that it has in Keras 2, and a dtype."""

    @functools.wraps(original)
    def to_categorical(*args: Any, **kwargs: Any) -> Any:
        if "y" in kwargs:
            kwargs["x"] = kwargs.pop("y")
        dtype = kwargs.pop("dtype", None)
        made = original(*args, **kwargs)
        return made if dtype is None else keras.tree.map_structure(lambda each: each.astype(dtype), made)

    return to_categorical


def _with_dtype(original: Callable[..., Any]) -> Callable[..., Any]:
    """Let a cell be asked for states of a dtype, and for those of inputs."""

    @functools.wraps(original)
    def get_initial_state(
        self: Any, inputs: Any = None, batch_size: Any = None, dtype: DTypeLike | None = None
    ) -> Any:
        # Keras 3 has the size first.
        if inputs is not None and not getattr(inputs, "shape", ()):
            inputs, batch_size = None, inputs
        if inputs is not None:
            batch_size, dtype = inputs.shape[0], dtype or inputs.dtype
        made = original(self, batch_size=batch_size)
        if dtype is None:
            return made
        name = keras.backend.standardize_dtype(dtype)
        return keras.tree.map_structure(lambda each: keras.ops.cast(each, name), made)

    return get_initial_state


def _of_labels_in_a_row(original: Callable[..., Any]) -> Callable[..., Any]:
    """Let labels of shape (n,) be compared with outputs of shape (n, m), each with all of a row, by means of errors."""

    @functools.wraps(original)
    def call(self: Any, y_true: Any, y_pred: Any) -> Any:
        return original(self, *_in_one_shape(self, _in_column(self, y_true, y_pred), y_pred))

    return call


def _in_one_shape(measure: Any, y_true: TensorLike, y_pred: TensorLike) -> tuple[Any, Any]:
    """Return labels and outputs, repeated where a loss wants one shape of both and they have sizes of 1 instead."""
    if _name_of(measure) not in _OF_ONE_SHAPE or measure._fn_kwargs.get("from_logits"):
        return y_true, y_pred
    y_true, y_pred = seam.with_equal_ranks(y_true, y_pred)
    shapes = [tuple(getattr(each, "shape", ())) for each in (y_true, y_pred)]
    is_alike = shapes[0] == shapes[1] or len(shapes[0]) != len(shapes[1]) or None in (*shapes[0], *shapes[1])
    if is_alike or not all(1 in (a, b) or a == b for a, b in zip(*shapes, strict=True)):
        return y_true, y_pred
    whole = np.broadcast_shapes(*shapes)
    return keras.ops.broadcast_to(y_true, whole), keras.ops.broadcast_to(y_pred, whole)


def _in_column(measure: Any, y_true: Any, y_pred: Any) -> Any:
    """Return labels in a column, where a loss or metric compares each of them with several numbers."""
    ranks = [len(getattr(each, "shape", ())) for each in (y_true, y_pred)]
    is_row = ranks == [1, 2] and y_pred.shape[-1] != 1
    return keras.ops.expand_dims(y_true, -1) if is_row and _name_of(measure) in _OF_ERRORS else y_true


def _name_of(measure: Any) -> str:
    function = getattr(measure, "fn", None) or getattr(measure, "_fn", None)
    return getattr(function, "__name__", "")


def _of_tensors(original: Callable[..., Any]) -> Callable[..., Any]:
    """Let a network be made for a tensor that has values, such as a `model_fn`'s feature: it gives the shape."""

    @functools.wraps(original)
    def application(*args: object, input_tensor: Any = None, **kwargs: object) -> Any:
        if input_tensor is not None and not isinstance(input_tensor, keras.KerasTensor):
            shape, dtype = np.shape(input_tensor), keras.backend.standardize_dtype(input_tensor.dtype)
            input_tensor = keras.Input(shape[1:], dtype=dtype)
        return original(*args, input_tensor=input_tensor, **kwargs)

    return application


def _with_own_methods(original: Callable[..., Any]) -> Callable[..., Any]:
    """Leave a model the methods that it has under a name that Keras 3 sets to None, such as `loss`."""

    @functools.wraps(original)
    def __init__(self: Any) -> None:
        original(self)
        own = vars(self)
        for name in [name for name, value in own.items() if value is None]:
            if callable(getattr(type(self), name, None)):
                del own[name]

    return __init__


def _without_tensorflow(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def adapt(self: Any, data: Array, steps: int | None = None) -> None:
        if self.num_bins is None:
            raise BadArgumentError(
                "A Discretization that was made with bin_boundaries has nothing to learn. Make it with num_bins."
            )
        self.reset_state()
        is_array = isinstance(data, (list, tuple, np.ndarray)) or not hasattr(data, "__iter__")
        for batch in [np.asarray(data)] if is_array else itertools.islice(data, steps):
            self.update_state(np.asarray(batch))
        self.finalize_state()

    return adapt


def _for_each_output(model: object, metrics: Any) -> Any:
    """Return metrics of a model: a list for each output of those that are in one list, as Keras 2 takes them."""
    count = len(getattr(model, "outputs", None) or ())
    is_flat = isinstance(metrics, list) and all(isinstance(each, str) or callable(each) for each in metrics)
    if count < 2 or not is_flat or not metrics:
        return metrics
    return [
        [
            type(each).from_config(each.get_config()) if isinstance(each, keras.Metric) else each
            for each in metrics
        ]
        for _ in range(count)
    ]


def _by_position(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the arguments of `compile` by name from the third on, where metrics stand there as in Keras 2."""
    first = args[2] if len(args) > 2 else None
    if not isinstance(first, list | tuple) or not any(
        isinstance(each, str) or callable(each) for each in first
    ):
        return args, kwargs
    names = (
        "metrics",
        "loss_weights",
        "weighted_metrics",
        "run_eagerly",
        "steps_per_execution",
        "jit_compile",
    )
    return args[:2], kwargs | dict(zip(names, args[2:], strict=False))


def _with_loss_of_each(
    model: object, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the arguments of `compile` with a loss for each output, where one has several weights."""
    loss = args[1] if len(args) > 1 else kwargs.get("loss")
    weights, names = kwargs.get("loss_weights"), getattr(model, "output_names", None) or ()
    if len(names) < 2 or loss is None or isinstance(loss, list | tuple | dict):
        return args, kwargs
    if isinstance(weights, list | tuple):
        losses: Any = [loss] * len(names)
    elif isinstance(weights, dict) and set(weights) <= set(names):
        losses, weights = dict.fromkeys(names, loss), dict.fromkeys(names, 1.0) | weights
    else:
        return args, kwargs
    return args[:1], kwargs | {"loss": losses, "loss_weights": weights}


def _without_tensorflows_options(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def compile(self: Any, *args: object, **kwargs: object) -> None:
        kwargs.pop("experimental_run_tf_function", None)
        args, kwargs = _by_position(args, kwargs)
        args, kwargs = _with_loss_of_each(self, args, kwargs)
        for name in ("metrics", "weighted_metrics"):
            if name in kwargs:
                kwargs[name] = _for_each_output(self, kwargs[name])
        if (steps := kwargs.pop("experimental_steps_per_execution", None)) is not None:
            kwargs["steps_per_execution"] = steps
        # Keras 3 keeps what the model was compiled with before, where there is nothing new.
        self._compile_loss = self._compile_metrics = None
        original(self, *args, **kwargs)
        compiled.note_trainable(self)

    return compile
