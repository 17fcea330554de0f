"""Sizes that a program is made for: whole numbers that are known while it is traced (data layer)."""

from typing import Any

import numpy as np

from stratax.base.shown import shown
from stratax.base.tracing import is_symbolic_size, is_traced
from stratax.base.typing import TensorLike
from stratax.core import known
from stratax.errors import BadTypeError


def sizes_of(name: str, shape: TensorLike) -> tuple[int, ...]:
    """Return a shape given as ints, as an array of ints, or as one int, as a tuple.

    Raises:
        BadTypeError: It is none of these, or known only when a compiled program runs.
    """
    # Nearly all calls: no array is made for them.
    if isinstance(shape, (tuple, list)) and set(map(type, shape)) <= {int}:
        return tuple(shape)
    if isinstance(shape, np.ndarray) and shape.dtype.kind in "iu" and shape.ndim == 1:
        return tuple(shape.tolist())
    parts = shape if isinstance(shape, (tuple, list)) else np.atleast_1d(_check_known(name, shape))
    return tuple(size if is_symbolic_size(size) else int(_check_known(name, size, "iuf")) for size in parts)


def _check_known(name: str, value: object, kinds: str = "iu") -> Any:
    # `tf.shape` of an array with a symbolic size, and what is computed from it.
    if is_symbolic_size(value) or (isinstance(value, np.ndarray) and any(map(is_symbolic_size, value.flat))):
        return np.asarray(value, object)
    # Shapes are part of a program: what is computed of its arguments comes too late.
    value = if_constant(value)
    array = None if is_traced(value) or value is None else np.asarray(value)
    # Of a list's parts TensorFlow casts tensors of fractions, and refuses Python's.
    if array is None or type(value) is float or (array.dtype.kind not in kinds and array.size):
        raise BadTypeError(
            f"`{name}` must be whole numbers that are known while a program is traced. "
            f"Received: {name}={shown(value)}. Compute it from shapes, which are always known, and not from arrays."
        )
    return array


def if_constant(value: object) -> Any:
    """Return the value of something traced that follows from constants alone; everything else as it is.

    Of a list of such, the list of their values.
    """
    if isinstance(value, list | tuple):
        return type(value)(map(if_constant, value)) if type(value) in (list, tuple) else value
    if not is_traced(value):
        return value
    try:
        return known.constant_of(value)
    except LookupError:
        return value
