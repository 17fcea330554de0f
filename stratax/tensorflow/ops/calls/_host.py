"""Where an array function computes: NumPy's arrays stay on the host, everything else goes to the devices (ops layer).

The functions that `Dataset.map` calls see NumPy arrays. Sending each to a device, to compute one cast there, would cost
far more than the cast; so the functions of this layer that make sense in a pipeline answer NumPy with NumPy. JAX
arrays, tracers, Keras variables and symbolic Keras tensors go to `keras.ops`.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from stratax.base.tracing import PIPELINE, is_symbolic_size
from stratax.base.typing import DTypeLike, TensorLike
from stratax.data.elements import as_array
from stratax.tensorflow.ops.calls._eager import Jax
from stratax.tensorflow.ops.calls.labels import TextSymbol

_NUMBERS = (bool, int, float, complex)
# Of NumPy's arrays that may be text.
_TEXT_KINDS = "OSU"
# What operands are, as bits: numbers of Python, arrays of NumPy or what poses as one, text, arrays of JAX that have
# values, and all else.
NUMBER, ARRAY, TEXT, DEVICE, OTHER = 1, 2, 4, 8, 16


def kinds_of(operands: Sequence[Any]) -> int:
    """Return what there is among operands, as `NUMBER`, `ARRAY`, `TEXT`, `DEVICE` and `OTHER` joined.

    Lists and tuples count as what they hold, NumPy's scalars as arrays. What poses as a NumPy array (the batched
    stand-ins of `Dataset.map`) is one.
    """
    # Every call asks this, most of them of arrays: one look at each, the usual types first, no call for any of them.
    found = 0
    for operand in operands:
        kind = type(operand)
        if kind is np.ndarray and operand.dtype.kind not in _TEXT_KINDS:
            found |= ARRAY
        elif isinstance(operand, np.ndarray):
            if is_text_array(operand):
                found |= TEXT
            else:
                # What a tape follows computes on a device.
                found |= OTHER if hasattr(kind, "__jax_array__") else ARRAY
        elif kind is Jax.array:
            found |= DEVICE
        elif isinstance(operand, list | tuple):
            found |= kinds_of(operand)
        elif isinstance(operand, str | bytes | TextSymbol):
            found |= TEXT
        elif isinstance(operand, _NUMBERS) and not isinstance(operand, np.generic):
            found |= NUMBER
        else:
            found |= ARRAY if is_numpy(operand) else OTHER
    return found


def is_text_array(array: np.ndarray) -> bool:
    """Return whether an array holds text."""
    if array.dtype.kind == "O":
        # The first element decides: arrays of objects are text as a whole or not at all. No other tensor is of
        # objects, so an empty one is text, as in TensorFlow.
        return not array.size or isinstance(array.flat[0], str | bytes)
    return array.dtype.kind in _TEXT_KINDS


def is_on_host(*operands: object) -> bool:
    """Return whether operands are NumPy arrays or Python numbers, with one array at least; see :func:`kinds_of`.

    Numbers alone say nothing about where to compute. Text has functions of its own.
    """
    return kinds_of(operands) & ~NUMBER == ARRAY


def is_made_on_host(value: object) -> bool:
    """Return whether an array of these numbers stays on the host: in a pipeline's function, if JAX has none of them."""
    return PIPELINE.get() is not None and all(
        isinstance(leaf, (*_NUMBERS, np.ndarray, np.generic)) for leaf in leaves_of(value)
    )


def is_made_of_numbers(value: object) -> bool:
    """Return whether a value is a number of Python, or nested lists of such."""
    return all(isinstance(leaf, _NUMBERS) for leaf in leaves_of(value))


def host_array(value: TensorLike, dtype: DTypeLike | None = None) -> Any:
    """Return an array of numbers on the host; the default dtypes are TensorFlow's for Python's numbers.

    Raises:
        OverflowError: A number does not fit into the dtype.
    """
    return (as_array(value) if dtype is None else np.array(value, dtype))[()]


def is_numpy(value: object) -> bool:
    """Return whether `value` is a NumPy array or scalar, or poses as an array."""
    # By protocol: what stands for an array while a function is examined counts as NumPy's. What a tape follows
    # computes on a device.
    kind = type(value)
    return isinstance(value, np.generic) or (
        hasattr(kind, "__array_ufunc__") and not hasattr(kind, "__jax_array__")
    )


def is_of_sizes(*operands: object) -> bool:
    """Return whether operands are made of sizes, with one at least that is JAX' symbol."""
    kinds = kinds_of(operands)
    if kinds & DEVICE or not kinds & OTHER:
        return False
    leaves = [leaf for operand in operands for leaf in leaves_of(operand)]
    return any(map(is_symbolic_size, leaves)) and all(
        isinstance(leaf, int | np.integer | np.ndarray) or is_symbolic_size(leaf) for leaf in leaves
    )


def leaves_of(operand: TensorLike) -> list[Any]:
    """Return what nested lists and tuples hold."""
    if isinstance(operand, (list, tuple)):
        return [leaf for part in operand for leaf in leaves_of(part)]
    return [operand]
