"""Where an array function computes: NumPy's arrays stay on the host, everything else goes to the devices (tf layer).

The functions that `Dataset.map` calls see NumPy arrays. Sending each to a device, to compute one cast there, would cost
far more than the cast; so the functions of this layer that make sense in a pipeline answer NumPy with NumPy. JAX
arrays, tracers, Keras variables and symbolic Keras tensors go to `keras.ops`.
"""

import sys
from typing import Any

import numpy as np

_NUMBERS = (bool, int, float, complex)


def is_on_host(*operands: Any) -> bool:
    """Whether operands are NumPy arrays or Python numbers, with one array at least.

    Lists and tuples count as what they hold, NumPy's scalars as arrays. What poses as a NumPy array (the batched
    stand-ins of `Dataset.map`) is one.
    """
    leaves = [leaf for operand in operands for leaf in _leaves(operand)]
    arrays = [leaf for leaf in leaves if isinstance(leaf, np.generic) or not isinstance(leaf, _NUMBERS)]
    return bool(arrays) and all(is_numpy(array) for array in arrays)


def is_numpy(value: Any) -> bool:
    """Whether `value` is a NumPy array or scalar, or poses as an array."""
    return isinstance(value, np.generic) or hasattr(type(value), "__array_ufunc__")


def is_traced(value: Any) -> bool:
    """Whether the value of `value` is known only when a compiled program runs."""
    if "jax" not in sys.modules:
        return False
    from jax.core import Tracer

    return isinstance(value, Tracer)


def _leaves(operand: Any) -> list[Any]:
    if isinstance(operand, (list, tuple)):
        return [leaf for part in operand for leaf in _leaves(part)]
    return [operand]
