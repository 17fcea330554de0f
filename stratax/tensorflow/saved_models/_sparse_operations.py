"""Operations of sparse and ragged arrays, whose sizes depend on values: the host's (saved_models layer)."""

from typing import Any

import numpy as np

from stratax.base.bounds import check_bytes
from stratax.data import RaggedTensor, SparseTensor
from stratax.errors import BadArgumentError
from stratax.tensorflow.ops.arrays import arrays, ranges, segments, sparse
from stratax.tensorflow.saved_models.graph import FileNode
from stratax.tensorflow.saved_models.operations import OperationContext, Value, as_number, as_numbers, define


def _host(names: str, call: Value, **options: Any) -> None:
    define(names, call, host=True, **options)


def _parts(value: SparseTensor) -> tuple[Any, Any, Any]:
    return value.indices, value.values, value.dense_shape


def _to_dense(
    run: OperationContext, node: FileNode, indices: Value, shape: Value, values: Value, default: Value
) -> Any:
    sizes = as_numbers(shape)
    check_bytes("Making a sparse tensor dense", sizes, np.asarray(values).dtype.itemsize)
    places = np.asarray(indices, np.int64)
    # One number for a single value, a list for one dimension.
    places = places.reshape(-1, len(sizes)) if places.ndim < 2 else places
    made = np.full(sizes, np.asarray(default).item(), np.asarray(values).dtype)
    if places.size and not ((places >= 0) & (places < np.array(sizes))).all():
        raise BadArgumentError(f"Indices of a sparse tensor are outside of its shape {sizes}.")
    made[tuple(places.T)] = values
    return made


_host("SparseToDense", _to_dense)
_host(
    "SparseReshape",
    lambda run, node, indices, shape, new: _reshape(indices, shape, new),
    outputs="output_indices output_shape",
)


def _reshape(indices: Value, shape: Value, new: Value) -> tuple[Any, Any]:
    made = sparse.reshape(SparseTensor(indices, np.zeros(len(indices), np.float32), shape), new)
    return made.indices, made.dense_shape


def _fill_empty(
    run: OperationContext, node: FileNode, indices: Value, values: Value, shape: Value, default: Value
) -> Any:
    """Give rows without a value one, as `tf.sparse.fill_empty_rows`; say also where each value went."""
    rows = int(as_numbers(shape)[0])
    check_bytes("Filling empty rows", (rows, max(np.shape(indices)[-1], 1)), 8)
    of_row = np.asarray(indices)[:, 0] if len(indices) else np.zeros(0, np.int64)
    counts = np.bincount(of_row, minlength=rows)
    is_empty = counts[:rows] == 0
    added = np.flatnonzero(is_empty)
    more = np.zeros((len(added), np.shape(indices)[-1]), np.int64)
    more[:, 0] = added
    extra = np.empty(len(added), np.asarray(values).dtype)
    extra[:] = np.asarray(default).item()
    all_rows = np.concatenate([of_row, added])
    order = np.argsort(all_rows, kind="stable")
    back = np.empty(len(order), np.int64)
    back[order] = np.arange(len(order))
    made = np.concatenate([np.asarray(indices).reshape(-1, more.shape[1]), more])[order]
    return made, np.concatenate([values, extra])[order], is_empty, back[: len(of_row)]


_host(
    "SparseFillEmptyRows",
    _fill_empty,
    outputs="output_indices output_values empty_row_indicator reverse_index_map",
)


def _segments(function: Value) -> Any:
    def call(
        run: OperationContext, node: FileNode, rows: Value, indices: Value, ids: Value, count: Value = None
    ) -> Any:
        taken = np.asarray(rows)[np.asarray(indices)]
        number = int(np.asarray(ids)[-1]) + 1 if count is None and len(ids) else as_number(count or 0)
        return np.asarray(function(taken, np.asarray(ids), number), taken.dtype)

    return call


for _name, _function in {
    "Sum": segments.unsorted_segment_sum,
    "Mean": segments.unsorted_segment_mean,
    "SqrtN": segments.unsorted_segment_sqrt_n,
}.items():
    _host(f"SparseSegment{_name} SparseSegment{_name}WithNumSegments", _segments(_function))
_host(
    "SparseTensorDenseMatMul",
    lambda run, node, indices, values, shape, b: sparse.sparse_dense_matmul(
        SparseTensor(indices, values, shape),
        b,
        adjoint_a=node.get("adjoint_a", False),
        adjoint_b=node.get("adjoint_b", False),
    ),
)
for _name, _function in {
    "SparseReduceSum": sparse.reduce_sum,
    "SparseReduceMax": sparse.reduce_max,
}.items():
    _host(
        _name,
        lambda run, node, indices, values, shape, axis, function=_function: function(
            SparseTensor(indices, values, shape),
            tuple(as_numbers(axis)),
            keepdims=node.get("keep_dims", False),
        ),
    )
_host(
    "SparseReorder",
    lambda run, node, indices, values, shape: _parts(sparse.reorder(SparseTensor(indices, values, shape)))[
        :2
    ],
    outputs="output_indices output_values",
)
_host(
    "SparseSlice",
    lambda run, node, indices, values, shape, start, size: _parts(
        sparse.slice(SparseTensor(indices, values, shape), start, size)
    ),
    outputs="output_indices output_values output_shape",
)


def _concat(run: OperationContext, node: FileNode, *given: Value) -> Any:
    count = node["N"]
    values = [
        SparseTensor(*parts)
        for parts in zip(given[:count], given[count : 2 * count], given[2 * count :], strict=True)
    ]
    return _parts(sparse.concat(node["concat_dim"], values))


_host("SparseConcat", _concat, outputs="output_indices output_values output_shape")


def _operands_of_cross(node: FileNode, given: tuple[Any, ...], rest: int) -> list[Any]:
    """Return the operands of a cross: sparse ones, then dense ones."""
    count = node["N"]
    of_sparse = zip(given[:count], given[count : 2 * count], given[2 * count : 3 * count], strict=True)
    dense = given[3 * count : len(given) - rest]
    return [*(SparseTensor(*parts) for parts in of_sparse), *dense]


def _cross(run: OperationContext, node: FileNode, *given: Value) -> Any:
    inputs = _operands_of_cross(node, given, 0)
    if node.get("hashed_output", False):
        return _parts(sparse.cross_hashed(inputs, node.get("num_buckets", 0), node.get("hash_key")))
    return _parts(sparse.cross(inputs))


_host("SparseCross", _cross, outputs="output_indices output_values output_shape")
_host(
    "SparseCrossV2",
    lambda run, node, *given: _parts(
        sparse.cross(_operands_of_cross(node, given, 1), np.asarray(given[-1], object).item())
    ),
    outputs="output_indices output_values output_shape",
)

# Ragged arrays.


def _make_ragged(values: Value, splits: tuple[Any, ...]) -> Any:
    for each in reversed(splits):
        values = RaggedTensor(values, np.asarray(each))
    return values


def _to_tensor(
    run: OperationContext, node: FileNode, shape: Value, values: Value, default: Value, *partitions: Value
) -> Any:
    kinds = [each.decode() for each in node["row_partition_types"]]
    parts = list(partitions)
    if kinds and kinds[0] == "FIRST_DIM_SIZE":
        count, ids = int(parts.pop(0)), [np.asarray(each) for each in parts]
        for each in reversed(ids):
            rows = count if each is ids[0] else None
            values = RaggedTensor.from_value_rowids(values, each, rows)
    else:
        values = _make_ragged(values, tuple(parts))
    sizes = as_numbers(shape) if np.ndim(shape) else None
    wanted = None if sizes is None else [None if size < 0 else size for size in sizes]
    return values.to_tensor(default_value=np.asarray(default)[()], shape=wanted)


_host("RaggedTensorToTensor", _to_tensor)


def _to_sparse(run: OperationContext, node: FileNode, *given: Value) -> Any:
    *splits, values = given
    return _parts(_make_ragged(values, tuple(splits)).to_sparse())


_host("RaggedTensorToSparse", _to_sparse, outputs="sparse_indices sparse_values sparse_dense_shape")


def _gather(run: OperationContext, node: FileNode, *given: Value) -> Any:
    *splits, values, indices = given

    made = arrays.gather(_make_ragged(values, tuple(splits)), indices)
    return (*(np.asarray(each) for each in made.nested_row_splits), made.flat_values)


_host("RaggedGather", _gather, outputs="output_nested_splits*OUTPUT_RAGGED_RANK output_dense_values")


def _range(run: OperationContext, node: FileNode, starts: Value, limits: Value, deltas: Value) -> Any:
    count = max(np.size(each) for each in (starts, limits, deltas))
    given = [np.broadcast_to(each, [count]) for each in (starts, limits, deltas)]
    rows = [
        ranges.range(first, last, step, dtype=node["T"]) for first, last, step in zip(*given, strict=True)
    ]
    splits = np.cumsum([0, *map(len, rows)]).astype(node.get("Tsplits", np.int64))
    return splits, np.concatenate(rows) if rows else np.zeros(0, node["T"])


_host("RaggedRange", _range, outputs="rt_nested_splits rt_dense_values")


def _count(
    rows: Value, values: Value, num_rows: int, size: Value, weights: Value, *, is_binary: bool, dtype: Value
) -> Any:
    count = as_number(size)
    check_bytes("Counting", (num_rows, count), np.dtype(dtype).itemsize)
    made = np.zeros((num_rows, count), dtype)
    is_there = (np.asarray(values) >= 0) & (np.asarray(values) < count)
    added = np.asarray(weights)[is_there] if np.size(weights) else 1
    if is_binary:
        made[rows[is_there], np.asarray(values)[is_there]] = 1
    else:
        np.add.at(made, (rows[is_there], np.asarray(values)[is_there]), added)
    return made


def _bincount_rows(
    run: OperationContext, node: FileNode, splits: Value, values: Value, size: Value, weights: Value
) -> Any:
    lengths = np.diff(splits)
    rows = np.repeat(np.arange(len(lengths)), lengths)
    is_binary = node.get("binary_output", False)
    return _count(rows, values, len(lengths), size, weights, is_binary=is_binary, dtype=node["T"])


_host("RaggedBincount", _bincount_rows)


def _sparse_bincount(
    run: OperationContext,
    node: FileNode,
    indices: Value,
    values: Value,
    shape: Value,
    size: Value,
    weights: Value,
) -> Any:
    sizes = as_numbers(shape)
    is_flat = len(sizes) == 1
    rows = np.zeros(len(values), np.int64) if is_flat else np.asarray(indices)[:, 0]
    is_binary = node.get("binary_output", False)
    made = _count(
        rows, values, 1 if is_flat else sizes[0], size, weights, is_binary=is_binary, dtype=node["T"]
    )
    return made[0] if is_flat else made


_host("SparseBincount", _sparse_bincount)
