"""Functions of `tf` that rearrange arrays or look into them (ops layer).

NumPy arrays stay on the host (see `ops/_host.py`), except in `top_k`; functions that only rearrange take text
(see `stratax.tensorflow.ops.calls.text`).
"""

import math
from typing import Any

import numpy as np

from stratax.base import providers
from stratax.base.indices import check_indices
from stratax.base.shown import shown
from stratax.base.tracing import as_numbers, has_symbolic_sizes, is_symbolic_size, is_traced
from stratax.base.typing import Axis, DTypeLike, PyTree, TensorLike
from stratax.data.elements import Rank, SparseTensor, as_array, if_constant, sizes_of
from stratax.errors import BadArgumentError, CastError
from stratax.tensorflow.ops.arrays import indexing
from stratax.tensorflow.ops.calls import labels
from stratax.tensorflow.ops.calls._computed import is_host_call, whole_number, with_lists_alike
from stratax.tensorflow.ops.calls._eager import NOT_COMPUTED, EagerPrograms, Jax
from stratax.tensorflow.ops.calls._host import (
    ARRAY,
    NUMBER,
    TEXT,
    is_made_of_numbers,
    is_made_on_host,
    is_numpy,
    is_of_sizes,
    is_on_host,
    kinds_of,
)
from stratax.tensorflow.ops.calls._keras_ops import ops
from stratax.tensorflow.ops.calls.creation import lengths_of, on_device
from stratax.tensorflow.ops.calls.dtypes import as_dtype, device_dtype
from stratax.tensorflow.ops.calls.naming import of_same_rows
from stratax.tensorflow.ops.calls.op import op
from stratax.tensorflow.ops.calls.text import as_text, holds_text, or_text


def _library(*operands: object) -> Any:
    return np if _are_on_host(*operands) else ops


def _are_on_host(*operands: object) -> bool:
    # Where one is text, `or_text` has brought the others to the host.
    kinds = kinds_of(operands)
    return bool(kinds & TEXT) or kinds & ~NUMBER == ARRAY


def _library_of_list(values: list[Any]) -> Any:
    """Return what puts arrays together; sizes that a program knows when it runs are put together on the host."""
    return np if _are_on_host(*values) or is_of_sizes(*values) else ops


def _array(value: TensorLike) -> Any:
    """Return a list of numbers, or a variable, as an array; anything else as it is."""
    if getattr(value, "__jax_array__", None) is not None:
        # JAX takes no object for an array while it learns what type a function's result has.
        return on_device(value)
    if not isinstance(value, list | tuple) or _are_on_host(value):
        return value
    return on_device(value)


@op
def cast(x: TensorLike, dtype: DTypeLike) -> Any:
    """Return `x` with another dtype, as `tf.cast`.

    Args:
        x: An array, on a device or on the host, a number, or a SparseTensor or RaggedTensor.
        dtype: The dtype. On a device, 64-bit dtypes become 32-bit ones.

    Returns:
        An array of x's shape, where `x` is.

    Raises:
        CastError: If text is to become numbers, or numbers text.

    Example:
        >>> import numpy as np
        >>> import stratax.tf as tf
        >>> tf.cast(np.array([1, 2], np.uint8), tf.float32).numpy()
        array([1., 2.], dtype=float32)
    """
    if isinstance(x, SparseTensor):
        return x.with_values(cast(x.values, dtype))
    wanted = as_dtype(dtype)
    if is_symbolic_size(x) or has_symbolic_sizes(x):
        # Sizes stay what makes shapes.
        return x if wanted.kind in "iu" else as_numbers(x).astype(device_dtype(wanted))
    if holds_text(x) or wanted.hasobject:
        return _text_as(x, dtype)
    if is_numpy(x):
        return _convert(x, wanted)
    if is_made_on_host(x):
        # `[()]` makes a scalar of what has no dimensions, and leaves other arrays alone.
        return _convert(as_array(x), wanted)[()]
    if isinstance(x, bool | int | float | complex | list | tuple) and is_made_of_numbers(x):
        # As arrays of numbers are cast, of 64 bits: what does not fit wraps, where Python's numbers would raise.
        x = np.asarray(x).astype(device_dtype(wanted))
    return of_same_rows(ops.cast(x, device_dtype(wanted)), x)


def _convert(array: Any, dtype: np.dtype) -> Any:
    if array.dtype.kind != "f" or dtype.kind not in "iu":
        return array.astype(dtype)
    # What no whole number is becomes one without a warning, as in TensorFlow.
    with np.errstate(invalid="ignore"):
        return array.astype(dtype)


def _text_as(x: TensorLike, dtype: DTypeLike) -> Any:
    if holds_text(x) and as_dtype(dtype).hasobject:
        return as_text("x", x)[()]
    raise CastError(
        "`tf.cast` converts neither text to numbers nor numbers to text. "
        f"Received: x={shown(x)}, dtype={shown(dtype)}. Use Python's or NumPy's own conversion, on the host."
    )


@op(text=["input"])
def identity(input: TensorLike) -> Any:
    """Return the same values, as `tf.identity`: of a variable its value now."""
    return input if _are_on_host(input) else of_same_rows(on_device(input), input)


@op(text=["input"])
def stop_gradient(input: TensorLike) -> Any:
    """Return the same values, through which no gradient passes, as `tf.stop_gradient`."""
    return input if _are_on_host(input) else ops.stop_gradient(on_device(input))


@op
def shape(input: TensorLike, out_type: DTypeLike = "int32") -> Any:
    """Return the sizes of `input`, as `tf.shape`.

    Returns:
        A NumPy array on the host, since shapes are always known; of a symbolic Keras tensor a tuple, with symbolic
        tensors for sizes that are not. Where Keras asks a layer's `call` what it gives for batches of any size, an
        array with JAX' symbol for that size, which computes and makes shapes as a number does.
    """
    sizes = tuple(input.shape) if hasattr(input, "shape") else np.shape(input)
    # Symbolic tensors of Keras have open sizes, which no array of integers can hold.
    if None in sizes:
        (module,) = providers.providers("calls with symbolic tensors")
        return module.sizes_of(input)
    # Symbols for sizes stay what they are in an array of objects only.
    return np.asarray(sizes, object if any(map(is_symbolic_size, sizes)) else as_dtype(out_type))


@op
def rank(input: TensorLike) -> int:
    """Return the number of dimensions of `input`, an int, as `tf.rank`."""
    return Rank(len(input.shape) if hasattr(input, "shape") else np.ndim(input))


@op
def size(input: TensorLike, out_type: DTypeLike = "int32") -> Any:
    """Return the number of elements of `input`, a NumPy scalar, as `tf.size`."""
    sizes = shape(input)
    if any(map(is_symbolic_size, sizes)):
        # NumPy's product would ask symbols for numbers.
        return math.prod(sizes)
    return as_dtype(out_type).type(np.prod(sizes, dtype=np.int64))


@op(text=["tensor"])
def reshape(tensor: TensorLike, shape: TensorLike) -> Any:
    """`tensor` with another shape, as `tf.reshape`.

    Args:
        tensor: An array, on a device or on the host.
        shape: The sizes, one of which may be -1: what is left.

    Returns:
        An array of that shape, where `tensor` is.

    Raises:
        BadTypeError: If `shape` is not known while a program is traced.
        BadArgumentError: If it does not fit.
    """
    sizes = sizes_of("shape", shape)
    for size in sizes:
        # NumPy takes every negative size for one that is open.
        if type(size) is int and size < -1:
            raise BadArgumentError(f"A size is -1 or not negative. Received: shape={shown(sizes)}.")
    return _library(tensor).reshape(tensor, sizes)


@op(text=["input"])
def expand_dims(input: TensorLike, axis: Axis) -> Any:
    """`input` with a dimension of size 1 at `axis`, a number or a list of one, as `tf.expand_dims`."""
    places = np.reshape(if_constant(axis), -1)
    if len(places) != 1:
        raise BadArgumentError(f"axis must be one number. Received: axis={shown(axis)}.")
    return _library(input).expand_dims(input, int(places[0]))


@op(text=["input"])
def squeeze(input: TensorLike, axis: Axis = None) -> Any:
    """`input` without its dimensions of size 1, or those in `axis`, as `tf.squeeze`."""
    return _library(input).squeeze(input, axis=None if axis is None else sizes_of("axis", axis))


@op(text=["a"])
def transpose(a: TensorLike, perm: TensorLike | None = None, conjugate: bool = False) -> Any:
    """`a` with its dimensions in the order `perm` (None: reversed), as `tf.transpose`."""
    library = _library(a)
    moved = library.transpose(a, None if perm is None else sizes_of("perm", perm))
    return library.conj(moved) if conjugate else moved


@op(text=["input"])
def broadcast_to(input: TensorLike, shape: TensorLike) -> Any:
    """`input` repeated to `shape`, as `tf.broadcast_to`."""
    return _library(input).broadcast_to(input, sizes_of("shape", shape))


@op(text=["input"])
def tile(input: TensorLike, multiples: TensorLike) -> Any:
    """`input` repeated `multiples[i]` times along dimension i, as `tf.tile`.

    Raises:
        BadArgumentError: If there is not a number for each dimension, or one is negative.
    """
    times, sizes = lengths_of("multiples", multiples), np.shape(input)
    if len(times) != len(sizes):
        raise BadArgumentError(
            f"multiples has a number for each dimension. Received: multiples={shown(multiples)} for an array of shape "
            f"{tuple(sizes)}."
        )
    return _library(input).tile(_array(input), times)


@op(text=["input"])
def repeat(input: TensorLike, repeats: TensorLike, axis: int | None = None) -> Any:
    """Every element (or slice along `axis`) of `input` `repeats` times, as `tf.repeat`."""
    repeats = if_constant(repeats)
    times = repeats if is_traced(repeats) or is_symbolic_size(repeats) else np.asarray(repeats)
    return _library(input).repeat(input, times, axis=axis)


_PADDINGS = {"CONSTANT": "constant", "REFLECT": "reflect", "SYMMETRIC": "symmetric"}


@op(arrays=["tensor"], text=["tensor"])
def pad(tensor: TensorLike, paddings: TensorLike, mode: str = "CONSTANT", constant_values: float = 0) -> Any:
    """`tensor` with values around it, as `tf.pad`.

    Args:
        tensor: The array.
        paddings: How many values come before and behind it in each dimension, `[n, 2]`.
        mode: "CONSTANT", or the array's own values mirrored: "REFLECT" without those of the edge, "SYMMETRIC" with.
        constant_values: The value around it, with "CONSTANT".

    Raises:
        BadArgumentError: If `paddings` does not fit the array, or `mode` is another one.
    """
    sizes = np.shape(tensor)
    rows = paddings if isinstance(paddings, list | tuple) else np.asarray(if_constant(paddings))
    widths = [sizes_of("paddings", row) for row in rows]
    are_pairs = [len(width) == 2 and min(width) >= 0 for width in widths]
    if len(widths) != len(sizes) or not all(are_pairs):
        raise BadArgumentError(
            "paddings has two numbers for each dimension, none of them negative. Received: "
            f"paddings={shown(paddings)} for an array of shape {sizes}. Write [before, behind] for each dimension."
        )
    if (kind := _PADDINGS.get(mode.upper())) is None:
        raise BadArgumentError(
            f"mode must be one of {sorted(_PADDINGS)}. Received: mode={shown(mode)}. Choose one."
        )
    if kind == "constant":
        # NumPy and Keras take no variable here.
        is_object = hasattr(constant_values, "__jax_array__")
        around: Any = on_device(constant_values) if is_object else constant_values
        if np.ndim(around):
            raise BadArgumentError(f"constant_values is a scalar. Received: constant_values={shown(around)}.")
        if holds_text(tensor):
            # The default, 0, is no text: an empty string takes its place, as in TensorFlow.
            # As an array of objects: NumPy would make a `bytes_` of it, which has lost the zeros at its end.
            around = as_text("constant_values", b"" if isinstance(around, int) else around)
        return _library(tensor).pad(_array(tensor), widths, mode=kind, constant_values=around)
    # NumPy would begin from the other edge again.
    # REFLECT leaves the edge itself out, so that one value less is there to mirror.
    longest = [size - (kind == "reflect") for size in sizes]
    are_too_wide = [max(width) > limit for width, limit in zip(widths, longest, strict=True)]
    if any(are_too_wide):
        raise BadArgumentError(
            f"An array of shape {sizes} has too few values to mirror. Expected: at most {longest} on each side. "
            f"Received: paddings={shown(paddings)}, mode={shown(mode)}. Use smaller paddings, or CONSTANT."
        )
    return _library(tensor).pad(_array(tensor), widths, mode=kind)


@op(text=["tensor"])
def reverse(tensor: TensorLike, axis: Axis) -> Any:
    """`tensor` back to front along the dimensions `axis`, as `tf.reverse`."""
    axes = sizes_of("axis", axis)
    return _library(tensor).flip(_array(tensor), axis=axes[0] if len(axes) == 1 else axes)


@op(name_default="stack", text=["values"], arrays=["values"], lists=["values"])
def stack(values: PyTree, axis: int = 0) -> Any:
    """Return arrays of one shape side by side on a new dimension, as `tf.stack`; on the host if all are."""
    values = list(with_lists_alike(*values))
    return _library_of_list(values).stack(values, axis=axis)


@op(name_default="parallel_stack")
def parallel_stack(values: PyTree) -> Any:
    """Return arrays of one shape side by side on a new first dimension, as `tf.parallel_stack`: :func:`stack`."""
    return stack(values)


@op(name_default="unstack", text=["value"])
def unstack(value: Any, num: int | None = None, axis: int = 0) -> list[Any]:
    """Return the slices of `value` along a dimension, as a list, as `tf.unstack`; `num` may be left out.

    Raises:
        BadArgumentError: If `num` is not the size of the dimension.
    """
    size = value.shape[axis] if getattr(value, "shape", ()) else None
    if num is not None and size is not None and num != size:
        raise BadArgumentError(f"num must be the size of the dimension, {size}. Received: num={shown(num)}.")
    if not _are_on_host(value):
        return list(ops.unstack(on_device(value), num, axis))
    # Views, which cost nothing.
    return list(np.moveaxis(np.asarray(value), axis, 0))


@op(name_default="concat", text=["values"], arrays=["values"], lists=["values"])
def concat(values: PyTree, axis: int) -> Any:
    """Return arrays one after another along a dimension, as `tf.concat`; on the host if all are."""
    values = list(with_lists_alike(*values))
    return _library_of_list(values).concatenate(values, axis=whole_number("axis", axis))


@op(name_default="split", text=["value"])
def split(
    value: TensorLike, num_or_size_splits: TensorLike, axis: int = 0, num: int | None = None
) -> list[Any]:
    """Return the parts of `value` along a dimension, as `tf.split`.

    Args:
        value: An array, on a device or on the host.
        num_or_size_splits: How many equal parts, or the size of each (one may be -1: what is left).
        axis: The dimension.
        num: Ignored.

    Returns:
        A list of arrays, where `value` is.

    Raises:
        BadArgumentError: If the sizes do not add up to that of the dimension.
    """
    library = _library(value)
    # How many equal parts, or the size of each.
    if np.ndim(num_or_size_splits) == 0:
        count = whole_number("num_or_size_splits", num_or_size_splits)
        return list(library.split(value, count, axis=axis))
    parts, total = list(sizes_of("num_or_size_splits", num_or_size_splits)), np.shape(value)[axis]
    # One size may be left open, as in TensorFlow; the 1 takes the -1 out of the sum.
    if parts.count(-1) == 1:
        parts[parts.index(-1)] = total - sum(parts) - 1
    if sum(parts) != total or min(parts, default=0) < 0:
        raise BadArgumentError(
            f"The parts must add up to the dimension's size. Expected: {total} in all, with at most one -1. "
            f"Received: num_or_size_splits={shown(num_or_size_splits)}."
        )
    return list(library.split(value, [int(end) for end in np.cumsum(parts)[:-1]], axis=axis))


@op
def gather(
    params: TensorLike,
    indices: TensorLike,
    validate_indices: object = None,
    axis: int | None = None,
    batch_dims: int = 0,
) -> Any:
    """Return the slices of `params` that `indices` says, as `tf.gather`.

    Args:
        params: An array, on a device or on the host.
        indices: Whole numbers of any shape.
        validate_indices: Ignored. An index out of range that a compiled function computes itself gives NaN, or the
            smallest whole number; TensorFlow gives 0 on a GPU and raises on a CPU.
        axis: The dimension of `params` that the indices count; 0 if None.
        batch_dims: How many leading dimensions both have in common, and are gone through together; then the default
            of `axis` is the first dimension behind them.

    Returns:
        An array whose dimension `axis` is replaced by those of `indices`; on the host if both operands are. Text that
        a `model_fn` looks up by its results is known after the step: what is returned can be a prediction.

    Raises:
        BadArgumentError: If shapes do not fit `batch_dims`, or an index is out of range.
        BadTypeError: If traced indices look up text outside of a `model_fn`.
    """
    if batch_dims:
        # TensorFlow's default is the first dimension behind the batch.
        return indexing.gather_batches(params, indices, batch_dims if axis is None else axis, batch_dims)
    axis = 0 if axis is None else axis
    look_up = labels.lookup()
    if look_up is not None and holds_text(params) and is_traced(indices):
        text = as_text("params", params)
        return look_up(lambda numbers: _gather(text, numbers, axis), indices)
    return _gather(params, indices, axis)


@or_text("params")
def _gather(params: TensorLike, indices: TensorLike, axis: int) -> Any:
    if type(indices) is list and set(map(type, indices)) == {int}:
        indices = np.asarray(indices)
    if isinstance(params, list | tuple) and is_host_call(params, indices):
        params = as_array(params)
    check_indices([indices], [np.shape(params)[axis]])
    if type(params) is Jax.array:
        is_wide = isinstance(indices, np.ndarray) and indices.dtype.kind in "iu"
        # They are numbers of rows, of which no device has so many that 32 bits can't count them.
        numbers: TensorLike = indices.astype(np.int32) if is_wide else indices  # type: ignore[union-attr]
        taken = _TAKE.compute((params, numbers, axis), {})
        if taken is not NOT_COMPUTED:
            return taken
    return _library(params, indices).take(params, indices, axis=axis)


def _take(params: TensorLike, indices: TensorLike, axis: int) -> Any:
    return ops.take(params, indices, axis=axis)


_TAKE = EagerPrograms(_take, ["params", "indices"], sends=True)


@op(text=["x", "y"])
def where(condition: TensorLike, x: TensorLike | None = None, y: TensorLike | None = None) -> Any:
    """Return `x` where `condition` holds, else `y`; or without them where it holds; as `tf.where`.

    Args:
        condition: Booleans, or without `x` and `y` an array, in which what is not 0 counts.
        x: An array or number that broadcasts with `condition`.
        y: Another.

    Returns:
        An array of the broadcast shape; on the host if all operands are. Without `x` and `y` the indices of elements,
        whole numbers of shape `(count, rank)`.

    Raises:
        BadArgumentError: If only one of `x` and `y` is there.
        BadTypeError: If both are missing, and `condition` is known only when a compiled program runs.
    """
    if x is None and y is None:
        return indexing.places_of(condition)
    if x is None or y is None:
        raise BadArgumentError(
            "`tf.where` takes two values, or none: then it gives the places where the condition holds. "
            f"Received: x={shown(x)}, y={shown(y)}. Pass both."
        )
    x, y = with_lists_alike(x, y)
    library = _library(condition, x, y)
    # Without an array among them, numbers of Python have TensorFlow's dtypes.
    if library is np and not (hasattr(x, "dtype") or hasattr(y, "dtype")):
        x, y = as_array(x), as_array(y)
    return library.where(*map(_array, (condition, x, y)))


@op(arrays=["indices"])
def one_hot(
    indices: Any,
    depth: int,
    on_value: TensorLike | None = None,
    off_value: TensorLike | None = None,
    axis: int | None = None,
    dtype: DTypeLike | None = None,
) -> Any:
    """Return vectors that are `on_value` at an index and `off_value` elsewhere, as `tf.one_hot`.

    Args:
        indices: Whole numbers; outside of 0 to `depth` - 1 a vector is all `off_value`.
        depth: The length of the vectors.
        on_value: 1 if None.
        off_value: 0 if None.
        axis: Where the new dimension goes; None and -1: last.
        dtype: The dtype; if None that of the values, or float32 without them.

    Returns:
        An array with one dimension more; on the host if `indices` is.

    Raises:
        BadArgumentError: If `depth` is negative.
    """
    if dtype is None:
        # As the values say: whole numbers without a dtype are int32.
        given = [value for value in (on_value, off_value) if value is not None]
        dtype = as_array(given[0]).dtype if given else "float32"
    kind, depth = as_dtype(dtype), if_constant(depth)
    on, off = (1 if on_value is None else on_value), (0 if off_value is None else off_value)
    if (length := whole_number("depth", depth)) < 0:
        raise BadArgumentError(f"depth must be non-negative. Received: depth={length}.")
    if is_on_host(indices):
        indices = np.asarray(indices) if isinstance(indices, (list, tuple)) else indices
        # An index out of range equals no class: its vector is off everywhere, as in TensorFlow.
        hot = np.where(indices[..., None] == np.arange(length), kind.type(on), kind.type(off))
        return hot if axis in (None, -1) else np.moveaxis(hot, -1, axis)
    # As booleans first: any two values of any dtype can be chosen by them.
    hot = ops.one_hot(indices, length, axis=-1 if axis is None else axis, dtype="bool")
    return ops.where(hot, ops.cast(on, device_dtype(kind)), ops.cast(off, device_dtype(kind)))
