"""Collections, the global step, and what else TensorFlow 1 asks a graph for (v1 layer)."""

from collections.abc import Iterable
from typing import Any

import jax.numpy as jnp
import keras

from stratax import errors
from stratax.base.shown import shown
from stratax.base.typing import TensorLike
from stratax.core import UnconnectedGradients, regions
from stratax.core.gradients import trace_gradients
from stratax.tensorflow.v1._current import current_or_none, readable
from stratax.tensorflow.v1._operation import Operation
from stratax.tensorflow.v1._operations import no_op


class GraphKeys:
    """Names of collections, as `tf.GraphKeys`."""

    ACTIVATIONS = "activations"
    ASSET_FILEPATHS = "asset_filepaths"
    BIASES = "biases"
    EVAL_STEP = "eval_step"
    GLOBAL_STEP = "global_step"
    GLOBAL_VARIABLES = "variables"
    INIT_OP = "init_op"
    LOCAL_INIT_OP = "local_init_op"
    LOCAL_RESOURCES = "local_resources"
    LOCAL_VARIABLES = "local_variables"
    LOSSES = "losses"
    METRIC_VARIABLES = "metric_variables"
    MODEL_VARIABLES = "model_variables"
    MOVING_AVERAGE_VARIABLES = "moving_average_variables"
    QUEUE_RUNNERS = "queue_runners"
    READY_FOR_LOCAL_INIT_OP = "ready_for_local_init_op"
    READY_OP = "ready_op"
    REGULARIZATION_LOSSES = "regularization_losses"
    RESOURCES = "resources"
    SAVEABLE_OBJECTS = "saveable_objects"
    SAVERS = "savers"
    SUMMARIES = "summaries"
    SUMMARY_OP = "summary_op"
    TABLE_INITIALIZERS = "table_initializer"
    TRAIN_OP = "train_op"
    TRAINABLE_VARIABLES = "trainable_variables"
    UPDATE_OPS = "update_ops"
    # The older name of GLOBAL_VARIABLES.
    VARIABLES = "variables"
    WEIGHTS = "weights"


def get_collection(key: str, scope: str | None = None) -> list[Any]:
    """Return what is in a collection, as `tf.get_collection`.

    Outside of a `model_fn` only what was added is in one, and no variable that was not, as in TensorFlow 2.

    Args:
        key: The collection's name, one of `GraphKeys` or the program's own.
        scope: A regular expression: only what has a name that begins like this.

    Returns:
        A new list.
    """
    return readable().collections.get(key, scope)


def get_collection_ref(key: str) -> list[Any]:
    """Return the list that a collection is, which may be changed; of variables a new one."""
    return readable().collections.ref(key)


def add_to_collection(name: str, value: object) -> None:
    """Add to a collection, as `tf.add_to_collection`."""
    readable().collections.add(name, value)


def add_to_collections(names: str | Iterable[str] | None, value: object) -> None:
    """Add to several collections, to each once, as `tf.add_to_collections`."""
    for name in dict.fromkeys([names] if isinstance(names, str) else names or ()):
        add_to_collection(name, value)


def global_variables(scope: str | None = None) -> list[Any]:
    """Return the variables of the model, in the order in which they were made."""
    return get_collection(GraphKeys.GLOBAL_VARIABLES, scope)


def trainable_variables(scope: str | None = None) -> list[Any]:
    """Return the variables that optimizers see."""
    return get_collection(GraphKeys.TRAINABLE_VARIABLES, scope)


def local_variables(scope: str | None = None) -> list[Any]:
    """Return the variables in the collection of local ones, such as those of metrics."""
    return get_collection(GraphKeys.LOCAL_VARIABLES, scope)


def model_variables(scope: str | None = None) -> list[Any]:
    """Return the variables in the collection of that name."""
    return get_collection(GraphKeys.MODEL_VARIABLES, scope)


def moving_average_variables(scope: str | None = None) -> list[Any]:
    """Return the variables in the collection of that name."""
    return get_collection(GraphKeys.MOVING_AVERAGE_VARIABLES, scope)


def variables_initializer(var_list: Iterable[Any], name: str = "init") -> Operation:
    """Return the operation that gives variables their first values.

    In a `model_fn` it does nothing: variables have them once they are there.

    Args:
        var_list: The variables.
        name: Its name.
    """
    scope = current_or_none()
    return no_op(name) if scope is None else scope.initializer(list(var_list), name)


def global_variables_initializer() -> Operation:
    """Return the operation that gives all variables their first values; see :func:`variables_initializer`."""
    return variables_initializer(global_variables())


def local_variables_initializer() -> Operation:
    """Return the operation that gives local variables their first values; see :func:`variables_initializer`."""
    return variables_initializer(local_variables())


def tables_initializer(name: str = "init_all_tables") -> Operation:
    """Return an operation that does nothing: tables are filled once they are there."""
    return no_op(name)


def get_global_step(graph: object = None) -> keras.Variable | None:
    """Return the global step, or None if this trace has none yet, as `tf.train.get_global_step`."""
    return next(iter(get_collection(GraphKeys.GLOBAL_STEP)), None)


def get_or_create_global_step(graph: object = None) -> keras.Variable:
    """Return the global step, which is made if there is none, as `tf.train.get_or_create_global_step`."""
    return readable().global_step()


def create_global_step(graph: object = None) -> keras.Variable:
    """Make the global step, as `tf.train.create_global_step`.

    Raises:
        BadArgumentError: If it is there.
    """
    if get_global_step() is not None:
        raise errors.BadArgumentError('"global_step" already exists. Use tf.train.get_or_create_global_step.')
    return get_or_create_global_step()


def gradients(
    ys: object,
    xs: object,
    grad_ys: object = None,
    name: str = "gradients",
    colocate_gradients_with_ops: bool = False,
    gate_gradients: bool = False,
    aggregation_method: object = None,
    stop_gradients: object = None,
    unconnected_gradients: UnconnectedGradients | str = UnconnectedGradients.NONE,
) -> list[Any]:
    """Return the gradients of the sum of tensors, as `tf.gradients`.

    Args:
        ys: A tensor or a list of them.
        xs: A variable or tensor, or a list of them.
        grad_ys: For each of `ys` the gradient from which it goes on; None for ones.
        name: Ignored.
        colocate_gradients_with_ops: Ignored.
        gate_gradients: Ignored.
        aggregation_method: Ignored.
        stop_gradients: Tensors that no gradient goes through. In a `model_fn` refused: use `tf.stop_gradient`.
        unconnected_gradients: `"none"` or `"zero"`: what there is where `ys` don't depend on one of `xs`.

    Returns:
        One tensor for each of `xs`.

    Raises:
        ModelScopeError: If it is called outside of a `model_fn` and of a compiled function.
        BadArgumentError: If `unconnected_gradients` is unknown.
    """
    if current_or_none() is None and regions.executing_eagerly():
        raise errors.ModelScopeError(
            "tf.gradients needs a graph, and outside of a `model_fn` and of a tf.function there is none. Expected: "
            "tf.GradientTape around what is differentiated: `with tf.GradientTape() as tape: ...`, then "
            "`tape.gradient(ys, xs)`; `tape.watch(x)` for what is no variable."
        )
    wanted = str(getattr(unconnected_gradients, "value", unconnected_gradients))
    if wanted not in ("none", "zero"):
        raise errors.BadArgumentError(
            'unconnected_gradients must be "none" or "zero". Received: '
            f"unconnected_gradients={shown(unconnected_gradients)}."
        )
    scope = current_or_none()
    if scope is not None:
        # A model_fn has been recorded by tapes from its beginning.
        return scope.derivatives.gradients(ys, xs, grad_ys, stop_gradients, zero=wanted == "zero")
    targets, sources = _arrays(ys), _arrays(xs)
    given = (
        [None] * len(targets)
        if grad_ys is None
        else [grad_ys]
        if not isinstance(grad_ys, list | tuple)
        else grad_ys
    )
    found = trace_gradients(targets, sources, given, _arrays(stop_gradients))
    return [
        jnp.zeros_like(source) if gradient is None and wanted == "zero" else gradient
        for gradient, source in zip(found, sources, strict=True)
    ]


def _arrays(values: TensorLike) -> list[Any]:
    """Return the arrays of one or several tensors and variables."""
    listed = [] if values is None else list(values) if isinstance(values, list | tuple) else [values]
    return [each.value if isinstance(each, keras.Variable) else jnp.asarray(each) for each in listed]
