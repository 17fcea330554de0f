"""Functions of `tf` that order elements, or look for equal ones (ops layer). NumPy arrays stay on the host."""

from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from stratax.base.indices import is_known
from stratax.base.shown import shown
from stratax.base.typing import Array, DTypeLike, TensorLike
from stratax.errors import BadArgumentError
from stratax.tensorflow.ops.calls._computed import (
    call_with_library,
    check_axis,
    dtype_in,
    is_host_call,
    require_known,
    whole_number,
)
from stratax.tensorflow.ops.calls.creation import on_device
from stratax.tensorflow.ops.calls.dtypes import as_dtype
from stratax.tensorflow.ops.calls.op import op

_DIRECTIONS = ("ASCENDING", "DESCENDING")


class TopKV2(NamedTuple):
    """The largest elements along the last dimension.

    Attributes:
        values: The elements, the largest first.
        indices: Where they are.
    """

    values: Any
    indices: Any


class Unique(NamedTuple):
    """The different elements of a vector.

    Attributes:
        y: The elements, in the order in which they come first.
        idx: For each element of the vector its place in `y`.
    """

    y: Any
    idx: Any


class UniqueWithCounts(NamedTuple):
    """The different elements of a vector, and how often they come.

    Attributes:
        y: The elements, in the order in which they come first.
        idx: For each element of the vector its place in `y`.
        count: How often each of `y` comes.
    """

    y: Any
    idx: Any
    count: Any


def _order(xp: ModuleType, values: Array, axis: int, direction: str) -> Any:
    """Return the indices that sort `values`; equal ones stay in their order in both directions."""
    if xp is not np:
        # JAX' descending order is stable by itself, and NumPy has none.
        return xp.argsort(values, axis=axis, stable=True, descending=direction == "DESCENDING")
    if direction == "ASCENDING":
        return np.argsort(values, axis=axis, stable=True)
    # Sorted from the end and turned around: negated numbers could overflow, and text has no opposite.
    last = values.shape[axis] - 1
    return last - np.flip(np.argsort(np.flip(values, axis), axis=axis, stable=True), axis)


def _check_direction(direction: str) -> None:
    if direction not in _DIRECTIONS:
        raise BadArgumentError(
            f"direction must be one of {_DIRECTIONS}. Received: direction={shown(direction)}. Choose one."
        )


@op
def sort(values: TensorLike, axis: int = -1, direction: str = "ASCENDING") -> Any:
    """Return `values` in order along a dimension, as `tf.sort`.

    Args:
        values: An array of one dimension at least.
        axis: The dimension.
        direction: `"ASCENDING"` or `"DESCENDING"`.

    Returns:
        An array of the same shape and dtype, where `values` is. NaN counts as larger than all numbers.

    Raises:
        BadArgumentError: If there is no such dimension or direction.
    """
    _check_direction(direction)

    def order_values(xp: ModuleType, values: Array) -> Any:
        dim = check_axis(axis, values.ndim)
        return xp.take_along_axis(values, _order(xp, values, dim, direction), axis=dim)

    return call_with_library(order_values, values)


@op
def argsort(values: TensorLike, axis: int = -1, direction: str = "ASCENDING", stable: bool = False) -> Any:
    """Return the indices that put `values` in order along a dimension, as `tf.argsort`.

    Args:
        values: An array of one dimension at least.
        axis: The dimension.
        direction: `"ASCENDING"` or `"DESCENDING"`.
        stable: Ignored: equal elements always stay in their order.

    Returns:
        Whole numbers, int32, of the shape of `values`, where it is.

    Raises:
        BadArgumentError: If there is no such dimension or direction.
    """
    _check_direction(direction)
    return call_with_library(
        lambda xp, values: _order(xp, values, check_axis(axis, values.ndim), direction).astype("int32"),
        values,
    )


@op
def top_k(
    input: TensorLike, k: TensorLike = 1, sorted: bool = True, index_type: DTypeLike = "int32"
) -> TopKV2:
    """Return the `k` largest elements along the last dimension and their places, as `tf.math.top_k`.

    Args:
        input: An array of one dimension at least.
        k: How many.
        sorted: Ignored: the largest is always first. Of equal elements the first counts as the larger.
        index_type: The dtype of the places.

    Returns:
        The elements and their places, where `input` is.

    Raises:
        BadArgumentError: If there are fewer than `k`.
    """
    count = whole_number("k", k)

    def largest(xp: ModuleType, input: Array) -> TopKV2:
        if not input.ndim or not 0 <= count <= input.shape[-1]:
            raise BadArgumentError(
                f"The last dimension must have at least k elements. Received: k={count}, an array of shape "
                f"{tuple(input.shape)}."
            )
        if xp is np:
            # Sorted as a whole: NumPy's partition leaves equal elements in no order.
            places = _order(np, input, input.ndim - 1, "DESCENDING")[..., :count]
            return TopKV2(np.take_along_axis(input, places, -1), places.astype(as_dtype(index_type)))
        from jax import lax

        # Of equal elements the one with the lower index comes first, in XLA as in TensorFlow.
        values, places = lax.top_k(input, count)
        return TopKV2(values, places.astype(dtype_in(xp, index_type)))

    return TopKV2(*call_with_library(largest, input))


def _approximate(name: str, library_name: str, what: str) -> Any:
    def function(
        operand: TensorLike,
        k: int,
        reduction_dimension: int = -1,
        recall_target: float = 0.95,
        reduction_input_size_override: int = -1,
        aggregate_to_topk: bool = True,
    ) -> tuple[Any, Any]:
        from jax import lax

        # Approximate on TPUs only: XLA's other backends sort all of it.
        values, places = getattr(lax, library_name)(
            on_device(operand),
            k,
            reduction_dimension=reduction_dimension,
            recall_target=recall_target,
            reduction_input_size_override=reduction_input_size_override,
            aggregate_to_topk=aggregate_to_topk,
        )
        return values, places

    return op(
        name=name,
        doc=f"""Return the `k` {what} elements and their places, on a device, as `tf.math.{name}`.

Args:
    operand: An array of floats.
    k: How many.
    reduction_dimension: The dimension along which they are looked for.
    recall_target: Which share of them is to be found, on a TPU; elsewhere all are.
    reduction_input_size_override: The dimension's size, where the operand is a part of it.
    aggregate_to_topk: Whether exactly `k` are returned.""",
    )(function)


approx_max_k = _approximate("approx_max_k", "approx_max_k", "largest")
approx_min_k = _approximate("approx_min_k", "approx_min_k", "smallest")


@op
def searchsorted(
    sorted_sequence: TensorLike, values: TensorLike, side: Any = "left", out_type: DTypeLike = "int32"
) -> Any:
    """Return where values would have to be inserted to keep sequences in order, as `tf.searchsorted`.

    Args:
        sorted_sequence: Sequences in order along the last dimension.
        values: Values for each of them, along the last dimension.
        side: Whether an equal element comes behind (`"left"`) or before it (`"right"`).
        out_type: The dtype of the result.

    Returns:
        Whole numbers of the shape of `values`; on the host if the operands are.

    Raises:
        BadArgumentError: If `side` is another one, or the leading dimensions differ.
    """
    if side not in ("left", "right"):
        raise BadArgumentError(f"side must be 'left' or 'right'. Received: side={shown(side)}.")

    def search(xp: ModuleType, sequences: Array, values: Array) -> Any:
        if sequences.shape[:-1] != values.shape[:-1]:
            raise BadArgumentError(
                "All dimensions but the last must be equal. Received: sorted_sequence of shape "
                f"{tuple(sequences.shape)}, values of shape {tuple(values.shape)}."
            )
        # NumPy and JAX search in one sequence at a time.
        rows = sequences.reshape(-1, sequences.shape[-1]), values.reshape(-1, values.shape[-1])
        if xp is np:
            found = np.array([np.searchsorted(row, wanted, side) for row, wanted in zip(*rows, strict=True)])
        else:
            import jax

            found = jax.vmap(lambda row, wanted: xp.searchsorted(row, wanted, side=side))(*rows)
        if side == "left":
            # TensorFlow's lower bound stops before the first element, than which NaN is no larger; NumPy sorts it last.
            found = xp.where(rows[1] != rows[1], 0, found)
        return found.reshape(values.shape).astype(dtype_in(xp, out_type))

    return call_with_library(search, sorted_sequence, values)


@op(text=["x"])
def unique(x: TensorLike, out_idx: DTypeLike = "int32") -> Unique:
    """Return the different elements of a vector in the order in which they come first, as `tf.unique`.

    Args:
        x: An array of one dimension, of numbers or text.
        out_idx: The dtype of the indices.

    Returns:
        `y` and `idx`, where `x` is.

    Raises:
        BadTypeError: If `x` is known only when a compiled program runs.
        BadArgumentError: If it has another rank.
    """
    return Unique(*_unique(x, out_idx)[:2])


@op(text=["x"])
def unique_with_counts(x: TensorLike, out_idx: DTypeLike = "int32") -> UniqueWithCounts:
    """Return what :func:`unique` does, and how often each element comes, as `tf.unique_with_counts`.

    Args:
        x: An array of one dimension, of numbers or text.
        out_idx: The dtype of the indices and counts.

    Returns:
        `y`, `idx` and `count`, where `x` is.

    Raises:
        BadTypeError: If `x` is known only when a compiled program runs.
        BadArgumentError: If it has another rank.
    """
    return UniqueWithCounts(*_unique(x, out_idx))


def _unique(x: TensorLike, dtype: DTypeLike) -> list[Any]:
    values = require_known("x", x, "Count with tf.math.bincount, which takes the number of classes.")
    if values.ndim != 1:
        raise BadArgumentError(
            f"Expected: a vector. Received: x of shape {values.shape}. Use tf.reshape(x, [-1])."
        )
    _, firsts, places, counts = np.unique(values, return_index=True, return_inverse=True, return_counts=True)
    # NumPy's are in order of values, TensorFlow's in that of their first places: `ranks` leads from one to the other.
    order = np.argsort(firsts)
    ranks = np.empty_like(order)
    ranks[order] = np.arange(len(order))
    kind = as_dtype(dtype)
    results = [values[firsts[order]], ranks[places].astype(kind), counts[order].astype(kind)]
    return results if is_host_call(x) else [on_device(result) for result in results]


@op(text=["x", "y"])
def setdiff1d(x: TensorLike, y: TensorLike, index_dtype: DTypeLike = "int32") -> tuple[Any, Any]:
    """Return the elements of `x` that `y` does not have, and their places, as `tf.compat.v1.setdiff1d`.

    Args:
        x: An array of one dimension, of numbers or text.
        y: Another.
        index_dtype: The dtype of the places.

    Raises:
        BadTypeError: If the values are known only when a compiled program runs.
    """
    remedy = "Use a mask: tf.reduce_any(x[:, None] == y[None], 1)."
    values = require_known("x", x, remedy)
    # In the order of `x`, repeated ones included, as in TensorFlow.
    (places,) = np.nonzero(~np.isin(values, require_known("y", y, remedy)))
    results = values[places], places.astype(as_dtype(index_dtype))
    return results if is_host_call(x, y) else (on_device(results[0]), on_device(results[1]))


@op
def invert_permutation(x: TensorLike) -> Any:
    """Return where each of 0 to n - 1 is in `x`, which holds each of them once, as `tf.math.invert_permutation`.

    Args:
        x: An array of one dimension.

    Raises:
        BadArgumentError: If a number is known to be missing.
    """

    def inverse(xp: ModuleType, x: Array) -> Any:
        if is_known(x) and not np.array_equal(np.sort(np.asarray(x)), np.arange(x.size)):
            raise BadArgumentError(f"Expected: each of 0 to {x.size - 1} once. Received: x={shown(x)}.")
        # What sorts a permutation is its inverse.
        return xp.argsort(x).astype(x.dtype)

    return call_with_library(inverse, x)
