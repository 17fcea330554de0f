"""Which array library an image belongs to, and checks of its shape (image layer).

The operations of this package are written once, against the array API: NumPy arrays, which is what functions given to
`Dataset.map` see, are computed with NumPy and stay on the host; JAX' arrays and tracers are computed with `jax.numpy`.
"""

from typing import Any

import array_api_compat
import numpy as np

from stratax.base.shown import shown
from stratax.base.typing import TensorLike
from stratax.data.elements import as_array, as_plain, sizes_of
from stratax.errors import BadArgumentError

# A module of array functions: `numpy`, or `jax.numpy`.
Namespace = Any

_NUMPY = array_api_compat.array_namespace(np.empty(0))


def as_image(image: TensorLike) -> tuple[Any, Namespace]:
    """Return an operand as an array, and the module whose functions compute with it.

    Args:
        image: An array of NumPy or JAX, a Keras variable, or nested lists of numbers (which become NumPy's).

    Returns:
        The array and its namespace.
    """
    if type(image) is np.ndarray:
        return image, _NUMPY
    image = as_plain(image)
    if isinstance(image, np.ndarray | np.generic) or array_api_compat.is_jax_array(image):
        return image, array_api_compat.array_namespace(image)
    if hasattr(type(image), "__array_ufunc__"):
        # What poses as a NumPy array: the stand-in for all elements of a block.
        return image, np
    if hasattr(type(image), "__jax_array__"):
        value = image.__jax_array__()
        return value, array_api_compat.array_namespace(value)
    return np.asarray(as_array(image)), np


def is_numpy(image: TensorLike) -> bool:
    """Return whether NumPy computes with it, and into arrays that are given to it."""
    return isinstance(image, np.ndarray)


def check_image(image: Any, name: str = "image") -> None:
    """Raise unless an array is one image, `[height, width, channels]`, or a batch of them.

    Raises:
        BadArgumentError: It has another rank.
    """
    if image.ndim not in (3, 4):
        raise BadArgumentError(
            "An image has the shape [height, width, channels], a batch of them [batch, height, width, channels]. "
            f"Received: {name} of shape={tuple(image.shape)}. Add the missing axis, for instance with "
            "image[..., None] for one channel."
        )


def check_channels(image: Any, count: int, name: str = "image") -> None:
    """Raise unless the last axis has `count` entries.

    Raises:
        BadArgumentError: It has another size, or there is no axis.
    """
    if image.ndim == 0 or image.shape[-1] != count:
        raise BadArgumentError(
            f"This works on images whose last axis holds {count} channel{'s' if count > 1 else ''}. Received: "
            f"{name} of shape={tuple(image.shape)}. Decode with channels={count}, or convert with grayscale_to_rgb or "
            "rgb_to_grayscale."
        )


def two_sizes(size: TensorLike) -> tuple[int, int]:
    """Return a height and a width that were given as a sequence or array of two integers.

    Raises:
        BadTypeError: They are not known while a program is traced.
        BadArgumentError: They are not two numbers of at least 1.
    """
    sizes = sizes_of("size", size)
    if len(sizes) != 2 or min(sizes) < 1:
        raise BadArgumentError(
            "A size of images is [height, width], both at least 1. "
            f"Received: size={shown(size)}. Pass two positive integers."
        )
    return sizes[0], sizes[1]
