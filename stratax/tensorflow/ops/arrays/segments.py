"""Functions of `tf.math` that combine the elements of segments, classes or bins (ops layer).

NumPy arrays stay on the host. A result that is as long as the largest number says needs numbers that are known: in a
compiled function its length has to be given.
"""

import functools
from types import ModuleType
from typing import Any

import numpy as np

from stratax.base.indices import Bound, check_bound, is_known
from stratax.base.shown import shown
from stratax.base.tracing import is_traced
from stratax.base.typing import Array, DTypeLike, TensorLike
from stratax.errors import BadArgumentError
from stratax.tensorflow.ops.calls._computed import (
    call_with_library,
    dtype_in,
    require_known,
    scatter_at,
    whole_number,
)
from stratax.tensorflow.ops.calls._eager import NOT_COMPUTED, EagerPrograms
from stratax.tensorflow.ops.calls.dtypes import as_dtype
from stratax.tensorflow.ops.calls.op import op

_REMEDY = "Use tf.math.unsorted_segment_{}, which takes the number of segments."


def _limit(dtype: DTypeLike, *, is_lowest: bool) -> Any:
    # NumPy's own `finfo` does not know bfloat16.
    import ml_dtypes

    kind = np.dtype(dtype)
    limits = np.iinfo(kind) if kind.kind in "iu" else ml_dtypes.finfo(kind)
    return limits.min if is_lowest else limits.max


def combine_segments(xp: Any, data: Any, ids: Any, count: int, how: str) -> Any:
    """Return the elements of each segment combined: "sum", "mean", "sqrt_n", "prod", "max" or "min"."""
    shape = (count, *data.shape[ids.ndim :])
    # A negative number is of no segment: NumPy would count it from the end, `scatter_at` leaves it out on devices.
    flat_ids, flat = ids.reshape(-1), data.reshape((-1, *shape[1:]))
    if xp is np:
        is_inside = flat_ids >= 0
        flat_ids, flat = flat_ids[is_inside], flat[is_inside]
    # With what each segment begins, which is also what an empty one has.
    start, combine = {
        "prod": (1, "multiply"),
        "max": (_limit(data.dtype, is_lowest=True) if how == "max" else 0, "max"),
        "min": (_limit(data.dtype, is_lowest=False) if how == "min" else 0, "min"),
    }.get(how, (0, "add"))
    if how == "prod" and xp is not np and np.dtype(data.dtype).kind not in "iu":
        return _products(flat, flat_ids, count)
    totals = scatter_at(xp, xp.full(shape, start, data.dtype), flat_ids, flat, combine)
    if how not in ("mean", "sqrt_n"):
        return totals
    sizes = _sizes(xp, flat_ids, count).reshape((count,) + (1,) * (len(shape) - 1))
    # The mean of no elements is 0, as in TensorFlow, and no 0 / 0.
    sizes = xp.maximum(sizes, 1)
    if np.dtype(data.dtype).kind in "iu":
        return totals // sizes.astype(data.dtype)
    return totals / (sizes if how == "mean" else xp.sqrt(sizes.astype("float32"))).astype(data.dtype)


def _products(data: Array, ids: Array, count: int) -> Any:
    """Return the product of each segment: of JAX' own there is no gradient."""
    import jax
    import jax.numpy as jnp

    shape = (count, *data.shape[1:])

    @jax.custom_jvp
    def product(data: Array) -> Any:
        return scatter_at(jnp, jnp.ones(shape, data.dtype), ids, data, "multiply")

    @product.defjvp
    def _(primals: Array, tangents: Array) -> Any:
        (data,) = primals
        is_zero = data == 0
        # For each element, how many zeros its segment has: with one, only that one has a derivative; with two, none
        # has.
        zeros = combine_segments(jnp, is_zero.astype(data.dtype), ids, count, "sum")[ids]
        # The product of the segment's other elements: without zeros the product divided by the element.
        rest = product(jnp.where(is_zero, 1, data))
        others = jnp.where(zeros == 0, rest[ids] / jnp.where(is_zero, 1, data), 0)
        others = jnp.where(is_zero & (zeros == 1), rest[ids], others)
        return product(data), combine_segments(jnp, tangents[0] * others, ids, count, "sum")

    return product(data)


def _sizes(xp: ModuleType, ids: TensorLike, count: int) -> Any:
    return scatter_at(xp, xp.zeros(count, "int32"), ids, xp.ones_like(ids, dtype="int32"), "add")


def _make_unsorted(name: str, how: str, what: str) -> Any:
    def function(data: Array, segment_ids: Array, num_segments: TensorLike) -> Any:
        count = whole_number("num_segments", num_segments)

        def combine(xp: ModuleType, data: Array, ids: Array) -> Any:
            if tuple(data.shape[: ids.ndim]) != tuple(ids.shape):
                raise BadArgumentError(
                    "The shape of data must begin with that of segment_ids. Received: data of shape "
                    f"{tuple(data.shape)}, segment_ids of shape {tuple(ids.shape)}."
                )
            # As TensorFlow on CPUs: too large a number raises, a negative one is left out.
            check_bound(ids, Bound(None, count, functools.partial(_no_segment, count)))
            return combine_segments(xp, data, ids, count, how)

        return call_with_library(combine, data, segment_ids)

    return op(
        name=name,
        doc=f"Return {what} of each segment, as `tf.math.{name}`.\n\n{_UNSORTED_DOC}",
        arrays=["data", "segment_ids"],
        lists=["segment_ids"],
        is_checked=True,
    )(function)


def _no_class(count: int, numbers: np.ndarray, wrong: float, place: str) -> str:
    return (
        f"A class is out of range. Expected: from 0 to {count - 1}. Received: {wrong}, of {shown(numbers)}."
    )


def _no_segment(count: int, numbers: np.ndarray, wrong: float, place: str) -> str:
    return (
        f"A segment's number is out of range. Expected: below {count}. Received: segment_ids{place} = {wrong}, of "
        f"segment_ids={shown(numbers)}."
    )


_UNSORTED_DOC = """Args:
    data: An array, whose shape begins with that of `segment_ids`.
    segment_ids: For each slice of `data` the number of its segment, in any order; negative: none.
    num_segments: How many segments there are.

Returns:
    An array whose first dimension counts the segments; on the host if the operands are.

Raises:
    BadArgumentError: If the shapes do not fit, or a number is out of range. Of what a compiled function
        computes itself the slice is left out."""


def _make_sorted(name: str, how: str, what: str) -> Any:
    def function(data: TensorLike, segment_ids: TensorLike) -> Any:
        numbers = require_known("segment_ids", segment_ids, _REMEDY.format(how))
        if numbers.ndim != 1 or np.shape(data)[:1] != numbers.shape:
            raise BadArgumentError(
                "segment_ids has a number for each slice of data. Received: data of shape "
                f"{tuple(np.shape(data))}, segment_ids of shape {numbers.shape}."
            )
        if numbers.size and (numbers[0] < 0 or (np.diff(numbers) < 0).any()):
            raise BadArgumentError(
                f"segment_ids must be in order, and not negative. Received: segment_ids={shown(segment_ids)}. "
                f"{_REMEDY.format(how)}"
            )
        count = int(numbers[-1]) + 1 if numbers.size else 0
        if how not in ("max", "min"):
            computed = _SORTED[how].compute((data, segment_ids, count), {})
            if computed is not NOT_COMPUTED:
                return computed
        # An unsorted segment without elements has the dtype's limit, a sorted one 0.
        is_empty = np.bincount(numbers, minlength=count)[:count] == 0

        def combine(xp: ModuleType, data: TensorLike, ids: TensorLike) -> Any:
            totals = combine_segments(xp, data, ids, count, how)
            if how not in ("max", "min") or not is_empty.any():
                return totals
            empty = is_empty.reshape((count,) + (1,) * (totals.ndim - 1))
            return xp.where(empty, xp.zeros_like(totals), totals)

        return call_with_library(combine, data, segment_ids)

    return op(name=name, doc=f"Return {what} of each segment, as `tf.math.{name}`.\n\n{_SORTED_DOC}")(
        function
    )


def _make_totals(how: str) -> EagerPrograms:
    def sum_segments(data: Array, segment_ids: Array, count: int) -> Any:
        return call_with_library(
            lambda xp, data, ids: combine_segments(xp, data, ids, count, how), data, segment_ids
        )

    return EagerPrograms(sum_segments, ["data", "segment_ids"], lists=["segment_ids"])


# Of numbers that are in order, and of which none is out of range.
_SORTED = {how: _make_totals(how) for how in ("mean", "prod", "sum")}

_SORTED_DOC = """Args:
    data: An array.
    segment_ids: For each slice of `data` along the first dimension the number of its segment, in order.

Returns:
    An array whose first dimension is as long as the last number says; on the host if the operands are.

Raises:
    BadTypeError: If `segment_ids` are known only when a compiled program runs.
    BadArgumentError: If they are not in order, or the shapes do not fit."""

segment_max = _make_sorted("segment_max", "max", "the largest elements")
segment_mean = _make_sorted("segment_mean", "mean", "the mean")
segment_min = _make_sorted("segment_min", "min", "the smallest elements")
segment_prod = _make_sorted("segment_prod", "prod", "the product")
segment_sum = _make_sorted("segment_sum", "sum", "the sum")
unsorted_segment_max = _make_unsorted("unsorted_segment_max", "max", "the largest elements")
unsorted_segment_mean = _make_unsorted("unsorted_segment_mean", "mean", "the mean")
unsorted_segment_min = _make_unsorted("unsorted_segment_min", "min", "the smallest elements")
unsorted_segment_prod = _make_unsorted("unsorted_segment_prod", "prod", "the product")
unsorted_segment_sqrt_n = _make_unsorted(
    "unsorted_segment_sqrt_n", "sqrt_n", "the sum, divided by the size's root,"
)
unsorted_segment_sum = _make_unsorted("unsorted_segment_sum", "sum", "the sum")


@op(name_after="dtype")
def bincount(
    arr: TensorLike,
    weights: TensorLike | None = None,
    minlength: int | None = None,
    maxlength: int | None = None,
    dtype: DTypeLike = "int32",
    axis: int | None = None,
    binary_output: bool = False,
) -> Any:
    """Return how often each whole number comes, as `tf.math.bincount`.

    Args:
        arr: Whole numbers, none of them negative.
        weights: What each adds to its bin instead of 1, an array of the same shape.
        minlength: The smallest number of bins.
        maxlength: The largest; larger numbers are left out.
        dtype: The dtype of the counts, without weights.
        axis: None or 0: over all elements; -1: for each row.
        binary_output: Whether it gives 1 instead of the count.

    Returns:
        An array of as many bins as the largest number says; on the host if the operands are.

    Raises:
        BadTypeError: If `arr` is known only when a compiled program runs and `minlength` and `maxlength` do not give
            the number of bins.
        BadArgumentError: If a number that is known is negative, or arguments exclude one another.
    """
    if axis not in (None, 0, -1):
        raise BadArgumentError(f"axis must be None, 0 or -1. Received: axis={shown(axis)}.")
    if weights is not None and binary_output:
        raise BadArgumentError("weights and binary_output exclude one another. Received: both. Pass one.")
    length = _num_bins(arr, minlength, maxlength)

    def count(xp: ModuleType, arr: Array, weights: Array) -> Any:
        kind = dtype_in(xp, dtype) if weights is None else weights.dtype
        rows = arr.reshape(-1) if axis != -1 or arr.ndim < 2 else arr.reshape(-1, arr.shape[-1])
        numbers = rows.astype("int32")
        amounts = xp.ones(numbers.shape, kind) if weights is None else weights.reshape(numbers.shape)
        # What is in no bin goes to one that is cut off.
        numbers = xp.where(numbers < length, numbers, length)
        shape = (*numbers.shape[:-1], length + 1)
        # Of rows: each number goes into a bin of its own row.
        index = (xp.arange(shape[0])[:, None], numbers) if len(shape) > 1 else numbers
        bins = scatter_at(xp, xp.zeros(shape, kind), index, amounts, "max" if binary_output else "add")
        return bins[..., :length]

    return call_with_library(count, arr, weights)


def _num_bins(arr: TensorLike, minlength: object, maxlength: object) -> int:
    least = 0 if minlength is None else whole_number("minlength", minlength)
    most = None if maxlength is None else whole_number("maxlength", maxlength)
    # The number of bins is given: nothing has to be known of the numbers, which may be traced.
    if most is not None and (most == least or (is_traced(arr) and least >= most)):
        return most
    numbers = require_known("arr", arr, "Pass the number of bins as minlength and as maxlength.")
    if numbers.size and numbers.min() < 0:
        raise BadArgumentError(f"Negative numbers have no bin. Received: arr={shown(arr)}.")
    length = max(least, int(numbers.max(initial=-1)) + 1)
    return length if most is None else min(length, most)


@op
def confusion_matrix(
    labels: TensorLike,
    predictions: TensorLike,
    num_classes: int | None = None,
    weights: TensorLike | None = None,
    dtype: DTypeLike = "int32",
) -> Any:
    """Return how often each class was taken for each, as `tf.math.confusion_matrix`.

    Args:
        labels: The true classes' numbers, an array of one dimension.
        predictions: The predicted ones.
        num_classes: How many classes there are; None: as many as the largest number says.
        weights: What each example counts instead of 1.
        dtype: The dtype of the matrix.

    Returns:
        A matrix whose rows are the true classes; on the host if the operands are.

    Raises:
        BadTypeError: Without `num_classes`, if the numbers are known only when a compiled program runs.
        BadArgumentError: If a number that is known is out of range.
    """
    if np.shape(labels) != np.shape(predictions):
        raise BadArgumentError(
            f"Shapes of labels and predictions must be equal. Received: {np.shape(labels)} and {np.shape(predictions)}."
        )
    if weights is not None and np.shape(weights) != np.shape(labels):
        raise BadArgumentError(
            f"Each example has a weight. Received: weights of shape {np.shape(weights)}, labels of shape "
            f"{np.shape(labels)}."
        )
    # What is traced is checked when the program runs, below.
    both = [each for each in (labels, predictions) if not is_traced(each)]
    largest = max((int(np.asarray(each).max(initial=-1)) for each in both), default=-1)
    if num_classes is None:
        for each_name, each in (("labels", labels), ("predictions", predictions)):
            require_known(each_name, each, "Pass num_classes.")
        num_classes = largest + 1
    least = min((int(np.asarray(each).min(initial=0)) for each in both), default=0)
    if largest >= num_classes or least < 0:
        raise BadArgumentError(
            f"A class is out of range. Expected: from 0 to {num_classes - 1}. Received: labels={shown(labels)}, "
            f"predictions={shown(predictions)}."
        )

    bound = Bound(0, num_classes, functools.partial(_no_class, num_classes))
    for each in (labels, predictions):
        if is_traced(each):
            check_bound(each, bound)

    def count(xp: ModuleType, labels: Array, predictions: Array, weights: Array) -> Any:
        kind = dtype_in(xp, dtype)
        index = labels.reshape(-1).astype("int32"), predictions.reshape(-1).astype("int32")
        amounts = xp.ones(index[0].shape, kind) if weights is None else weights.reshape(-1).astype(kind)
        # Rows are labels, columns predictions.
        return scatter_at(xp, xp.zeros((num_classes, num_classes), kind), index, amounts, "add")

    return call_with_library(count, labels, predictions, weights)


@op
def histogram_fixed_width_bins(
    values: TensorLike, value_range: Any, nbins: int = 100, dtype: DTypeLike = "int32"
) -> Any:
    """Return the bin that each value is in, of bins of equal width, as `tf.histogram_fixed_width_bins`.

    Args:
        values: An array.
        value_range: The lower and the upper end; what is outside is in the first or the last bin.
        nbins: How many bins.
        dtype: The dtype of the result.

    Returns:
        Whole numbers of the shape of `values`, where it is.

    Raises:
        BadArgumentError: If there are no bins, or the ends are not in order.
    """
    count = whole_number("nbins", nbins)
    if count <= 0:
        raise BadArgumentError(f"nbins must be positive. Received: nbins={count}.")
    if is_known(value_range) and not np.asarray(value_range)[0] < np.asarray(value_range)[1]:
        raise BadArgumentError(
            f"value_range must be two numbers in order. Received: value_range={shown(value_range)}."
        )

    def bins(xp: ModuleType, values: TensorLike, ends: Any) -> Any:
        low, high = ends[0], ends[1]
        # Values outside of the range count in the first and in the last bin.
        places = xp.floor(count * ((values - low) / (high - low)))
        return xp.clip(places, 0, count - 1).astype(dtype_in(xp, dtype))

    return call_with_library(bins, values, value_range)


@op
def histogram_fixed_width(
    values: TensorLike, value_range: TensorLike, nbins: int = 100, dtype: DTypeLike = "int32"
) -> Any:
    """Return how many values are in each of `nbins` bins of equal width, as `tf.histogram_fixed_width`.

    Args:
        values: An array.
        value_range: The lower and the upper end; what is outside is in the first or the last bin.
        nbins: How many bins.
        dtype: The dtype of the counts.

    Returns:
        An array of `nbins` counts, where `values` is.
    """
    places = histogram_fixed_width_bins(values, value_range, nbins)
    return bincount(places, minlength=nbins, maxlength=nbins, dtype=as_dtype(dtype))
