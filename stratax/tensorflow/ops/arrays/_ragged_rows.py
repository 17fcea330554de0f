"""Rows of RaggedTensors, and of what is no array, one by one: `tf.map_fn`, `tf.split`, `tf.gather_nd` (ops layer)."""

from collections.abc import Callable
from typing import Any

import numpy as np

from stratax.base.indices import check_indices, dim_of
from stratax.base.shown import shown
from stratax.base.typing import Array, DTypeLike, PyTree
from stratax.data import RaggedTensor, RaggedTensorSpec
from stratax.data.elements import (
    Composite,
    CompositeSpec,
    TensorSpec,
    as_element,
    flatten,
    spec_of_leaf,
    unflatten,
)
from stratax.errors import BadArgumentError, BadTypeError
from stratax.tensorflow.ops.arrays import ragged


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
    return list(leaf.spec.split(leaf)) if isinstance(leaf, Composite) else list(np.asarray(leaf))


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
            return ragged.stack([np.asarray(each) if not _is_composite(each) else each for each in results])
        return spec.join([each.on_host() for each in results])
    # What is declared is a spec, a dtype of TensorFlow's or of NumPy's, or NumPy's class.
    dtype = np.dtype(getattr(getattr(spec, "dtype", spec), "as_numpy_dtype", getattr(spec, "dtype", spec)))
    # Python's numbers take the dtype that was declared; arrays have to have it.
    arrays = [
        np.asarray(each, dtype) if isinstance(each, int | float) else np.asarray(each) for each in results
    ]
    for array in arrays:
        if array.dtype != dtype and not (array.dtype.kind in "SUO" and dtype.hasobject):
            raise BadTypeError(
                f"The function of `tf.map_fn` returned another dtype than was declared. Expected: {dtype}. Received: "
                f"{array.dtype}. Declare it with fn_output_signature; by default it is that of elems."
            )
    shape = [size or 0 for size in getattr(spec, "shape", None) or ()]
    return as_element(np.stack(arrays) if arrays else np.zeros((0, *shape), dtype))


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
    params: RaggedTensor,
    indices: object,
    batch_dims: int = 0,
    name: str | None = None,
    bad_indices_policy: str = "",
) -> Any:
    """Return what stands at places of rows, as `tf.gather_nd`.

    Raises:
        BadArgumentError: A place is out of range, or there are batch dimensions.
    """
    if batch_dims:
        raise BadArgumentError(f"gather_nd of a RaggedTensor has no batch_dims. Received: {batch_dims}.")
    places = np.asarray(indices)
    found = [_at(params, place) for place in places.reshape(-1, places.shape[-1]).tolist()]
    if places.ndim == 1:
        return found[0]
    # Places of full depth are of numbers, others of rows.
    is_number = not isinstance(found[0], RaggedTensor) and not np.ndim(found[0]) if found else False
    made = as_element(np.asarray(found)) if is_number else ragged.stack(found)
    # The other dimensions of the places, from the innermost, around the rows that were found.
    for size in reversed(places.shape[1:-1]):
        made = RaggedTensor.from_uniform_row_length(made, size)
    return made


def _at(rows: Any, place: list[int]) -> Any:
    for index in place:
        # By Python's indexing a negative number would count from the end.
        check_indices([np.asarray(index)], [len(rows)])
        rows = rows[index]
    return rows


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
