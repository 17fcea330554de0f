"""Operators of RaggedTensors, and functions of their flat values (data layer)."""

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from stratax.base.shown import shown
from stratax.data.elements._ragged_splits import lengths_of, row_ids
from stratax.data.elements._text import as_element
from stratax.data.elements._values import as_values
from stratax.errors import BadArgumentError


def map_flat(function: Callable[..., Any], *operands: Any) -> Any:
    """Apply a function to the flat values of RaggedTensors of the same rows, and to what broadcasts with them.

    Args:
        function: From arrays to one whose first dimension is that of the flat values.
        operands: RaggedTensors, arrays and numbers.

    Raises:
        BadArgumentError: Their rows differ.
    """
    ragged = [each for each in operands if hasattr(each, "row_splits")]
    first = max(ragged, key=lambda each: each.ragged_rank)
    values = [_beside(first, each) for each in operands]
    return first.with_flat_values(function(*values))


def _beside(first: Any, operand: Any) -> Any:
    """Return the values of an operand, one for each flat value."""
    if hasattr(operand, "row_splits"):
        if operand is first:
            return first.flat_values
        return _values_beside(first, operand)
    shape = np.shape(operand)
    if not shape:
        return operand
    array = as_values(operand)
    # Dimensions that the rows have and the operand does not are added at its front.
    array = array.reshape((1,) * (first.ndim - len(shape)) + tuple(shape))
    return _spread(first, array)


def _spread(first: Any, array: Any) -> Any:
    """Return an array with a value for each flat value of rows that it broadcasts with."""
    count = len(first)
    if array.shape[0] not in (1, count):
        raise _do_not_fit(first, array.shape)
    inner = first.values
    lengths = lengths_of(first.row_splits)
    if array.shape[1] != 1 and (lengths != array.shape[1]).any():
        raise _do_not_fit(first, array.shape)
    rows = row_ids(first.row_splits)
    places = np.arange(len(rows)) - first.row_splits[rows] if array.shape[1] != 1 else 0
    picked = array[rows if array.shape[0] != 1 else np.zeros_like(rows), places]
    return _spread(inner, picked) if hasattr(inner, "row_splits") else picked


def _values_beside(first: Any, other: Any) -> Any:
    mine, theirs = first.nested_row_splits, other.nested_row_splits
    is_known = all(isinstance(splits, np.ndarray) for splits in (*mine, *theirs))
    # Those of a compiled function's arguments can't be compared.
    if len(mine) == len(theirs) and (
        not is_known or all(np.array_equal(a, b) for a, b in zip(mine, theirs, strict=True))
    ):
        return other.flat_values
    if first.ndim == other.ndim and (lengths_of(theirs[0]) == 1).all() and len(other) == len(first):
        return _spread(first, other.to_tensor())
    raise _do_not_fit(first, other)


def _do_not_fit(first: object, other: object) -> BadArgumentError:
    return BadArgumentError(
        "RaggedTensors and arrays that are computed with one another need rows of the same lengths, or of length 1. "
        f"Received: {shown(first)} and {shown(other)}."
    )


def _operator(name: str, *, is_reversed: bool = False) -> Callable[..., Any]:
    compute: Any = getattr(operator, name)

    def operate(self: object, *others: object) -> Any:
        operands = (*others, self) if is_reversed else (self, *others)
        try:
            return map_flat(lambda *values: compute(*map(as_element, values)), *operands)
        except BadArgumentError:
            # As in TensorFlow, rows of different lengths are not equal.
            if name not in ("eq", "ne"):
                raise
            return name == "ne"

    operate.__name__ = name
    return operate


def define_ragged_operators(kind: type) -> None:
    """Give a class of rows the operators of arrays."""
    for name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and_", "or_", "xor"):
        setattr(kind, f"__{name.rstrip('_')}__", _operator(name))
        setattr(kind, f"__r{name.rstrip('_')}__", _operator(name, is_reversed=True))
    for name in ("eq", "ne", "lt", "le", "gt", "ge", "neg", "abs", "invert"):
        setattr(kind, f"__{name}__", _operator(name))
