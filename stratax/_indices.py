"""Which indices and dimensions are out of range, where their values are known (a low layer)."""

import operator
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from stratax._shown import shown
from stratax.errors import BadArgumentError, BadTypeError


def is_known(value: Any) -> bool:
    """Return whether this process can look at the values of numbers now, rather than when a compiled program runs."""
    if isinstance(value, list | tuple):
        return all(map(is_known, value))
    # By protocol: also what stands for an array of NumPy while a function of a pipeline is examined.
    if isinstance(value, bool | int | float | np.generic) or hasattr(type(value), "__array_ufunc__"):
        return True
    # Without JAX there are no arrays of it, and a data pipeline need not import it.
    jax = sys.modules.get("jax")
    if jax is None or not isinstance(value, jax.Array) or isinstance(value, jax.core.Tracer):
        return False
    return bool(value.is_fully_addressable)


def dim_of(axis: Any, rank: int, name: str = "axis") -> int:
    """Return a dimension's number, counted from the first.

    Args:
        axis: The number; a negative one counts from the end.
        rank: How many dimensions there are.
        name: The argument's name.

    Raises:
        BadTypeError: If it is no whole number.
        BadArgumentError: If there is no such dimension.
    """
    try:
        number = operator.index(axis)
    except TypeError as e:
        raise BadTypeError(f"{name} must be a whole number. Received: {name}={shown(axis)}.") from e
    if not -rank <= number < rank:
        raise BadArgumentError(
            f"There is no such dimension. Expected: {name} from {-rank} to {rank - 1}. Received: {name}={number}."
        )
    return number % rank


def check_indices(index: Sequence[Any], shape: Sequence[int]) -> None:
    """Raise for indices that are not in an array, as TensorFlow does on a CPU, where they are known.

    NumPy counts negative ones from the end, and JAX answers with NaN or leaves out what is to be assigned.

    Args:
        index: Arrays of whole numbers, one for each of the first dimensions.
        shape: The array's shape.

    Raises:
        BadArgumentError: If one is out of range.
    """
    for part, size in zip(index, shape, strict=False):
        if not is_known(part):
            continue
        numbers = part if hasattr(type(part), "__array_ufunc__") else np.asarray(part)
        if numbers.size and (numbers.min() < 0 or numbers.max() >= size):
            numbers = np.asarray(numbers)
            wrong = np.argwhere((numbers < 0) | (numbers >= size))[0]
            place = f"[{','.join(map(str, wrong))}]" if numbers.ndim else ""
            raise BadArgumentError(
                f"An index is out of range: indices{place} = {numbers[tuple(wrong)]} is not in [0, {size}) in an array "
                f"of shape {tuple(shape)}. Received: {shown(numbers)}."
            )
