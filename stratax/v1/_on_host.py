"""Functions of strings: on the host now, before each step, or after it, wherever their operands are (v1 layer)."""

from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from stratax import errors
from stratax._shown import shown
from stratax.data import SparseTensor
from stratax.data.elements import as_array
from stratax.v1._current import current_or_none
from stratax.v1._host import HostResult, HostTensor, after_step
from stratax.v1._scope import ModelScope

Function = Callable[..., np.ndarray]


def on_host(function: Function, *operands: Any, name: str, gives: Any = object) -> Any:
    """Apply a function to strings, example by example.

    Args:
        function: From NumPy arrays to one of the shape that they have together; strings are arrays of `bytes` objects.
        operands: Strings or numbers: arrays, features of a `model_fn`, or what it computes.
        name: What the function is called.
        gives: The dtype of the result: `object` for strings; None to find out, with its shape, by a call with empty
            strings.

    Returns:
        An array on the host, where all operands have values. In a `model_fn`, of features: strings that stay on the
        host, or numbers of the step; of what the step computes: what can be a prediction.

    Raises:
        BadTypeError: An operand is computed in a compiled function that is no `model_fn`.
    """
    symbols = [each for each in operands if isinstance(each, HostTensor | HostResult | jax.core.Tracer)]
    if any(isinstance(each, SparseTensor) for each in operands):
        return _of_sparse(function, operands, name, gives)
    if not symbols:
        return _plain(function(*map(_array, operands)))
    scope = current_or_none()
    if scope is None:
        raise errors.BadTypeError(
            f"{name} computes strings on the host, of a value that is known when the compiled function runs only. "
            f"Expected: values, or a model_fn. Received: {shown(symbols[0])}. Call it outside of the function."
        )
    known = [None if _is_symbol(each) else _array(each) for each in operands]

    def of_symbols(*values: Any) -> np.ndarray:
        given = iter(values)
        return function(*(next(given) if each is None else each for each in known))

    names = [scope.host_name(each) for each in symbols]
    if all(each is not None for each in names):
        return _of_features(scope, of_symbols, symbols, names, name, gives)
    made = after_step(of_symbols, *(_result(scope, each) for each in symbols))
    return made


def _of_features(
    scope: ModelScope, function: Function, symbols: list[Any], names: list[Any], name: str, gives: Any
) -> Any:
    def of_batch(batch: dict[str, Any]) -> np.ndarray:
        return function(*(_array(batch[each]) for each in names))

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
        return scope.host_strings(of_batch, names, shape, name)
    return scope.host_input(lambda batch: {"value": as_number(of_batch(batch), name)}, names, name)["value"]


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


def _of_sparse(function: Function, operands: tuple[Any, ...], name: str, gives: Any) -> SparseTensor:
    sparse, *others = operands
    if not isinstance(sparse, SparseTensor) or any(isinstance(each, SparseTensor) for each in others):
        raise errors.BadTypeError(
            f"{name} takes one SparseTensor, as its first argument. Received: {shown(operands)}."
        )
    return sparse._replace(values=on_host(function, sparse.values, *others, name=name, gives=gives))


def _blank(symbol: Any) -> np.ndarray:
    """Return an array of the shape of a symbol."""
    if isinstance(symbol, HostTensor):
        return np.full(symbol.shape or (), b"", object)
    return np.zeros(symbol.shape, symbol.dtype)


def _result(scope: ModelScope, value: Any) -> Any:
    return scope.as_result(value) if isinstance(value, HostTensor) else value


def _is_symbol(value: object) -> bool:
    return isinstance(value, HostTensor | HostResult | jax.core.Tracer)


def _array(value: Any) -> np.ndarray:
    made = np.asarray(as_array(value), object if isinstance(value, str | bytes) else None)
    return made


def _plain(result: np.ndarray) -> Any:
    """Return one string as `bytes`."""
    return result[()] if isinstance(result, np.ndarray) and not result.ndim else result


def each(function: Callable[..., Any], *arrays: np.ndarray, dtype: Any = object) -> np.ndarray:
    """Return what a function of Python makes of each string; of one that comes again it is called once.

    Args:
        function: From values to one.
        arrays: Of shapes that fit together.
        dtype: The result's.
    """
    arrays = tuple(np.broadcast_arrays(*arrays)) if len(arrays) > 1 else arrays
    columns = [array.reshape(-1).tolist() for array in arrays]
    rows = list(zip(*columns, strict=True))
    made = {row: function(*row) for row in set(rows)}
    result = np.empty(len(rows), dtype)
    result[:] = [made[row] for row in rows]
    return result.reshape(arrays[0].shape)
