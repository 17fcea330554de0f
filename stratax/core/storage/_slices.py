"""Which part of which variable an array is, so that it can be assigned: `variable[0].assign(value)` (core layer)."""

import weakref
from typing import Any

import jax.numpy as jnp
import keras

# By id, as arrays have no hash; an entry goes with its array.
_parts: dict[int, tuple[weakref.ref[Any], keras.Variable, Any]] = {}


def note_part(array: object, variable: keras.Variable, index: object) -> Any:
    """Remember an array as a part of a variable, and return it."""
    key = id(array)
    _parts[key] = (weakref.ref(array, lambda _: _parts.pop(key, None)), variable, index)
    return array


def assign_part(array: Any) -> Any:
    """Return what assigns to the elements of a variable that an array was taken from.

    Raises:
        AttributeError: If it is no part of a variable.
    """
    found = _parts.get(id(array))
    if found is None or found[0]() is not array:
        raise AttributeError(
            "An array has no `assign`: its values do not change. Expected: a variable, or a part of one, as in "
            f"`variable[0].assign(value)`. Received: an array of shape {tuple(array.shape)}.",
            name="assign",
        )
    _, variable, index = found

    def assign(value: object, name: str | None = None) -> keras.Variable:
        del name
        whole = jnp.asarray(variable.value)
        variable.assign(whole.at[index].set(jnp.asarray(value, whole.dtype)))
        return variable

    return assign
