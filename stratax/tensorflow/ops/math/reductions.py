"""Functions of `tf` and `tf.math` that take dimensions away (ops layer).

All keep NumPy arrays on the host (see `ops/_host.py`). As in TensorFlow, sums and means have the dtype of what
is summed: a mean of whole numbers is a whole number, rounded towards zero.
"""

import functools
import warnings
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

from stratax.base.shown import shown
from stratax.base.typing import Array, Axis, DTypeLike, TensorLike
from stratax.data.elements import if_constant
from stratax.errors import BadTypeError
from stratax.tensorflow.ops.calls._computed import call_with_library, check_axis, dtype_in, is_host_call
from stratax.tensorflow.ops.calls._host import is_on_host
from stratax.tensorflow.ops.calls._keras_ops import ops
from stratax.tensorflow.ops.calls.creation import on_device
from stratax.tensorflow.ops.calls.dtypes import as_dtype, device_dtype
from stratax.tensorflow.ops.calls.op import op
from stratax.tensorflow.ops.calls.text import as_text, holds_text


def _reduction(name: str, numpy_function: Any, device_function: Any, what: str) -> Callable[..., Any]:
    def function(input_tensor: TensorLike, axis: Axis = None, keepdims: bool = False) -> Any:
        # Lists become arrays; what poses as a NumPy array stays what it is.
        if is_on_host(input_tensor):
            x, reduce = (
                np.asanyarray(input_tensor) if _is_nested(input_tensor) else input_tensor,
                numpy_function,
            )
        else:
            x, reduce = _on_device(input_tensor), device_function
        # None, as TensorFlow 1 has it, is False.
        return reduce(x, axis=axes_of(axis), keepdims=bool(keepdims))

    return op(
        name=name,
        doc=f"{what}, as `tf.{name}`.\n\n{_DOC}",
        arrays=() if name in _IN_SEVERAL_STEPS else ["input_tensor"],
    )(function)


# XLA would round their steps otherwise in one program.
_IN_SEVERAL_STEPS = ("reduce_logsumexp", "reduce_std", "reduce_variance")

_DOC = """Args:
    input_tensor: An array, on a device or on the host.
    axis: The dimension to reduce, several in a list, or None for all.
    keepdims: Whether reduced dimensions stay, with size 1.

Returns:
    An array without the reduced dimensions, where `input_tensor` is."""


def _is_nested(value: object) -> bool:
    return isinstance(value, (list, tuple))


def _on_device(value: object) -> Any:
    return on_device(value) if _is_nested(value) or isinstance(value, (int, float)) else value


def axes_of(axis: Axis) -> Any:
    """Return the dimensions to reduce as an int or a tuple of ints; None stays.

    Raises:
        BadTypeError: If they are no whole numbers.
    """
    if axis is None or isinstance(axis, int):
        return axis
    axes = np.asarray(if_constant(axis))
    if axes.dtype.kind not in "iu" and axes.size:
        raise BadTypeError(f"Dimensions are whole numbers. Received: axis={shown(axis)}.")
    # Plain integers: an axis is part of a program, not an input of it.
    return int(axes) if axes.ndim == 0 else tuple(int(one) for one in axes)


def _sum_on_host(x: Array, axis: Axis, keepdims: bool) -> Any:
    # NumPy would sum small integers in 64 bits; TensorFlow keeps the dtype.
    return np.sum(x, axis=axis, keepdims=keepdims, dtype=x.dtype)


def _prod_on_host(x: Array, axis: Axis, keepdims: bool) -> Any:
    return np.prod(x, axis=axis, keepdims=keepdims, dtype=x.dtype)


def _mean_on_host(x: Array, axis: Axis, keepdims: bool) -> Any:
    # Cast at the end: the mean of integers is computed in floats and rounded towards zero.
    return _of_some(np.mean, x, axis, keepdims).astype(x.dtype)


def _of_some(function: Callable[..., Any], x: Array, axis: Axis, keepdims: bool) -> Any:
    """Return a mean or what follows from one; NaN of no elements, of which NumPy warns and TensorFlow does not."""
    if 0 not in x.shape:
        return function(x, axis=axis, keepdims=keepdims)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore", RuntimeWarning)
        return function(x, axis=axis, keepdims=keepdims)


def _sum_on_device(x: TensorLike, axis: Axis, keepdims: bool) -> Any:
    return _keep_dtype(x, ops.sum(x, axis=axis, keepdims=keepdims))


def _prod_on_device(x: TensorLike, axis: Axis, keepdims: bool) -> Any:
    return _keep_dtype(x, ops.prod(x, axis=axis, keepdims=keepdims))


def _mean_on_device(x: TensorLike, axis: Axis, keepdims: bool) -> Any:
    return _keep_dtype(x, ops.mean(x, axis=axis, keepdims=keepdims))


def _keep_dtype(x: Any, result: Any) -> Any:
    # Keras widens small integers, too.
    return result if result.dtype == x.dtype else ops.cast(result, str(x.dtype))


def _or_limit(function: Any, limit: str) -> Callable[..., Any]:
    """Return a function that gives the dtype's limit where there is nothing to choose from, as TensorFlow's."""

    def reduce(x: Array, axis: Axis, keepdims: bool) -> Any:
        sizes = tuple(x.shape)
        dims = range(len(sizes)) if axis is None else np.atleast_1d(axis).tolist()
        if all(sizes[dim] != 0 for dim in dims):
            return function(x, axis=axis, keepdims=keepdims)
        # NumPy says which dimensions are left, also with `keepdims` and several axes.
        shape = np.sum(np.empty(sizes, bool), axis=axis, keepdims=keepdims).shape
        return (np if is_on_host(x) else ops).full(shape, _limit_of(x.dtype, limit), dtype=x.dtype)

    return reduce


def _limit_of(dtype: DTypeLike, which: str) -> Any:
    """Return the smallest ("min") or largest ("max") value of a dtype: of floats an infinity."""
    kind = np.dtype(dtype)
    if kind.kind in "iu":
        return getattr(np.iinfo(kind), which)
    return float("-inf" if which == "min" else "inf")


reduce_all = _reduction("reduce_all", np.all, ops.all, "Whether all elements are True")
reduce_any = _reduction("reduce_any", np.any, ops.any, "Whether any element is True")
reduce_logsumexp = _reduction(
    "reduce_logsumexp",
    np.errstate(all="ignore")(lambda x, axis, keepdims: np.logaddexp.reduce(x, axis=axis, keepdims=keepdims)),
    ops.logsumexp,
    "log(sum(exp(elements))), without overflow",
)
reduce_max = _reduction(
    "reduce_max", _or_limit(np.max, "min"), _or_limit(ops.max, "min"), "The largest elements"
)
reduce_mean = _reduction("reduce_mean", _mean_on_host, _mean_on_device, "Means of elements")
reduce_min = _reduction(
    "reduce_min", _or_limit(np.min, "max"), _or_limit(ops.min, "max"), "The smallest elements"
)
reduce_prod = _reduction("reduce_prod", _prod_on_host, _prod_on_device, "Products of elements")
reduce_std = _reduction(
    "reduce_std", functools.partial(_of_some, np.std), ops.std, "Standard deviations of elements"
)
reduce_sum = _reduction("reduce_sum", _sum_on_host, _sum_on_device, "Sums of elements")
reduce_variance = _reduction(
    "reduce_variance", functools.partial(_of_some, np.var), ops.var, "Variances of elements"
)


@op(arrays=["input"])
def argmax(input: TensorLike, axis: int | None = None, output_type: DTypeLike = "int64") -> Any:
    """Return where the largest elements are along a dimension, as `tf.argmax`.

    Args:
        input: An array, on a device or on the host.
        axis: The dimension; 0 if None, as in TensorFlow.
        output_type: The dtype of the result. On a device int64 becomes int32.

    Returns:
        An array of whole numbers without that dimension, where `input` is.
    """
    return _arg(np.argmax, ops.argmax, input, axis, output_type)


@op(arrays=["input"])
def argmin(input: TensorLike, axis: int | None = None, output_type: DTypeLike = "int64") -> Any:
    """Return where the smallest elements are along a dimension, as `tf.argmin`; see :func:`argmax`."""
    return _arg(np.argmin, ops.argmin, input, axis, output_type)


def _arg(numpy_function: Any, device_function: Any, x: TensorLike, axis: int | None, dtype: DTypeLike) -> Any:
    # NumPy would look for the largest of all elements.
    axis = 0 if axis is None else axis
    if is_on_host(x) or (isinstance(x, list | tuple) and is_host_call(x)):
        return numpy_function(x, axis=axis).astype(as_dtype(dtype))
    return ops.cast(device_function(_on_device(x), axis=axis), device_dtype(dtype))


def _cumulative(
    name: str, numpy_function: Any, device_function: Any, start: float, what: str, own: str
) -> Callable[..., Any]:
    def function(x: TensorLike, axis: int = 0, exclusive: bool = False, reverse: bool = False) -> Any:
        is_host = is_on_host(x)
        library: Any = np if is_host else ops
        x = np.asanyarray(x) if is_host else _on_device(x)
        dim = check_axis(axis, len(x.shape))
        # From the end is from the beginning of the reversed array.
        ordered = library.flip(x, axis=dim) if reverse else x
        results = (numpy_function if is_host else device_function)(ordered, dim)
        # Small whole numbers are summed in 64 bits by NumPy, and in 32 by Keras.
        results = results.astype(x.dtype) if is_host else _keep_dtype(x, results)
        if exclusive:
            # Moved on by one, and not reduced by its own element: that could be infinite, or 0.
            edge = library.full_like(library.take(results, [0], axis=dim), start)
            rest = library.take(results, np.arange(max(x.shape[dim] - 1, 0)), axis=dim)
            results = library.concatenate([edge, rest], axis=dim) if x.shape[dim] else results
        return library.flip(results, axis=dim) if reverse else results

    return op(
        name=name,
        doc=f"""{what} of the elements up to each, along a dimension, as `tf.math.{name}`.

Args:
    x: An array, on a device or on the host.
    axis: The dimension.
    exclusive: Whether an element's own value is left out of its {own}.
    reverse: Whether it counts from the end.

Returns:
    An array of x's shape and dtype, where `x` is.""",
    )(function)


@np.errstate(all="ignore")
def _accumulate_logsumexp(x: TensorLike, axis: int) -> Any:
    return np.logaddexp.accumulate(x, axis=axis)


def _cumulative_logsumexp(x: TensorLike, axis: int) -> Any:
    from jax import lax

    return lax.cumlogsumexp(on_device(x), axis=axis)


cumprod = _cumulative(
    "cumprod", lambda x, axis: np.cumprod(x, axis=axis), lambda x, axis: ops.cumprod(x, axis=axis), 1,
    "Product", "product",
)  # fmt: skip
cumsum = _cumulative(
    "cumsum", lambda x, axis: np.cumsum(x, axis=axis), lambda x, axis: ops.cumsum(x, axis=axis), 0, "Sum", "sum"
)  # fmt: skip
cumulative_logsumexp = _cumulative(
    "cumulative_logsumexp", _accumulate_logsumexp, _cumulative_logsumexp,
    float("-inf"), "log(sum(exp()))", "sum",
)  # fmt: skip


@op
def count_nonzero(
    input: TensorLike, axis: Axis = None, keepdims: bool | None = None, dtype: DTypeLike = "int64"
) -> Any:
    """Return how many elements are not 0, as `tf.math.count_nonzero`.

    Args:
        input: An array of numbers, booleans or text, of which empty strings do not count.
        axis: The dimension to count along, several in a list, or None for all.
        keepdims: Whether these dimensions stay, with size 1.
        dtype: The dtype of the counts. On a device int64 becomes int32.

    Returns:
        An array without these dimensions, where `input` is.
    """

    def count(xp: ModuleType, input: Array) -> Any:
        # Of text what is not empty counts.
        is_there = input.astype(bool) if np.dtype(input.dtype).hasobject else input != 0
        return xp.sum(is_there, axis=axes_of(axis), keepdims=bool(keepdims), dtype=dtype_in(xp, dtype))

    return call_with_library(count, as_text("input", input) if holds_text(input) else input)


@op
def reduce_euclidean_norm(input_tensor: TensorLike, axis: Axis = None, keepdims: bool = False) -> Any:
    """Return the roots of sums of squares, as `tf.math.reduce_euclidean_norm`.

    Args:
        input_tensor: An array, on a device or on the host.
        axis: The dimension to reduce, several in a list, or None for all.
        keepdims: Whether reduced dimensions stay, with size 1.

    Returns:
        An array without the reduced dimensions, where `input_tensor` is. Of whole numbers it is rounded towards zero.
    """

    def norm(xp: ModuleType, x: Array) -> Any:
        squares = xp.sum(xp.square(xp.abs(x)), axis=axes_of(axis), keepdims=bool(keepdims))
        return xp.sqrt(squares).astype(x.dtype)

    return call_with_library(norm, input_tensor)
