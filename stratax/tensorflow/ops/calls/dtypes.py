"""Dtypes under TensorFlow's names; arrays have NumPy's, to which they are equal (ops layer)."""

import builtins
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import ml_dtypes
import numpy as np

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


# What an int32 holds. Programs write `-2**32 + 1` for what a softmax is to leave out: a fraction beside fractions.
_LEAST, _MOST = -(2**31), 2**31 - 1


def is_large(value: object) -> builtins.bool:
    """Return whether a value is a whole number of Python that an int32 can't hold."""
    return type(value) is int and not _LEAST <= value <= _MOST


def holds_fractions(dtype: DTypeLike | None) -> builtins.bool:
    """Return whether numbers of a dtype have fractions; of what is no dtype they don't."""
    if dtype is None:
        return False
    try:
        return np.dtype(as_dtype(dtype)).kind not in "biuOSU"
    except (TypeError, ValueError):
        return False


def call_again(
    function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any], error: Exception
) -> Any:
    """Call a function that has failed once more, with fractions in the place of numbers that were too large.

    Args:
        function: The function.
        args: Its arguments.
        kwargs: Those with names.
        error: Why it failed, which is raised where that is not the reason.
    """
    given = (*args, *kwargs.values())
    is_overflow = isinstance(error, OverflowError) or isinstance(error.__cause__, OverflowError)
    dtypes = [getattr(each, "dtype", each) for each in given if not isinstance(each, int | str)]
    if not (is_overflow and any(map(is_large, given)) and any(map(holds_fractions, dtypes))):
        raise error
    made = [float(each) if is_large(each) else each for each in given]
    return function(*made[: len(args)], **dict(zip(kwargs, made[len(args) :], strict=True)))
