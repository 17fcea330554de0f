"""The logits of what a softmax or a sigmoid gave, for crossentropies of it (ops layer).

TensorFlow's Keras computes a crossentropy of an activation's logits where it finds them. Of an activation of Keras it
always does, of `tf.nn.softmax` and `tf.sigmoid` in a graph alone: there it looks at the operation that made the
probabilities.
"""

import weakref
from typing import Any

import jax

from stratax.base.typing import Array
from stratax.seams.jax import is_of_program

# By the id of an activation's output: a reference to it, its logits, and what it was.
_made: dict[int, tuple[weakref.ref[Any], Any, object]] = {}


def remember(output: object, logits: object, kind: object) -> None:
    """Remember what an activation gave.

    Args:
        output: That.
        logits: What it was given.
        kind: Which one it is, "softmax" or "sigmoid".
    """
    # Also tracers are arrays; what is symbolic has no value yet.
    if isinstance(output, jax.Array) and output is not logits:
        key = id(output)
        _made[key] = weakref.ref(output, lambda _: _made.pop(key, None)), logits, kind


def remember_always(output: Array, logits: object, kind: object, axis: object = -1) -> Any:
    """Remember what a function of Keras' backend gave; returns that.

    Args:
        output: That.
        logits: What it was given.
        kind: Which one it is.
        axis: Of a softmax, its dimension: only the last one's are the probabilities of classes.
    """
    if axis in (-1, len(output.shape) - 1):
        remember(output, logits, kind)
    return output


def remember_in_graph(output: Array, logits: object, kind: object, axis: object = -1) -> Any:
    """Remember what an operation gave if it is one of a graph; returns that.

    Args:
        output: That.
        logits: What it was given.
        kind: Which one it is.
        axis: Of a softmax, its dimension: along another one than the last it is no operation of this kind.
    """
    if isinstance(output, jax.core.Tracer) and axis in (-1, output.ndim - 1) and is_of_program(output):
        remember(output, logits, kind)
    return output


def find(output: object, kind: object) -> Any:
    """Return the logits of an activation's output, None if it is none of this kind."""
    reference, logits, of_kind = _made.get(id(output), (None, None, None))
    return logits if reference is not None and reference() is output and of_kind == kind else None
