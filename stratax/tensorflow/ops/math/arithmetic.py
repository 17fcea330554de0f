"""Functions of `tf.math` on numbers that `ops/elementwise.py` does not have in its tables (ops layer)."""

from collections.abc import Sequence
from types import ModuleType
from typing import Any

import numpy as np

from stratax.base.indices import is_known
from stratax.base.shown import shown
from stratax.base.typing import Array, Axis, DTypeLike, TensorLike
from stratax.data.elements import check_divisor
from stratax.errors import BadArgumentError, BadTypeError
from stratax.tensorflow.ops.calls._computed import (
    array_function,
    as_floating,
    call_with_library,
    call_with_library_alike,
)
from stratax.tensorflow.ops.calls.dtypes import as_dtype
from stratax.tensorflow.ops.calls.op import op


def _multiply_no_nan(xp: ModuleType, x: TensorLike, y: TensorLike) -> Any:
    is_zero = y == 0
    # Chosen before and after the product: else the gradient would be NaN where x is infinite, too.
    safe = xp.where(is_zero, xp.zeros_like(x), x)
    return xp.where(is_zero, xp.zeros_like(safe * y), safe * y)


def _reciprocal_no_nan(xp: ModuleType, x: Array) -> Any:
    x = as_floating(x)
    is_zero = x == 0
    return xp.where(is_zero, xp.zeros_like(x), 1 / xp.where(is_zero, xp.ones_like(x), x)).astype(x.dtype)


def _check_divisor(name: str, x: TensorLike, y: TensorLike) -> None:
    # XLA gives any number for a whole number divided by zero.
    if is_known(x) and is_known(y):
        check_divisor(name, x, y)


def _divide_truncating(xp: ModuleType, x: Array, y: Array) -> Any:
    _check_divisor("truncatediv", x, y)
    if np.dtype(x.dtype).kind not in "iu":
        return xp.trunc(x / y)
    # Without its remainder x is a multiple of y, so that rounding down, Python's way, changes nothing.
    return (x - xp.fmod(x, y)) // y


def _take_remainder(xp: ModuleType, x: TensorLike, y: TensorLike) -> Any:
    _check_divisor("truncatemod", x, y)
    return xp.fmod(x, y)


def _log_sigmoid(xp: ModuleType, x: Array) -> Any:
    # log(1 / (1 + exp(-x))), without an exponential that overflows.
    return -xp.logaddexp(xp.zeros_like(x), -x)


def _angle(xp: ModuleType, x: Array) -> Any:
    if np.dtype(x.dtype).kind == "c":
        return xp.angle(x)
    # A negative number lies at half a turn, and so TensorFlow says of real ones.
    return xp.where(x < 0, np.float32(np.pi), np.float32(0)).astype(as_floating(x).dtype)


multiply_no_nan = array_function("math.multiply_no_nan", "x y", _multiply_no_nan, "x * y, and 0 where y is 0")
reciprocal_no_nan = array_function(
    "math.reciprocal_no_nan", "x", _reciprocal_no_nan, "1 / x, and 0 where x is 0"
)
truncatediv = array_function("truncatediv", "x y", _divide_truncating, "x / y, rounded towards zero")
truncatemod = array_function(
    "truncatemod",
    "x y",
    _take_remainder,
    "The remainder of truncatediv(x, y), with the sign of x",
)
log_sigmoid = array_function("math.log_sigmoid", "x", _log_sigmoid, "log(sigmoid(x)), without overflow")
conj = array_function(
    "math.conj", "x", lambda xp, x: xp.conj(x), "Complex conjugates; of real numbers themselves"
)
imag = array_function("math.imag", "input", lambda xp, x: xp.imag(x), "Imaginary parts")
real = array_function("math.real", "input", lambda xp, x: xp.real(x), "Real parts")
angle = array_function("math.angle", "input", _angle, "Angles of complex numbers")


@op
def complex(real: TensorLike, imag: TensorLike) -> Any:
    """Return complex numbers made of their parts, as `tf.complex`.

    Args:
        real: An array of float32 or float64.
        imag: Another, of a shape that broadcasts with it.

    Raises:
        BadTypeError: If a part is not of a floating-point dtype.
    """

    def combine(xp: ModuleType, real: Array, imag: Array) -> Any:
        for part in (real, imag):
            if part.dtype not in (np.float32, np.float64):
                raise BadTypeError(
                    f"The parts of complex numbers are float32 or float64. Received: dtype {part.dtype}. Use tf.cast."
                )
        if xp is np:
            # Of 64 bits each only where a part has them.
            return real + 1j * imag.astype(np.result_type(imag, np.complex64))
        from jax import lax

        return lax.complex(*xp.broadcast_arrays(real, imag))

    return call_with_library_alike(combine, real, imag)


@op
def polyval(coeffs: Sequence[Any], x: TensorLike) -> Any:
    """Return the values of a polynomial, as `tf.math.polyval`.

    Args:
        coeffs: A list of arrays or numbers, the first for the highest power.
        x: Where it is evaluated.

    Raises:
        BadArgumentError: If `coeffs` is not a list.
    """
    if not isinstance(coeffs, list):
        raise BadArgumentError(f"The coefficients are a list. Received: coeffs={shown(coeffs)}. Use list().")

    def horner(xp: ModuleType, x: TensorLike, *coeffs: object) -> Any:
        value = xp.zeros_like(x)
        for coefficient in coeffs:
            # The first coefficient is that of the highest power.
            value = value * x + coefficient
        return value

    return call_with_library_alike(horner, x, *coeffs)


@op
def add_n(inputs: TensorLike) -> Any:
    """Return the sum of arrays of one shape and dtype, as `tf.add_n`.

    Args:
        inputs: A list of arrays, or one array, whose rows are added.

    Returns:
        Their sum; on the host if all are.

    Raises:
        BadArgumentError: If there are none, or their shapes differ.
    """
    if not isinstance(inputs, list | tuple):
        return call_with_library(lambda xp, rows: xp.sum(rows, 0, dtype=rows.dtype), inputs)
    arrays = list(inputs)
    if not arrays:
        raise BadArgumentError("tf.add_n needs at least one tensor. Received: inputs=[].")
    shapes = {tuple(np.shape(array)) for array in arrays}
    if len(shapes) > 1:
        raise BadArgumentError(
            f"tf.add_n takes tensors of one shape. Received: shapes {shown(sorted(shapes))}."
        )
    # Without a zero to begin with: the sum of one is itself, and of -0 and -0 it is -0.
    return call_with_library_alike(lambda xp, *arrays: sum(arrays[1:], arrays[0]), *arrays)


@op
def accumulate_n(
    inputs: TensorLike, shape: TensorLike | None = None, tensor_dtype: DTypeLike | None = None
) -> Any:
    """Return the sum of a list of arrays, as `tf.math.accumulate_n`; see :func:`add_n`.

    Args:
        inputs: A list of arrays of one shape.
        shape: Their shape, if it is to be checked.
        tensor_dtype: Their dtype, likewise.

    Raises:
        BadArgumentError: If the arrays have another shape, or different ones.
        BadTypeError: If they have another dtype.
    """
    total = add_n(inputs)
    if shape is not None and tuple(np.shape(total)) != tuple(np.atleast_1d(shape)):
        raise BadArgumentError(
            f"Arrays have another shape. Expected: {shown(shape)}. Received: {np.shape(total)}."
        )
    if tensor_dtype is not None and total.dtype != np.dtype(as_dtype(tensor_dtype)):
        raise BadTypeError(
            f"Arrays have another dtype. Expected: {shown(tensor_dtype)}. Received: {total.dtype}."
        )
    return total


@op
def zero_fraction(value: TensorLike) -> Any:
    """Return the share of elements that are 0, a float32 scalar, as `tf.math.zero_fraction`."""
    return call_with_library(lambda xp, value: xp.mean((value == 0).astype("float32")), value)


@op
def is_non_decreasing(x: TensorLike) -> Any:
    """Return whether no element is smaller than the one before it, as `tf.math.is_non_decreasing`."""
    return call_with_library(lambda xp, x: xp.all(x.ravel()[:-1] <= x.ravel()[1:]), x)


@op
def is_strictly_increasing(x: TensorLike) -> Any:
    """Return whether every element is larger than the one before it, as `tf.math.is_strictly_increasing`."""
    return call_with_library(lambda xp, x: xp.all(x.ravel()[:-1] < x.ravel()[1:]), x)


@op
def l2_normalize(x: TensorLike, axis: Axis = None, epsilon: float = 1e-12) -> Any:
    """Return `x` divided by its norm along dimensions, as `tf.math.l2_normalize`.

    Args:
        x: An array.
        axis: The dimension of the vectors, several in a list, or None: all elements are one vector.
        epsilon: The smallest squared norm that is divided by.

    Returns:
        An array of the shape of `x`, where it is.
    """
    from stratax.tensorflow.ops.math.reductions import axes_of

    def normalize(xp: ModuleType, x: Array) -> Any:
        x = as_floating(x)
        squares = xp.sum(xp.square(xp.abs(x)), axis=axes_of(axis), keepdims=True)
        # The limit is one of the sum of squares, as in TensorFlow, and not of the norm.
        scale = 1 / xp.sqrt(xp.maximum(squares, squares.dtype.type(epsilon)))
        return x * scale.astype(x.dtype)

    return call_with_library(normalize, x)
