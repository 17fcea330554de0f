"""Dtypes under TensorFlow's names: they are NumPy's (ops layer)."""

import ml_dtypes
import numpy as np

from stratax._typing import DTypeLike
from stratax.data.elements import as_dtype as as_dtype

DType = np.dtype
float16 = half = np.dtype("float16")
float32 = np.dtype("float32")
float64 = double = np.dtype("float64")
bfloat16 = np.dtype(ml_dtypes.bfloat16)
int8, int16, int32, int64 = (np.dtype(f"int{bits}") for bits in (8, 16, 32, 64))
uint8, uint16, uint32, uint64 = (np.dtype(f"uint{bits}") for bits in (8, 16, 32, 64))
complex64, complex128 = np.dtype("complex64"), np.dtype("complex128")
bool = np.dtype("bool")
string = np.dtype(object)


def device_dtype(dtype: DTypeLike) -> str:
    """Return the name of the dtype that an array on a device gets where `dtype` is asked for (int64: int32)."""
    import jax

    return str(jax.dtypes.canonicalize_dtype(as_dtype(dtype)))
