"""Gradients in a graph: tensors like all others, which tapes compute when a session runs them (graph layer)."""

import contextlib
import math
from typing import Any

import jax.numpy as jnp
import keras
import numpy as np

from stratax import errors
from stratax.base.shown import shown
from stratax.base.typing import PyTree
from stratax.tensorflow.graph._building import Building
from stratax.tensorflow.graph._nodes import GraphCall, GraphTensor
from stratax.tensorflow.ops.arrays.arrays import reshape, stack
from stratax.tensorflow.v1 import current, gradients


class GraphDerivatives:
    """Adds gradients to a graph; what a `Derivatives` is to a trace.

    Args:
        building: Adds to the graph.
    """

    def __init__(self, building: Building) -> None:
        self._building = building

    def gradients(
        self,
        ys: object,
        xs: object,
        grad_ys: object = None,
        stop_gradients: object = None,
        *,
        zero: bool = False,
    ) -> list[Any]:
        """Return the gradients of the sum of `ys`, as `tf.gradients`.

        Args:
            ys: A tensor or several.
            xs: Variables and tensors.
            grad_ys: The gradients of each of `ys`; None for ones.
            stop_gradients: Tensors that no gradient goes through.
            zero: Whether to return zeros instead of None.

        Returns:
            A tensor for each of `xs`; None where the `ys` do not depend on one.
        """
        targets, sources = ([self._building.in_graph(each) for each in _as_list(given)] for given in (ys, xs))
        stopped = [] if stop_gradients is None else _as_list(stop_gradients)
        for each in targets:
            if not isinstance(each, GraphTensor | keras.Variable):
                raise errors.BadTypeError(f"Gradients are asked for of tensors. Received: ys={shown(each)}.")
        behind = _find_behind(targets, stopped)
        connected = [id(source) in behind for source in sources]
        wanted = [source for source, is_connected in zip(sources, connected, strict=True) if is_connected]
        given = None if grad_ys is None else _as_list(grad_ys)
        # A tensor of the way from sources to targets: its own value is what is differentiated by.
        made = iter(
            self._building.add_gradients(differentiate, (targets, wanted, given, stopped), wanted)
            if wanted
            else []
        )
        return [
            next(made) if is_connected else self._zeros(source) if zero else None
            for source, is_connected in zip(sources, connected, strict=True)
        ]

    def _zeros(self, source: Any) -> Any:
        return self._building.add(jnp.zeros_like, (source,), {}, kind="zeros_like")

    def rows_of(self, gradient: object) -> None:
        """Return None: which rows there are is known when the graph is computed."""

    def note_same_rows(self, made: object, source: object) -> None:
        """Do nothing, likewise."""

    def note_whole(self, gradient: object) -> None:
        """Do nothing, likewise."""

    def not_recorded(self, count: int | None = None) -> contextlib.AbstractContextManager[None]:
        """Do nothing in a block: nothing is computed."""
        return contextlib.nullcontext()


def differentiate(ys: list[Any], xs: list[Any], grad_ys: list[Any] | None, stopped: list[Any]) -> list[Any]:
    """Return gradients, with values; where there turn out to be none, zeros."""
    del stopped
    given = None
    if grad_ys is not None:
        given = [
            None if each is None else jnp.asarray(each, jnp.asarray(y).dtype)
            for y, each in zip(ys, grad_ys, strict=True)
        ]
    return list(current().derivatives.gradients(ys, xs, given, zero=True))


def hessians(
    ys: PyTree,
    xs: PyTree,
    name: str = "hessians",
    colocate_gradients_with_ops: bool = False,
    gate_gradients: bool = False,
    aggregation_method: object = None,
) -> list[Any]:
    """Return the second derivatives of the sum of tensors by each of several, as `tf.hessians`.

    Each element of a first derivative is differentiated by itself: meant for few.

    Args:
        ys: A tensor or several.
        xs: Variables and tensors, whose shapes are known.
        name: Ignored.
        colocate_gradients_with_ops: Ignored.
        gate_gradients: Ignored.
        aggregation_method: Ignored.

    Returns:
        For each of `xs` a tensor of shape `(*shape, *shape)`.

    Raises:
        BadArgumentError: If a shape is not known, or `ys` do not depend on one of `xs`.

    Example:
        >>> import stratax.tf.compat.v1 as tf
        >>> with tf.Graph().as_default(), tf.Session() as session:
        ...     x = tf.placeholder(tf.float32, [2])
        ...     print(session.run(tf.hessians(tf.reduce_sum(x**3), x), {x: [1, 2]})[0])
        [[ 6.  0.]
         [ 0. 12.]]
    """
    return [_differentiate_twice(ys, each) for each in _as_list(xs)]


def _differentiate_twice(ys: PyTree, x: PyTree) -> Any:
    sizes = None if x.shape.rank is None else x.shape.as_list()
    if sizes is None or None in sizes:
        raise errors.BadArgumentError(
            f"Second derivatives are taken of a tensor of a known shape. Received: {shown(x)}. Give its shape."
        )
    (first,) = gradients(ys, x)
    if first is None:
        raise errors.BadArgumentError(f"Nothing of ys depends on x. Received: x={shown(x)}.")
    flat = reshape(first, [-1])
    count = math.prod(sizes)
    rows = [gradients(flat[index], x, unconnected_gradients="zero")[0] for index in range(count)]
    return reshape(stack(rows), [*sizes, *sizes])


def _find_behind(targets: list[Any], stopped: list[Any]) -> set[int]:
    """Return the ids of tensors and variables of real numbers that targets depend on."""
    found: set[int] = set()
    waiting = list(targets)
    ends = {id(each) for each in stopped}
    seen: set[int] = set()
    while waiting:
        each = waiting.pop()
        if id(each) in found or np.dtype(each.dtype).kind not in "fcV":
            continue
        found.add(id(each))
        if id(each) in ends or not isinstance(each, GraphTensor):
            continue
        call: GraphCall = each.call
        if id(call) in seen or _is_opaque(call):
            continue
        seen.add(id(call))
        waiting.extend([*call.inputs, *call.reads])
    return found


def _is_opaque(call: GraphCall) -> bool:
    return getattr(call.function, "__name__", "") == "stop_gradient"


def _as_list(values: PyTree) -> list[Any]:
    return list(values) if isinstance(values, list | tuple) else [values]
