"""Layers that differ in their weights alone, compiled once and computed in a loop (distribute layer)."""

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import jax
import keras

from stratax import errors
from stratax.base.shown import shown
from stratax.base.typing import PyTree
from stratax.core import autograph, regions
from stratax.core.gradients import run_alike, trace_only
from stratax.seams import keras_graphs
from stratax.seams.keras import get_stateless_scope, in_symbolic_scope
from stratax.seams.keras_remat import move_losses

_Given = TypeVar("_Given", keras.Model, Sequence[keras.layers.Layer])
_Call = Callable[..., Any]
# What the configurations of layers that compute alike may differ in.
_FREE = ("name", "seed", "build_config")


def repeat(layers_or_model: _Given) -> Any:
    """Have layers that follow one another, and differ in their weights alone, be compiled once and run in a loop.

    The time that a compiler takes no longer grows with their number. Names, checkpoints, saved models and numbers are
    those of layers that are called one after the other. Under a `ShardedStrategy` each turn of the loop gathers the
    weights of its own layer, and sums its gradient in parts; with `remat="layer"`, or `stratax.remat` of each layer,
    the way back gathers them again. Gradients are those of `fit` and `value_and_grad`; with a `GradientTape` they are
    summed behind the loop, and stay whole until then.

    Args:
        layers_or_model: Keras layers, of which each takes the result of the one before it; or a functional or
            `Sequential` model, which is changed: of its layers, and of those of models in it, the ones that follow one
            another and are alike are run so.

    Returns:
        Of layers a function of the first one's arguments: the first argument is handed on, the others (masks, say) all
        layers get. Called eagerly, or with symbolic inputs, it calls them one after the other. Of a model the model.

    Raises:
        BadTypeError: If it is neither a model nor layers.
        BadArgumentError: If no layers of a model follow one another and are alike. When they are called: if layers
            compute differently, or give what they can't take.
        TracingError: When they are called: if a layer assigns a variable that is not its own.

    Example:
        >>> import keras, stratax as sx
        >>> blocks = [keras.layers.Dense(8, "relu", name=f"block_{i}") for i in range(3)]
        >>> model = sx.repeat(keras.Sequential([keras.layers.Input((8,)), *blocks]))
        >>> [layer.name for layer in model.layers]
        ['block_0', 'block_1', 'block_2']
        >>> compute = sx.repeat(blocks)  # for a layer or model with a `call` of its own
    """
    if isinstance(layers_or_model, keras.Model):
        _mark(layers_or_model)
        return layers_or_model
    layers = list(layers_or_model) if isinstance(layers_or_model, list | tuple) else []
    if not layers or not all(isinstance(layer, keras.layers.Layer) for layer in layers):
        raise errors.BadTypeError(
            f"stratax.repeat takes a list of Keras layers, or a model. Received: {shown(layers_or_model)}."
        )

    @autograph.do_not_convert
    def compute(inputs: PyTree, *args: object, **kwargs: object) -> Any:
        return _compute(layers, layers, inputs, args, kwargs)

    return compute


def _compute(
    layers: Sequence[Any],
    calls: Sequence[_Call],
    inputs: PyTree,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
) -> Any:
    """Call layers one after the other, by functions that call each of them; in a loop where a program is traced."""
    leaves = jax.tree.leaves((inputs, args, kwargs))
    is_symbolic = in_symbolic_scope() or any(isinstance(leaf, keras.KerasTensor) for leaf in leaves)
    if regions.current_region() is None or is_symbolic or len(layers) == 1:
        for call in calls:
            inputs = call(inputs, *args, **kwargs)
        return inputs
    mask = keras_graphs.get_keras_mask(inputs) if isinstance(inputs, jax.Array) else None
    passed: list[bool] = []

    def call_on(call: _Call, given: PyTree) -> Any:
        if mask is not None:
            keras_graphs.set_keras_mask(given, mask)
        result = call(given, *args, **kwargs)
        passed[:] = [mask is not None and keras_graphs.get_keras_mask(result) is mask]
        return result

    converted = [autograph.convert(functools.partial(call_on, call)) for call in calls]
    for layer, call in zip(layers, converted, strict=True):
        if not layer.built:
            trace_only(call, inputs)
    _check_variables(layers)
    names = [layer.name for layer in layers]
    result, known, losses = run_alike(converted, [layer.variables for layer in layers], names, inputs)
    scope = get_stateless_scope()
    for one, all_of_it in zip(known, losses, strict=True):
        for layer, loss in zip(layers, all_of_it, strict=True):
            if scope is not None and scope.collect_losses:
                scope.add_loss(loss)
            move_losses(layers[0], [one], [loss], to=layer)
    if passed[0]:
        keras_graphs.set_keras_mask(result, mask)
    return result


def _mark(model: keras.Model) -> None:
    """Have the layers of a model that are alike be run in loops."""
    runs = [
        (graph, keras_graphs.find_runs(graph, _signature_of)) for graph in keras_graphs.find_graphs(model)
    ]
    if not any(found for _, found in runs):
        raise errors.BadArgumentError(
            "No layers of the model follow one another and differ in their weights alone. Expected: a functional or "
            "Sequential model that is built and has such layers. Received: "
            f"{shown(model.name)} with {shown([layer.name for layer in model.layers])}. In a `call` of your own, write "
            "`stratax.repeat(layers)(x)` in the place of the loop over the layers."
        )
    for graph, found in runs:
        keras_graphs.run_together(graph, found, _compute_run)


def _compute_run(layers: Sequence[Any], calls: Sequence[_Call]) -> _Call:
    def compute(inputs: PyTree, *args: object, **kwargs: object) -> Any:
        return _compute(layers, calls, inputs, args, kwargs)

    return compute


def _signature_of(operation: keras.Operation) -> Any:
    """Return what layers that compute alike have in common; None for what is no layer, or has no variables."""
    if not isinstance(operation, keras.layers.Layer) or not operation.variables:
        return None
    try:
        config = operation.get_config()
    except NotImplementedError:
        # Whether such layers compute alike shows when they are traced.
        config = None
    return type(operation), _types_of(operation), repr(_bare(config))


def _bare(config: PyTree) -> Any:
    """Return a configuration without what says nothing about how a layer computes."""
    if isinstance(config, dict):
        free = [key for key in config if key in _FREE or key.endswith("_initializer")]
        return {key: _bare(value) for key, value in config.items() if key not in free}
    if isinstance(config, list | tuple):
        return [_bare(value) for value in config]
    return config


def _check_variables(layers: Sequence[Any]) -> None:
    """Raise unless layers have variables of the same types."""
    first = _types_of(layers[0])
    for layer in layers[1:]:
        found = _types_of(layer)
        if type(layer) is not type(layers[0]) or found != first:
            raise errors.BadArgumentError(
                "Layers that are repeated are unlike one another. Expected: layers of one class with variables of the "
                f"same shapes and dtypes, as those of {shown(layers[0].name)}, a {type(layers[0]).__name__}: "
                f"{shown(first)}. "
                f"Received: {shown(layer.name)}, a {type(layer).__name__}: {shown(found)}."
            )


def _types_of(layer: keras.layers.Layer) -> list[tuple[tuple[int, ...], str]]:
    return [(tuple(variable.shape), str(variable.dtype)) for variable in layer.variables]
