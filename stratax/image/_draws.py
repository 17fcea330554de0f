"""Where the random numbers of an image operation come from (image layer)."""

import operator
from collections.abc import Callable
from typing import Any

import array_api_compat
import numpy as np

from stratax.base.shown import shown
from stratax.base.typing import TensorLike
from stratax.data.elements import element_uniform, uniform
from stratax.errors import BadArgumentError, BadTypeError
from stratax.image._arrays import is_numpy

# Gives numbers from 0 up to but not 1, in a shape.
Draw = Callable[[tuple[int, ...]], Any]


def draw_of(image: TensorLike, seed: TensorLike | None) -> Draw:
    """For NumPy arrays from the pipeline, for JAX arrays from the generator of `tf.random`.

    Args:
        image: The array.
        seed: None, or an integer (or, for JAX arrays, a `keras.random.SeedGenerator`).

    Raises:
        BadTypeError: It is something else.
    """
    if is_numpy(image) or not array_api_compat.is_jax_array(image):
        number = None if seed is None else _as_integer(seed)
        return lambda shape: element_uniform(shape, number)
    # Only for what computes on a device: it takes seconds to import.
    import keras

    from stratax.core.state import generator_of

    return lambda shape: keras.random.uniform(shape, dtype="float32", seed=generator_of(seed))


def between(low: Any, high: Any, draw: Draw) -> Any:
    """Draw a number between two."""
    return draw(()) * (high - low) + low


def _as_integer(seed: Any) -> int:
    try:
        return operator.index(seed)
    except TypeError as e:
        raise BadTypeError(
            f"A seed is an integer. Received: seed={shown(seed)} of type {type(seed).__name__}. Pass for instance 1."
        ) from e


def stateless_draw_of(image: TensorLike, seed: Any) -> Draw:
    """Return a function of `seed` alone.

    Args:
        image: The array.
        seed: Two integers; they may be traced if `image` is a JAX array.

    Raises:
        BadArgumentError: There are not two.
        BadTypeError: They are not integers.
    """
    if np.shape(seed) != (2,):
        raise BadArgumentError(
            "The seed of a stateless operation is two integers. "
            f"Received: seed={shown(seed)}. Pass for instance (1, 2)."
        )
    if not array_api_compat.is_jax_array(image):
        key = [_as_integer(part) for part in seed]
        return lambda shape: uniform(shape, key)
    import jax  # It is there already: the image is its array.

    data = jax.numpy.asarray(seed).astype("uint32")
    key = jax.random.wrap_key_data(data, impl="threefry2x32")
    return lambda shape: jax.random.uniform(key, shape)
