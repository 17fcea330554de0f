"""Functions of `tf.ragged`, and what functions of `tf` do with RaggedTensors: on the host (ops layer)."""

import builtins
import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from stratax.base.indices import dim_of
from stratax.base.shown import shown
from stratax.base.tracing import is_traced
from stratax.base.typing import DTypeLike, TensorLike
from stratax.data import RaggedTensor, SparseTensor
from stratax.data.elements import (
    as_array,
    as_dtype,
    as_element,
    as_splits,
    as_values,
    lengths_of,
    row_ids,
    splits_of_lengths,
)
from stratax.data.elements import take_rows as take_rows
from stratax.errors import BadArgumentError, BadTypeError, TracingError
from stratax.tensorflow.ops.calls._computed import library_of
from stratax.tensorflow.ops.calls.op import op


@op(name_after="inner_shape", is_told=False, is_raw=True)
def constant(
    pylist: Any,
    dtype: DTypeLike | None = None,
    ragged_rank: int | None = None,
    inner_shape: Sequence[int] | None = None,
    row_splits_dtype: DTypeLike = np.int64,
) -> Any:
    """Return the RaggedTensor of nested lists, as `tf.ragged.constant`; its values stay on the host.

    Args:
        pylist: Nested lists or arrays, or a single value.
        dtype: The values' dtype; as of `tf.constant` if None.
        ragged_rank: How many dimensions are of different lengths: all but the innermost if None.
        inner_shape: The sizes of the other dimensions.
        row_splits_dtype: Of where rows begin: int64 or int32.

    Returns:
        A RaggedTensor; an array where `ragged_rank` is 0, or there are no lists in the list.

    Raises:
        BadArgumentError: Lists are not equally deep, or do not fit the arguments.

    Example:
        >>> import stratax.tf as tf
        >>> tf.ragged.constant([[1, 2], [3]])
        <tf.RaggedTensor [[1, 2], [3]]>
    """
    nested = pylist.tolist() if isinstance(pylist, np.ndarray) else pylist
    if not isinstance(nested, list | tuple):
        if ragged_rank or inner_shape:
            raise BadArgumentError(f"A single value has no rows. Received: pylist={shown(pylist)}.")
        return _array(nested, dtype)
    # Both are the same unless some values lie less deep than others.
    depth, least = _depths(nested)
    if least is not None and least != depth:
        raise BadArgumentError(
            f"All scalar values must have the same nesting depth. Received: pylist={shown(pylist)}."
        )
    inner = tuple(inner_shape) if inner_shape is not None else None
    if ragged_rank is None:
        ragged_rank = max(0, depth - 1) if inner is None else max(0, depth - 1 - len(inner))
    elif not 0 <= ragged_rank < max(depth, 1) and least is not None:
        raise BadArgumentError(
            f"ragged_rank is less than the depth of the lists, {depth}. Received: ragged_rank={shown(ragged_rank)}."
        )
    lengths, values = [], list(nested)
    # Level by level: the lengths of this one's lists, and the lists inside of them one behind another.
    for _ in builtins.range(ragged_rank):
        lengths.append(np.array([len(part) for part in values], as_dtype(row_splits_dtype)))
        values = list(itertools.chain.from_iterable(values))
    flat = _array(values, dtype)
    if inner is not None:
        flat = flat.reshape((-1, *inner))
    return RaggedTensor.from_nested_row_lengths(flat, lengths) if lengths else as_element(flat)


def _array(values: TensorLike, dtype: DTypeLike | None) -> np.ndarray:
    if isinstance(values, list) and len({isinstance(value, str | bytes) for value in values}) > 1:
        raise BadTypeError(f"Text goes together with text only. Received: {shown(values)}.")
    made = as_array(values)
    # NumPy would make a string of fixed length of a single `bytes`.
    array = np.asarray(made, object if isinstance(made, bytes) else None)
    if dtype is None:
        return array
    wanted = as_dtype(dtype)
    # No values at all can be of any dtype.
    if array.size and (array.dtype.kind == "O") != wanted.hasobject:
        raise BadTypeError(
            f"The values have another dtype. Expected: {wanted}. Received: {shown(values)}. Leave out dtype."
        )
    return array.astype(wanted)


def _depths(nested: Any) -> tuple[int, int | None]:
    """Return the depth of nested lists, and at which least depth values are; None where there are no values."""
    if not (isinstance(nested, list | tuple) or np.ndim(nested)):
        return 0, 0
    inner = [_depths(part) for part in nested]
    found = [least for _, least in inner if least is not None]
    # An empty list is as deep as any: it has a depth, but no value that could lie elsewhere.
    depth = 1 + max((depth for depth, _ in inner), default=0)
    return depth, 1 + min(found) if found else None


@op(name_after="dtype", is_told=False, is_raw=True)
def range(
    starts: TensorLike,
    limits: TensorLike | None = None,
    deltas: TensorLike = 1,
    dtype: DTypeLike | None = None,
    row_splits_dtype: DTypeLike = np.int64,
) -> RaggedTensor:
    """Return a row of numbers for each start, limit and step, as `tf.ragged.range`.

    Args:
        starts: Where rows begin; the limits, from 0, if `limits` is None.
        limits: Before where they end.
        deltas: The steps.
        dtype: The numbers' dtype.
        row_splits_dtype: Of where rows begin.

    Raises:
        BadArgumentError: A step is 0, or the numbers of rows differ.

    Example:
        >>> import stratax.tf as tf
        >>> tf.ragged.range([3, 5, 2])
        <tf.RaggedTensor [[0, 1, 2], [0, 1, 2, 3, 4], [0, 1]]>
    """
    # As Python's `range`: a single argument is the end.
    if limits is None:
        starts, limits = 0, starts
    given = [np.asarray(as_array(each)) for each in (starts, limits, deltas)]
    kind = np.result_type(*given) if dtype is None else as_dtype(dtype)
    try:
        first, last, step = np.broadcast_arrays(*(np.atleast_1d(each.astype(kind)) for each in given))
    except ValueError as e:
        raise BadArgumentError(
            f"starts, limits and deltas are one for all rows, or one for each. Received: {shown(given)}."
        ) from e
    if (step == 0).any():
        raise BadArgumentError(f"The steps of tf.ragged.range are not 0. Received: deltas={shown(deltas)}.")
    rows = [np.arange(a, b, c, dtype=kind) for a, b, c in zip(first, last, step, strict=True)]
    lengths = np.array([len(row) for row in rows], as_dtype(row_splits_dtype))
    return RaggedTensor(np.concatenate(rows) if rows else np.zeros(0, kind), splits_of_lengths(lengths))


@op(name_after="splits", is_told=False, is_raw=True)
def row_splits_to_segment_ids(splits: TensorLike, out_type: DTypeLike | None = None) -> Any:
    """Return the number of each value's row, as `tf.ragged.row_splits_to_segment_ids`."""
    ids = row_ids(as_splits("splits", splits))
    return as_element(ids if out_type is None else ids.astype(as_dtype(out_type)))


@op(is_told=False, is_raw=True)
def segment_ids_to_row_splits(
    segment_ids: TensorLike, num_segments: TensorLike | None = None, out_type: DTypeLike | None = None
) -> Any:
    """Return where rows begin, of the number of each value's row, as `tf.ragged.segment_ids_to_row_splits`."""
    # Only where rows begin is wanted: their values do not matter.
    rows = RaggedTensor.from_value_rowids(np.zeros(np.shape(segment_ids)), segment_ids, num_segments)
    return as_element(rows.row_splits if out_type is None else rows.row_splits.astype(as_dtype(out_type)))


def map_flat_values(op: Callable[..., Any], *args: object, **kwargs: object) -> Any:
    """Return rows of what a function makes of the flat values of RaggedTensors, as `tf.ragged.map_flat_values`.

    Args:
        op: From arrays to an array of as many values.
        *args: RaggedTensors of the same rows, and other arguments.
        **kwargs: The same by name.

    Raises:
        BadArgumentError: Rows differ, or the function gives another number of values.
    """
    given = [*args, *kwargs.values()]
    ragged = [each for each in given if isinstance(each, RaggedTensor)]
    if not ragged:
        return op(*args, **kwargs)
    # Its rows are those of the result; the function must give as many values.
    first = ragged[0]
    for other in ragged[1:]:
        same = len(first.nested_row_splits) == len(other.nested_row_splits) and all(
            np.array_equal(a, b)
            for a, b in zip(first.nested_row_splits, other.nested_row_splits, strict=True)
        )
        if not same:
            raise BadArgumentError(
                f"map_flat_values takes RaggedTensors of the same rows. Received: {shown(first)} and {shown(other)}."
            )
    values = [as_element(each.flat_values) if isinstance(each, RaggedTensor) else each for each in given]
    made = op(*values[: len(args)], **dict(zip(kwargs, values[len(args) :], strict=True)))
    return first.with_flat_values(made)


@op(is_told=False, is_raw=True)
def boolean_mask(data: TensorLike, mask: TensorLike) -> Any:
    """Return the values at which a mask holds, in their rows, as `tf.ragged.boolean_mask`.

    Args:
        data: A RaggedTensor or an array.
        mask: Booleans, of as many dimensions or fewer.
    """
    parts = [each.flat_values if isinstance(each, RaggedTensor) else each for each in (data, mask)]
    if any(map(is_traced, parts)):
        raise TracingError(
            "tf.ragged.boolean_mask gives rows whose lengths depend on values, which a compiled function has not while "
            f"it is traced. Expected: a call outside of the function. Received: {shown((data, mask))}. Call it before "
            "the function or in dataset.map, or compute with tf.where(mask, data, 0)."
        )
    if not isinstance(mask, RaggedTensor):
        mask = np.asarray(mask)
        if mask.ndim > 1:
            mask = RaggedTensor.from_tensor(mask, ragged_rank=mask.ndim - 1)
    if not isinstance(mask, RaggedTensor):
        # A vector of booleans chooses whole rows.
        chosen = np.flatnonzero(mask)
        return (
            take_rows(data, chosen) if isinstance(data, RaggedTensor) else as_element(as_values(data)[chosen])
        )
    if not isinstance(data, RaggedTensor):
        data = RaggedTensor.from_tensor(data, ragged_rank=mask.ragged_rank)
    # Dimension by dimension from the outside: at the innermost the mask's own values count what stays in each row.
    inner = boolean_mask(data.values, mask.values)
    # How long rows are then: by their values that stay; of rows of rows none goes.
    kept = (
        segment(np.add, np.asarray(mask.flat_values, np.int64), mask.nested_row_splits[0], 0)
        if not isinstance(mask.values, RaggedTensor)
        else lengths_of(mask.row_splits)
    )
    return RaggedTensor(inner, splits_of_lengths(kept.astype(data.row_splits.dtype)))


def segment(function: np.ufunc, values: np.ndarray, splits: np.ndarray, empty: TensorLike) -> np.ndarray:
    """Return what a ufunc makes of the values of each row, and `empty` of rows without values."""
    made = np.full((len(splits) - 1, *values.shape[1:]), empty, values.dtype)
    filled = np.flatnonzero(np.diff(splits) > 0)
    if len(filled):
        # `reduceat` takes an empty row for one value, so that only others are given.
        made[filled] = function.reduceat(values, splits[:-1][filled], axis=0, dtype=values.dtype)
    return made


@op(is_told=False, is_raw=True)
def stack(values: Sequence[Any], axis: int = 0) -> Any:
    """Return arrays or RaggedTensors, of different sizes, one beside the other, as `tf.ragged.stack`.

    Args:
        values: Arrays or RaggedTensors of one rank.
        axis: The new dimension.

    Raises:
        BadArgumentError: There are no values, or no such dimension.
    """
    parts: list[Any] = [each if isinstance(each, RaggedTensor) else as_values(each) for each in values]
    if not parts:
        raise BadArgumentError("There is nothing to stack. Received: values=[].")
    rank = max(len(part.shape) for part in parts)
    axis = dim_of(axis, rank + 1)
    if rank <= axis and not any(isinstance(part, RaggedTensor) for part in parts):
        return as_element(library_of(*parts).stack(parts, axis))
    if axis == 0:
        rows = [_as_ragged(part) if rank > 1 else part for part in parts]
        # TensorFlow counts the elements of single rows with 32 bits.
        lengths = np.array([len(row) for row in rows], np.int64 if rank > 1 else np.int32)
        return RaggedTensor(concat_rows(rows), splits_of_lengths(lengths))
    # Beside one another along a new dimension is one behind another along one of size 1.
    widened = [expand_dims(_as_ragged(part) if rank > 1 else part, axis) for part in parts]
    return concat(widened, axis)


def expand_dims(input: TensorLike, axis: int, name: str | None = None) -> Any:
    """Return rows with a new dimension of size 1, as `tf.expand_dims`."""
    if not isinstance(input, RaggedTensor):
        values = as_values(input)
        return library_of(values).expand_dims(values, int(axis))
    # Behind the rows the new dimension is one of the values.
    place = dim_of(axis, input.ndim + 1)
    if place == 0:
        return input[None]
    if place == 1:
        return RaggedTensor.from_uniform_row_length(input, 1, len(input))
    return input.with_values(expand_dims(input.values, place - 1))


def _as_ragged(part: object) -> RaggedTensor:
    if isinstance(part, RaggedTensor):
        return part
    return RaggedTensor.from_tensor(part)


def concat_rows(parts: Sequence[Any]) -> Any:
    """Return the rows of several RaggedTensors, or the elements of several arrays, one after another."""
    if not any(isinstance(part, RaggedTensor) for part in parts):
        return library_of(*parts).concatenate(parts)
    rows = [_as_ragged(part) for part in parts]
    lengths = [lengths_of(row.row_splits) for row in rows]
    return RaggedTensor(concat_rows([row.values for row in rows]), splits_of_lengths(np.concatenate(lengths)))


def concat(values: Sequence[Any], axis: int, name: str | None = None) -> Any:
    """Return arrays and RaggedTensors joined along a dimension, as `tf.concat`.

    Args:
        values: Arrays and RaggedTensors of one rank.
        axis: The dimension.
        name: Ignored.

    Raises:
        BadArgumentError: They have different numbers of rows.
    """
    parts: list[Any] = [each if isinstance(each, RaggedTensor) else as_values(each) for each in values]
    axis = dim_of(axis, len(parts[0].shape))
    if axis == 0:
        return concat_rows(parts)
    if not any(isinstance(part, RaggedTensor) for part in parts):
        return library_of(*parts).concatenate(parts, axis)
    rows = [_as_ragged(part) for part in parts]
    if len({len(row) for row in rows}) > 1:
        raise BadArgumentError(
            f"RaggedTensors that are joined have as many rows. Received: {shown([len(row) for row in rows])} rows."
        )
    if axis > 1:
        return (
            rows[0].with_values(concat([row.values for row in rows], axis - 1))
            if _alike(rows)
            else _refuse(rows)
        )
    count, joined = len(rows[0]), concat_rows(rows)
    # Row i of each, one after another.
    order = np.arange(count * len(rows)).reshape(len(rows), count).T.reshape(-1)
    taken = take_rows(joined, order)
    # A new row ends where the last of its parts does.
    return RaggedTensor(taken.values, taken.row_splits[:: len(rows)])


def _alike(rows: Sequence[RaggedTensor]) -> bool:
    return all(np.array_equal(row.row_splits, rows[0].row_splits) for row in rows)


def _refuse(rows: Sequence[RaggedTensor]) -> Any:
    raise BadArgumentError(
        f"Outer rows that are joined inside have the same lengths. Received: {shown(rows)}."
    )


@op(is_told=False, is_raw=True)
def cross(inputs: Sequence[Any]) -> RaggedTensor:
    """Return all combinations of each row's values, joined by ``_X_``, as `tf.ragged.cross`.

    Args:
        inputs: RaggedTensors, SparseTensors or arrays of two dimensions, with as many rows.

    Example:
        >>> import stratax.tf as tf
        >>> tf.ragged.cross([tf.ragged.constant([["a"], ["b", "c"]]), tf.ragged.constant([["d"], ["e"]])])
        <tf.RaggedTensor [[b'a_X_d'], [b'b_X_e', b'c_X_e']]>
    """
    return join_combinations(inputs, b"_X_")


def join_combinations(inputs: Sequence[Any], separator: bytes) -> RaggedTensor:
    """Return all combinations of each row's values, joined by a separator; see :func:`cross`."""
    columns = [_cells(each) for each in inputs]
    rows = [
        [separator.join(found) for found in itertools.product(*row)] for row in zip(*columns, strict=True)
    ]
    flat = np.empty(sum(map(len, rows)), object)
    flat[:] = list(itertools.chain.from_iterable(rows))
    return RaggedTensor(flat, splits_of_lengths(np.array([len(row) for row in rows], np.int64)))


def _cells(column: object) -> list[list[bytes]]:
    if isinstance(column, SparseTensor):
        found: list[list[Any]] = [[] for _ in builtins.range(int(column.dense_shape[0]))]
        for row, value in zip(
            np.asarray(column.indices)[:, 0].tolist(), as_values(column.values).tolist(), strict=True
        ):
            found[row].append(value)
        column = constant(found, ragged_rank=1)
    listed = column.to_list() if isinstance(column, RaggedTensor) else np.asarray(as_array(column)).tolist()
    # Whole numbers are joined as decimal text, as in TensorFlow.
    return [[cell if isinstance(cell, bytes) else str(cell).encode() for cell in row] for row in listed]


@op(is_told=False, is_raw=True)
def stack_dynamic_partitions(data: TensorLike, partitions: TensorLike, num_partitions: int) -> Any:
    """Return a row for each number of a part, with the values that have it, as `tf.ragged.stack_dynamic_partitions`.

    Args:
        data: An array or RaggedTensor.
        partitions: The number of each value's part.
        num_partitions: How many parts there are.

    Raises:
        BadArgumentError: A number is out of range.
    """
    numbers = np.asarray(partitions)
    count = int(num_partitions)
    if numbers.size and not (numbers.min() >= 0 and numbers.max() < count):
        raise BadArgumentError(
            f"partitions are numbers from 0 to {count - 1}. Received: partitions={shown(numbers)}."
        )
    values: Any = data if isinstance(data, RaggedTensor) else as_values(data)
    if tuple(values.shape[: numbers.ndim]) != numbers.shape:
        raise BadArgumentError(
            "There must be a number for each value. Received: data of shape "
            f"{tuple(values.shape)}, partitions of shape {numbers.shape}."
        )
    if numbers.ndim > 1:
        values = values.reshape((-1, *values.shape[numbers.ndim :]))
        numbers = numbers.reshape(-1)
    # Stable: within a part values stay in their order.
    order = np.argsort(numbers, kind="stable")
    taken = take_rows(values, order) if isinstance(values, RaggedTensor) else values[order]
    kind = np.int64 if getattr(partitions, "dtype", None) == np.int64 else np.int32
    return RaggedTensor.from_row_lengths(taken, np.bincount(numbers, minlength=count).astype(kind))
