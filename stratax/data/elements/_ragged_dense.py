"""The dense array of a RaggedTensor (data layer)."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from stratax.base.shown import shown
from stratax.data.elements._ragged_splits import lengths_of
from stratax.data.elements._sparse import empty_value
from stratax.data.elements._structure import as_array
from stratax.errors import BadArgumentError


def dense(rows: Any, sizes: Sequence[int], default_value: Any) -> Any:
    """Return the dense array of some sizes that holds the rows, filled up with a default."""
    flat = rows.flat_values
    inner = tuple(flat.shape[1:])
    count, width = sizes[:2]
    values = rows.values
    if hasattr(values, "row_splits"):
        values = dense(values, [len(values), *sizes[2:]], default_value)
    elif tuple(sizes[2:]) != inner:
        raise BadArgumentError(
            f"to_tensor does not change the sizes of dense dimensions. Expected: shape[2:]={inner}. "
            f"Received: {shown(list(sizes))}."
        )
    splits, length = rows.row_splits, len(rows)
    kept = min(count, length)
    starts, lengths = splits[:-1][:kept], np.minimum(lengths_of(splits)[:kept], width)
    places = starts[:, None] + np.arange(width)
    is_there = np.arange(width) < lengths[:, None]
    fill = empty_value(np.dtype(flat.dtype)) if default_value is None else as_array(default_value)
    if isinstance(values, np.ndarray):
        filled = np.empty((count, width, *values.shape[1:]), values.dtype)
        filled[...] = fill
        filled[:kept][is_there] = values[places[is_there]]
        return filled
    import jax.numpy as jnp

    made = jnp.broadcast_to(jnp.asarray(fill, values.dtype), (count, width, *values.shape[1:]))
    target = np.nonzero(is_there)
    return made.at[target].set(values[places[is_there]])
