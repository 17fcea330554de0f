"""Functions of `tf.sparse`: of SparseTensors on the host; products with matrices where these are (ops layer)."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from stratax.base.indices import check_indices, dim_of, is_known
from stratax.base.shown import shown
from stratax.base.tracing import is_traced
from stratax.base.typing import Array, Axis, DTypeLike, TensorLike
from stratax.data import SparseTensor
from stratax.data.elements import as_element, as_values, empty_value
from stratax.data.vectorise import gives_tensors
from stratax.errors import BadArgumentError, BadTypeError, TracingError
from stratax.tensorflow.ops.arrays import _crosses
from stratax.tensorflow.ops.arrays.segments import combine_segments
from stratax.tensorflow.ops.calls._computed import library_of, scatter_at, whole_number
from stratax.tensorflow.ops.calls.dtypes import as_dtype
from stratax.tensorflow.ops.calls.on_host import array_of
from stratax.tensorflow.ops.calls.op import op


def parts_of(name: str, sparse: object) -> tuple[np.ndarray, Any, np.ndarray]:
    """Return the indices, values and dense shape of a SparseTensor.

    Raises:
        BadTypeError: It is none.
        BadArgumentError: Its parts do not fit together.
        TracingError: A compiled function computes them.
    """
    if not isinstance(sparse, SparseTensor):
        raise BadTypeError(
            f"{name} takes a SparseTensor. Received: {shown(sparse)}. Make one with tf.sparse.from_dense or "
            "tf.SparseTensor(indices, values, dense_shape)."
        )
    check_known(name, sparse.indices, sparse.dense_shape)
    shape = np.asarray(sparse.dense_shape, np.int64).reshape(-1)
    # An empty list of indices has lost its second dimension.
    indices = np.asarray(sparse.indices, np.int64)
    indices = indices if indices.size else indices.reshape(-1, len(shape))
    # Those that are on a device stay there: a tape, or a trace, follows them.
    values = as_values(sparse.values)
    if indices.shape != (len(values), len(shape)):
        raise BadArgumentError(
            "A SparseTensor has a row of indices for each value, and a column for each size of dense_shape. Received: "
            f"indices of shape {indices.shape}, values of shape {values.shape}, dense_shape={shape.tolist()}."
        )
    return indices, values, shape


def check_known(name: str, *arrays: object) -> None:
    """Check that arrays have values, as those of a SparseTensor on the host do.

    Raises:
        TracingError: A compiled function is given or computes one of them.
    """
    traced = next(filter(is_traced, arrays), None)
    if traced is not None:
        raise TracingError(
            f"tf.sparse.{name} computes with SparseTensors on the host, and a compiled function has no values while it "
            f"is traced. Expected: a call outside of the function. Received: a part of a SparseTensor, {shown(traced)}"
            ". Call it before the function or in dataset.map, pass the dense array (tf.sparse.to_dense), or compute "
            "with the values: tf.math.unsorted_segment_sum(sparse.values, sparse.indices[:, 0], num_rows)."
        )


@op(is_told=False)
def from_dense(tensor: TensorLike) -> SparseTensor:
    """Return the SparseTensor of the elements that are not 0 or empty, as `tf.sparse.from_dense`.

    Example:
        >>> import stratax.tf as tf
        >>> tf.sparse.from_dense([[0, 5], [6, 0]]).values.tolist()
        [5, 6]
    """
    check_known("from_dense", tensor)
    array = as_values(tensor)
    # In row-major order, as a SparseTensor's indices are by convention.
    places = np.argwhere(np.asarray(array) != empty_value(np.dtype(array.dtype)))
    return SparseTensor(places.astype(np.int64), array[tuple(places.T)], np.array(array.shape, np.int64))


def _places(indices: np.ndarray, shape: np.ndarray) -> np.ndarray:
    """Return the number of each index in row-major order."""
    # Horner's scheme: one number for each index, by which indices are compared and sorted.
    made = np.zeros(len(indices), np.int64)
    for column, size in zip(indices.T, shape.tolist(), strict=True):
        made = made * size + column
    return made


def _of_places(places: np.ndarray, values: np.ndarray, shape: np.ndarray) -> SparseTensor:
    indices = np.zeros((len(places), len(shape)), np.int64)
    rest = places
    for axis in range(len(shape) - 1, -1, -1):
        # A dimension without elements has no indices, and must not divide.
        rest, indices[:, axis] = np.divmod(rest, max(int(shape[axis]), 1))
    return SparseTensor(indices, values, shape)


@op(is_told=False)
def reorder(sp_input: SparseTensor) -> SparseTensor:
    """Return the same with indices in row-major order, as `tf.sparse.reorder`."""
    indices, values, shape = parts_of("reorder", sp_input)
    order = np.argsort(_places(indices, shape), kind="stable")
    return SparseTensor(indices[order], values[order], shape)


@gives_tensors
def reset_shape(sp_input: SparseTensor, new_shape: TensorLike | None = None) -> SparseTensor:
    """Return the same values in a larger dense shape, or in the smallest one, as `tf.sparse.reset_shape`.

    Raises:
        BadArgumentError: The shape is smaller.
    """
    indices, values, shape = parts_of("reset_shape", sp_input)
    if new_shape is None:
        # Behind the last index of each dimension.
        least = indices.max(axis=0) + 1 if len(indices) else np.zeros_like(shape)
        return SparseTensor(indices, values, least)
    wanted = np.asarray(new_shape, np.int64)
    if wanted.shape != shape.shape or (wanted < shape).any():
        raise BadArgumentError(
            f"A dense shape is reset to one that is at least as large. Expected: at least {shape.tolist()}. "
            f"Received: new_shape={shown(new_shape)}."
        )
    return SparseTensor(indices, values, wanted)


@op(is_told=False)
def reshape(sp_input: SparseTensor, shape: TensorLike) -> SparseTensor:
    """Return the same values in another dense shape of as many elements, as `tf.sparse.reshape`."""
    indices, values, old = parts_of("reshape", sp_input)
    wanted, total = np.asarray(shape, np.int64).copy(), int(np.prod(old))
    if (wanted == -1).any():
        known = int(np.prod(wanted[wanted != -1]))
        # One size may be left to what is there.
        wanted[wanted == -1] = total // known if known else 0
    if int(np.prod(wanted)) != total or (wanted < 0).any():
        raise BadArgumentError(
            f"A dense shape of {total} elements can't become another number. Received: shape={shown(shape)}."
        )
    return _of_places(_places(indices, old), values, wanted)


@op(is_told=False)
def expand_dims(sp_input: SparseTensor, axis: int | None = None) -> SparseTensor:
    """Return the same with a new dimension of size 1, the last if `axis` is None; as `tf.sparse.expand_dims`."""
    indices, values, shape = parts_of("expand_dims", sp_input)
    place = _axis(-1 if axis is None else axis, len(shape) + 1)
    return SparseTensor(np.insert(indices, place, 0, axis=1), values, np.insert(shape, place, 1))


def _axis(axis: Axis, rank: int) -> int:
    return dim_of(axis.item() if isinstance(axis, np.ndarray) else axis, rank)


@op(is_told=False)
def transpose(sp_input: SparseTensor, perm: TensorLike | None = None) -> SparseTensor:
    """Return the same with dimensions in another order, as `tf.sparse.transpose`.

    Raises:
        BadArgumentError: If `perm` does not name each dimension once.
    """
    indices, values, shape = parts_of("transpose", sp_input)
    # All dimensions turned around, as of a matrix.
    order = np.arange(len(shape))[::-1] if perm is None else np.asarray(perm)
    if not np.array_equal(np.sort(order), np.arange(len(shape))):
        raise BadArgumentError(
            f"perm has each of the {len(shape)} dimensions once. Received: perm={shown(perm)}."
        )
    return reorder(SparseTensor(indices[:, order], values, shape[order]))


@op(is_told=False)
def concat(axis: int, sp_inputs: Sequence[SparseTensor], expand_nonconcat_dims: bool = False) -> SparseTensor:
    """Return SparseTensors joined along a dimension, as `tf.sparse.concat`.

    Args:
        axis: The dimension.
        sp_inputs: The SparseTensors.
        expand_nonconcat_dims: Whether other sizes may differ: the largest counts.

    Raises:
        BadArgumentError: Other sizes differ.
    """
    parts = [parts_of("concat", each) for each in sp_inputs]
    place = _axis(axis, len(parts[0][2]))
    shapes = np.stack([shape for _, _, shape in parts])
    others = np.delete(shapes, place, axis=1)
    if not expand_nonconcat_dims and (others != others[0]).any():
        raise BadArgumentError(
            f"SparseTensors that are joined have the same other sizes. Received: shapes {shapes.tolist()}. Pass "
            "expand_nonconcat_dims=True."
        )
    # Where each part begins in the joined dimension.
    starts = np.concatenate([[0], np.cumsum(shapes[:, place])])
    # With expand_nonconcat_dims other sizes may differ: the largest of each.
    made = shapes.max(axis=0)
    made[place] = starts[-1]
    moved = []
    for (indices, _, _), start in zip(parts, starts[:-1], strict=True):
        indices = indices.copy()
        indices[:, place] += start
        moved.append(indices)
    every = [values for _, values, _ in parts]
    values = library_of(*every).concatenate(every)
    return reorder(SparseTensor(np.concatenate(moved), values, made))


@op(is_told=False)
def slice(sp_input: SparseTensor, start: TensorLike, size: TensorLike) -> SparseTensor:
    """Return the part from `start` on of some size, as `tf.sparse.slice`; it ends where the whole does.

    Raises:
        BadArgumentError: If there is not a number for each dimension, or a size is negative.
    """
    indices, values, shape = parts_of("slice", sp_input)
    first, wanted = np.asarray(start, np.int64), np.asarray(size, np.int64)
    if first.shape != shape.shape or wanted.shape != shape.shape or (wanted < 0).any():
        raise BadArgumentError(
            f"start and size have a number for each of the {len(shape)} dimensions, and sizes are not negative. "
            f"Received: start={shown(start)}, size={shown(size)}."
        )
    # What reaches beyond the end is cut off, as in TensorFlow: an array's slice would be refused.
    sizes = np.maximum(np.minimum(wanted, shape - first), 0)
    inside = ((indices >= first) & (indices < first + sizes)).all(axis=1)
    return SparseTensor(indices[inside] - first, values[inside], sizes)


@op(is_told=False)
def split(sp_input: SparseTensor, num_split: int, axis: int) -> list[SparseTensor]:
    """Return a SparseTensor cut into parts along a dimension, as `tf.sparse.split`: the first are larger by 1."""
    _, _, shape = parts_of("split", sp_input)
    place, count = _axis(axis, len(shape)), whole_number("num_split", num_split)
    if not 0 < count <= int(shape[place]):
        raise BadArgumentError(
            f"num_split is from 1 to the size {int(shape[place])}. Received: num_split={shown(num_split)}."
        )
    # What does not divide goes to the first parts, one each.
    sizes = np.full(count, int(shape[place]) // count) + (np.arange(count) < int(shape[place]) % count)
    made, at = [], np.zeros_like(shape)
    for size in sizes.tolist():
        part = shape.copy()
        part[place] = size
        made.append(slice(sp_input, at, part))
        at = at.copy()
        at[place] += size
    return made


@gives_tensors
def retain(sp_input: SparseTensor, to_retain: TensorLike) -> SparseTensor:
    """Return the values for which booleans hold, as `tf.sparse.retain`."""
    indices, values, shape = parts_of("retain", sp_input)
    kept = np.asarray(to_retain, bool)
    if kept.shape != (len(values),):
        raise BadArgumentError(
            f"retain takes a boolean for each of the {len(values)} values. Received: to_retain={shown(to_retain)}."
        )
    return SparseTensor(indices[kept], values[kept], shape)


@op(is_told=False)
def fill_empty_rows(sp_input: SparseTensor, default_value: TensorLike) -> tuple[SparseTensor, Any]:
    """Return the same with a value in each row that has none, and which these were; as `tf.sparse.fill_empty_rows`."""
    indices, values, shape = parts_of("fill_empty_rows", sp_input)
    is_empty = np.ones(int(shape[0]), bool)
    is_empty[indices[:, 0]] = False
    rows = np.flatnonzero(is_empty)
    # The first cell of each empty row.
    added = np.zeros((len(rows), len(shape)), np.int64)
    added[:, 0] = rows
    fill = np.empty(len(rows), np.dtype(values.dtype))
    fill[:] = array_of(default_value).item()
    filled = library_of(values).concatenate([values, fill])
    joined = SparseTensor(np.concatenate([indices, added]), filled, shape)
    # Rows in order; within a row values stay as they were.
    order = np.argsort(joined.indices[:, 0], kind="stable")
    return SparseTensor(joined.indices[order], joined.values[order], shape), as_element(is_empty)


@op(is_told=False)
def to_indicator(sp_input: SparseTensor, vocab_size: int) -> Any:
    """Return booleans that hold at the values, in the place of the last dimension; as `tf.sparse.to_indicator`."""
    indices, values, shape = parts_of("to_indicator", sp_input)
    made = np.zeros((*shape[:-1].tolist(), int(vocab_size)), bool)
    # The values are the last index: which of the vocabulary are there.
    made[(*indices[:, :-1].T, np.asarray(values))] = True
    return as_element(made)


def map_values(op: Callable[..., Any], *args: object, **kwargs: object) -> SparseTensor:
    """Return what a function makes of the values of SparseTensors of the same indices, as `tf.sparse.map_values`."""
    given = [*args, *kwargs.values()]
    sparse = [each for each in given if isinstance(each, SparseTensor)]
    if not sparse:
        raise BadArgumentError(f"No SparseTensor in argument list of map_values. Received: {shown(given)}.")
    first = sparse[0]
    if any(is_traced(each.values) for each in sparse):
        return _map_traced(op, first, sparse, args, kwargs)
    if any(not np.array_equal(each.indices, first.indices) for each in sparse[1:]):
        raise BadArgumentError(
            f"map_values takes SparseTensors of the same indices. Received: {shown(sparse)}."
        )
    # TensorFlow calls the function once, with the values in the places of their SparseTensors.
    values = [
        as_element(as_values(each.values)) if isinstance(each, SparseTensor) else each for each in given
    ]
    made = op(*values[: len(args)], **dict(zip(kwargs, values[len(args) :], strict=True)))
    return first.with_values(as_values(made))


def _map_traced(
    op: Callable[..., Any], first: SparseTensor, sparse: list[SparseTensor], args: Any, kwargs: Any
) -> SparseTensor:
    """Map the values of one SparseTensor that a program computes; several have indices that nobody can compare."""
    if len(sparse) > 1:
        check_known("map_values of several", *(each.indices for each in sparse))
    values = [each.values if isinstance(each, SparseTensor) else each for each in args]
    named = {key: each.values if isinstance(each, SparseTensor) else each for key, each in kwargs.items()}
    return SparseTensor.of_parts((first.indices, op(*values, **named), first.dense_shape))


def _unite(name: str, combine: np.ufunc, a: SparseTensor, b: SparseTensor) -> SparseTensor:
    """Return what a ufunc makes of the values at each index that either has, 0 where one has none."""
    (first, mine, shape), (second, theirs, other) = parts_of(name, a), parts_of(name, b)
    if not np.array_equal(shape, other):
        raise BadArgumentError(
            f"{name} takes SparseTensors of one dense shape. Received: {shape.tolist()} and {other.tolist()}."
        )
    places, inverse = np.unique(
        np.concatenate([_places(first, shape), _places(second, shape)]), return_inverse=True
    )
    library, kind = library_of(mine, theirs), np.result_type(np.dtype(mine.dtype), np.dtype(theirs.dtype))
    nothing = library.zeros(len(places), kind)
    # Not by assignment: an index that is there twice counts twice.
    left = scatter_at(library, nothing, inverse[: len(mine)], mine, "add")
    right = scatter_at(library, nothing, inverse[len(mine) :], theirs, "add")
    made = getattr(library, combine.__name__)(left, right).astype(kind)
    return _of_places(places, made, shape)


@gives_tensors
def add(a: Any, b: Any, threshold: Any = 0) -> Any:
    """Return the sum of two SparseTensors, or of one and an array, as `tf.sparse.add`.

    Args:
        a: A SparseTensor or an array.
        b: Another; one of them is a SparseTensor.
        threshold: Sums whose absolute value is less are left out.

    Raises:
        BadTypeError: Neither is a SparseTensor.
    """
    if isinstance(a, SparseTensor) and isinstance(b, SparseTensor):
        made = _unite("add", np.add, a, b)
        if isinstance(threshold, int | float) and not threshold:
            return made
        # Values that only one of them has stay, however small.
        both = np.isin(_rows_of(made), np.intersect1d(_rows_of(a), _rows_of(b)))
        return retain(made, ~both | (np.abs(np.asarray(made.values)) >= threshold))
    sparse, dense = (a, b) if isinstance(a, SparseTensor) else (b, a)
    indices, values, _ = parts_of("add", sparse)
    total, library = as_values(dense), library_of(dense, values)
    return as_element(scatter_at(library, library.asarray(total), tuple(indices.T), values, "add"))


def _rows_of(sparse: SparseTensor) -> np.ndarray:
    indices, _, shape = parts_of("add", sparse)
    return _places(indices, shape)


@op(is_told=False)
def maximum(sp_a: SparseTensor, sp_b: SparseTensor) -> SparseTensor:
    """Return the larger values, where one has none 0, as `tf.sparse.maximum`."""
    return _unite("maximum", np.maximum, sp_a, sp_b)


@op(is_told=False)
def minimum(sp_a: SparseTensor, sp_b: SparseTensor) -> SparseTensor:
    """Return the smaller values, where one has none 0, as `tf.sparse.minimum`."""
    return _unite("minimum", np.minimum, sp_a, sp_b)


def _combine(ufunc: np.ufunc, values: Array, groups: np.ndarray, count: int) -> Any:
    """Return what a ufunc makes of the values of each group, none of which is empty."""
    if library_of(values) is not np:
        how = {"add": "sum", "maximum": "max"}[ufunc.__name__]
        return combine_segments(library_of(values), values, groups, count, how)
    order = np.argsort(groups, kind="stable")
    # Sorted, values that are reduced together lie together; `reduceat` takes where each run begins.
    starts = np.flatnonzero(np.diff(groups[order], prepend=-1))
    # `reduceat` takes no empty list of places.
    return ufunc.reduceat(values[order], starts) if len(values) else values


def _reduction(name: str, ufunc: np.ufunc) -> Callable[..., Any]:
    def reduce(
        sp_input: SparseTensor,
        axis: Axis = None,
        keepdims: bool | None = None,
        output_is_sparse: bool = False,
        name: str | None = None,
    ) -> Any:
        indices, values, shape = parts_of(reduce.__name__, sp_input)
        axes = range(len(shape)) if axis is None else np.atleast_1d(np.asarray(axis)).tolist()
        gone = sorted({_axis(each, len(shape)) for each in axes})
        kept = [each for each in range(len(shape)) if each not in gone]
        # By the dimensions that stay: what has one number among them is reduced together.
        places, inverse = np.unique(_places(indices[:, kept], shape[kept]), return_inverse=True)
        made = _combine(ufunc, values, inverse, len(places))
        found = _of_places(places, made, shape[kept])
        if keepdims:
            for each in gone:
                found = expand_dims(found, each)
        if output_is_sparse:
            return found
        if not len(found.dense_shape):
            return as_element(found.values[0] if len(found.values) else np.dtype(values.dtype).type(0))
        library = library_of(values)
        dense = library.zeros(found.dense_shape, np.dtype(values.dtype))
        return as_element(scatter_at(library, dense, tuple(np.asarray(found.indices).T), found.values))

    reduce.__name__ = reduce.__qualname__ = name
    reduce.__doc__ = f"""Return a reduction over the values that are there, as `tf.sparse.{name}`; 0 where none are.

    Args:
        sp_input: The SparseTensor.
        axis: The dimensions; all if None.
        keepdims: Whether they stay, with size 1.
        output_is_sparse: Whether the result is a SparseTensor.
        name: Ignored.
    """
    return reduce


reduce_sum = gives_tensors(_reduction("reduce_sum", np.add))
reduce_max = gives_tensors(_reduction("reduce_max", np.maximum))


@op(is_told=False)
def softmax(sp_input: SparseTensor) -> SparseTensor:
    """Return the softmax of the values that are there, along the last dimension, as `tf.sparse.softmax`."""
    indices, values, shape = parts_of("softmax", sp_input)
    # Each row along the last dimension is a softmax by itself.
    _, rows = np.unique(_places(indices[:, :-1], shape[:-1]), return_inverse=True)
    count = int(rows.max(initial=-1)) + 1
    # Subtracted before the exponentials, which would overflow.
    exponents = library_of(values).exp(values - _combine(np.maximum, values, rows, count)[rows])
    return SparseTensor(indices, exponents / _combine(np.add, exponents, rows, count)[rows], shape)


@op(is_told=False)
def sparse_dense_matmul(
    sp_a: SparseTensor | TensorLike, b: TensorLike, adjoint_a: bool = False, adjoint_b: bool = False
) -> Any:
    """Return the product of a SparseTensor and a matrix, as `tf.sparse.sparse_dense_matmul`.

    Args:
        sp_a: A SparseTensor of two dimensions, or a matrix where `b` is the SparseTensor.
        b: A matrix, on a device or on the host.
        adjoint_a: Whether `sp_a` is transposed first.
        adjoint_b: Whether `b` is.

    Returns:
        A matrix, where the given one is; its gradient is that of the matrix.

    Raises:
        BadArgumentError: The sizes do not fit.
    """
    if not isinstance(sp_a, SparseTensor):
        # (a b)' = b' a'
        return sparse_dense_matmul(b, sp_a, not adjoint_b, not adjoint_a).conj().T
    indices, values, shape = parts_of("sparse_dense_matmul", sp_a)
    rows, columns = (indices[:, 1], indices[:, 0]) if adjoint_a else (indices[:, 0], indices[:, 1])
    height, width = (int(size) for size in (shape[::-1] if adjoint_a else shape))
    values = values.conj() if adjoint_a else values
    matrix: Any = as_values(b)
    is_on_host = library_of(values, matrix) is np
    matrix = matrix.conj().T if adjoint_b else matrix
    if matrix.shape[0] != width:
        raise BadArgumentError(
            f"A matrix of {width} rows is needed for a SparseTensor of {width} columns. Received: shape "
            f"{tuple(matrix.shape)}."
        )
    # A SparseTensor's indices may lie outside of its own dense shape.
    check_indices([rows, columns], [height, width])
    if is_on_host:
        product = np.zeros((height, matrix.shape[1]), matrix.dtype)
        np.add.at(product, rows, values[:, None] * matrix[columns])
        return as_element(product)
    import jax
    import jax.numpy as jnp

    # Differentiable in both, which may be traced.
    values, matrix = jnp.asarray(values), jnp.asarray(matrix)
    return jax.ops.segment_sum(values.astype(matrix.dtype)[:, None] * matrix[columns], rows, height)


@op(is_told=False)
def eye(num_rows: int, num_columns: int | None = None, dtype: DTypeLike = np.float32) -> SparseTensor:
    """Return the identity matrix as a SparseTensor, as `tf.sparse.eye`."""
    width = int(num_rows if num_columns is None else num_columns)
    places = np.arange(min(int(num_rows), width), dtype=np.int64)
    values = np.ones(len(places), as_dtype(dtype))
    return SparseTensor(np.stack([places, places], axis=1), values, np.array([num_rows, width], np.int64))


@op(name_after="inputs", is_told=False)
def cross(inputs: Sequence[Any], separator: str = "_X_") -> SparseTensor:
    """Return all combinations of each row's values, joined, as `tf.sparse.cross`.

    Args:
        inputs: SparseTensors or arrays of two dimensions, with as many rows.
        separator: What stands between them.
    """
    from stratax.tensorflow.ops.arrays import ragged

    return ragged.join_combinations(inputs, separator.encode()).to_sparse()


@op(is_told=False)
def cross_hashed(inputs: Sequence[Any], num_buckets: int = 0, hash_key: int | None = None) -> SparseTensor:
    """Return the hashes of all combinations of each row's values, as `tf.sparse.cross_hashed`.

    Args:
        inputs: SparseTensors or arrays of two dimensions, of text or whole numbers, with as many rows.
        num_buckets: What the hashes are divided by, of which the rest is left; 0 for none.
        hash_key: What they begin with; None or 0 for TensorFlow's default.

    Returns:
        int64.

    Raises:
        BadArgumentError: There is no input, they have different numbers of rows, or `num_buckets` is negative.
        BadTypeError: One is neither text nor whole numbers.

    Example:
        >>> import stratax.tf as tf
        >>> made = tf.sparse.cross_hashed([tf.constant([["a", "b"]]), tf.constant([[1]])], num_buckets=100)
        >>> made.dense_shape.numpy().tolist()
        [1, 2]
    """
    return _crosses.cross(inputs, num_buckets, hash_key)


@op(is_told=False)
def segment_sum(
    data: TensorLike, indices: TensorLike, segment_ids: TensorLike, num_segments: int | None = None
) -> Any:
    """Return the sums of rows of each number, as `tf.sparse.segment_sum`."""
    return _segments(data, indices, segment_ids, num_segments, lambda count: np.ones_like(count))


@op(is_told=False)
def segment_mean(
    data: TensorLike, indices: TensorLike, segment_ids: TensorLike, num_segments: int | None = None
) -> Any:
    """Return the means of rows of each number, as `tf.sparse.segment_mean`."""
    return _segments(data, indices, segment_ids, num_segments, lambda count: count)


@op(is_told=False)
def segment_sqrt_n(
    data: TensorLike, indices: TensorLike, segment_ids: TensorLike, num_segments: int | None = None
) -> Any:
    """Return the sums of rows of each number over the root of their count, as `tf.sparse.segment_sqrt_n`."""
    return _segments(data, indices, segment_ids, num_segments, np.sqrt)


def _segments(
    data: TensorLike,
    indices: TensorLike,
    segment_ids: TensorLike,
    num_segments: int | None,
    divisor: Callable[..., Any],
) -> Any:
    numbers = np.asarray(segment_ids)
    if (np.diff(numbers) < 0).any():
        raise BadArgumentError(f"segment_ids are in ascending order. Received: segment_ids={shown(numbers)}.")
    count = (int(numbers[-1]) + 1 if len(numbers) else 0) if num_segments is None else int(num_segments)
    # At least 1: the mean of no rows is 0, and no 0 / 0.
    counts = np.maximum(np.bincount(numbers, minlength=count)[:count], 1)
    is_on_host = isinstance(data, np.ndarray | list | tuple)
    matrix: Any = array_of(data) if is_on_host else data
    check_indices([np.asarray(indices)], np.shape(matrix)[:1])
    if is_known(numbers) and len(numbers) and (numbers[0] < 0 or numbers[-1] >= count):
        raise BadArgumentError(
            f"A segment's number is out of range. Expected: from 0 to {count - 1}. Received: segment_ids="
            f"{shown(numbers)}."
        )
    rows = matrix[np.asarray(indices)]
    by = divisor(counts).reshape((-1,) + (1,) * (rows.ndim - 1)).astype(matrix.dtype)
    if is_on_host:
        total = np.zeros((count, *rows.shape[1:]), matrix.dtype)
        np.add.at(total, numbers, rows)
        return as_element((total / by).astype(matrix.dtype))
    import jax

    return (jax.ops.segment_sum(rows, numbers, count) / by).astype(matrix.dtype)
