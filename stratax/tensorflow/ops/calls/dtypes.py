"""Dtypes under TensorFlow's names; arrays have NumPy's, to which they are equal (ops layer)."""

import ml_dtypes

from stratax.base.typing import DTypeLike
from stratax.data.elements import DType as DType
from stratax.data.elements import as_dtype as as_dtype

float16 = half = DType("float16")
float32 = DType("float32")
float64 = double = DType("float64")
bfloat16 = DType(ml_dtypes.bfloat16)
int8, int16, int32, int64 = (DType(f"int{bits}") for bits in (8, 16, 32, 64))
uint8, uint16, uint32, uint64 = (DType(f"uint{bits}") for bits in (8, 16, 32, 64))
complex64, complex128 = DType("complex64"), DType("complex128")
bool = DType("bool")
string = DType("string")


def as_tensor_dtype(type_value: object) -> DType:
    """Return the dtype of `tf` that something names, as `tf.as_dtype`.

    Args:
        type_value: One of `tf`'s or NumPy's dtypes, a name, a type, or the number that TensorFlow has for it.

    Raises:
        BadTypeError: If there is none of that name.
    """
    return DType(type_value)


def device_dtype(dtype: DTypeLike) -> str:
    """Return the name of the dtype that an array on a device gets where `dtype` is asked for (int64: int32)."""
    import jax

    return str(jax.dtypes.canonicalize_dtype(as_dtype(dtype)))
