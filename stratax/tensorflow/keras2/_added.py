"""Losses and metrics that are added to models and layers, as Keras 2's `add_loss` and `add_metric` (keras2 layer).

Keras 3 takes a loss in `call` alone, and no metric. A functional model is given layers here that take a symbolic tensor
and add its value at each call, as in Keras 2 (keras/engine/functional.py, `_graph_network_add_loss`, 2.15).
"""

import functools
from collections.abc import Callable
from typing import Any

import jax
import keras

from stratax.base.shown import shown
from stratax.base.surroundings import Slot
from stratax.base.typing import Array, PyTree, TensorLike
from stratax.core import regions
from stratax.errors import BadArgumentError
from stratax.seams import keras2 as seam

_FUNCTIONAL = "keras.src.models.functional"
# What layers of losses and metrics gave while a model is made from its description, which says nothing of them.
_MADE: Slot[list[Any] | None] = Slot("what layers of losses and metrics gave", None)


def install() -> None:
    """Let losses and metrics be added; safe to call again."""
    for path in seam.ADDING_LOSSES:
        seam.widen(path, _with_symbols)
    seam.widen("keras:Layer._get_own_losses", _with_functions)
    seam.widen("keras:Layer.add_metric", lambda original: _add_metric)
    seam.widen(f"{_FUNCTIONAL}:functional_from_config", _with_layers)


class _Adding(keras.Layer):
    """A layer that gives what it is given, and does something else besides."""

    def compute_output_shape(self, input_shape: PyTree) -> PyTree:
        """Return the shape of the input."""
        return input_shape

    def compute_output_spec(self, inputs: Array, **kwargs: object) -> Any:
        """Return the input: nothing is added while a model is made."""
        return keras.KerasTensor(inputs.shape, inputs.dtype)

    def __call__(self, inputs: TensorLike, *args: object, **kwargs: object) -> Any:
        given = super().__call__(inputs, *args, **kwargs)
        made = _MADE.get()
        if made is not None:
            made.append(given)
        return given


@keras.saving.register_keras_serializable("stratax")
class AddLoss(_Adding):
    """Adds its input to the losses, as Keras 2's layer of this name."""

    def call(self, inputs: Array) -> Any:
        """Return the input.

        Args:
            inputs: The loss, or one of each example: training sums their gradients, and tells their mean.
        """
        self.add_loss(_as_one(inputs))
        return inputs


@keras.saving.register_keras_serializable("stratax")
class AddMetric(_Adding):
    """Takes the mean of its input over batches, as Keras 2's layer of this name.

    Args:
        metric_name: What the mean is called in logs.
        **kwargs: Those of layers.
    """

    def __init__(self, metric_name: str, **kwargs: object) -> None:
        super().__init__(**kwargs)
        self.metric_name = metric_name
        self.metric = keras.metrics.Mean(metric_name)

    def call(self, inputs: TensorLike) -> Any:
        """Return the input, whose mean the metric takes over batches."""
        self.metric.update_state(inputs)
        return inputs

    def get_config(self) -> dict[str, Any]:
        """Return what the layer is made of."""
        return {**super().get_config(), "metric_name": self.metric_name}


def _as_one(loss: Array) -> Any:
    """Return a loss as one number: the mean, with the gradient of the sum, as Keras 2 has them."""
    if not loss.shape:
        return loss
    total = keras.ops.sum(loss)
    return total + jax.lax.stop_gradient(keras.ops.mean(loss) - total)


def _with_symbols(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def add_loss(self: keras.Layer, loss: PyTree, **kwargs: object) -> None:
        # `inputs`, which says of a loss whether it depends on the examples.
        kwargs.pop("inputs", None)
        if kwargs:
            raise TypeError(f"Unknown keyword arguments: {sorted(kwargs)}")
        eager = []
        for each in keras.tree.flatten(loss):
            if isinstance(each, keras.KerasTensor):
                _attach(self, AddLoss(), each)
            elif callable(each):
                # Past Keras' bookkeeping: functions are no state.
                vars(self).setdefault("_functions_of_losses", []).append(each)
            else:
                eager.append(_as_one(each) if hasattr(each, "shape") else each)
        if eager:
            keras.Layer.add_loss.__wrapped__(self, eager)  # type: ignore[attr-defined]

    return add_loss


def _with_functions(original: Callable[..., Any]) -> Callable[..., Any]:
    """Have losses that are functions without arguments be computed where losses are read."""

    @functools.wraps(original)
    def _get_own_losses(self: keras.Layer) -> list[Any]:
        return [*original(self), *(each() for each in vars(self).get("_functions_of_losses", ()))]

    return _get_own_losses


def _attach(layer: keras.Layer, adding: keras.Layer, tensor: keras.KerasTensor) -> None:
    """Have a functional model compute a tensor at each call, and give it to a layer."""
    model = seam.graph_of(layer)
    if model is None:
        raise BadArgumentError(
            f"A symbolic tensor is added to a model that is made of symbolic tensors. Received: {shown(tensor)} for "
            f"{shown(layer)}. In `call`, add what is computed there."
        )
    seam.compute_also(model, adding(tensor))
    if model is not layer:
        # A Sequential has its functional model in no list of layers.
        seam.add_layer(layer, adding)


def _add_metric(self: keras.Layer, value: TensorLike, name: str | None = None, **kwargs: object) -> None:
    """Take the mean of a value over batches into the logs, as Keras 2's `Layer.add_metric`.

    Args:
        self: The layer or model, in its `call`; or a functional model.
        value: The value; a symbolic tensor for a functional model. What a metric of the layer gave needs no name.
        name: What the mean is called in logs.
        **kwargs: `aggregation`: no effect, as in TensorFlow 2.15.

    Raises:
        ValueError: Without a name.
        TypeError: If there are other arguments.
    """
    if set(kwargs) - {"aggregation"}:
        raise TypeError(f"Unknown keyword arguments: {sorted(kwargs)}. Expected `aggregation`.")
    if name is None:
        if self._metrics:
            # It is one of these that has updated itself and given the value.
            return
        raise ValueError(
            "Please provide a name for your metric like `self.add_metric(tf.reduce_sum(inputs), "
            "name='mean_activation')`"
        )
    if isinstance(value, keras.KerasTensor):
        _attach(self, AddMetric(name), value)
        return
    metric = next((each for each in self._metrics if each.name == name), None)
    if metric is None:
        # A call that is traced is the first that says it.
        with regions.outside_scopes():
            metric = keras.metrics.Mean(name)
        # Past Keras' lock on what is built.
        self._metrics.append(metric)
    metric.update_state(value)


def _with_layers(original: Callable[..., Any]) -> Callable[..., Any]:
    """Have a model that is made from its description compute what layers of losses and metrics take."""

    @functools.wraps(original)
    def functional_from_config(*args: object, **kwargs: object) -> Any:
        made: list[Any] = []
        with _MADE.holding(made):
            model = original(*args, **kwargs)
        for tensor in made:
            seam.compute_also(model, tensor)
        return model

    return functional_from_config
