"""What is made of rows whose lengths only the running program knows (data layer)."""

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np

from stratax.base.shown import shown
from stratax.core import jaxprs
from stratax.data.elements._ragged_splits import lengths_of
from stratax.data.elements._sparse import empty_value
from stratax.data.elements._structure import as_array
from stratax.errors import BadArgumentError


def dense(rows: Any, sizes: Sequence[int | None], default_value: Any) -> Any:
    """Return the dense array that holds rows that a compiled function is given, filled up with a default.

    Args:
        rows: The RaggedTensor.
        sizes: The sizes, which longer rows are cut to; None for what is needed: the width is a symbol then, as of what
            `tf.boolean_mask` gives, and the longest row decides it when the program runs.
        default_value: What it is filled up with; 0 or False if None.

    Raises:
        BadArgumentError: Other sizes are asked for of dimensions that are dense.
    """
    flat, values = rows.flat_values, rows.values
    if hasattr(values, "row_splits"):
        values = dense(values, [None, *sizes[2:]], default_value)
    elif any(a not in (None, b) for a, b in zip(sizes[2:], flat.shape[1:], strict=True)):
        raise BadArgumentError(
            f"to_tensor does not change the sizes of dense dimensions. Expected: shape[2:]={tuple(flat.shape[1:])}. "
            f"Received: {shown(list(sizes))}."
        )
    values, splits = jnp.asarray(values), jnp.asarray(rows.row_splits)
    fill = empty_value(np.dtype(flat.dtype)) if default_value is None else as_array(default_value)
    fill, lengths = jnp.asarray(fill, values.dtype), lengths_of(splits)
    columns = _find_columns(sizes[1], values.shape[0], lengths)
    is_there = columns < lengths[:, None]
    if values.shape[0]:
        places = jnp.where(is_there, splits[:-1, None] + columns, 0)
        found = values.at[places].get(mode="promise_in_bounds")
        made = jnp.where(jnp.expand_dims(is_there, range(2, found.ndim)), found, fill)
    else:
        made = jnp.broadcast_to(fill, (*is_there.shape, *values.shape[1:]))
    count, more = sizes[0], 0 if sizes[0] is None else sizes[0] - len(rows)
    if more > 0:
        return jnp.concatenate([made, jnp.broadcast_to(fill, (more, *made.shape[1:]))])
    return made if count is None else made[:count]


def _find_columns(width: int | None, most: int, lengths: Any) -> Any:
    """Return the numbers of columns: of as many as are wanted, or as the longest row has."""
    if width is not None or not most:
        return jnp.arange(width or 0)
    return jaxprs.find_places(jnp.arange(most) < jnp.max(lengths, initial=0))


def row_ids(rows: Any) -> Any:
    """Return the number of each value's row."""
    splits = jnp.asarray(rows.row_splits)
    places = jnp.arange(rows.values.shape[0], dtype=splits.dtype)
    return jnp.searchsorted(splits[1:], places, side="right").astype(splits.dtype)


def bounding_shape(rows: Any) -> Any:
    """Return the smallest shape of a dense array that holds all rows, as the program computes it."""
    values = rows.values
    inner = bounding_shape(values)[1:] if hasattr(values, "row_splits") else jnp.array(values.shape[1:], int)
    longest = jnp.max(lengths_of(jnp.asarray(rows.row_splits)), initial=0)
    return jnp.concatenate([jnp.array([len(rows)]), longest[None], inner]).astype(rows.row_splits.dtype)
