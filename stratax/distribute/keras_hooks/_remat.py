"""Layers that compute anew what their gradients need, instead of keeping it (distribute layer)."""

from collections.abc import Callable
from typing import Any, TypeVar

import keras

from stratax import errors
from stratax.base.shown import shown
from stratax.base.surroundings import Slot
from stratax.core.gradients import recompute
from stratax.distribute import strategies
from stratax.distribute.replicas import get_strategy
from stratax.seams.keras_remat import mark_remat

_Given = TypeVar("_Given", bound=Callable[..., Any])
# The attribute of a layer that was given to `remat`: what is kept all the same.
_POLICY = "_stratax_remat_policy"
_IS_INSIDE: Slot[bool] = Slot("in a layer that is computed anew", False)


def remat(function_or_layer: _Given, policy: Callable[..., bool] | None = None) -> _Given:
    """Have a function or layer compute anew, on the way back, what its gradient needs.

    Of the way forward only the arguments are kept: less memory for about a third more time. It is `jax.checkpoint` for
    functions that read and assign variables, and follows `keras.remat` and `tf.recompute_grad`; dropout draws the same
    numbers both times, and statistics are updated once.

    Args:
        function_or_layer: A function of arrays, or a Keras layer (a model is one), which is changed.
        policy: What is kept all the same, as one of `jax.checkpoint_policies`; None for nothing.

    Returns:
        The function to call instead, or the layer.

    Raises:
        BadTypeError: If it is neither a function nor a layer.

    Example:
        >>> import keras, stratax as sx
        >>> block = sx.remat(keras.Sequential([keras.layers.Dense(8, "relu"), keras.layers.Dense(4)]))
        >>> model = keras.Sequential([keras.layers.Input((4,)), block])
        >>> squared = sx.remat(lambda x: x * x)
    """
    if isinstance(function_or_layer, keras.layers.Layer):
        function_or_layer.__dict__[_POLICY] = policy
        mark_remat(function_or_layer)
        return function_or_layer
    if not callable(function_or_layer):
        raise errors.BadTypeError(
            f"stratax.remat takes a function or a Keras layer. Received: {shown(function_or_layer)}."
        )
    recomputed: Any = recompute(function_or_layer, policy)
    return recomputed


def remat_call(call: Callable[..., Any]) -> Callable[..., Any]:
    """Return what Keras calls in the place of the method of a layer that is to be computed anew, as `keras.remat`.

    Args:
        call: The method, or a function that `keras.remat` was given.
    """
    layer = getattr(call, "__self__", None)
    strategy = get_strategy()
    given = getattr(layer, "__dict__", {})
    if _POLICY in given:
        return recompute(call, given[_POLICY])
    if not isinstance(strategy, strategies.ShardedStrategy) or strategy.remat is None:
        return recompute(call)
    # Of layers in one another the outermost: each further one would be computed once more.
    if _IS_INSIDE.get() or not strategy.recomputes(layer):
        return call

    def inside(*args: object, **kwargs: object) -> Any:
        with _IS_INSIDE.holding(True):
            return call(*args, **kwargs)

    inside.__self__ = layer  # type: ignore[attr-defined]
    return recompute(inside)
