"""What is known while a function is traced: `tf.get_static_value` and its relatives (ops layer)."""

import builtins
from typing import Any

import numpy as np

from stratax.base.tracing import is_traced
from stratax.base.typing import TensorLike
from stratax.core import regions
from stratax.tensorflow.ops.arrays.arrays import identity
from stratax.tensorflow.ops.calls._host import is_numpy
from stratax.tensorflow.ops.calls.text import as_text, holds_text


def get_static_value(tensor: TensorLike, partial: bool = False) -> Any:
    """Return a tensor's value as a NumPy array if it is known now, as `tf.get_static_value`.

    Args:
        tensor: A tensor or number.
        partial: Ignored.

    Returns:
        The value, one text as `bytes`; None of a variable, and of what only a running program knows.
    """
    if holds_text(tensor):
        return as_text("tensor", tensor)[()]
    if is_numpy(tensor) or isinstance(tensor, bool | int | float | complex | list | builtins.tuple):
        return np.asarray(tensor)
    # Arrays of a device have shards; variables, symbolic tensors and tracers don't.
    if is_traced(tensor) or not hasattr(tensor, "addressable_shards"):
        return None
    return np.asarray(tensor)


def is_symbolic_tensor(tensor: TensorLike) -> bool:
    """Return whether only a running program knows a tensor's value, as `tf.is_symbolic_tensor`."""
    if is_traced(tensor):
        return True
    # Keras is slow to import, and pipelines do without it.
    import keras

    return isinstance(tensor, keras.KerasTensor)


def inside_function() -> bool:
    """Return whether a compiled function is being traced, as `tf.inside_function`."""
    return not regions.executing_eagerly()


def tuple(tensors: Any, control_inputs: object = None, name: str | None = None) -> list[Any]:
    """Return the same tensors in a list, as `tf.tuple`; None stays. A program computes all of them in any case.

    Args:
        tensors: A list of tensors, some of which may be None.
        control_inputs: Ignored.
        name: Ignored.
    """
    return [None if tensor is None else identity(tensor) for tensor in tensors]
