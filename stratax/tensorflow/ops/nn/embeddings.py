"""Rows of matrices looked up by numbers, of `tf.nn` (ops layer). All compute on a device."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from stratax.base.indices import check_indices
from stratax.base.shown import shown
from stratax.base.tracing import is_traced
from stratax.base.typing import Array, TensorLike
from stratax.errors import BadArgumentError, TracingError
from stratax.tensorflow.ops.calls.creation import on_device
from stratax.tensorflow.ops.calls.op import op

# How a matrix is cut into parts: in runs of rows, or row by row in turn.
_STRATEGIES = ("div", "mod")


@op
def embedding_lookup(params: TensorLike, ids: TensorLike, max_norm: float | None = None) -> Any:
    """Return rows of a matrix, as `tf.nn.embedding_lookup`.

    Args:
        params: The matrix, or a list of its parts one below the other.
        ids: The rows' numbers, of any shape.
        max_norm: Rows that are longer are scaled to this length.

    Returns:
        An array whose first dimensions are those of `ids`.

    Raises:
        BadArgumentError: If there is no matrix.
    """
    return rows_of(params, ids, max_norm, "div")


def rows_of(params: TensorLike, ids: TensorLike, max_norm: float | None, partition_strategy: str) -> Any:
    """Return rows of a matrix that may be cut into parts.

    Args:
        params: The matrix, or a list of its parts.
        ids: The rows' numbers.
        max_norm: Rows that are longer are scaled to this length; None leaves them.
        partition_strategy: `"div"` if parts have the rows one after the other, `"mod"` if they have them in turn.

    Raises:
        BadArgumentError: If there is no matrix, or no such strategy.
    """
    parts = list(params) if isinstance(params, list | tuple) else [params]
    if not parts or partition_strategy not in _STRATEGIES:
        raise BadArgumentError(
            f"An embedding is looked up in one matrix or more, cut by one of {_STRATEGIES}. Received: {len(parts)} "
            f"matrices, partition_strategy={shown(partition_strategy)}."
        )
    numbers = on_device(ids)
    if not jnp.issubdtype(numbers.dtype, jnp.integer):
        raise BadArgumentError(
            f"Rows are looked up by whole numbers. Received: ids of dtype {numbers.dtype}. Cast them to tf.int32."
        )
    if len(parts) > 1 and partition_strategy == "mod":
        # "mod" deals ids to the parts in turn: id 7 of three parts is row 2 of part 1. The parts lie one behind another
        # here.
        begins = np.cumsum([0, *(np.shape(part)[0] for part in parts[:-1])])
        numbers = jnp.asarray(begins)[numbers % len(parts)] + numbers // len(parts)
    # The parts of "div" are runs of rows: one behind another they are the matrix.
    whole = on_device(parts[0]) if len(parts) == 1 else jnp.concatenate([on_device(part) for part in parts])
    check_indices([numbers], whole.shape)
    rows = jnp.take(whole, numbers, axis=0)
    return rows if max_norm is None else _shorten(rows, max_norm, numbers.ndim)


def _shorten(rows: Array, max_norm: float, first: int) -> Any:
    squares = jnp.sum(jnp.square(rows), tuple(range(first, rows.ndim)), keepdims=True)
    # A norm of 0 has no gradient; its own square root is never used.
    length = jnp.sqrt(jnp.where(squares > 0, squares, 1.0))
    return rows * (max_norm / jnp.maximum(length, max_norm))


@op(name_after="max_norm", is_told=False, is_raw=True)
def embedding_lookup_sparse(
    params: TensorLike,
    sp_ids: TensorLike,
    sp_weights: TensorLike,
    combiner: str | None = None,
    max_norm: float | None = None,
    allow_fast_lookup: bool = False,
) -> Any:
    """Return for each row of ids a weighted sum or mean of rows of a matrix, as `tf.nn.embedding_lookup_sparse`.

    Args:
        params: The matrix, or a list of its parts.
        sp_ids: A SparseTensor of shape `(rows, ids at most)`; a dense array counts all of its ids.
        sp_weights: A SparseTensor of the same places, or None for 1.
        combiner: `"sum"`, `"mean"` (the default: divided by the sum of weights), or `"sqrtn"` (by the root of the
            sum of their squares).
        max_norm: Rows of the matrix that are longer are scaled to this length.
        allow_fast_lookup: Ignored.

    Returns:
        One vector for each row of ids, 0 for a row without any.

    Raises:
        BadArgumentError: If `combiner` is none of these.
    """
    segments, ids, weights, num_rows = _entries(sp_ids, sp_weights)
    return _combine(rows_of(params, ids, max_norm, "div"), segments, weights, num_rows, combiner)


def _entries(sp_ids: Any, sp_weights: object) -> tuple[Any, Any, Any, int]:
    """Return the rows, ids and weights of the entries, and the number of rows."""
    if not hasattr(sp_ids, "dense_shape"):
        ids = on_device(sp_ids)
        # The row of each id, flat as the ids are.
        segments = jnp.broadcast_to(jnp.arange(ids.shape[0])[:, None], ids.shape).ravel()
        weights = None if sp_weights is None else on_device(sp_weights).ravel()
        return segments, ids.ravel(), weights, ids.shape[0]
    weights = None if sp_weights is None else on_device(getattr(sp_weights, "values", sp_weights))
    return (
        on_device(sp_ids.indices)[:, 0],
        on_device(sp_ids.values),
        weights,
        _sizes("embedding_lookup_sparse", sp_ids)[0],
    )


def _combine(rows: Any, segments: Any, weights: Any, num_rows: int, combiner: str | None) -> Any:
    powers = {"sum": None, "mean": 1, "sqrtn": 2}
    combiner = "mean" if combiner is None else combiner
    if combiner not in powers:
        raise BadArgumentError(
            f"combiner must be one of {tuple(powers)}. Received: combiner={shown(combiner)}. Choose one."
        )
    add = lambda values: jax.ops.segment_sum(values, segments, num_rows)  # noqa: E731
    shares = (jnp.ones(segments.shape) if weights is None else weights).astype(rows.dtype)
    spread = [-1, *[1] * (rows.ndim - 1)]
    total = add(rows * shares.reshape(spread))
    power = powers[combiner]
    if power is None:
        return total
    # The sum of weights, or the root of the sum of their squares.
    divisor = add(shares**power) ** (1 / power)
    # As in TensorFlow a row without ids is 0, not NaN.
    return jnp.where(
        add(jnp.ones(segments.shape)).reshape(spread) > 0,
        total / jnp.where(divisor == 0, 1, divisor).reshape(spread),
        0,
    )


@op(name_after="max_norm", is_told=False, is_raw=True)
def safe_embedding_lookup_sparse(
    embedding_weights: Any,
    sparse_ids: Any,
    sparse_weights: Any = None,
    combiner: str | None = "mean",
    default_id: int | None = None,
    max_norm: float | None = None,
    allow_dense_grads: bool = False,
) -> Any:
    """Return combined rows of a matrix, leaving out ids below 0, as `tf.nn.safe_embedding_lookup_sparse`.

    Args:
        embedding_weights: The matrix, or a list of its parts.
        sparse_ids: A SparseTensor; its last dimension holds the ids of a row.
        sparse_weights: A SparseTensor of the same places, or None for 1. What has a weight of 0 or less is left out,
            unless they are added up.
        combiner: As in :func:`embedding_lookup_sparse`.
        default_id: Whose row stands for a row without ids; None for zeros.
        max_norm: Rows of the matrix that are longer are scaled to this length.
        allow_dense_grads: Ignored.

    Returns:
        One vector for each row of ids.
    """
    sizes = _sizes("safe_embedding_lookup_sparse", sparse_ids)
    places, ids = on_device(sparse_ids.indices), on_device(sparse_ids.values)
    num_rows = int(np.prod(sizes[:-1]))
    segments = jnp.zeros(places.shape[:1], "int32")
    # All dimensions but the last are rows, counted as one.
    for dim, size in enumerate(sizes[:-1]):
        segments = segments * size + places[:, dim]
    weights = None if sparse_weights is None else on_device(sparse_weights.values)
    is_used = ids >= 0
    if weights is not None and combiner != "sum":
        is_used = is_used & (weights > 0)
    # What is left out goes to a row behind the last: a compiled program can't make arrays shorter.
    segments = jnp.where(is_used, segments, num_rows)
    rows = rows_of(embedding_weights, jnp.where(is_used, ids, 0), max_norm, "div")
    result = _combine(rows, segments, weights, num_rows + 1, combiner)[:-1]
    if default_id is not None:
        is_empty = jax.ops.segment_sum(jnp.ones(segments.shape), segments, num_rows + 1)[:-1] == 0
        row = rows_of(embedding_weights, jnp.asarray([default_id]), max_norm, "div")
        result = jnp.where(is_empty.reshape([-1, *[1] * (result.ndim - 1)]), row, result)
    return result.reshape([*sizes[:-1], *result.shape[1:]])


def _sizes(name: str, sparse: Any) -> list[int]:
    if is_traced(sparse.dense_shape):
        raise TracingError(
            f"{name} needs the number of rows of a SparseTensor, which is not known while a compiled function is "
            f"traced. Expected: a dense_shape that is known. Received: {shown(sparse)}. Make the SparseTensor in the "
            "function: tf.SparseTensor(sparse.indices, sparse.values, [rows, columns])."
        )
    return [int(size) for size in np.asarray(sparse.dense_shape)]
