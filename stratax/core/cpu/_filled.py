"""First values of variables made without compiling anything (core layer).

JAX makes such an array by a program, which is compiled for each shape, in 30 milliseconds of processor time (2 cores,
jaxlib 0.10.2); an optimizer's slots have twenty to thirty shapes. NumPy only writes it.
"""

from collections.abc import Callable
from typing import Any

import jax
import keras
import numpy as np

from stratax.core.cpu._drawn import draw_on_host
from stratax.seams.jax import computes_now

_NUMBERS = {keras.initializers.Zeros: 0, keras.initializers.Ones: 1}


def fill_on_host(initializer: Callable[..., Any]) -> Callable[..., Any]:
    """Return what gives an initializer's values, by NumPy where they are used on a CPU: equal numbers and random ones.

    Args:
        initializer: Takes a shape and a dtype, and returns an array.
    """
    # Of the class itself: another one may give anything.
    number = _NUMBERS.get(type(initializer))  # type: ignore[call-overload]
    if not computes_now() or not _is_on_cpu():
        return initializer

    def draw(shape: tuple[int, ...], dtype: Any = None) -> jax.Array:
        with draw_on_host():
            return initializer(shape, dtype=dtype)

    if number is None:
        return draw

    def fill(shape: tuple[int, ...], dtype: Any = None) -> jax.Array:
        kind = jax.numpy.dtype(keras.backend.standardize_dtype(dtype))
        if jax.dtypes.canonicalize_dtype(kind) != kind:
            # JAX warns of a type that it has not.
            return initializer(shape, dtype=dtype)
        values = np.zeros(shape, kind) if number == 0 else np.ones(shape, kind)
        # Memory of NumPy's can't be donated, so it is copied.
        return jax.device_put(values, may_alias=False)

    return fill


def _is_on_cpu() -> bool:
    """Return whether new arrays lie on a CPU."""
    device: Any = jax.config.jax_default_device  # type: ignore[attr-defined]
    if device is None:
        return jax.default_backend() == "cpu"
    return (device if isinstance(device, str) else device.platform) == "cpu"
