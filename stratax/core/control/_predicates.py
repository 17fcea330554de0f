"""Conditions as arrays that are true or false (core layer)."""

from typing import Any

import jax.numpy as jnp

from stratax import errors
from stratax.core.control import _locals


def as_predicate(condition: Any, statement: str) -> Any:
    """Return a condition as a boolean scalar array.

    Raises:
        TracingError: If it has more than one element.
    """
    condition = jnp.asarray(condition)
    if condition.size != 1:
        raise errors.TracingError(
            f"The condition of `{statement}` has more than one element. Expected: a scalar array. "
            f"Received: {_locals.describe('', condition)}. Reduce it with `keras.ops.all` or `keras.ops.any`, or use "
            "`keras.ops.where` to choose element by element."
        )
    condition = condition.reshape(())
    return condition if condition.dtype == bool else condition != 0
