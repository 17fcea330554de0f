"""The factories of RaggedTensor: rows by where they begin, how long they are, or of what they are made (data layer)."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from stratax.base.shown import shown
from stratax.base.typing import DTypeLike
from stratax.data.elements._ragged_splits import as_splits, row_ids, splits_of_lengths
from stratax.data.elements._sparse import SparseTensor
from stratax.data.elements._spec import as_dtype
from stratax.data.elements._structure import as_array
from stratax.data.elements._values import as_values
from stratax.errors import BadArgumentError


class RaggedFactories:
    """What makes rows, of a class that is called with values, splits and the length of uniform rows."""

    __slots__ = ()

    def __init__(self, values: object, row_splits: object, uniform_row_length: int | None = None) -> None:
        raise NotImplementedError

    @classmethod
    def from_row_splits(
        cls, values: object, row_splits: object, name: str | None = None, validate: bool = True
    ) -> Any:
        """Make rows of where they begin and end.

        Args:
            values: The values of all rows: an array, a list or a RaggedTensor.
            row_splits: Where each row begins, and behind them where the last one ends.
            name: Ignored.
            validate: Ignored: what is known is checked.

        Raises:
            BadArgumentError: The splits do not begin at 0, are not in order, or do not end with the values.
        """
        values = as_values(values)
        splits = as_splits("row_splits", row_splits)
        # Those of a compiled function's argument are not known.
        if isinstance(splits, np.ndarray):
            _check_splits(splits, length(values))
        return cls(values, splits)

    @classmethod
    def from_row_lengths(
        cls, values: object, row_lengths: object, name: str | None = None, validate: bool = True
    ) -> Any:
        """Make rows of how long they are; other arguments as of :meth:`from_row_splits`."""
        lengths = as_splits("row_lengths", row_lengths)
        if (lengths < 0).any():
            raise BadArgumentError(
                f"row_lengths are not negative. Received: row_lengths={shown(lengths)}. Pass the length of each row."
            )
        return cls.from_row_splits(values, splits_of_lengths(lengths))

    @classmethod
    def from_value_rowids(
        cls,
        values: object,
        value_rowids: Any,
        nrows: Any = None,
        name: str | None = None,
        validate: bool = True,
    ) -> Any:
        """Make rows of the number of each value's row, in ascending order.

        Args:
            values: As of :meth:`from_row_splits`.
            value_rowids: For each value the number of its row.
            nrows: How many rows there are; up to the last that has a value if None.
            name: Ignored.
            validate: Ignored: what is known is checked.

        Raises:
            BadArgumentError: The numbers are not in order, or not below `nrows`.
        """
        ids = as_splits("value_rowids", value_rowids)
        count = (int(ids[-1]) + 1 if len(ids) else 0) if nrows is None else int(nrows)
        if (np.diff(ids) < 0).any() or (len(ids) and not (ids[0] >= 0 and ids[-1] < count)) or count < 0:
            raise BadArgumentError(
                "value_rowids are numbers of rows in ascending order. "
                f"Received: value_rowids={shown(ids)}, nrows={shown(nrows)}. Sort values by row first."
            )
        return cls.from_row_lengths(values, np.bincount(ids, minlength=count).astype(ids.dtype))

    @classmethod
    def from_row_starts(
        cls, values: object, row_starts: object, name: str | None = None, validate: bool = True
    ) -> Any:
        """Make rows of where they begin; other arguments as of :meth:`from_row_splits`."""
        values = as_values(values)
        starts = as_splits("row_starts", row_starts)
        return cls.from_row_splits(values, np.append(starts, np.array(length(values), starts.dtype)))

    @classmethod
    def from_row_limits(
        cls, values: object, row_limits: object, name: str | None = None, validate: bool = True
    ) -> Any:
        """Make rows of where they end; other arguments as of :meth:`from_row_splits`."""
        limits = as_splits("row_limits", row_limits)
        return cls.from_row_splits(values, np.append(np.zeros(1, limits.dtype), limits))

    @classmethod
    def from_uniform_row_length(
        cls,
        values: Any,
        uniform_row_length: Any,
        nrows: Any = None,
        validate: bool = True,
        name: str | None = None,
    ) -> Any:
        """Make rows of one length.

        Args:
            values: As of :meth:`from_row_splits`.
            uniform_row_length: The length of each row.
            nrows: How many there are, which must be given where the length is 0.
            validate: Ignored: what is known is checked.
            name: Ignored.

        Raises:
            BadArgumentError: Values do not divide into such rows.
        """
        values = as_values(values)
        size, total = int(uniform_row_length), length(values)
        count = int(nrows) if nrows is not None else total // size if size else 0
        if size < 0 or count * size != total:
            raise BadArgumentError(
                f"The values do not divide into rows of one length. Expected: {count} rows of {size} values. "
                f"Received: {total} values."
            )
        made = cls.from_row_splits(values, np.arange(count + 1, dtype=np.int64) * size)
        return cls(made.values, made.row_splits, size)

    @classmethod
    def from_nested_row_splits(
        cls,
        flat_values: object,
        nested_row_splits: Sequence[Any],
        name: str | None = None,
        validate: bool = True,
    ) -> Any:
        """Make rows of rows of where they begin, outermost first."""
        return _make_nested(cls.from_row_splits, flat_values, nested_row_splits)

    @classmethod
    def from_nested_row_lengths(
        cls,
        flat_values: object,
        nested_row_lengths: Sequence[Any],
        name: str | None = None,
        validate: bool = True,
    ) -> Any:
        """Make rows of rows of how long they are, outermost first."""
        return _make_nested(cls.from_row_lengths, flat_values, nested_row_lengths)

    @classmethod
    def from_nested_value_rowids(
        cls,
        flat_values: object,
        nested_value_rowids: Sequence[Any],
        nested_nrows: Sequence[Any] | None = None,
        name: str | None = None,
        validate: bool = True,
    ) -> Any:
        """Make rows of rows of the numbers of rows, outermost first."""
        counts = [None] * len(nested_value_rowids) if nested_nrows is None else list(nested_nrows)
        pairs = list(zip(nested_value_rowids, counts, strict=True))
        return _make_nested(lambda values, pair: cls.from_value_rowids(values, *pair), flat_values, pairs)

    @classmethod
    def from_tensor(
        cls,
        tensor: Any,
        lengths: Any = None,
        padding: object = None,
        ragged_rank: int = 1,
        name: str | None = None,
        row_splits_dtype: DTypeLike = np.int64,
    ) -> Any:
        """Make rows of a dense array.

        Args:
            tensor: The array, of more dimensions than `ragged_rank`.
            lengths: How many values of each row count; all if None. A tuple of them for nested rows.
            padding: A value of which those at the ends of rows do not count, instead.
            ragged_rank: How many dimensions are of different lengths.
            name: Ignored.
            row_splits_dtype: Of where rows begin: int64 or int32.

        Raises:
            BadArgumentError: The arguments do not fit.
        """
        values = as_values(tensor)
        rank = len(values.shape)
        if not 0 < ragged_rank < rank or (lengths is not None and padding is not None):
            raise BadArgumentError(
                f"ragged_rank is at least 1 and less than the rank {rank}, and one of lengths and padding is given. "
                f"Received: ragged_rank={shown(ragged_rank)}, lengths={shown(lengths)}, padding={shown(padding)}."
            )
        if isinstance(lengths, tuple | list) and len(lengths) and np.ndim(lengths[0]) == 1:
            return _of_nested_lengths(cls, values, lengths, as_dtype(row_splits_dtype))
        if lengths is not None and np.shape(lengths) != tuple(values.shape[:1]):
            raise BadArgumentError(
                f"Each row has a length. Received: lengths of shape {np.shape(lengths)}, tensor of shape "
                f"{tuple(values.shape)}."
            )
        if ragged_rank > 1:
            inner_shape = (-1, *values.shape[2:])
            inner = cls.from_tensor(
                values.reshape(inner_shape), None, padding, ragged_rank - 1, None, row_splits_dtype
            )
            outer = cls.from_uniform_row_length(inner, values.shape[1], values.shape[0])
            made = outer.with_row_splits_dtype(row_splits_dtype)
            return made if lengths is None else _cut(made, as_splits("lengths", lengths))
        return _of_dense(cls, values, lengths, padding, as_dtype(row_splits_dtype))

    @classmethod
    def from_sparse(
        cls, st_input: SparseTensor, name: str | None = None, row_splits_dtype: DTypeLike = np.int64
    ) -> Any:
        """Make rows of a SparseTensor of two dimensions whose rows have their values at the front.

        Raises:
            BadArgumentError: It has other dimensions, or values elsewhere.
        """
        indices = np.asarray(st_input.indices, np.int64).reshape(-1, len(st_input.dense_shape))
        if len(st_input.dense_shape) != 2:
            raise BadArgumentError(
                f"from_sparse takes two dimensions. Received: dense_shape={shown(st_input.dense_shape)}."
            )
        if len(indices) != len(st_input.values) or (indices >= np.asarray(st_input.dense_shape)).any():
            raise BadArgumentError(
                f"A SparseTensor has a value for each index, within its shape. Received: {len(indices)} indices, "
                f"{len(st_input.values)} values, dense_shape={shown(st_input.dense_shape)}."
            )
        counts = np.bincount(indices[:, 0], minlength=int(st_input.dense_shape[0]))
        splits = splits_of_lengths(counts.astype(as_dtype(row_splits_dtype)))
        expected = np.arange(len(indices)) - splits[row_ids(splits)]
        if (indices[:, 1] != expected).any() or (np.diff(indices[:, 0]) < 0).any():
            raise BadArgumentError(
                "SparseTensor is not right-ragged: the values of each row have to be at its front, in order. "
                f"Received: indices={shown(indices)}. Use tf.sparse.to_dense instead."
            )
        return cls(as_values(st_input.values), splits)


def length(values: Any) -> int:
    return len(values) if hasattr(values, "row_splits") else int(values.shape[0])


def _check_splits(splits: np.ndarray, length: int) -> None:
    if (
        splits.ndim != 1
        or not len(splits)
        or splits[0] != 0
        or (np.diff(splits) < 0).any()
        or splits[-1] != length
    ):
        raise BadArgumentError(
            f"row_splits begin at 0, are in ascending order, and end with the number of values, {length}. "
            f"Received: row_splits={shown(splits)}."
        )


def _make_nested(make: Callable[[Any, Any], Any], flat_values: object, partitions: Sequence[Any]) -> Any:
    made = as_values(flat_values)
    for partition in reversed(list(partitions)):
        made = make(made, partition)
    return made


def _of_dense(cls: type[Any], values: Any, lengths: Any, padding: Any, dtype: np.dtype) -> Any:
    count, width = (int(size) for size in values.shape[:2])
    flat = values.reshape((count * width, *values.shape[2:]))
    if lengths is None and padding is None:
        return cls(flat, np.arange(count + 1, dtype=dtype) * width, width if count else None)
    if lengths is None:
        is_value = np.asarray(values) != as_array(padding)
        is_value = is_value.reshape(count, width, -1).any(axis=2)
        found = width - np.argmax(is_value[:, ::-1], axis=1) if width else np.zeros(count, np.int64)
        kept = np.where(is_value.any(axis=1), found, 0)
    else:
        kept = np.clip(as_splits("lengths", lengths), 0, width)
    splits = splits_of_lengths(kept.astype(dtype))
    rows = row_ids(splits)
    return cls(flat[rows * width + np.arange(len(rows)) - splits[rows]], splits)


def _of_nested_lengths(cls: type[Any], values: object, lengths: Sequence[Any], dtype: np.dtype) -> Any:
    outer = _of_dense(cls, values, lengths[0], None, dtype)
    if len(lengths) == 1:
        return outer
    return outer.with_values(_of_nested_lengths(cls, outer.values, lengths[1:], dtype))


def _cut(rows: Any, lengths: np.ndarray) -> Any:
    parts = [
        np.arange(start, start + size) for start, size in zip(rows.row_splits[:-1], lengths, strict=True)
    ]
    chosen = np.concatenate(parts) if parts else np.zeros(0, np.int64)
    return type(rows)(rows.values[chosen], splits_of_lengths(lengths))
