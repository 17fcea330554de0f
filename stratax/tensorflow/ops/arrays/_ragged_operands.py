"""What functions of `tf` make of RaggedTensors among their operands (ops layer).

Functions that work element by element are called with the flat values. Those that combine or rearrange rows have a form
of their own here; others refuse, and say what to use.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from stratax.base.indices import check_indices, dim_of
from stratax.base.shown import shown
from stratax.base.tracing import is_traced, is_tracing
from stratax.base.typing import Array, Axis, DTypeLike, TensorLike
from stratax.data import RaggedTensor
from stratax.data.elements import Rank, as_element, as_values, lengths_of, map_flat, row_ids
from stratax.errors import BadArgumentError, BadTypeError, TracingError
from stratax.tensorflow.ops.arrays import _ragged_rows, ragged, segments
from stratax.tensorflow.ops.calls._computed import library_of

# Beside those of `stratax.tensorflow.ops.math.elementwise`.
_ELEMENTWISE = frozenset(
    [
        "cast",
        "identity",
        "zeros_like",
        "ones_like",
        "clip_by_value",
        "scalar_mul",
        "squared_difference",
        "elu",
    ]
) | {
    "stop_gradient",
    "gelu",
    "leaky_relu",
    "relu",
    "relu6",
    "selu",
    "sigmoid",
    "silu",
    "softplus",
    "softsign",
}
_ELEMENTWISE |= {"swish", "saturate_cast", "one_hot", "dropout"}
_MODULE = "stratax.tensorflow.ops.math.elementwise"


def of_ragged(function: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """Return what a function makes of operands of which one is a RaggedTensor.

    Raises:
        BadTypeError: The function takes arrays only.
        TracingError: It needs lengths of rows that a compiled function computes.
    """
    name = function.__name__
    # By name: what `op` has made of a function is another object than the function.
    own = _OWN.get(name)
    if own is not None:
        return _with_known_rows(own, name, args, kwargs)
    if name in _ELEMENTWISE or function.__module__ == _MODULE:
        return _of_flat_values(function, args, kwargs)
    raise BadTypeError(
        f"{name} takes arrays, whose rows have one length. Received: {shown(args)}. Make the RaggedTensor dense with "
        "to_tensor(), or use tf.ragged.map_flat_values."
    )


def _with_known_rows(
    function: Callable[..., Any], name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> Any:
    if not is_tracing():
        return function(*args, **kwargs)
    # Not at the top: pipelines compute with rows, too, and do without JAX.
    import jax

    try:
        return function(*args, **kwargs)
    except jax.errors.JAXTypeError as e:
        raise TracingError(
            f"{name} of a RaggedTensor computes on the host, and a compiled function has no values while it is traced. "
            f"Expected: a call outside of the function. Received: {shown(args)}. Call it before the function or in "
            "dataset.map, pass the dense array (to_tensor()), or compute with the flat values: "
            "tf.math.unsorted_segment_sum(ragged.flat_values, row_ids, num_rows)."
        ) from e


def _of_flat_values(function: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    names = [key for key, value in kwargs.items() if isinstance(value, RaggedTensor)]
    places = [i for i, value in enumerate(args) if _is_operand(value)]
    others = {key: value for key, value in kwargs.items() if key not in names}

    def of_values(*values: object) -> Any:
        given = list(args)
        # The values behind those of `places` are those of keyword arguments.
        for i, value in zip(places, values, strict=False):
            given[i] = as_element(value)
        named = dict(zip(names, map(as_element, values[len(places) :]), strict=True))
        return function(*given, **others, **named)

    return map_flat(of_values, *(args[i] for i in places), *(kwargs[key] for key in names))


def _is_operand(value: TensorLike) -> bool:
    # JAX' arrays and tracers have an `aval`.
    return isinstance(value, RaggedTensor | np.ndarray) or hasattr(value, "aval")


def _reduction(ufunc: np.ufunc, empty: Callable[[np.dtype], Any], dtype: Any = None) -> Callable[..., Any]:
    """Return a reduction over rows.

    Args:
        ufunc: What it makes of two values.
        empty: What it makes of no value, by dtype.
        dtype: The dtype of values, if it is another one than theirs.
    """

    def reduce(
        input_tensor: Any,
        axis: TensorLike | None = None,
        keepdims: bool = False,
        name: str | None = None,
        **older: object,
    ) -> Any:
        # TensorFlow 1 calls it `keep_dims`.
        keeps = keepdims or bool(older.get("keep_dims"))
        axes = range(input_tensor.ndim) if axis is None else np.atleast_1d(np.asarray(axis)).tolist()
        dims = [dim_of(each, input_tensor.ndim) for each in axes]
        if len(set(dims)) < len(dims):
            raise BadArgumentError(f"A dimension is reduced once. Received: axis={shown(axis)}.")
        # The last dimension first: then the numbers of the others stay right.
        wanted = sorted(dims, reverse=True)
        made = (
            input_tensor
            if dtype is None
            else input_tensor.with_flat_values(input_tensor.flat_values.astype(dtype))
        )
        for each in wanted:
            made = _reduce(made, each, ufunc, empty)
        for each in reversed(wanted if keeps else []):
            made = ragged.expand_dims(made, each)
        return made if isinstance(made, RaggedTensor) else as_element(made)

    return reduce


def _reduce(rows: Any, axis: int, ufunc: np.ufunc, empty: Callable[[np.dtype], Any]) -> Any:
    if not isinstance(rows, RaggedTensor):
        if hasattr(rows, "aval"):
            return _reduce_on_device(ufunc, rows, axis, empty)
        # With `dtype`, as NumPy adds up int32 in int64; with `initial`, as there may be no rows at all.
        return ufunc.reduce(np.asarray(rows), axis=axis, dtype=rows.dtype, initial=empty(rows.dtype))
    # Rows outside stay as they are: what is reduced lies below them.
    if axis > 1:
        return rows.with_values(_reduce(rows.values, axis - 1, ufunc, empty))
    if isinstance(rows.values, RaggedTensor):
        return _reduce_outer(rows, axis, ufunc, empty)
    if hasattr(rows.values, "aval") or is_traced(rows.row_splits):
        return _combine_on_device(ufunc, rows, axis)
    values = np.asarray(rows.values)
    if axis == 1:
        return ragged.segment(ufunc, values, rows.row_splits, empty(values.dtype))
    return _columns(values, rows.row_splits, ufunc, empty)


def _reduce_on_device(ufunc: np.ufunc, values: Array, axis: int, empty: Callable[[np.dtype], Any]) -> Any:
    import jax.numpy as jnp

    if ufunc in (np.logical_or, np.logical_and):
        return (jnp.any if ufunc is np.logical_or else jnp.all)(values, axis)
    reduce = getattr(jnp, _HOW[ufunc.__name__])
    return reduce(values, axis, initial=empty(np.dtype(values.dtype))).astype(values.dtype)


def _combine_on_device(ufunc: np.ufunc, rows: RaggedTensor, axis: int) -> Any:
    """Return what a ufunc makes of the values of each row, or of those at each place of all rows."""
    import jax.numpy as jnp

    values, splits = jnp.asarray(rows.values), rows.row_splits
    count, places = len(splits) - 1, np.arange(values.shape[0])
    if is_traced(splits) and axis == 1:
        ids: Any = jnp.searchsorted(splits[1:], places, side="right")
    else:
        # How many places the longest row has is part of a program.
        ids = row_ids(np.asarray(splits))
        if axis == 0:
            ids, count = places - np.asarray(splits)[ids], int(lengths_of(np.asarray(splits)).max(initial=0))
    if ufunc in (np.logical_or, np.logical_and):
        is_any = ufunc is np.logical_or
        counted = (values if is_any else ~values).astype("int32")
        found = segments.combine_segments(jnp, counted, jnp.asarray(ids), count, "sum")
        return found > 0 if is_any else found == 0
    return segments.combine_segments(jnp, values, jnp.asarray(ids), count, _HOW[ufunc.__name__])


# By NumPy's functions of two values: what combines all of them.
_HOW = {"add": "sum", "multiply": "prod", "maximum": "max", "minimum": "min"}


def _columns(
    values: np.ndarray, splits: np.ndarray, ufunc: np.ufunc, empty: Callable[[np.dtype], Any]
) -> np.ndarray:
    """Return what a ufunc makes of the first values of rows, of the second, and so on."""
    width = int(lengths_of(splits).max(initial=0))
    made = np.full((width, *values.shape[1:]), empty(values.dtype), values.dtype)
    rows = row_ids(splits)
    # Values of several rows meet in one cell, which `made[...] = values` would write once.
    ufunc.at(made, np.arange(len(rows)) - splits[rows], values)
    return made


def _reduce_outer(rows: RaggedTensor, axis: int, ufunc: np.ufunc, empty: Callable[[np.dtype], Any]) -> Any:
    """Reduce a dimension whose elements are rows themselves: those at one place are as long as the longest."""
    if axis == 1:
        parts = [_reduce_outer_rows(row, ufunc, empty) for row in rows]
        return ragged.stack(parts) if parts else rows.values
    return _merge(list(rows), ufunc, empty)


def _reduce_outer_rows(row: RaggedTensor, ufunc: np.ufunc, empty: Callable[[np.dtype], Any]) -> Any:
    return _reduce(row, 0, ufunc, empty)


def _merge(rows: list[Any], ufunc: np.ufunc, empty: Callable[[np.dtype], Any]) -> Any:
    # The rows at place j of each are a RaggedTensor, of which the first dimension is reduced.
    width = max((len(row) for row in rows), default=0)
    columns = [ragged.stack([row[j] for row in rows if j < len(row)]) for j in range(width)]
    return ragged.stack([_reduce(column, 0, ufunc, empty) for column in columns])


# TensorFlow's reductions of empty rows give the dtype's limits, and no infinities.
def _least(dtype: np.dtype) -> Any:
    return np.finfo(dtype).min if dtype.kind == "f" else np.iinfo(dtype).min


def _most(dtype: np.dtype) -> Any:
    return np.finfo(dtype).max if dtype.kind == "f" else np.iinfo(dtype).max


_sum = _reduction(np.add, lambda dtype: dtype.type(0))


def _mean(input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None) -> Any:
    flat = input_tensor.flat_values
    # Whole numbers give float64, as TensorFlow divides int32 and int64.
    values = (
        input_tensor if flat.dtype.kind == "f" else input_tensor.with_flat_values(flat.astype(np.float64))
    )
    total = _sum(values, axis, keepdims)
    count = _sum(values.with_flat_values(np.ones(flat.shape, values.dtype)), axis, keepdims)
    # The mean of an empty row is NaN, as in TensorFlow.
    with np.errstate(invalid="ignore", divide="ignore"):
        return total / count


def _variance(input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None) -> Any:
    square = _mean(input_tensor * input_tensor, axis, keepdims)
    mean = _mean(input_tensor, axis, keepdims)
    # Of values that are close to one another rounding leads below 0, which TensorFlow cuts off, too.
    return _of_values(lambda found: library_of(found).maximum(found, 0), square - mean * mean)


def _std(input_tensor: TensorLike, axis: Axis = None, keepdims: bool = False, name: str | None = None) -> Any:
    return _of_values(lambda found: library_of(found).sqrt(found), _variance(input_tensor, axis, keepdims))


def _softmax(logits: RaggedTensor, axis: int | None = None, name: str | None = None) -> Any:
    if axis is not None and dim_of(axis, logits.ndim) != logits.ndim - 1:
        raise BadArgumentError(
            f"softmax of a RaggedTensor goes along its last dimension. Received: axis={axis} of {logits.ndim} "
            "dimensions. Leave out axis."
        )
    if isinstance(logits.values, RaggedTensor):
        return logits.with_values(_softmax(logits.values))
    values, library = logits.values, library_of(logits.values)
    if values.ndim > 1:
        powers = library.exp(values - values.max(-1, keepdims=True))
        return logits.with_values(powers / powers.sum(-1, keepdims=True))
    # As large as the row's largest they are 1: no power is too large.
    ids = row_ids(logits.row_splits)
    powers = library.exp(values - as_values(_OWN["reduce_max"](logits, -1))[ids])
    return logits.with_values(powers / as_values(_sum(logits.with_values(powers), -1))[ids])


def _of_values(function: Callable[..., Any], found: Any) -> Any:
    """Return what a function makes of a reduction's result, which may have rows or none."""
    if isinstance(found, RaggedTensor):
        return found.with_flat_values(function(found.flat_values))
    return function(found)


def _gather(
    params: Array,
    indices: Array,
    validate_indices: object = None,
    axis: int | None = None,
    batch_dims: int = 0,
    name: str | None = None,
) -> Any:
    from stratax.tensorflow.ops.arrays import arrays

    if batch_dims:
        # Within one row of the batch its dimension is gone.
        inner = axis - 1 if axis else None
        pairs = zip(params, indices, strict=True)
        return ragged.stack([_gather(a, b, axis=inner, batch_dims=batch_dims - 1) for a, b in pairs])
    if isinstance(indices, RaggedTensor):
        return indices.with_values(_gather(params, indices.values, axis=axis))
    if not isinstance(params, RaggedTensor):
        return arrays.gather(as_values(params), indices, axis=axis or 0)
    if axis:
        # Each row by itself, in which the dimension is one further out.
        return ragged.stack([_gather(row, indices, axis=axis - 1) for row in params])
    chosen = np.asarray(indices)
    check_indices([chosen], [len(params)])
    if chosen.ndim == 0:
        return params[int(chosen)]
    # From the last dimension of `indices` on: its form, around the rows that were taken.
    made: Any = ragged.take_rows(params, chosen.reshape(-1))
    for size in reversed(chosen.shape[1:]):
        made = RaggedTensor.from_uniform_row_length(made, size)
    return made


def _look_up(params: Any, ids: Any, max_norm: float | None = None) -> Any:
    found = _gather(params, ids)
    if max_norm is None:
        return found
    rows, library = found.flat_values, library_of(found.flat_values)
    norms = library.sqrt(library.sum(rows * rows, axis=tuple(range(1, rows.ndim)), keepdims=True))
    # As `clip_by_norm` of TensorFlow: rows within the limit are divided by what they are multiplied with.
    return found.with_flat_values(rows * max_norm / library.maximum(norms, max_norm))


def _concat(values: Any, axis: int = 0, name: str | None = None) -> Any:
    made = ragged.concat(values, axis)
    return made if isinstance(made, RaggedTensor) else as_element(made)


def _tile(input: RaggedTensor, multiples: TensorLike, name: str | None = None) -> Any:
    counts = [int(each) for each in np.asarray(multiples)]
    made: Any = input
    for axis, count in enumerate(counts):
        made = ragged.concat([made] * count, axis) if count != 1 else made
    return made


def _reverse(tensor: RaggedTensor, axis: Axis, name: str | None = None) -> Any:
    made: Any = tensor
    for each in np.atleast_1d(np.asarray(axis)).tolist():
        place = dim_of(each, tensor.ndim)
        made = made[(*[slice(None)] * place, slice(None, None, -1))]
    return made


def _squeeze(input: RaggedTensor, axis: Axis = None, name: str | None = None) -> Any:
    made: Any = input
    axes = np.atleast_1d(np.asarray(axis)).tolist() if axis is not None else []
    # From the last on: to remove a dimension moves those behind it.
    for each in sorted((a + input.ndim if a < 0 else a for a in axes), reverse=True):
        made = _squeeze_axis(made, each)
    return made


def _squeeze_axis(rows: Array, axis: int) -> Any:
    if axis == 0:
        return rows[0]
    if not isinstance(rows, RaggedTensor):
        return library_of(rows).squeeze(rows, axis)
    # Rows of one value each are the values themselves.
    if axis == 1 and (lengths_of(rows.row_splits) == 1).all():
        return rows.values
    return rows.with_values(_squeeze_axis(rows.values, axis - 1))


def _where(
    condition: Any, x: TensorLike | None = None, y: TensorLike | None = None, name: str | None = None
) -> Any:
    if x is None and y is None:
        return as_element(condition.to_sparse().indices[np.asarray(condition.flat_values, bool)])
    return map_flat(lambda *values: library_of(*values).where(*values), condition, x, y)


def _boolean_mask(
    tensor: TensorLike, mask: TensorLike, axis: int | None = None, name: str = "boolean_mask"
) -> Any:
    return ragged.boolean_mask(tensor, mask)


def _size(input: RaggedTensor, out_type: DTypeLike = np.int32, name: str | None = None) -> Any:
    # Values are counted, and not the cells of the smallest array around them.
    return as_element(np.asarray(np.prod(input.flat_values.shape, dtype=np.int64), out_type)[()])


def _rank(input: RaggedTensor, name: str | None = None) -> Rank:
    return Rank(input.ndim)


def _convert(value: TensorLike, dtype: DTypeLike | None = None, *args: object, **kwargs: object) -> Any:
    if dtype is None or not isinstance(value, RaggedTensor):
        return value
    return value.with_flat_values(as_values(value.flat_values).astype(dtype))


# By the names of functions: what they do with rows.
_OWN: dict[str, Callable[..., Any]] = {
    "reduce_sum": _sum,
    "reduce_prod": _reduction(np.multiply, lambda dtype: dtype.type(1)),
    "reduce_max": _reduction(np.maximum, _least),
    "reduce_min": _reduction(np.minimum, _most),
    "reduce_any": _reduction(np.logical_or, lambda dtype: np.False_),
    "reduce_all": _reduction(np.logical_and, lambda dtype: np.True_),
    "reduce_mean": _mean,
    "reduce_variance": _variance,
    "reduce_std": _std,
    "softmax": _softmax,
    "gather": _gather,
    "concat": _concat,
    "stack": ragged.stack,
    "expand_dims": ragged.expand_dims,
    "tile": _tile,
    "reverse": _reverse,
    "squeeze": _squeeze,
    "where": _where,
    "boolean_mask": _boolean_mask,
    "size": _size,
    "rank": _rank,
    "map_fn": _ragged_rows.map_rows,
    "split": _ragged_rows.split,
    "gather_nd": _ragged_rows.gather_nd,
    "bincount": _ragged_rows.bincount,
    **{
        name: _ragged_rows.make_unsorted_segments(name)
        for name in ("unsorted_segment_sum", "unsorted_segment_max", "unsorted_segment_min")
    },
    "convert_to_tensor": _convert,
    "embedding_lookup": _look_up,
}
