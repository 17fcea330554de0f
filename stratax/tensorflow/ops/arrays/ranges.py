"""`tf.range` and `tf.linspace` (ops layer)."""

import math
from types import ModuleType
from typing import Any

import numpy as np

from stratax.base.recording import recordable
from stratax.base.refusals import call_symbolically
from stratax.base.tracing import is_symbolic_size
from stratax.base.typing import Array, DTypeLike, TensorLike
from stratax.data.elements import as_element
from stratax.errors import BadArgumentError
from stratax.tensorflow.ops.calls._computed import call_with_library, require_known, whole_number
from stratax.tensorflow.ops.calls._host import is_made_on_host
from stratax.tensorflow.ops.calls.creation import convert_to_tensor, on_device
from stratax.tensorflow.ops.calls.dtypes import as_dtype, device_dtype
from stratax.tensorflow.ops.calls.op import op


@op
def range_array(first: TensorLike, last: TensorLike, delta: TensorLike, dtype: DTypeLike | None) -> Any:
    """Return what `tf.range` gives, as an array.

    Args:
        first: The first number.
        last: The end, not included.
        delta: The distance between two numbers.
        dtype: The dtype, or None.
    """
    return convert_to_tensor(range(first, last, delta, dtype))


@recordable
def range(
    start: TensorLike,
    limit: TensorLike | None = None,
    delta: TensorLike = 1,
    dtype: DTypeLike | None = None,
    name: str = "range",
) -> Any:
    """Return the numbers from `start` up to but not `limit`, as `tf.range`.

    Args:
        start: The first number; the end, if `limit` is left out.
        limit: The end, not included.
        delta: The distance between two numbers; not zero.
        dtype: The dtype; by default that of the bounds, int32 for Python's ints, float32 for its floats.
        name: Ignored.

    Returns:
        Of whole numbers a `stratax.range`, over which a loop in a compiled function is one compiled loop, and which
        computes as an array does; its bounds may then be known only when the program runs. Of fractions an array on a
        device. In a function that a `Dataset` calls an array on the host.

    Raises:
        BadArgumentError: If `delta` is zero, or is known to lead away from `limit`.
        BadTypeError: If bounds that are fractions are known only when a compiled program runs.
    """
    first, last = (0, start) if limit is None else (start, limit)
    bounds = [first, last, delta]
    if is_made_on_host(bounds):
        return as_element(_numbers(bounds, dtype))
    # Most calls have nothing but Python's numbers, of which there is nothing to find out.
    kinds = set(map(type, bounds))
    is_of_python = kinds <= {int, float}
    if not is_of_python and any(map(is_symbolic_size, bounds)):
        return _of_symbols(bounds, dtype)
    if not is_of_python and any(hasattr(bound, "_keras_history") for bound in bounds):
        # In a functional model it becomes an operation, which gives an array.
        return call_symbolically(range_array, bounds, {"dtype": dtype})
    if (kinds != {int} or dtype is not None) and _is_floating(bounds, dtype):
        if not is_of_python:
            remedy = "Use bounds that are known, or compute them: tf.range(n) * step."
            bounds = [_plain(require_known("start", bound, remedy), bound) for bound in bounds]
        return on_device(_numbers(bounds, dtype))
    # It needs JAX, which a pipeline does not.
    from stratax import core

    # An array that a loop of a program can go through without making it.
    numbers = core.range(first, last, delta, dtype)
    if numbers.is_static:
        _check_bounds(int(numbers.start), int(numbers.stop), int(numbers.delta))
    return numbers


def _check_bounds(first: TensorLike, last: Any, step: Any) -> None:
    if step == 0:
        raise BadArgumentError(f"The range would never end. Received: delta={step}. Leave it out.")
    # TensorFlow raises; NumPy would give an empty array.
    if first != last and (first < last) != (step > 0):
        raise BadArgumentError(
            f"The range leads away from its end. Expected: start {'<=' if step > 0 else '>='} limit where delta "
            f"{'>' if step > 0 else '<'} 0. Received: start={first}, limit={last}, delta={step}. Swap the ends, or "
            "limit them with tf.maximum."
        )


def _of_symbols(bounds: list[Any], dtype: DTypeLike | None) -> Any:
    import jax.numpy as jnp

    first, last, step = bounds
    return jnp.arange(first, last, step, dtype=None if dtype is None else device_dtype(dtype))


def _plain(array: np.ndarray, bound: object) -> Any:
    # A Python number has no dtype of its own, so that it does not decide on that of the result.
    return array[()] if hasattr(bound, "dtype") else bound


def _is_floating(bounds: list[Any], dtype: DTypeLike | None) -> bool:
    if dtype is not None:
        return as_dtype(dtype).kind not in "iu"
    return any(
        isinstance(bound, float) or (hasattr(bound, "dtype") and np.dtype(bound.dtype).kind not in "iub")
        for bound in bounds
    )


def _numbers(bounds: list[Any], dtype: DTypeLike | None) -> np.ndarray:
    dtypes = [np.dtype(bound.dtype) for bound in bounds if hasattr(bound, "dtype")]
    # The dtypes that TensorFlow gives to Python's numbers.
    default = np.float32 if any(isinstance(bound, float) for bound in bounds) else np.int32
    kind = as_dtype(dtype) if dtype is not None else np.result_type(*dtypes) if dtypes else np.dtype(default)
    first, last, step = (np.asarray(bound).astype(kind)[()] for bound in bounds)
    _check_bounds(first, last, step)
    # In the dtype, as TensorFlow counts: of fractions rounding decides whether the last one belongs to it.
    count = max(0, math.ceil((last - first) / step))
    return (first + np.arange(count, dtype=kind) * step).astype(kind)


@op(name_after="num")
def linspace(start: TensorLike, stop: TensorLike, num: TensorLike, axis: int = 0) -> Any:
    """Return `num` evenly spaced numbers from `start` to `stop`, both included, as `tf.linspace`.

    Args:
        start: The first number, or an array of them.
        stop: The last one, likewise.
        num: How many.
        axis: The new dimension, along which they are.

    Returns:
        An array with one dimension more, of the dtype of `start`; on the host if the ends are.

    Raises:
        BadArgumentError: If `num` is negative.
    """
    count = whole_number("num", num)
    if count < 0:
        raise BadArgumentError(f"num must not be negative. Received: num={count}.")

    def space(xp: ModuleType, start: Array, stop: TensorLike) -> Any:
        kind = start.dtype if np.dtype(start.dtype).kind not in "iu" else np.dtype("float32")
        return xp.linspace(start, stop, count, axis=axis).astype(kind)

    return call_with_library(space, start, stop)
