"""Whether a compiled function is being traced, for code that must not import JAX to find out (lowest layer)."""

import sys
from typing import Any

from stratax.base.surroundings import Slot

# In how many regions of compiled functions a thread is.
TRACING: Slot[int] = Slot("tracing", 0)
# In how many of them it was when the innermost function of a pipeline was called; None outside of such.
PIPELINE: Slot[int | None] = Slot("pipeline", None)
# Where sizes that values decide have symbols, once there is one (`core/jaxprs`), and whether who traces settles them.
CHOSEN: list[Any] = []
SETTLING: Slot[bool] = Slot("sizes are settled", False)
# Whether it is in a function that `gives_tensors`.
COMPUTES: Slot[bool] = Slot("computes", False)


def is_tracing() -> bool:
    """Return whether what is computed now becomes part of a program, and not of an element of a pipeline."""
    return TRACING.get() > (PIPELINE.get() or 0)


def is_traced(value: object) -> bool:
    """Return whether the value of `value` is known only when a compiled program runs."""
    # Without JAX there are no tracers, and a data pipeline need not import it.
    if "jax" not in sys.modules:
        return False
    from jax.core import Tracer

    return isinstance(value, Tracer)


def is_symbolic_size(size: object) -> bool:
    """Return whether it is JAX' symbol for a size, which a layer of Keras meets when its output's shape is found."""
    # Who has such a size has imported it.
    export = sys.modules.get("jax.export")
    return type(size) is not int and export is not None and bool(export.is_symbolic_dim(size))


def has_symbolic_sizes(array: object) -> bool:
    """Return whether it is an array of sizes, as `tf.shape` gives, with such a symbol among them."""
    is_of_objects = getattr(getattr(array, "dtype", None), "kind", "") == "O"
    return is_of_objects and any(map(is_symbolic_size, getattr(array, "flat", ())))


def as_numbers(sizes: Any) -> Any:
    """Return a symbol for a size, or an array of sizes, as what the program knows when it runs; all else as it is."""
    if type(sizes) is int or (not is_symbolic_size(sizes) and not has_symbolic_sizes(sizes)):
        return sizes
    import jax.numpy as jnp
    import numpy as np

    array = np.asarray(sizes, object)
    numbers = [jnp.asarray(size, jnp.int32) for size in array.flat]
    return jnp.stack(numbers).reshape(array.shape)
