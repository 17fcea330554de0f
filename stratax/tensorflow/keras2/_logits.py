"""Crossentropies of what a softmax or sigmoid gave, computed of its logits as TensorFlow does (keras2 layer).

Keras 3 on JAX cuts probabilities at 1e-7 instead: the loss of an example that is surely wrong is 16 at most there, and
has no gradient.
"""

import functools
from collections.abc import Callable
from typing import Any

from stratax.base.typing import Array, TensorLike
from stratax.seams import keras2 as seam
from stratax.tensorflow.ops.calls import logits

_OPS = "keras.src.ops"


def install() -> None:
    """Let activations remember their logits, and crossentropies look for them; safe to call again."""
    seam.widen(f"{_OPS}:softmax", _remembering_softmax)
    seam.widen(f"{_OPS}:sigmoid", _remembering_sigmoid)
    # What a functional model makes of `tf.nn.softmax` and `tf.sigmoid`.
    seam.widen(f"{_OPS}.nn:Softmax.call", _noting("softmax"))
    seam.widen(f"{_OPS}.nn:Sigmoid.call", _noting("sigmoid"))
    seam.widen(f"{_OPS}:categorical_crossentropy", _of_classes)
    seam.widen(f"{_OPS}:sparse_categorical_crossentropy", _of_classes)
    seam.widen(f"{_OPS}:binary_crossentropy", _of_chances)


def _remembering_softmax(given: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(given)
    def softmax(x: TensorLike, axis: int | tuple[int, ...] = -1) -> Any:
        output = given(x, axis=axis)
        if axis in (-1, len(output.shape) - 1):
            logits.remember(output, x, "softmax")
        return output

    return softmax


def _remembering_sigmoid(given: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(given)
    def sigmoid(x: TensorLike) -> Any:
        output = given(x)
        logits.remember(output, x, "sigmoid")
        return output

    return sigmoid


def _noting(kind: str) -> Callable[..., Any]:
    def widen(given: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(given)
        def call(self: Any, x: TensorLike) -> Any:
            axis = self.axis if kind == "softmax" else -1
            return logits.remember_in_graph(given(self, x), x, kind, axis)

        return call

    return widen


def _of_classes(given: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(given)
    def crossentropy(target: TensorLike, output: Array, from_logits: bool = False, axis: int = -1) -> Any:
        found = logits.find(output, "softmax") if axis in (-1, len(output.shape) - 1) else None
        if found is None:
            return given(target, output, from_logits=from_logits, axis=axis)
        return given(target, found, from_logits=True, axis=axis)

    return crossentropy


def _of_chances(given: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(given)
    def binary_crossentropy(target: TensorLike, output: Array, from_logits: bool = False) -> Any:
        found = logits.find(output, "sigmoid")
        if found is None:
            return given(target, output, from_logits=from_logits)
        return given(target, found, from_logits=True)

    return binary_crossentropy
