"""What `rows[key]` means for a RaggedTensor (data layer)."""

from typing import Any

import numpy as np

from stratax.base.shown import shown
from stratax.data.elements._ragged_splits import lengths_of, splits_of_lengths
from stratax.errors import BadArgumentError


def index(rows: Any, key: tuple[Any, ...]) -> Any:
    """Return the part of a RaggedTensor that a key names: integers, slices, Ellipsis and None.

    Raises:
        BadArgumentError: A key is out of range, or a single number for the inner dimension of ragged rows.
    """
    if Ellipsis in [each for each in key if not hasattr(each, "shape")]:
        key = _expand(rows, key)
    if not key:
        return rows
    first, *rest = key
    if first is None:
        inner = index(rows, tuple(rest)) if rest else rows
        return _one_row(inner)
    if isinstance(first, slice):
        chosen = np.arange(len(rows))[first]
        picked = take_rows(rows, chosen)
        return _inside(picked, tuple(rest)) if rest else picked
    row = _row(rows, first)
    if not rest:
        return row
    return index(row, tuple(rest)) if hasattr(row, "row_splits") else row[tuple(rest)]


def take_rows(rows: Any, chosen: np.ndarray) -> Any:
    """Return some rows, in the order in which they are named."""
    kind = type(rows)
    splits = rows.row_splits
    lengths = lengths_of(splits)[chosen]
    made = splits_of_lengths(lengths)
    ids = np.repeat(np.arange(len(chosen)), lengths)
    places = splits[:-1][chosen][ids] + np.arange(len(ids)) - made[ids]
    return kind(_pick(rows.values, places), made, rows.uniform_row_length)


def _pick(values: Any, places: np.ndarray) -> Any:
    return take_rows(values, places) if hasattr(values, "row_splits") else values[places]


def _expand(rows: Any, key: tuple[Any, ...]) -> tuple[Any, ...]:
    at = next(i for i, each in enumerate(key) if each is Ellipsis)
    given = sum(each is not None and each is not Ellipsis for each in key)
    return (*key[:at], *[slice(None)] * (rows.ndim - given), *key[at + 1 :])


def _row(rows: Any, number: Any) -> Any:
    index, count = int(number), len(rows)
    if not -count <= index < count:
        raise BadArgumentError(
            f"A RaggedTensor has no such row. Expected: {-count} <= index < {count}. Received: {shown(index)}."
        )
    index %= count
    start, stop = (int(rows.row_splits[i]) for i in (index, index + 1))
    values = rows.values
    return take_rows(values, np.arange(start, stop)) if hasattr(values, "row_splits") else values[start:stop]


def _one_row(inner: Any) -> Any:
    if not hasattr(inner, "row_splits"):
        return inner[None]
    return type(inner)(inner, np.array([0, len(inner)], inner.row_splits.dtype))


def _inside(rows: Any, key: tuple[Any, ...]) -> Any:
    """Return the part that a key names of each row."""
    first, *rest = key
    values, splits = rows.values, rows.row_splits
    if first is None:
        inner = _inside(rows, tuple(rest)) if rest else rows
        return type(rows)(inner, np.arange(len(rows) + 1, dtype=splits.dtype))
    if not isinstance(first, slice):
        return _column(rows, int(first), tuple(rest))
    lengths = lengths_of(splits)
    chosen = [np.arange(size)[first] for size in lengths.tolist()]
    places = [start + each for start, each in zip(splits[:-1].tolist(), chosen, strict=True)]
    picked = _pick(values, np.concatenate(places) if places else np.zeros(0, np.int64))
    made = splits_of_lengths(np.array([len(each) for each in chosen], splits.dtype))
    if rest:
        picked = (
            _inside(picked, tuple(rest)) if hasattr(picked, "row_splits") else picked[(slice(None), *rest)]
        )
    return type(rows)(picked, made, rows.uniform_row_length if first == slice(None) else None)


def _column(rows: Any, index: int, rest: tuple[Any, ...]) -> Any:
    if rows.uniform_row_length is None:
        raise BadArgumentError(
            "Cannot index into an inner ragged dimension: rows may be too short. Expected: a slice. Received: "
            f"[:, {index}]. Use [:, {index}:{index + 1}], or to_tensor() first."
        )
    places = rows.row_splits[:-1] + index % rows.uniform_row_length
    picked = _pick(rows.values, places)
    if not rest:
        return picked
    return _inside(picked, rest) if hasattr(picked, "row_splits") else picked[(slice(None), *rest)]
