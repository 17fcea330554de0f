"""Functions of text: on the host, wherever their operands are (ops layer)."""

from collections.abc import Callable
from typing import Any

import numpy as np

from stratax.base.shown import shown
from stratax.base.tracing import is_traced
from stratax.base.typing import DTypeLike, TensorLike
from stratax.data import RaggedTensor, SparseTensor
from stratax.data.elements import as_array, as_element, map_flat
from stratax.errors import BadTypeError
from stratax.tensorflow.ops.calls import labels

Function = Callable[..., np.ndarray]


def on_host(function: Function, *operands: object, name: str, gives: DTypeLike | None = object) -> Any:
    """Apply a function to strings, example by example.

    Args:
        function: From NumPy arrays to one of the shape that they have together; strings are arrays of `bytes` objects.
        operands: Strings or numbers: arrays, RaggedTensors, a SparseTensor, features of a `model_fn`, or what it
            computes.
        name: What the function is called.
        gives: The dtype of the result: `object` for strings; None to find out, with its shape, by a call with empty
            strings.

    Returns:
        An array on the host, where all operands have values. In a `model_fn`, of features: strings that stay on the
        host, or numbers of the step; of what the step computes: what can be a prediction.

    Raises:
        BadTypeError: An operand is computed in a compiled function that is no `model_fn`.
    """
    if any(isinstance(each, SparseTensor) for each in operands):
        return _of_sparse(function, operands, name, gives)
    if any(isinstance(each, RaggedTensor) for each in operands):
        return map_flat(lambda *values: function(*map(array_of, values)), *operands)
    if not any(is_symbol(each) for each in operands):
        return as_result(function(*map(array_of, operands)))
    # Who traces a model_fn, or an export, calls the function later, with values.
    apply = labels.applier()
    if apply is None:
        raise not_known(name, next(each for each in operands if is_symbol(each)))
    return apply(function, operands, name, gives)


def not_known(name: str, symbol: object) -> BadTypeError:
    """Return the error for a value that is known when a compiled function runs only."""
    return BadTypeError(
        f"{name} computes strings on the host, of a value that is known when the compiled function runs only. "
        f"Expected: values, or a model_fn. Received: {shown(symbol)}. Call it outside of the function."
    )


def is_symbol(value: object) -> bool:
    """Return whether a value is known later only: a feature, or what a compiled function computes."""
    return isinstance(value, labels.TextSymbol) or is_traced(value)


def _of_sparse(
    function: Function, operands: tuple[Any, ...], name: str, gives: DTypeLike | None
) -> SparseTensor:
    sparse, *others = operands
    if not isinstance(sparse, SparseTensor) or any(isinstance(each, SparseTensor) for each in others):
        raise BadTypeError(
            f"{name} takes one SparseTensor, as its first argument. Received: {shown(operands)}."
        )
    values = on_host(function, sparse.values, *others, name=name, gives=gives)
    return SparseTensor.of_parts((sparse.indices, values, sparse.dense_shape))


def array_of(value: TensorLike) -> np.ndarray:
    """Return a value as an array on the host; a string as one without dimensions."""
    made = as_array(value)
    return np.asarray(made, object if isinstance(made, bytes) else None)


def as_result(result: TensorLike) -> Any:
    """Return an array as a function of `tf` returns it on the host: one string as `bytes`."""
    if not isinstance(result, np.ndarray):
        return result
    return as_element(result[()] if not result.ndim and result.dtype.hasobject else result)


def each(function: Callable[..., Any], *arrays: np.ndarray, dtype: DTypeLike = object) -> np.ndarray:
    """Return what a function of Python makes of each string; of one that comes again it is called once.

    Args:
        function: From values to one.
        arrays: Of shapes that fit together.
        dtype: The result's.
    """
    arrays = tuple(np.broadcast_arrays(*arrays)) if len(arrays) > 1 else arrays
    columns = [array.reshape(-1).tolist() for array in arrays]
    rows = list(zip(*columns, strict=True))
    # To look for one that comes again costs as much as a pass over its bytes.
    made = {row: function(*row) for row in set(rows)} if len(rows) > 1 else None
    result = np.empty(len(rows), dtype)
    result[:] = [function(*row) if made is None else made[row] for row in rows]
    return result.reshape(arrays[0].shape)
