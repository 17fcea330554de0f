"""The values of features of Examples, and errors about them (data layer)."""

import enum
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from stratax.base.shown import shown
from stratax.errors import DataError


class FeatureKind(enum.Enum):
    """The three kinds of values that a Feature may hold; the same objects in every process, also when pickled.

    Attributes:
        dtype: NumPy's dtype of the values.
        field: The field of `Feature`.
        tag: What the field begins with on the wire.
        label: What messages call it.
    """

    BYTES = (np.dtype(object), "bytes_list", 0x0A, "string")
    FLOAT = (np.dtype(np.float32), "float_list", 0x12, "float32")
    INT64 = (np.dtype(np.int64), "int64_list", 0x1A, "int64")

    def __init__(self, dtype: np.dtype, field: str, tag: int, label: str) -> None:
        self.dtype = dtype
        self.field = field
        self.tag = tag
        self.label = label


BYTES, FLOAT, INT64 = FeatureKind.BYTES, FeatureKind.FLOAT, FeatureKind.INT64
KINDS = {kind.field: kind for kind in FeatureKind}


class Ragged(NamedTuple):
    """The values of one feature in several Examples.

    Attributes:
        values: All of them, one after another, 1-D.
        counts: int64, how many belong to each Example; 0 where it is missing.
        missing: bool, which Examples do not have the feature.
    """

    values: np.ndarray
    counts: np.ndarray
    missing: np.ndarray


class Where(NamedTuple):
    """What messages say about a place: which feature of which Example.

    Attributes:
        feature: The feature's name.
        names: Names of the Examples, None where they have none.
        single: Whether there is one Example, not a batch.
    """

    feature: str
    names: Sequence[Any] | None = None
    single: bool = False

    def of(self, index: int) -> str:
        """Return the feature in one Example."""
        named = (
            f" (named {shown(self.names[index])})"
            if self.names is not None and index < len(self.names)
            else ""
        )
        place = "the Example" if self.single else f"Example {index} of the batch"
        return f"Feature {shown(self.feature)} of {place}{named}"


def error_about(index: int, message: str) -> DataError:
    """Return an error that one Example of a batch is to blame for, with its index."""
    error = DataError(message)
    error.element = index
    return error


def places_in_rows(counts: np.ndarray) -> np.ndarray:
    """Return row and column of every value, int64 of shape `(values, 2)`, where row i has `counts[i]` values."""
    rows = np.arange(len(counts)).repeat(counts)
    places = np.empty((len(rows), 2), np.int64)
    places[:, 0] = rows
    # The running number less that of the first value in the row.
    places[:, 1] = np.arange(len(rows)) - (counts.cumsum() - counts).repeat(counts)
    return places
