"""Lists of numbers in the place of arrays, and generators of what is no tuple, which Keras 2 takes (keras2 layer)."""

import types
from collections.abc import Iterator
from typing import Any

import keras
import numpy as np

# What may have to be made something else.
KINDS = (list, tuple, types.GeneratorType)


def as_tensor(value: Any) -> Any:
    """Return a list of numbers as a tensor, and anything else as it is.

    Args:
        value: What a loss or metric is given.
    """
    return keras.ops.convert_to_tensor(value) if _has_numbers(value) else value


def as_given(value: Any) -> Any:
    """Return what `fit` is given as Keras 3 takes it.

    Args:
        value: Features, labels, or both.
    """
    if isinstance(value, types.GeneratorType):
        return _in_tuples(value)
    return np.array(value) if _has_numbers(value) else value


def _has_numbers(value: Any) -> bool:
    """Return whether a value is a list, or lists, of numbers or text: the first says it, as in Keras 2."""
    while isinstance(value, list | tuple) and value:
        value = value[0]
        if isinstance(value, bool | int | float | str | bytes):
            return True
    return False


def _in_tuples(batches: Iterator[Any]) -> Iterator[tuple[Any, ...]]:
    for batch in batches:
        yield tuple(batch) if isinstance(batch, list | tuple) else (batch,)
