"""Values of ragged and sparse tensors, which may be on a device (data layer)."""

from typing import Any

import numpy as np

from stratax.data.elements._structure import as_array


def as_values(values: object) -> Any:
    if hasattr(values, "row_splits") or hasattr(values, "aval"):
        return values
    if hasattr(values, "__jax_array__"):
        # A variable's value, as it is where the program is: a tape, or a trace, follows it.
        return values.__jax_array__()
    made = as_array(values)
    return np.asarray(made, object if isinstance(made, bytes) else None)


def put_values(dense: np.ndarray, places: tuple[Any, ...], values: Any) -> Any:
    """Return a dense array, which may be changed, with values at places; where the values are."""
    if not hasattr(values, "aval"):
        dense[places] = values
        return dense
    import jax.numpy as jnp

    return jnp.asarray(dense).at[places].set(values)
