"""Where the rows of a RaggedTensor begin: splits, lengths and numbers of rows (data layer)."""

from typing import Any

import numpy as np

from stratax.base.shown import shown
from stratax.errors import BadTypeError


def as_splits(name: str, value: object) -> Any:
    """Return whole numbers as a NumPy array of int64 or int32; what a compiled function is given stays as it is.

    Raises:
        BadTypeError: They are no whole numbers.
    """
    if hasattr(value, "aval") and not hasattr(value, "addressable_shards"):
        return value
    array = np.asarray(value)
    if array.dtype.kind not in "iu" and array.size:
        raise BadTypeError(f"{name} are whole numbers. Received: {name}={shown(value)}. Pass integers.")
    return array if array.dtype == np.int32 and hasattr(value, "dtype") else array.astype(np.int64)


def lengths_of(splits: Any) -> Any:
    """Return the lengths of rows."""
    return splits[1:] - splits[:-1]


def splits_of_lengths(lengths: np.ndarray) -> np.ndarray:
    """Return where rows of some lengths begin, and where the last one ends."""
    return np.concatenate([np.zeros(1, lengths.dtype), np.cumsum(lengths, dtype=lengths.dtype)])


def row_ids(splits: np.ndarray) -> np.ndarray:
    """Return the number of each value's row."""
    return np.repeat(np.arange(len(splits) - 1, dtype=splits.dtype), lengths_of(splits))
