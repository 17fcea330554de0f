"""Where an array function computes: NumPy's arrays stay on the host, everything else goes to the devices (ops layer).

The functions that `Dataset.map` calls see NumPy arrays. Sending each to a device, to compute one cast there, would cost
far more than the cast; so the functions of this layer that make sense in a pipeline answer NumPy with NumPy. JAX
arrays, tracers, Keras variables and symbolic Keras tensors go to `keras.ops`.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from stratax.base.tracing import is_symbolic_size
from stratax.base.typing import DTypeLike, TensorLike
from stratax.data.elements import as_array
from stratax.data.vectorise import in_pipeline
from stratax.tensorflow.ops.calls.text import TEXT_KINDS, holds_text

_NUMBERS = (bool, int, float, complex)


def is_on_host(*operands: object) -> bool:
    """Return whether operands are NumPy arrays or Python numbers, with one array at least.

    Lists and tuples count as what they hold, NumPy's scalars as arrays. What poses as a NumPy array (the batched
    stand-ins of `Dataset.map`) is one. Text is never one (see `stratax.tensorflow.ops.calls.text`).
    """
    if _are_arrays(operands):
        return True
    leaves = [leaf for operand in operands for leaf in leaves_of(operand)]
    # Text has functions of its own.
    if any(map(holds_text, leaves)):
        return False
    arrays = [leaf for leaf in leaves if isinstance(leaf, np.generic) or not isinstance(leaf, _NUMBERS)]
    # Numbers alone say nothing about where to compute.
    return bool(arrays) and all(is_numpy(array) for array in arrays)


def _are_arrays(operands: Sequence[Any]) -> bool:
    """Return whether operands are arrays of numbers on the host, as they nearly always are, or lists of such."""
    for operand in operands:
        kind = type(operand)
        if kind is np.ndarray:
            if operand.dtype.kind in TEXT_KINDS:
                return False
        elif (kind is not list and kind is not tuple) or not _are_arrays(operand):
            return False
    return len(operands) > 0


def is_made_on_host(value: object) -> bool:
    """Return whether an array of these numbers stays on the host: in a pipeline's function, if JAX has none of them."""
    return in_pipeline() and all(
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
    # By protocol: what stands for an array while a function is examined counts as NumPy's. What a tape follows computes
    # on a device.
    kind = type(value)
    return isinstance(value, np.generic) or (
        hasattr(kind, "__array_ufunc__") and not hasattr(kind, "__jax_array__")
    )


def is_of_sizes(*operands: object) -> bool:
    """Return whether operands are made of sizes, with one at least that is JAX' symbol."""
    if _are_arrays(operands):
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
