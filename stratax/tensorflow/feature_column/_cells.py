"""Features on the host, as rows of cells: what feature columns compute ids from (feature_column layer).

Whatever a feature comes as (an array, nested lists, a SparseTensor), here it is a matrix with one row for each example
and a mask of the cells that hold a value.
"""

import dataclasses
from typing import Any

import numpy as np

from stratax import errors
from stratax.base.shown import shown
from stratax.data import SparseTensor


@dataclasses.dataclass(frozen=True, eq=False)
class Cells:
    """Values of a feature, or ids of a column, on the host.

    Attributes:
        values: Of shape `(batch, width)`: numbers, or `bytes` objects.
        present: Of the same shape: which cells hold a value; None for all of them.
        weights: Of the same shape, float32, if the ids have weights.
        is_sparse: Whether the width is that of the longest row of this batch.
    """

    values: np.ndarray
    present: np.ndarray | None = None
    weights: np.ndarray | None = None
    is_sparse: bool = False

    @property
    def mask(self) -> np.ndarray:
        """Which cells hold a value, as an array."""
        return np.ones(self.values.shape, np.bool_) if self.present is None else self.present

    @property
    def lengths(self) -> np.ndarray:
        """How many cells each row has up to its last value, int32."""
        # 1, 2, 3... where there is a value, else 0: the largest is the length, gaps included.
        places = np.arange(1, self.values.shape[1] + 1) * self.mask
        return np.asarray(places.max(axis=1, initial=0), np.int32)

    def map_values(self, compute: Any, absent: int = -1) -> "Cells":
        """Return cells whose values are computed from those that are there.

        Args:
            compute: From a flat array to one of whole numbers.
            absent: What stands where there is no value.
        """
        if self.present is None:
            flat = compute(self.values.reshape(-1))
            return self.with_values(flat.reshape(self.values.shape))
        # What is absent is not looked up: it would be a miss, or a number out of range.
        ids = np.full(self.values.shape, absent, np.int64)
        ids[self.present] = compute(self.values[self.present])
        return self.with_values(ids)

    def with_values(self, values: np.ndarray) -> "Cells":
        """Return cells with other values in the same places."""
        return Cells(values, self.present, self.weights, self.is_sparse)

    def without(self, ignored: object) -> "Cells":
        """Return the cells with those of a value left out."""
        # What stands in a SparseTensor was given on purpose, empty strings too.
        if self.is_sparse:
            return self
        # Most features have a value everywhere, and strings are compared one by one.
        if self.values.dtype.kind == "O" and ignored not in self.values.reshape(-1).tolist():
            return self
        present = np.asarray(self.values != ignored, np.bool_)
        return self if present.all() else dataclasses.replace(self, present=present)

    def without_missing(self) -> "Cells":
        """Return the cells without what means nothing in a dense feature: empty strings, -1 among whole numbers."""
        return self.without(missing_value(self.values.dtype))


def missing_value(dtype: np.dtype) -> Any:
    """Return what stands for no value in a dense feature."""
    # As in TensorFlow's `_to_sparse_input_and_drop_ignore_values`.
    return b"" if dtype.kind == "O" else -1 if dtype.kind in "iu" else 0


def cells_of(key: str, value: object) -> Cells:
    """Return the cells of a feature, on the host.

    Args:
        key: The feature's name.
        value: A SparseTensor, an array, or nested lists, whose rows may be of different lengths.

    Raises:
        BadArgumentError: It is a scalar.
    """
    if isinstance(value, SparseTensor):
        return _of_sparse(value)
    # `_length` is -1 of a number: a flat list has one length, and becomes an array.
    if isinstance(value, list | tuple) and len({_length(row) for row in value}) > 1:
        return _of_ragged(value)
    array = texts(np.asarray(value))
    if array.ndim == 0:
        raise errors.BadArgumentError(
            f"Feature {shown(key)} has no dimension for the batch. Expected: shape (batch,) or (batch, n). Received: "
            f"{shown(value)}. Batch the dataset, or reshape the feature."
        )
    # An empty batch has no size that -1 could be found from.
    return Cells(array.reshape(len(array), -1) if array.size or array.ndim > 1 else array.reshape(-1, 1))


def texts(array: np.ndarray) -> np.ndarray:
    """Return an array whose strings, if it holds any, are `bytes` objects."""
    if array.dtype.kind not in "OSU":
        return array
    flat = array.reshape(-1).tolist()
    if array.dtype.kind == "O" and str not in set(map(type, flat)):
        return array
    flat = [value.encode() if isinstance(value, str) else value for value in flat]
    # NumPy would make an array of fixed length of a list of `bytes`, and cut off zero bytes at the end.
    made = np.empty(len(flat), object)
    made[:] = flat
    return made.reshape(array.shape)


def _length(row: object) -> int:
    return len(row) if isinstance(row, list | tuple | np.ndarray) else -1


def _of_ragged(rows: Any) -> Cells:
    lengths = np.array([len(row) for row in rows])
    values = [value for row in rows for value in row]
    flat = texts(np.asarray(values))
    # Of shape (batch, longest): the cells that each row fills from its beginning.
    mask = np.arange(max(1, lengths.max())) < lengths[:, None]
    # As a SparseTensor of these rows: an empty string in it was given on purpose.
    return _scatter(flat, mask.nonzero(), mask.shape)


def _of_sparse(value: SparseTensor) -> Cells:
    rows, *others = map(int, value.dense_shape)
    # Of no sizes NumPy's product is a fraction, 1.0, unless it is told the dtype.
    width = int(np.prod(others, dtype=np.int64))
    indices = np.asarray(value.indices, np.int64).reshape(-1, len(others) + 1)
    columns = (
        # Dimensions behind the batch are one: columns know rows and cells alone.
        np.ravel_multi_index(tuple(indices[:, 1:].T), tuple(others))
        if others
        else np.zeros(len(indices), np.int64)
    )
    return _scatter(texts(np.asarray(value.values)), (indices[:, 0], columns), (rows, width if others else 1))


def _scatter(flat: np.ndarray, places: Any, shape: tuple[int, int]) -> Cells:
    # No cell at all would make arrays without elements, which programs would be compiled for.
    shape = (shape[0], max(1, shape[1]))
    values = np.full(shape, missing_value(flat.dtype), flat.dtype)
    present = np.zeros(shape, np.bool_)
    if len(flat):
        values[places], present[places] = flat, True
    return Cells(values, present, is_sparse=True)


def round_width(width: int) -> int:
    """Return a width that few batches exceed, so that shapes repeat: 1, 2, 3, 4, 6, 8, 12, 16, ..."""
    # A power of two, or three quarters of one: less than a third of a row is padding.
    whole = 1 << max(0, width - 1).bit_length()
    return whole if width > whole * 3 // 4 or whole < 4 else whole * 3 // 4


def pad_rows(values: np.ndarray, width: int, value: float) -> np.ndarray:
    """Return rows filled up to a width."""
    missing = width - values.shape[1]
    return values if missing <= 0 else np.pad(values, ((0, 0), (0, missing)), constant_values=value)
