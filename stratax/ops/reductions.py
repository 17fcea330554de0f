"""Functions of `tf` and `tf.math` that take dimensions away (ops layer).

All keep NumPy arrays on the host (see `stratax.ops._host`). As in TensorFlow, sums and means have the dtype of what
is summed: a mean of whole numbers is a whole number, rounded towards zero.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from stratax._typing import Axis, TensorLike
from stratax.ops._host import is_on_host
from stratax.ops._keras_ops import ops
from stratax.ops.creation import on_device
from stratax.ops.dtypes import as_dtype, device_dtype
from stratax.ops.naming import nameable


def _reduction(name: str, numpy_function: Any, device_function: Any, what: str) -> Callable[..., Any]:
    def function(input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None) -> Any:
        if is_on_host(input_tensor):
            x, reduce = (
                np.asanyarray(input_tensor) if _is_nested(input_tensor) else input_tensor,
                numpy_function,
            )
        else:
            x, reduce = _on_device(input_tensor), device_function
        return reduce(x, axis=axes_of(axis), keepdims=bool(keepdims))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{what}, as `tf.{name}`.\n\n{_DOC}"
    return nameable(function)


_DOC = """Args:
    input_tensor: An array, on a device or on the host.
    axis: The dimension to reduce, several in a list, or None for all.
    keepdims: Whether reduced dimensions stay, with size 1.
    name: By which hooks find the result, in a `model_fn`.

Returns:
    An array without the reduced dimensions, where `input_tensor` is."""


def _is_nested(value: object) -> bool:
    return isinstance(value, (list, tuple))


def _on_device(value: object) -> Any:
    return on_device(value) if _is_nested(value) or isinstance(value, (int, float)) else value


def axes_of(axis: Axis) -> Any:
    """Return the dimensions to reduce as an int or a tuple of ints; None stays."""
    if axis is None or isinstance(axis, int):
        return axis
    axes = np.asarray(axis)
    # Plain integers: an axis is part of a program, not an input of it.
    return int(axes) if axes.ndim == 0 else tuple(int(one) for one in axes)


def _sum_on_host(x: Any, axis: Any, keepdims: bool) -> Any:
    # NumPy would sum small integers in 64 bits; TensorFlow keeps the dtype.
    return np.sum(x, axis=axis, keepdims=keepdims, dtype=x.dtype)


def _prod_on_host(x: Any, axis: Any, keepdims: bool) -> Any:
    return np.prod(x, axis=axis, keepdims=keepdims, dtype=x.dtype)


def _mean_on_host(x: Any, axis: Any, keepdims: bool) -> Any:
    # Cast at the end: the mean of integers is computed in floats and rounded towards zero.
    return np.mean(x, axis=axis, keepdims=keepdims).astype(x.dtype)


def _sum_on_device(x: TensorLike, axis: Axis, keepdims: bool) -> Any:
    return _keep_dtype(x, ops.sum(x, axis=axis, keepdims=keepdims))


def _prod_on_device(x: TensorLike, axis: Axis, keepdims: bool) -> Any:
    return _keep_dtype(x, ops.prod(x, axis=axis, keepdims=keepdims))


def _mean_on_device(x: TensorLike, axis: Axis, keepdims: bool) -> Any:
    return _keep_dtype(x, ops.mean(x, axis=axis, keepdims=keepdims))


def _keep_dtype(x: Any, result: Any) -> Any:
    # Keras widens small integers, too.
    return result if result.dtype == x.dtype else ops.cast(result, str(x.dtype))


reduce_all = _reduction("reduce_all", np.all, ops.all, "Whether all elements are True")
reduce_any = _reduction("reduce_any", np.any, ops.any, "Whether any element is True")
reduce_logsumexp = _reduction(
    "reduce_logsumexp",
    lambda x, axis, keepdims: np.logaddexp.reduce(x, axis=axis, keepdims=keepdims),
    ops.logsumexp,
    "log(sum(exp(elements))), without overflow",
)
reduce_max = _reduction("reduce_max", np.max, ops.max, "The largest elements")
reduce_mean = _reduction("reduce_mean", _mean_on_host, _mean_on_device, "Means of elements")
reduce_min = _reduction("reduce_min", np.min, ops.min, "The smallest elements")
reduce_prod = _reduction("reduce_prod", _prod_on_host, _prod_on_device, "Products of elements")
reduce_std = _reduction("reduce_std", np.std, ops.std, "Standard deviations of elements")
reduce_sum = _reduction("reduce_sum", _sum_on_host, _sum_on_device, "Sums of elements")
reduce_variance = _reduction("reduce_variance", np.var, ops.var, "Variances of elements")


@nameable
def argmax(input: Any, axis: int | None = None, output_type: Any = "int64", name: str | None = None) -> Any:
    """Return where the largest elements are along a dimension, as `tf.argmax`.

    Args:
        input: An array, on a device or on the host.
        axis: The dimension; 0 if None, as in TensorFlow.
        output_type: The dtype of the result. On a device int64 becomes int32.
        name: By which hooks find the result, in a `model_fn`.

    Returns:
        An array of whole numbers without that dimension, where `input` is.
    """
    return _arg(np.argmax, ops.argmax, input, axis, output_type)


@nameable
def argmin(input: Any, axis: int | None = None, output_type: Any = "int64", name: str | None = None) -> Any:
    """Return where the smallest elements are along a dimension, as `tf.argmin`; see :func:`argmax`."""
    return _arg(np.argmin, ops.argmin, input, axis, output_type)


def _arg(numpy_function: Any, device_function: Any, x: Any, axis: int | None, dtype: Any) -> Any:
    axis = 0 if axis is None else axis
    if is_on_host(x):
        return numpy_function(x, axis=axis).astype(as_dtype(dtype))
    return ops.cast(device_function(_on_device(x), axis=axis), device_dtype(dtype))


@nameable
def cumsum(
    x: Any, axis: int = 0, exclusive: bool = False, reverse: bool = False, name: str | None = None
) -> Any:
    """Sum of the elements up to each, along a dimension, as `tf.cumsum`.

    Args:
        x: An array, on a device or on the host.
        axis: The dimension.
        exclusive: Whether an element's own value is left out of its sum.
        reverse: Whether it sums from the end.
        name: By which hooks find the result, in a `model_fn`.

    Returns:
        An array of x's shape and dtype, where `x` is.
    """
    library: Any = np if is_on_host(x) else ops
    x = x if library is np else _on_device(x)
    # Sums from the end are sums from the beginning of the reversed array.
    ordered = library.flip(x, axis=axis) if reverse else x
    sums = library.cumsum(ordered, axis=axis)
    sums = sums.astype(x.dtype) if library is np else _keep_dtype(x, sums)
    # Each sum without its own element.
    sums = sums - ordered if exclusive else sums
    return library.flip(sums, axis=axis) if reverse else sums
