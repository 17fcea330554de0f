"""Functions of strings: on the host now, before each step, or after it, wherever their operands are (v1 layer)."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from stratax import errors
from stratax.base.shown import shown
from stratax.base.typing import TensorLike
from stratax.tensorflow.ops.calls.on_host import array_of, is_symbol, not_known
from stratax.tensorflow.v1._current import current_or_none
from stratax.tensorflow.v1._host import HostTensor, after_step
from stratax.tensorflow.v1._scope import ModelScope

Function = Callable[..., np.ndarray]


def of_symbols(function: Function, operands: Sequence[Any], name: str, gives: object) -> Any:
    """Apply a function of strings to what is known later only: see `stratax.tensorflow.ops.text.strings`.

    Args:
        function: From NumPy arrays to one.
        operands: Features of a `model_fn`, what it computes, and arrays.
        name: What the function is called.
        gives: The dtype of the result; None to find out.

    Raises:
        BadTypeError: No `model_fn` is being traced.
    """
    symbols = [each for each in operands if is_symbol(each)]
    scope = current_or_none()
    if scope is None:
        raise not_known(name, symbols[0])
    known = [None if is_symbol(each) else array_of(each) for each in operands]

    def of_values(*values: object) -> np.ndarray:
        given = iter(values)
        return function(*(next(given) if each is None else each for each in known))

    names = [scope.features.name_of(each) for each in symbols]
    if all(each is not None for each in names):
        return _of_features(scope, of_values, symbols, names, name, gives)
    made = after_step(of_values, *(_result(scope, each) for each in symbols))
    return made


def _of_features(
    scope: ModelScope, function: Function, symbols: list[Any], names: list[Any], name: str, gives: Any
) -> Any:
    def of_batch(batch: dict[str, Any]) -> np.ndarray:
        return function(*(array_of(batch[each]) for each in names))

    if any(each.shape is None for each in symbols):
        raise errors.BadTypeError(
            f"{name} takes dense strings. Received: {shown(symbols)}, of which one is a SparseTensor. Use "
            "tf.sparse.to_dense in dataset.map, or a feature column."
        )
    if gives is None:
        blank = np.asarray(function(*map(_blank, symbols)))
        gives, shape = blank.dtype, blank.shape
    else:
        shape = np.broadcast_shapes(*(tuple(each.shape) for each in symbols))
    if np.dtype(gives).kind == "O":
        return scope.features.strings(of_batch, names, shape, name)
    return scope.features.compute_on_host(
        lambda batch: {"value": as_number(of_batch(batch), name)}, names, name
    )["value"]


def as_number(array: np.ndarray, name: str) -> np.ndarray:
    """Return numbers as a step takes them: of 32 bits."""
    if array.dtype.kind not in "iuf" or array.dtype.itemsize <= 4:
        return array
    if array.dtype.kind == "f":
        return array.astype(np.float32)
    limits = np.iinfo(np.int32)
    if array.size and not (limits.min <= array.min() and array.max() <= limits.max):
        raise errors.BadArgumentError(
            f"{name} gives numbers that 32 bits do not hold. Expected: from {limits.min} to {limits.max}. Received: "
            f"{array.min()} to {array.max()}. Use fewer buckets, or compute in dataset.map."
        )
    return array.astype(np.int32)


def _blank(symbol: Any) -> np.ndarray:
    """Return an array of the shape of a symbol."""
    if isinstance(symbol, HostTensor):
        return np.full([size or 0 for size in symbol.shape or ()], b"", object)
    return np.zeros(symbol.shape, symbol.dtype)


def _result(scope: ModelScope, value: TensorLike) -> Any:
    return scope.features.as_result(value) if isinstance(value, HostTensor) else value
