"""Crossentropies of what a softmax or sigmoid gave, computed of its logits as TensorFlow does (keras2 layer).

Keras 3 on JAX cuts probabilities at 1e-7 instead: the loss of an example that is surely wrong is 16 at most there, and
has no gradient.
"""

import functools
import weakref
from collections.abc import Callable
from typing import Any

import jax

from stratax.base.typing import Array, TensorLike
from stratax.seams import keras2 as seam

_OPS = "keras.src.ops"
# By the id of an activation's output: a reference to it, its logits, and what it was.
_made: dict[int, tuple[weakref.ref[Any], Any, object]] = {}


def install() -> None:
    """Let activations remember their logits, and crossentropies look for them; safe to call again."""
    seam.widen(f"{_OPS}:softmax", _remembering_softmax)
    seam.widen(f"{_OPS}:sigmoid", _remembering_sigmoid)
    seam.widen(f"{_OPS}:categorical_crossentropy", _of_classes)
    seam.widen(f"{_OPS}:sparse_categorical_crossentropy", _of_classes)
    seam.widen(f"{_OPS}:binary_crossentropy", _of_chances)


def _remember(output: object, logits: object, kind: object) -> None:
    # Also tracers are; what is symbolic has no value yet.
    if isinstance(output, jax.Array) and output is not logits:
        key = id(output)
        _made[key] = weakref.ref(output, lambda _: _made.pop(key, None)), logits, kind


def _find_logits(output: object, kind: object) -> Any:
    """Return the logits of an activation's output, None if it is none of this kind."""
    reference, logits, of_kind = _made.get(id(output), (None, None, None))
    return logits if reference is not None and reference() is output and of_kind == kind else None


def _remembering_softmax(given: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(given)
    def softmax(x: TensorLike, axis: int | tuple[int, ...] = -1) -> Any:
        output = given(x, axis=axis)
        if axis in (-1, len(output.shape) - 1):
            _remember(output, x, "softmax")
        return output

    return softmax


def _remembering_sigmoid(given: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(given)
    def sigmoid(x: TensorLike) -> Any:
        output = given(x)
        _remember(output, x, "sigmoid")
        return output

    return sigmoid


def _of_classes(given: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(given)
    def crossentropy(target: TensorLike, output: Array, from_logits: bool = False, axis: int = -1) -> Any:
        logits = _find_logits(output, "softmax") if axis in (-1, len(output.shape) - 1) else None
        if logits is None:
            return given(target, output, from_logits=from_logits, axis=axis)
        return given(target, logits, from_logits=True, axis=axis)

    return crossentropy


def _of_chances(given: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(given)
    def binary_crossentropy(target: TensorLike, output: Array, from_logits: bool = False) -> Any:
        logits = _find_logits(output, "sigmoid")
        if logits is None:
            return given(target, output, from_logits=from_logits)
        return given(target, logits, from_logits=True)

    return binary_crossentropy
