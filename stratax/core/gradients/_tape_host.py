"""Tensors of the host, such as elements of a Dataset, that a `GradientTape` is told to follow (core layer).

Nothing sees what NumPy computes. So such a tensor gets an array of a device, which computes in its place from then on.
"""

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from stratax.seams import keras as seam


def is_tensor(value: object) -> bool:
    """Return whether it is a tensor of the host, of numbers or text."""
    # By protocol: what such a tensor is, is for the layers above to say.
    return isinstance(value, np.ndarray | np.generic) and hasattr(type(value), "get_shape")


def follow_known(value: Any) -> Any:
    """Return the array of a device that computes in the place of a tensor of the host; everything else as it is."""
    is_followed = isinstance(value, np.ndarray) and hasattr(type(value), "__jax_array__")
    return value.__jax_array__() if is_followed else value


def follow(tensor: object) -> jax.Array:
    """Return the array of a device that computes in a tensor's place, now and later.

    Args:
        tensor: A tensor of the host, of a floating point dtype.
    """
    array = follow_known(tensor)
    if array is tensor:
        # Its values are known, also where a function is traced.
        with jax.ensure_compile_time_eval():
            array = jnp.array(np.asarray(tensor))
        tensor.follow_as(array)
        install()
    return array


def install() -> None:
    """Have Keras compute with the arrays of devices, too; it costs nothing before something is followed."""
    seam.install("stratax.core", {"keras.src.backend.jax.core:convert_to_tensor": _wrap_of_followed})


def _wrap_of_followed(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def convert_to_tensor(x: object, *args: object, **kwargs: object) -> Any:
        return original(follow_known(x), *args, **kwargs)

    return convert_to_tensor
