"""What to make of a feature of an Example: FixedLenFeature, FixedLenSequenceFeature, VarLenFeature (data layer).

However the records are read, the values of a feature arrive here as one flat array with a count for each Example.
"""

import abc
import dataclasses
import math
from typing import Any, NoReturn

import numpy as np

from stratax.base.bounds import check_bytes
from stratax.base.shown import shown
from stratax.base.typing import DTypeLike
from stratax.data.elements import SparseTensor, as_dtype, as_objects, as_shape, empty_value
from stratax.data.examples._values import (
    BYTES,
    FLOAT,
    FeatureKind,
    Ragged,
    Where,
    error_about,
    places_in_rows,
)
from stratax.data.vectorise import Unchanging
from stratax.errors import BadArgumentError, BadTypeError

_LARGEST_FLOAT = np.finfo(np.float32).max
_LARGEST_INT64 = np.iinfo(np.int64).max


class ParsedFeature(Unchanging, abc.ABC):
    """How the values of one feature become an array; the kinds of it are in this file."""

    kind: FeatureKind

    @abc.abstractmethod
    def one(self, values: np.ndarray | None, where: Where) -> Any:
        """Return the result for one Example; `values` is None where the feature is missing."""

    @abc.abstractmethod
    def many(self, ragged: Ragged, where: Where) -> Any:
        """Return the result for a batch of Examples."""

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and _list_values(self) == _list_values(other)

    def __hash__(self) -> int:
        return hash(type(self))


def _list_values(feature: Any) -> list[Any]:
    """Return what a feature was made with, as values that compare; arrays may be among them."""
    given = (getattr(feature, each.name) for each in dataclasses.fields(feature) if each.init)
    return [value.tolist() if isinstance(value, np.ndarray) else value for value in given]


@dataclasses.dataclass(frozen=True, eq=False)
class FixedLenFeature(ParsedFeature):
    """A feature with the same shape in every Example, as `tf.io.FixedLenFeature`.

    Args:
        shape: The shape of its values, all sizes known; `[]` for one value.
        dtype: int64, float32 or string (`object`, values are `bytes`).
        default_value: What an Example without the feature gets: as many values as the shape has. None: it is required.

    Raises:
        BadArgumentError: A size is unknown, the dtype is another one, or the default has another size.

    Example:
        >>> from stratax.data import FixedLenFeature
        >>> FixedLenFeature([2], "float32", default_value=[0.0, 1.0])
        FixedLenFeature(shape=(2,), dtype=dtype('float32'), default_value=[0.0, 1.0])
    """

    shape: Any
    dtype: Any
    default_value: Any = None

    def __post_init__(self) -> None:
        shape = _check_known_shape(self.shape, "Use FixedLenSequenceFeature for a first size that differs.")
        # The dataclass is frozen: fields are set past its `__setattr__`.
        _set(self, shape=shape, **_dtype_and_kind(self.dtype), size=math.prod(shape))
        _set(self, default=_default_of(self.default_value, self.kind, shape))

    size: int = dataclasses.field(init=False, repr=False)
    default: np.ndarray | None = dataclasses.field(init=False, repr=False)
    kind: FeatureKind = dataclasses.field(init=False, repr=False)

    def one(self, values: np.ndarray | None, where: Where) -> Any:
        """Return an array of the shape; for `[]` a NumPy scalar, or `bytes`."""
        if values is None:
            if self.default is None:
                self._raise_missing(where, 0)
            # A copy: elements may be changed, and the default belongs to all of them.
            values = self.default.copy()
        elif len(values) != self.size:
            self._raise_size(where, 0, len(values))
        return values.reshape(self.shape) if self.shape else values[0]

    def many(self, ragged: Ragged, where: Where) -> np.ndarray:
        """Return an array of shape `(examples, *shape)`."""
        values, counts, missing = ragged
        wrong = (counts != self.size) & ~missing
        if wrong.any():
            first = int(wrong.argmax())
            self._raise_size(where, first, int(counts[first]))
        if missing.any():
            if self.default is None:
                self._raise_missing(where, int(missing.argmax()))
            values = self._with_defaults(values, missing)
        return values.reshape(len(counts), *self.shape)

    def _with_defaults(self, values: np.ndarray, missing: np.ndarray) -> np.ndarray:
        filled = np.empty((len(missing), self.size), self.kind.dtype)
        filled[missing] = self.default
        filled[~missing] = (
            # NumPy cannot infer -1 beside a size of 0.
            values.reshape(-1, self.size) if self.size else values.reshape(int((~missing).sum()), 0)
        )
        return filled

    def _raise_missing(self, where: Where, index: int) -> NoReturn:
        raise error_about(
            index,
            f"{where.of(index)} is required but missing. Expected: {shown(self)}. Received: no such feature, or one "
            "without values of any kind. Give FixedLenFeature a default_value, or write the feature.",
        )

    def _raise_size(self, where: Where, index: int, count: int) -> NoReturn:
        raise error_about(
            index,
            f"{where.of(index)} has another number of values than its shape. Expected: {self.size} "
            f"value(s) of {self.kind.label} for shape {self.shape}. Received: {count} value(s). Mend the shape, or "
            "use FixedLenSequenceFeature or VarLenFeature where the number differs.",
        )


@dataclasses.dataclass(frozen=True, eq=False)
class FixedLenSequenceFeature(ParsedFeature):
    """A feature that is a sequence of values of one shape, as `tf.io.FixedLenSequenceFeature`.

    In `parse_example` shorter sequences are padded to the longest of the batch.

    Args:
        shape: The shape of one value of the sequence, all sizes known; `[]` for numbers.
        dtype: int64, float32 or string (`object`, values are `bytes`).
        allow_missing: Whether the feature may be missing, and counts as an empty sequence then. `parse_example` and
            `parse_single_example` need True, as in TensorFlow.
        default_value: One value that sequences are padded with; None for 0, or an empty byte string.

    Raises:
        BadArgumentError: A size is unknown, the dtype is another one, or the default is not one value.
    """

    shape: Any
    dtype: Any
    allow_missing: bool = False
    default_value: Any = None

    def __post_init__(self) -> None:
        shape = _check_known_shape(
            self.shape, "Pass the shape of one value; the length of the sequence is not part of it."
        )
        _set(self, shape=shape, **_dtype_and_kind(self.dtype), size=math.prod(shape))
        given = empty_value(self.kind.dtype) if self.default_value is None else self.default_value
        _set(self, default=_default_of(given, self.kind, ()))

    size: int = dataclasses.field(init=False, repr=False)
    default: np.ndarray = dataclasses.field(init=False, repr=False)
    kind: FeatureKind = dataclasses.field(init=False, repr=False)

    def one(self, values: np.ndarray | None, where: Where) -> np.ndarray:
        """Return an array of shape `(length, *shape)`."""
        values = np.empty(0, self.kind.dtype) if values is None else values
        return values.reshape(self._length(len(values), where, 0), *self.shape)

    def many(self, ragged: Ragged, where: Where) -> np.ndarray:
        """Return an array of shape `(examples, longest, *shape)`."""
        values, counts, _ = ragged
        wrong = counts % self.size != 0 if self.size else counts != 0
        if wrong.any():
            first = int(wrong.argmax())
            self._length(int(counts[first]), where, first)
        longest = int(counts.max(initial=0))
        return self.padded(values, counts, longest).reshape(
            len(counts), longest // max(1, self.size), *self.shape
        )

    def padded(self, values: np.ndarray, counts: np.ndarray, longest: int) -> np.ndarray:
        """Return rows of `longest` values, filled up with the default."""
        if (counts == longest).all():
            return values.reshape(len(counts), longest)
        check_bytes("Filling up the rows of a feature", (len(counts), longest), self.kind.dtype.itemsize)
        rows = np.full((len(counts), longest), self.default[0], self.kind.dtype)
        # A boolean mask assigns row by row, which is the order of the flat values.
        rows[np.arange(longest) < counts[:, None]] = values
        return rows

    def _length(self, count: int, where: Where, index: int) -> int:
        if self.size and count % self.size == 0:
            return count // self.size
        if count == 0:
            return 0
        raise error_about(
            index,
            f"{where.of(index)} does not divide into values of its shape. Expected: a multiple of {self.size} "
            f"value(s) of {self.kind.label} for shape {self.shape}. Received: {count} value(s). Mend the shape, or use "
            "VarLenFeature.",
        )


@dataclasses.dataclass(frozen=True, eq=False)
class VarLenFeature(ParsedFeature):
    """A feature with any number of values, as `tf.io.VarLenFeature`; it is parsed to a `SparseTensor`.

    Args:
        dtype: int64, float32 or string (`object`, values are `bytes`).

    Raises:
        BadArgumentError: The dtype is another one.
    """

    dtype: Any

    def __post_init__(self) -> None:
        _set(self, **_dtype_and_kind(self.dtype))

    kind: FeatureKind = dataclasses.field(init=False, repr=False)

    def one(self, values: np.ndarray | None, where: Where) -> SparseTensor:
        """Return a SparseTensor of shape `(values,)`."""
        values = np.empty(0, self.kind.dtype) if values is None else values
        # Their number is no other one's.
        return SparseTensor.of_parts((np.arange(len(values))[:, None], values, np.array([len(values)])), 0)

    def many(self, ragged: Ragged, where: Where) -> SparseTensor:
        """Return a SparseTensor of shape `(examples, most values)`."""
        indices = places_in_rows(ragged.counts)
        shape = np.array([len(ragged.counts), int(ragged.counts.max(initial=0))])
        return SparseTensor.of_parts((indices, ragged.values, shape), 1)


def _set(feature: object, **values: object) -> None:
    for name, value in values.items():
        object.__setattr__(feature, name, value)


def _check_known_shape(shape: object, advice: str) -> tuple[int, ...]:
    sizes = as_shape(shape)
    if sizes is None or None in sizes:
        raise BadArgumentError(
            f"The sizes of a feature's shape are all known. Received: shape={shown(shape)}. {advice}"
        )
    return tuple(size for size in sizes if size is not None)


def value_dtype(dtype: DTypeLike) -> np.dtype:
    """Return the dtype that arrays have where `dtype` is asked for: `object` for strings, by whatever name."""
    if isinstance(dtype, str) and dtype == "string":
        return BYTES.dtype
    found = as_dtype(dtype)
    return BYTES.dtype if found.kind in "SU" else found


def _dtype_and_kind(dtype: DTypeLike) -> dict[str, Any]:
    found = value_dtype(dtype)
    for kind in FeatureKind:
        if kind.dtype == found:
            return {"dtype": found, "kind": kind}
    raise BadArgumentError(
        f"Features hold int64, float32 or byte strings. Received: dtype={shown(dtype)}. Parse as one of them "
        "and cast then."
    )


def _default_of(value: object, kind: FeatureKind, shape: tuple[int, ...]) -> np.ndarray | None:
    """Return the default as a flat array of the kind."""
    if value is None:
        return None
    array = np.array(value, object).reshape(-1) if kind is BYTES else np.asarray(value).reshape(-1)
    if kind is BYTES:
        array = _as_byte_strings(array)
    elif array.size and not _fits(array, kind):
        raise BadTypeError(
            f"The default has the dtype of its feature. Expected: {kind.label}. Received: "
            f"default_value={shown(value)}. "
            "Pass a value of that dtype, within its range."
        )
    if array.size != math.prod(shape):
        raise BadArgumentError(
            f"The default has as many values as the feature's shape. Expected: {math.prod(shape)} for shape {shape}. "
            f"Received: default_value={shown(value)}. Pass one value for each."
        )
    return array.astype(kind.dtype)


def _as_byte_strings(values: np.ndarray) -> np.ndarray:
    encoded = [value.encode() if isinstance(value, str) else value for value in values]
    if not all(isinstance(value, bytes) for value in encoded):
        raise BadTypeError(
            "The default of a string feature is made of byte strings. Received: "
            f"default_value={shown(values.tolist())}. "
            "Pass bytes."
        )
    return as_objects([bytes(value) for value in encoded])


def _fits(values: np.ndarray, kind: FeatureKind) -> bool:
    """Return whether numbers are of the kind, and none is too large for it."""
    if kind is FLOAT:
        return (
            values.dtype.kind in "iubf" and not (np.isfinite(values) & (abs(values) > _LARGEST_FLOAT)).any()
        )
    return values.dtype.kind in "iub" and bool((values <= _LARGEST_INT64).all())
