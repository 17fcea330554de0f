"""Functions of `tf` that take parts of arrays, or put parts into them, by index (ops layer).

An index out of range raises, as TensorFlow's does on a CPU. What a compiled function computes itself is not looked at:
there a gathered element is NaN or the smallest whole number, and what is scattered is left out.
"""

import builtins
import math
from collections.abc import Sequence
from types import ModuleType
from typing import Any, TypeGuard

import numpy as np

from stratax.base.indices import check_indices, dim_of, is_known
from stratax.base.shown import shown
from stratax.base.tracing import is_symbolic_size, is_traced, is_tracing
from stratax.base.typing import Array, DTypeLike, TensorLike
from stratax.data.elements import as_array, if_constant, sizes_of
from stratax.errors import BadArgumentError, BadTypeError
from stratax.tensorflow.ops.arrays.left_out import is_looking
from stratax.tensorflow.ops.calls import naming
from stratax.tensorflow.ops.calls._computed import (
    call_with_library,
    check_axis,
    dtype_in,
    is_host_call,
    require_known,
    scatter_at,
    whole_number,
)
from stratax.tensorflow.ops.calls.creation import on_device
from stratax.tensorflow.ops.calls.op import op
from stratax.tensorflow.ops.calls.text import or_text

# As `np.newaxis`.
newaxis = None


@op(text=["input_"])
def slice(input_: Any, begin: Any, size: Any) -> Any:
    """Return a block of `input_`, as `tf.slice`.

    Args:
        input_: An array, on a device or on the host.
        begin: Where the block begins, a number for each dimension. It may be known only when a program runs.
        size: The block's shape; -1: up to the end.

    Returns:
        An array of shape `size`, where `input_` is.

    Raises:
        BadArgumentError: If the block is not within `input_`. Where `begin` is traced it is moved inwards instead.
    """
    array = input_ if hasattr(input_, "shape") else _array(input_)
    # Where a block begins may be traced; how large it is is part of the program.
    starts, sizes = _parts(begin), list(sizes_of("size", size))
    if not (np.ndim(begin) and np.ndim(size)) or len(starts) != array.ndim or len(sizes) != array.ndim:
        raise BadArgumentError(
            f"begin and size need a number for each of the {array.ndim} dimensions. Received: begin={shown(begin)}, "
            f"size={shown(size)}."
        )
    if any(map(is_traced, starts)):
        return _dynamic_slice(array, starts, sizes)
    places = [int(start) for start in starts]
    ends = [
        length if wanted == -1 else start + wanted
        for start, wanted, length in zip(places, sizes, array.shape, strict=True)
    ]
    for start, end, length in zip(places, ends, array.shape, strict=True):
        if length is not None and not 0 <= start <= end <= length:
            raise BadArgumentError(
                f"The block is not within the array's shape {tuple(array.shape)}. Received: begin={shown(begin)}, "
                f"size={shown(size)}."
            )
    # `slice` itself is TensorFlow's function here.
    return array[tuple(map(builtins.slice, places, ends))]


def _array(value: object) -> Any:
    # Of a list of numbers NumPy makes 64 bits.
    return as_array(value) if is_host_call(value) else on_device(value)


def _parts(begin: Any) -> list[Any]:
    """Return the numbers of a vector, some of which may be traced."""
    if isinstance(begin, list | tuple):
        return list(begin)
    return [begin[number] for number in range(begin.shape[0])] if np.ndim(begin) else [begin]


def _dynamic_slice(array: Array, starts: Sequence[Any], sizes: Sequence[int]) -> Any:
    from jax import lax

    if any(wanted == -1 and is_traced(start) for start, wanted in zip(starts, sizes, strict=True)):
        raise BadTypeError(
            "The size of a block up to the end depends on where it begins, which is known only when the program "
            f"runs. Received: size={shown(list(sizes))}. Give the size as a number."
        )
    lengths = [
        length - int(start) if wanted == -1 else wanted
        for start, wanted, length in zip(starts, sizes, array.shape, strict=True)
    ]
    # XLA moves a block that reaches beyond the end back into the array: nobody can check it before.
    return lax.dynamic_slice(on_device(array), starts, lengths)


@op(text=["input_"])
def strided_slice(
    input_: Any,
    begin: TensorLike,
    end: TensorLike,
    strides: TensorLike | None = None,
    begin_mask: int = 0,
    end_mask: int = 0,
    ellipsis_mask: int = 0,
    new_axis_mask: int = 0,
    shrink_axis_mask: int = 0,
    var: object = None,
) -> Any:
    """Return `input_[begin:end:strides]` for several dimensions, as `tf.strided_slice`.

    Args:
        input_: An array, on a device or on the host.
        begin: Where the slices begin.
        end: Where they end.
        strides: The steps; None: 1.
        begin_mask: Bit i: `begin[i]` is ignored, and the slice begins at the edge.
        end_mask: Bit i: likewise for `end[i]`.
        ellipsis_mask: Bit i: place i stands for `...`.
        new_axis_mask: Bit i: place i stands for a new dimension of size 1.
        shrink_axis_mask: Bit i: `begin[i]` is an index, and the dimension is taken away.
        var: Must be None.

    Raises:
        BadArgumentError: If `var` is given, or an index is out of range.
    """
    if var is not None:
        raise BadArgumentError(
            "A slice can't be assigned through `var` here. Received: var. Use `tf.tensor_scatter_nd_update`."
        )
    array = input_ if hasattr(input_, "shape") else _array(input_)
    starts, ends = _parts(if_constant(begin)), sizes_of("end", end)
    steps = (1,) * len(starts) if strides is None else sizes_of("strides", strides)
    if not len(starts) == len(ends) == len(steps):
        raise BadArgumentError(
            f"begin, end and strides have as many numbers. Received: begin={shown(begin)}, end={shown(end)}, strides="
            f"{shown(strides)}."
        )
    if 0 in steps:
        raise BadArgumentError(f"A stride is not 0. Received: strides={shown(strides)}.")

    def part(place: int) -> Any:
        bit = 1 << place
        # In TensorFlow's order of precedence: ellipsis, new axis, dimension that is dropped.
        if ellipsis_mask & bit:
            return Ellipsis
        if new_axis_mask & bit:
            return None
        if shrink_axis_mask & bit:
            return starts[place] if is_traced(starts[place]) else int(starts[place])
        return builtins.slice(
            # Only a dropped dimension may begin at a traced number: of others it would change the size.
            None if begin_mask & bit else int(starts[place]),
            None if end_mask & bit else ends[place],
            steps[place],
        )

    try:
        return array[tuple(part(place) for place in range(len(starts)))]
    except IndexError as e:
        raise BadArgumentError(
            f"The slice does not fit an array of shape {tuple(array.shape)}. Received: begin={shown(begin)}, "
            f"end={shown(end)}."
        ) from e


@op(
    name_after="batch_dims", text=["params"], arrays=["params", "indices"], lists=["indices"], is_checked=True
)
def gather_nd(
    params: TensorLike, indices: TensorLike, batch_dims: int = 0, bad_indices_policy: str = ""
) -> Any:
    """Return the elements or slices of `params` that vectors of indices say, as `tf.gather_nd`.

    Args:
        params: An array, on a device or on the host.
        indices: Whole numbers, shape `(..., k)`: each vector counts the first k dimensions of `params`.
        batch_dims: How many leading dimensions both have in common, and are gone through together.
        bad_indices_policy: Ignored; see the module's text.

    Returns:
        An array of shape `indices.shape[:-1] + params.shape[k:]`, where `params` is.

    Raises:
        BadArgumentError: If the vectors are too long, or an index is out of range.
    """
    if batch_dims < 0:
        raise BadArgumentError(
            f"tf.gather_nd takes no negative batch_dims. Received: batch_dims={batch_dims}."
        )
    return call_with_library(_gather_nd, params, indices, batch_dims=int(batch_dims))


def _gather_nd(xp: ModuleType, params: Array, indices: Array, *, batch_dims: int) -> Any:
    depth = indices.shape[-1]
    if batch_dims + depth > params.ndim or params.shape[:batch_dims] != indices.shape[:batch_dims]:
        raise BadArgumentError(
            f"The indices do not fit. Expected: vectors of at most {params.ndim - batch_dims} indices for an array of "
            f"shape {tuple(params.shape)}. Received: indices of shape {tuple(indices.shape)}, "
            f"batch_dims={batch_dims}."
        )
    rank = indices.ndim - 1
    # Each batch dimension is indexed by its own number, so that an example finds its own part of params.
    batch = [_counter(xp, indices.shape[:rank], dim) for dim in range(batch_dims)]
    index = (*batch, *(indices[..., part] for part in range(depth)))
    if not index:
        # Vectors of no indices: each is the whole array.
        return xp.broadcast_to(params, (*indices.shape[:-1], *params.shape))
    return _take(xp, params, index)


def _counter(xp: ModuleType, shape: Sequence[int], dim: int) -> Any:
    """Return an array that broadcasts to `shape` and holds the index along `dim`."""
    return xp.arange(shape[dim], dtype="int32").reshape(
        [-1 if each == dim else 1 for each in range(len(shape))]
    )


def _take(xp: ModuleType, params: Array, index: tuple[Any, ...]) -> Any:
    check_indices(index, params.shape)
    # Without both, JAX takes a negative index for one from the end, and clips one that is too large.
    return params[index] if xp is np else params.at[index].get(mode="fill", wrap_negative_indices=False)


def gather_batches(params: TensorLike, indices: TensorLike, axis: int, batch_dims: int) -> Any:
    """Return `tf.gather` of operands that have leading dimensions in common."""
    return call_with_library(_gather_batches, params, indices, axis=axis, batch_dims=batch_dims)


def _gather_batches(xp: ModuleType, params: Array, indices: Array, *, axis: int, batch_dims: int) -> Any:
    batch_dims = batch_dims + indices.ndim if batch_dims < 0 else batch_dims
    axis = axis + params.ndim if axis < 0 else axis
    if not batch_dims <= axis < params.ndim or params.shape[:batch_dims] != indices.shape[:batch_dims]:
        raise BadArgumentError(
            "The first batch_dims dimensions of both must be equal, and axis must come behind them. Received: params "
            f"of shape {tuple(params.shape)}, indices of shape {tuple(indices.shape)}, axis={axis}, "
            f"batch_dims={batch_dims}."
        )
    batch = [_counter(xp, indices.shape, dim) for dim in range(batch_dims)]
    # NumPy puts what arrays index in front where slices stand between them: so `axis` comes right behind the batch.
    taken = _take(xp, xp.moveaxis(params, axis, batch_dims), (*batch, indices))
    # Behind the batch come the indices' own dimensions, then those of params that stood before `axis`.
    own, before = range(batch_dims, indices.ndim), range(indices.ndim, indices.ndim + axis - batch_dims)
    rest = range(indices.ndim + axis - batch_dims, taken.ndim)
    return xp.transpose(taken, (*range(batch_dims), *before, *own, *rest))


@op(name_default="boolean_mask", text=["tensor"])
def boolean_mask(tensor: Any, mask: TensorLike, axis: int | None = None) -> Any:
    """Return the elements or slices of `tensor` where `mask` is True, as `tf.boolean_mask`.

    Args:
        tensor: An array, on a device or on the host.
        mask: Booleans, whose shape is that of the dimensions of `tensor` from `axis` on.
        axis: The first dimension that is masked; 0 if None.

    Returns:
        An array in which one dimension takes the place of the masked ones, where `tensor` is.

    Raises:
        BadTypeError: If the mask is known only when a compiled program runs.
        BadArgumentError: If the mask's shape does not fit.
    """
    remedy = "Use tf.where(mask, tensor, 0) or weights, which keep the shape."
    kept = mask if _is_settled(mask) else require_known("mask", mask, remedy).astype(bool)
    array = tensor if hasattr(tensor, "shape") else _array(tensor)
    # The mask may have several dimensions, from `axis` on.
    first = 0 if axis is None else check_axis(axis, max(array.ndim, 1))
    last = first + kept.ndim
    if not kept.ndim or tuple(array.shape[first:last]) != kept.shape:
        raise BadArgumentError(
            f"The mask does not fit. Expected: shape {tuple(array.shape[first:last])}, with one dimension at least. "
            f"Received: mask of shape {kept.shape} for a tensor of shape {tuple(array.shape)}."
        )
    if is_traced(kept):
        return call_with_library(_mask, array, places=_find_places(kept), first=first, last=last)
    # Places that are known, and not booleans: the size of the result is part of the program.
    places = np.flatnonzero(kept)
    if is_looking() and not len(places):
        # As in `places_of`.
        places = np.zeros(1, int)
    return call_with_library(_mask, array, places=places, first=first, last=last)


def _is_settled(mask: TensorLike) -> TypeGuard[Array]:
    """Return whether values decide a size that the program settles when it runs."""
    if not is_traced(mask):
        return False
    from stratax.core import jaxprs

    if any(is_symbolic_size(size) and not jaxprs.is_size(size) for size in np.shape(mask)):
        return False
    return is_tracing() or jaxprs.may_find_places()


def _find_places(mask: Any) -> Any:
    from stratax.core import jaxprs

    return jaxprs.find_places(mask.astype(bool).reshape(-1))


def _mask(xp: ModuleType, array: Array, *, places: Any, first: int, last: int) -> Any:
    # The masked dimensions as one, which the flat places count.
    flat = array.reshape((*array.shape[:first], math.prod(array.shape[first:last]), *array.shape[last:]))
    return xp.take(flat, places, axis=first)


@op(name_after="shape", arrays=["indices", "updates"], lists=["indices"], is_checked=True)
def scatter_nd(
    indices: TensorLike, updates: TensorLike, shape: TensorLike, bad_indices_policy: str = ""
) -> Any:
    """Return zeros with `updates` added where vectors of indices say, as `tf.scatter_nd`.

    Args:
        indices: Whole numbers, shape `(..., k)`.
        updates: An array of shape `indices.shape[:-1] + shape[k:]`. What goes to the same place is summed.
        shape: The shape of the result.
        bad_indices_policy: Ignored; see the module's text.

    Returns:
        An array of that shape and the dtype of `updates`; on the host if the operands are.

    Raises:
        BadArgumentError: If the shapes do not fit, or an index is out of range.
    """
    sizes = sizes_of("shape", shape)

    def scatter(xp: ModuleType, indices: Array, updates: Array) -> Any:
        return _scatter_nd(xp, xp.zeros(sizes, updates.dtype), indices, updates, how="add")

    return call_with_library(scatter, indices, updates)


def _scatter_nd(xp: ModuleType, tensor: Array, indices: Array, updates: Array, *, how: str) -> Any:
    depth = indices.shape[-1]
    wanted = (*indices.shape[:-1], *tensor.shape[depth:])
    if depth > tensor.ndim or tuple(updates.shape) != wanted:
        raise BadArgumentError(
            f"The updates do not fit. Expected: shape {wanted} for indices of shape {tuple(indices.shape)} and an "
            f"array of shape {tuple(tensor.shape)}. Received: updates of shape {tuple(updates.shape)}."
        )
    index = tuple(indices[..., part] for part in range(depth))
    check_indices(index, tensor.shape)
    # Vectors of no indices: each update is of the whole array.
    return scatter_at(xp, tensor, index or Ellipsis, updates, how)


def _tensor_scatter(name: str, how: str, what: str) -> Any:
    # Text is looked for in these two; indices, behind them, are brought to the host with it.
    @or_text("tensor", "updates")
    def of_text(tensor: TensorLike, updates: TensorLike, indices: TensorLike) -> Any:
        return call_with_library(_in_order, tensor, updates, indices, how=how)

    def function(
        tensor: TensorLike,
        indices: TensorLike,
        updates: TensorLike,
        bad_indices_policy: str = "",
    ) -> Any:
        return of_text(tensor, updates, indices)

    return op(
        name_after="updates",
        name=name,
        doc=f"Return `tensor` with {what}, as `tf.{name}`.\n\n{_SCATTER_DOC}",
        arrays=["tensor", "indices", "updates"],
        lists=["indices"],
        is_checked=True,
    )(function)


def _in_order(xp: ModuleType, tensor: Array, updates: Array, indices: Array, *, how: str) -> Any:
    dtype = np.dtype(tensor.dtype)
    # Text has no other dtype to be converted to.
    return _scatter_nd(xp, tensor, indices, updates if dtype.hasobject else updates.astype(dtype), how=how)


_SCATTER_DOC = """Args:
    tensor: An array, which stays as it is.
    indices: Whole numbers, shape `(..., k)`: each vector counts the first k dimensions of `tensor`.
    updates: An array of shape `indices.shape[:-1] + tensor.shape[k:]`, or a scalar.
    bad_indices_policy: Ignored; see the module's text.

Returns:
    An array of the shape and dtype of `tensor`; on the host if all operands are.

Raises:
    BadArgumentError: If the shapes do not fit, or an index is out of range."""

tensor_scatter_nd_update = _tensor_scatter("tensor_scatter_nd_update", "set", "elements replaced")
tensor_scatter_nd_add = _tensor_scatter("tensor_scatter_nd_add", "add", "`updates` added to elements")
tensor_scatter_nd_sub = _tensor_scatter("tensor_scatter_nd_sub", "subtract", "`updates` taken from elements")
tensor_scatter_nd_min = _tensor_scatter(
    "tensor_scatter_nd_min", "min", "the smaller of elements and `updates`"
)
tensor_scatter_nd_max = _tensor_scatter(
    "tensor_scatter_nd_max", "max", "the larger of elements and `updates`"
)


@op
def unravel_index(indices: TensorLike, dims: TensorLike) -> Any:
    """Return the places in an array of shape `dims` that flat indices stand for, as `tf.unravel_index`.

    Args:
        indices: Whole numbers of any shape.
        dims: The shape of the array.

    Returns:
        Whole numbers, shape `[len(dims), number of indices]`; on the host if `indices` is.

    Raises:
        BadArgumentError: If an index is out of range.
    """
    sizes = sizes_of("dims", dims)

    def unravel(xp: ModuleType, indices: Array) -> Any:
        # JAX would clip what is out of range.
        check_indices([indices], [int(np.prod(sizes))])
        found = xp.stack(xp.unravel_index(indices, sizes))
        return found.astype(indices.dtype)

    return call_with_library(unravel, indices)


@op
def sequence_mask(lengths: TensorLike, maxlen: TensorLike | None = None, dtype: DTypeLike = "bool") -> Any:
    """Return masks that are True in the first `lengths` places, as `tf.sequence_mask`.

    Args:
        lengths: Whole numbers of any shape.
        maxlen: The masks' length; None: the largest of `lengths`, whose values then must be known, or be those of
            sequences that are padded to the longest one of a `model_fn`'s batch.
        dtype: The dtype of the masks.

    Returns:
        An array of shape `lengths.shape + (maxlen,)`; on the host if `lengths` is.

    Raises:
        BadTypeError: If `maxlen` is not known while a program is traced.
        BadArgumentError: If it is negative.
    """
    if maxlen is None:
        # A model_fn's batch is padded to its longest sequence: that size is known while it is traced.
        found = naming.longest_of(lengths)
        longest = (
            # A result's shape can't depend on values that are traced.
            int(require_known("lengths", lengths, "Pass maxlen.").max(initial=0)) if found is None else found
        )
    else:
        longest = whole_number("maxlen", maxlen, "Compute it from shapes, which are always known.")
        if longest < 0:
            raise BadArgumentError(f"A mask has no negative length. Received: maxlen={longest}.")

    def mask(xp: ModuleType, lengths: Array) -> Any:
        return (xp.arange(max(longest, 0)) < lengths[..., None].astype("int32")).astype(dtype_in(xp, dtype))

    return call_with_library(mask, lengths)


@op
def dynamic_partition(data: Any, partitions: TensorLike, num_partitions: int) -> Any:
    """Return the slices of `data` in `num_partitions` lists by the numbers in `partitions`, as `tf.dynamic_partition`.

    Args:
        data: An array, on a device or on the host.
        partitions: Whole numbers from 0 to `num_partitions` - 1, for the first dimensions of `data`.
        num_partitions: How many arrays there will be.

    Returns:
        A list of arrays, where `data` is.

    Raises:
        BadTypeError: If `partitions` are known only when a compiled program runs.
        BadArgumentError: If a number is out of range, or the shapes do not fit.
    """
    if _is_settled(partitions) and partitions.ndim:
        return [boolean_mask(data, partitions == number) for number in builtins.range(num_partitions)]
    numbers = require_known(
        "partitions", partitions, "Compute with masks: tf.where(partitions == number, data, 0)."
    )
    # How long each part is follows from the numbers: they have to be known.
    check_indices([numbers], [num_partitions])
    return [
        boolean_mask(data, numbers == number) if numbers.ndim else _whole(data, numbers == number)
        for number in range(num_partitions)
    ]


def _whole(data: Array, is_here: Any) -> Any:
    array = data if hasattr(data, "shape") else _array(data)
    # A scalar is one slice, or none.
    return array[None][: int(is_here)]


@op
def dynamic_stitch(indices: Sequence[Any], data: Sequence[Any]) -> Any:
    """Return slices of several arrays, each at the place that its index says, as `tf.dynamic_stitch`.

    Args:
        indices: Arrays of whole numbers.
        data: Arrays that begin with the shapes of `indices`. The last of several slices for one place counts.

    Returns:
        An array whose first dimension is as long as the largest index says. Places without a slice hold zeros.

    Raises:
        BadTypeError: If `indices` are known only when a compiled program runs.
        BadArgumentError: If the shapes do not fit.
    """
    places = [require_known("indices", each, "Use tf.scatter_nd, which takes the shape.") for each in indices]
    fits = [np.shape(part)[: place.ndim] == place.shape for place, part in zip(places, data, strict=False)]
    if len(places) != len(data) or not all(fits):
        raise BadArgumentError(
            "There are as many arrays as indices, whose shapes they begin with. Received: indices of shapes "
            f"{[place.shape for place in places]}, data of shapes {[np.shape(part) for part in data]}."
        )
    count = max((int(each.max(initial=-1)) + 1 for each in places), default=0)
    # The place in the result of each row of `rows` below.
    flat = np.concatenate([each.ravel() for each in places])
    # The last one for a place counts, which a parallel scatter does not promise.
    last = {int(place): position for position, place in enumerate(flat)}

    def stitch(xp: Any, *data: Array) -> Any:
        rest = data[0].shape[places[0].ndim :]
        rows = xp.concatenate([part.reshape((-1, *rest)) for part in data])
        empty = xp.zeros((count, *rest), rows.dtype)
        return scatter_at(xp, empty, np.array(list(last), int), rows[np.array(list(last.values()), int)])

    return call_with_library(stitch, *data)


@op
def reverse_sequence(
    input: TensorLike, seq_lengths: TensorLike, seq_axis: int | None = None, batch_axis: int | None = None
) -> Any:
    """Return `input` with the first elements of each sequence back to front, as `tf.reverse_sequence`.

    Args:
        input: An array.
        seq_lengths: How many elements of each example are turned around, shape `(batch,)`.
        seq_axis: The dimension along which they stand.
        batch_axis: The dimension of the examples; 0 if None.

    Returns:
        An array of the shape of `input`, where it is.
    """
    if seq_axis is None:
        raise BadArgumentError(
            "`tf.reverse_sequence` needs a dimension. Received: seq_axis=None. Pass seq_axis."
        )
    batch = batch_axis or 0

    def turn(xp: ModuleType, input: Array, seq_lengths: Array) -> Any:
        along, over = dim_of(seq_axis, input.ndim, "seq_axis"), dim_of(batch, input.ndim, "batch_axis")
        if is_known(seq_lengths) and not ((seq_lengths >= 0) & (seq_lengths <= input.shape[along])).all():
            raise BadArgumentError(
                f"A sequence is at most as long as dimension {along}, {input.shape[along]}. Received: seq_lengths="
                f"{shown(seq_lengths)}."
            )
        if along == over or tuple(seq_lengths.shape) != (input.shape[over],):
            raise BadArgumentError(
                "seq_axis and batch_axis are two dimensions, and each example has a length. Received: "
                f"seq_axis={seq_axis}, batch_axis={batch}, seq_lengths of shape {tuple(seq_lengths.shape)}, input of "
                f"shape {tuple(input.shape)}."
            )
        # Shape (batch, steps): within a sequence counted from its end, behind it as it was.
        steps = xp.arange(input.shape[along])
        order = xp.where(steps < seq_lengths[:, None], seq_lengths[:, None] - 1 - steps, steps)
        # `order` as an array of input's rank, of size 1 in all other dimensions.
        order = order if over < along else order.T
        shape = [input.shape[dim] if dim in (along, over) else 1 for dim in range(input.ndim)]
        return xp.take_along_axis(input, order.reshape(shape), axis=along)

    return call_with_library(turn, input, seq_lengths)


@op
def meshgrid(*args: object, indexing: str = "xy") -> list[Any]:
    """Return coordinates of a grid, as `tf.meshgrid`.

    Args:
        args: The coordinates along each dimension: arrays of one dimension.
        indexing: `"xy"`, in which the first two dimensions are swapped, or `"ij"`.

    Returns:
        A list of arrays, one for each of `args`; on the host if all are.

    Raises:
        BadArgumentError: If `indexing` is another one.
    """
    if indexing not in ("xy", "ij"):
        raise BadArgumentError(f"indexing must be 'xy' or 'ij'. Received: indexing={shown(indexing)}.")
    if not args:
        return []
    return call_with_library(lambda xp, *arrays: list(xp.meshgrid(*arrays, indexing=indexing)), *args)


@op(text=["input"])
def roll(input: TensorLike, shift: Any, axis: TensorLike) -> Any:
    """Return `input` with elements moved along dimensions and around their ends, as `tf.roll`.

    Args:
        input: An array, on a device or on the host.
        shift: How far; a number for each of `axis`.
        axis: The dimension, or several.

    Returns:
        An array of the shape of `input`, where it is.
    """
    # `shift` may be traced, `axis` may not: it decides what the program moves.
    axes, shifts = sizes_of("axis", axis), _parts(shift)
    if len(axes) != len(shifts):
        raise BadArgumentError(
            f"There is a shift for each dimension. Received: shift={shown(shift)}, axis={shown(axis)}."
        )

    def roll_axes(xp: ModuleType, array: Array) -> Any:
        for dim, step in zip(axes, shifts, strict=True):
            array = xp.roll(array, step, dim)
        return array

    return call_with_library(roll_axes, input)


def places_of(condition: TensorLike) -> Any:
    """Return the places where `condition` is not 0, shape `(count, rank)`, as `tf.where` of one argument."""
    remedy = "Use tf.where(condition, x, y), which keeps the shape."
    if _is_settled(condition) and condition.ndim:
        import jax.numpy as jnp

        parts = jnp.unravel_index(_find_places(condition), condition.shape)
        return jnp.stack(parts, axis=-1)
    values = require_known("condition", condition, remedy)
    if not values.ndim:
        raise BadArgumentError(
            f"A scalar has no places. Received: condition={shown(condition)}. Pass an array."
        )
    # In row-major order, as TensorFlow gives them.
    places = np.argwhere(values).astype(np.int64)
    if is_looking() and not len(places):
        # What follows may want one: the shapes of what it writes are those of any.
        places = np.zeros((1, values.ndim), np.int64)
    return places if is_host_call(condition) else on_device(places)
