"""`tf.sparse.bincount`: how often each whole number comes, as a SparseTensor (ops layer)."""

import numpy as np

from stratax.base.shown import shown
from stratax.base.typing import TensorLike
from stratax.data import RaggedTensor, SparseTensor
from stratax.errors import BadArgumentError
from stratax.tensorflow.ops.arrays import sparse
from stratax.tensorflow.ops.calls._computed import whole_number
from stratax.tensorflow.ops.calls.on_host import array_of
from stratax.tensorflow.ops.calls.op import op


@op(name_after="binary_output", is_told=False)
def bincount(
    values: TensorLike,
    weights: TensorLike | None = None,
    axis: int | None = 0,
    minlength: int | None = None,
    maxlength: int | None = None,
    binary_output: bool = False,
) -> SparseTensor:
    """Return how often each whole number comes, as `tf.sparse.bincount`.

    Args:
        values: Whole numbers, none of them negative: an array, a SparseTensor or a RaggedTensor.
        weights: What each adds instead of 1, of the same kind and shape.
        axis: None or 0: over all values; -1: for each row.
        minlength: The smallest size of the result's last dimension.
        maxlength: The largest; larger numbers are left out.
        binary_output: Whether it gives 1 instead of the count.

    Returns:
        A SparseTensor of the numbers that come, of shape `[numbers]`, or `[rows, numbers]` for `axis=-1`; int32 without
        weights, else of their dtype.

    Raises:
        BadArgumentError: A number is negative or no whole one, shapes differ, or arguments exclude one another.
    """
    if axis not in (None, 0, -1):
        raise BadArgumentError(
            f"Unsupported value for argument axis={shown(axis)}. Only 0 and -1 are currently supported."
        )
    if weights is not None and binary_output:
        raise BadArgumentError(
            "Arguments `binary_output` and `weights` are mutually exclusive. Please specify only one."
        )
    numbers, rows, num_rows = _flat(values)
    if numbers.dtype.kind not in "iu" or numbers.min(initial=0) < 0:
        raise BadArgumentError(
            f"Input values must all be non-negative whole numbers. Received: values={shown(values)}."
        )
    amounts = np.ones(len(numbers), np.int32) if weights is None else _flat(weights)[0]
    if amounts.shape != numbers.shape:
        raise BadArgumentError(
            f"Each value needs a weight. Received: {len(numbers)} values and {len(amounts)} weights."
        )
    most = None if maxlength is None else whole_number("maxlength", maxlength)
    if most is not None:
        kept = numbers < most
        numbers, rows, amounts = numbers[kept], rows[kept], amounts[kept]
    # As in TensorFlow: with a largest number of bins there are so many.
    least = 0 if minlength is None else whole_number("minlength", minlength)
    size = most if most is not None else max(least, int(numbers.max(initial=-1)) + 1)
    by_row = axis == -1 and num_rows is not None
    places = np.stack([rows, numbers], axis=1) if by_row else numbers[:, None]
    found, at = np.unique(places, axis=0, return_inverse=True)
    counts = np.zeros(len(found), amounts.dtype)
    # NumPy 2.0 gives `at` a second dimension, other versions do not.
    np.add.at(counts, at.reshape(-1), amounts)
    if binary_output:
        counts = np.ones_like(counts)
    shape = [num_rows, size] if by_row else [size]
    return SparseTensor(found.astype(np.int64), counts, np.array(shape, np.int64))


def _flat(values: object) -> tuple[np.ndarray, np.ndarray, int | None]:
    """Return the values in one dimension, the row of each, and the number of rows; None of what has none."""
    if isinstance(values, SparseTensor):
        indices, numbers, shape = sparse.parts_of("bincount", values)
        # A vector has no rows: all of it is counted together.
        return numbers, indices[:, 0], int(shape[0]) if len(shape) > 1 else None
    if isinstance(values, RaggedTensor):
        lengths = np.asarray(values.row_lengths())
        return array_of(values.flat_values), np.repeat(np.arange(len(lengths)), lengths), len(lengths)
    sparse.check_known("bincount", values)
    numbers = array_of(values)
    if numbers.ndim < 2:
        return numbers.reshape(-1), np.zeros(numbers.size, np.int64), None
    return numbers.reshape(-1), np.repeat(np.arange(len(numbers)), numbers[0].size), len(numbers)
