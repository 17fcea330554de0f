"""Rows of RaggedTensors, and of what is no array, one by one: `tf.map_fn`, `tf.split`, `tf.gather_nd` (ops layer)."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from stratax.base.indices import check_indices, dim_of, is_known
from stratax.base.shown import shown
from stratax.base.typing import Array, DTypeLike, PyTree
from stratax.data import RaggedTensor, RaggedTensorSpec
from stratax.data.elements import (
    Composite,
    CompositeSpec,
    TensorSpec,
    as_element,
    as_values,
    flatten,
    spec_of_leaf,
    unflatten,
)
from stratax.errors import BadArgumentError, BadTypeError
from stratax.tensorflow.ops.arrays import arrays, indexing, ragged
from stratax.tensorflow.ops.calls._computed import library_of


def map_rows(
    fn: Callable[[Any], Any],
    elems: PyTree,
    dtype: object = None,
    parallel_iterations: int | None = None,
    back_prop: bool = True,
    swap_memory: bool = False,
    infer_shape: bool = True,
    name: str | None = None,
    fn_output_signature: object = None,
) -> Any:
    """Return what `tf.map_fn` does where rows, or results, are RaggedTensors or SparseTensors.

    Raises:
        BadArgumentError: First dimensions differ, or the function returns another structure than was declared.
        BadTypeError: It returns another dtype.
    """
    leaves, structure = flatten(elems, _is_composite)
    columns = [_rows_of(leaf) for leaf in leaves]
    counts = {len(column) for column in columns}
    if len(counts) != 1:
        raise BadArgumentError(
            "`tf.map_fn` goes through the first dimension of elems, which must be the same in all of them. "
            f"Received: {shown(sorted(counts))}."
        )
    signature = dtype if fn_output_signature is None else fn_output_signature
    if signature is None:
        # Results are like elements unless they are declared.
        specs, declared = [_of_a_row(leaf) for leaf in leaves], structure
    else:
        specs, declared = flatten(signature, lambda part: hasattr(part, "dtype") or isinstance(part, type))
    made: list[list[Any]] = [[] for _ in specs]
    for row in zip(*columns, strict=True):
        # With the methods of tensors, as the elements of a pipeline.
        results, found = flatten(fn(unflatten(structure, [as_element(each) for each in row])), _is_composite)
        if found != declared:
            raise BadArgumentError(
                "The function of `tf.map_fn` returned another structure than was declared. Expected: "
                f"{declared}. Received: {found}. Declare it with fn_output_signature."
            )
        for column, result in zip(made, results, strict=True):
            column.append(result)
    return unflatten(declared, [_stack(*each) for each in zip(made, specs, strict=True)])


def declares_composites(signature: object) -> bool:
    """Return whether something that is no array is declared."""
    return any(isinstance(part, CompositeSpec) for part in flatten(signature)[0])


def has_composites(elems: object) -> bool:
    """Return whether some of the elements are no arrays."""
    return any(isinstance(part, Composite) for part in flatten(elems, _is_composite)[0])


def _is_composite(part: object) -> bool:
    return isinstance(part, Composite)


def _rows_of(leaf: object) -> list[Any]:
    if isinstance(leaf, Composite) and not isinstance(leaf, RaggedTensor):
        return list(leaf.spec.split(leaf))
    return list(leaf if isinstance(leaf, RaggedTensor) else as_values(leaf))


def _of_a_row(leaf: Array) -> Any:
    spec = spec_of_leaf(leaf)
    if isinstance(spec, CompositeSpec):
        return spec.unbatched()
    return TensorSpec(leaf.shape[1:], leaf.dtype)


def _stack(results: list[Any], spec: Any) -> Any:
    """Return results one beside the other, as they are declared."""
    if isinstance(spec, CompositeSpec):
        if isinstance(spec, RaggedTensorSpec) and results:
            # Results may be arrays, each of a length of its own: they are the rows.
            return ragged.stack(results)
        return spec.join([each.on_host() for each in results])
    # What is declared is a spec, a dtype of TensorFlow's or of NumPy's, or NumPy's class.
    dtype = np.dtype(getattr(getattr(spec, "dtype", spec), "as_numpy_dtype", getattr(spec, "dtype", spec)))
    # Python's numbers take the dtype that was declared; arrays have to have it.
    arrays = [
        np.asarray(each, dtype) if isinstance(each, int | float) else as_values(each) for each in results
    ]
    for array in arrays:
        if array.dtype != dtype and not (array.dtype.kind in "SUO" and dtype.hasobject):
            raise BadTypeError(
                f"The function of `tf.map_fn` returned another dtype than was declared. Expected: {dtype}. Received: "
                f"{array.dtype}. Declare it with fn_output_signature; by default it is that of elems."
            )
    shape = [size or 0 for size in getattr(spec, "shape", None) or ()]
    stacked = library_of(*arrays).stack(arrays) if arrays else np.zeros((0, *shape), dtype)
    return as_element(stacked)


def split(
    value: RaggedTensor,
    num_or_size_splits: object,
    axis: Any = 0,
    num: int | None = None,
    name: str = "split",
) -> list[Any]:
    """Return parts of rows along a dimension of one size, as `tf.split`.

    Raises:
        BadArgumentError: The sizes do not add up, or the dimension has rows of different lengths.
    """
    place = dim_of(int(axis), value.ndim)
    total = value.shape[place]
    if total is None:
        raise BadArgumentError(
            f"A RaggedTensor is split along a dimension of one size. Received: axis={axis} of shape {value.shape}."
        )
    given = np.asarray(num_or_size_splits)
    if given.ndim:
        sizes = given.tolist()
        # Less the sum without the -1 itself.
        sizes = [total - sum(sizes) - 1 if size == -1 else size for size in sizes]
    else:
        # What does not divide is found by the sum below.
        sizes = [total // int(given)] * int(given)
    if sum(sizes) != total:
        raise BadArgumentError(
            f"The parts of a dimension of size {total} have to add up to it. Received: "
            f"num_or_size_splits={shown(num_or_size_splits)}."
        )
    ends = np.cumsum(sizes).tolist()
    whole = [slice(None)] * place
    return [value[(*whole, slice(end - size, end))] for size, end in zip(sizes, ends, strict=True)]


def gather_nd(
    params: Any,
    indices: Any,
    batch_dims: int = 0,
    name: str | None = None,
    bad_indices_policy: str = "",
) -> Any:
    """Return what stands at places, as `tf.gather_nd` where params or places have rows.

    Raises:
        BadArgumentError: A place is out of range, the numbers of places differ, or there are batch dimensions.
    """
    if batch_dims:
        raise BadArgumentError(f"gather_nd of a RaggedTensor has no batch_dims. Received: {batch_dims}.")
    if isinstance(indices, RaggedTensor):
        if indices.ndim == indices.ragged_rank + 1:
            raise BadArgumentError(
                "The innermost dimension of indices may not be ragged: each place has as many numbers. Received: "
                f"indices of shape {indices.shape}. Make them with tf.ragged.constant(..., ragged_rank=)."
            )
        return indices.with_flat_values(gather_nd(params, indices.flat_values))
    places = indices if hasattr(indices, "shape") else np.asarray(indices)
    if not places.ndim:
        raise BadArgumentError(f"indices have at least one dimension. Received: indices={shown(indices)}.")
    *outer, depth = places.shape
    if not isinstance(params, RaggedTensor):
        return indexing.gather_nd(params, places)
    found = _at(params, places.reshape(math.prod(outer), depth))
    if not outer:
        # TensorFlow gives rows also where one of them is chosen by one number.
        return found if depth == 1 else found[0]
    if not isinstance(found, RaggedTensor):
        return arrays.reshape(found, (*outer, *found.shape[1:]))
    for dim in reversed(range(1, len(outer))):
        found = RaggedTensor.from_uniform_row_length(found, outer[dim], math.prod(outer[:dim]))
    return found


def _at(rows: Any, places: Any) -> Any:
    """Return what stands at places, of shape `(count, depth)`."""
    count, depth = places.shape
    if not depth:
        return ragged.take_rows(ragged.stack([rows]), np.zeros(count, np.int64))
    chosen = places[:, 0]
    check_indices([chosen], [len(rows)])
    for dim in range(1, depth):
        if not isinstance(rows, RaggedTensor):
            rest = [arrays.expand_dims(chosen, 1), arrays.cast(places[:, dim:], chosen.dtype)]
            return indexing.gather_nd(rows, arrays.concat(rest, 1))
        starts = arrays.gather(rows.row_splits, chosen)
        if is_known([starts, places]):
            lengths = np.asarray(rows.row_lengths())[np.asarray(chosen)]
            for at, length in zip(np.asarray(places[:, dim]), lengths, strict=True):
                # By Python's indexing a negative number would count from the end.
                check_indices([at], [int(length)])
        chosen = starts + arrays.cast(places[:, dim], starts.dtype)
        rows = rows.values
    return (
        ragged.take_rows(rows, np.asarray(chosen))
        if isinstance(rows, RaggedTensor)
        else arrays.gather(rows, chosen)
    )


def bincount(
    arr: RaggedTensor,
    weights: Any = None,
    minlength: int | None = None,
    maxlength: int | None = None,
    dtype: DTypeLike = "int32",
    name: str | None = None,
    axis: int | None = None,
    binary_output: bool = False,
) -> Any:
    """Return how often each whole number comes, in all rows or in each, as `tf.math.bincount`."""
    from stratax.tensorflow.ops.arrays import segments

    flat = weights.flat_values if isinstance(weights, RaggedTensor) else weights
    if axis != -1:
        return segments.bincount(
            arr.flat_values, flat, minlength, maxlength, dtype, axis=axis, binary_output=binary_output
        )
    # All rows get as many bins as the largest number of any of them asks for.
    count = len(segments.bincount(arr.flat_values, None, minlength, maxlength))
    parts = list(arr)
    own_weights = [None] * len(parts) if weights is None else list(weights)
    rows = [
        segments.bincount(row, each, count, count, dtype, binary_output=binary_output)
        for row, each in zip(parts, own_weights, strict=True)
    ]
    return as_element(np.stack([np.asarray(row) for row in rows]))


def make_unsorted_segments(name: str) -> Callable[..., Any]:
    """Return a function of segments that takes data and segment numbers in rows."""

    def reduce(data: Any, segment_ids: Any, num_segments: Any, name_: str | None = None) -> Any:
        from stratax.tensorflow.ops.arrays import segments

        return getattr(segments, name)(data.flat_values, segment_ids.flat_values, num_segments)

    return reduce
