"""Random image operations that are functions of their seed alone (image layer).

The same seed gives the same result, wherever and however often it is asked for. NumPy arrays and JAX arrays have
different numbers, and neither are TensorFlow's.
"""

from typing import Any

from stratax.base.typing import TensorLike
from stratax.data.vectorise import gives_tensors
from stratax.image import _augment
from stratax.image._arrays import as_image
from stratax.image._draws import stateless_draw_of


@gives_tensors
def stateless_random_flip_left_right(image: TensorLike, seed: TensorLike) -> Any:
    """Every image mirrored with a chance of one half, as `tf.image.stateless_random_flip_left_right`.

    Args:
        image: Shape `[height, width, channels]`, or a batch of those. Each image of a batch has its own chance.
        seed: Two integers; for a JAX array they may be traced.

    Returns:
        An array of image's shape and dtype, where `image` is.

    Raises:
        BadArgumentError: If `image` has another rank;
            or `seed` is not two integers.

    Example:
        >>> import numpy as np
        >>> from stratax import image
        >>> pixels = np.arange(4).reshape(1, 4, 1)
        >>> flipped = image.stateless_random_flip_left_right(pixels, seed=(1, 2))
        >>> bool((flipped == image.stateless_random_flip_left_right(pixels, seed=(1, 2))).all())
        True
    """
    image, _ = as_image(image)
    return _augment.flip_left_right_at_random(image, stateless_draw_of(image, seed))


@gives_tensors
def stateless_random_flip_up_down(image: TensorLike, seed: TensorLike) -> Any:
    """Every image turned upside down with a chance of one half, as `tf.image.stateless_random_flip_up_down`.

    Args:
        image: Shape `[height, width, channels]`, or a batch of those. Each image of a batch has its own chance.
        seed: Two integers; for a JAX array they may be traced.

    Returns:
        An array of image's shape and dtype, where `image` is.

    Raises:
        BadArgumentError: If `image` has another rank;
            or `seed` is not two integers.
    """
    image, _ = as_image(image)
    return _augment.flip_up_down_at_random(image, stateless_draw_of(image, seed))


@gives_tensors
def stateless_random_brightness(image: TensorLike, max_delta: TensorLike, seed: TensorLike) -> Any:
    """Return an image made brighter or darker, as `tf.image.stateless_random_brightness`.

    Args:
        image: An array of any shape; all of it changes alike.
        max_delta: At most how much is added or subtracted, on the scale from 0 to 1.
        seed: Two integers; for a JAX array they may be traced.

    Returns:
        An array of image's shape and dtype, where `image` is.

    Raises:
        BadArgumentError: If `max_delta` is negative;
            or `seed` is not two integers.
    """
    image, _ = as_image(image)
    return _augment.with_brightness(image, max_delta, stateless_draw_of(image, seed))


@gives_tensors
def stateless_random_contrast(
    image: TensorLike, lower: TensorLike, upper: TensorLike, seed: TensorLike
) -> Any:
    """Return images with more or less contrast, as `tf.image.stateless_random_contrast`.

    Args:
        image: Shape `[..., height, width, channels]`; all images change alike.
        lower: The smallest factor, at least 0.
        upper: The largest factor.
        seed: Two integers; for a JAX array they may be traced.

    Returns:
        An array of image's shape and dtype, where `image` is.

    Raises:
        BadArgumentError: If the factors are not in order, or there are less than three axes;
            or `seed` is not two integers.
    """
    image, _ = as_image(image)
    return _augment.with_contrast(image, lower, upper, stateless_draw_of(image, seed))


@gives_tensors
def stateless_random_saturation(
    image: TensorLike, lower: TensorLike, upper: TensorLike, seed: TensorLike
) -> Any:
    """Return an image with more or less color, as `tf.image.stateless_random_saturation`.

    Args:
        image: Red, green and blue in its last axis.
        lower: The smallest factor, at least 0.
        upper: The largest factor.
        seed: Two integers; for a JAX array they may be traced.

    Returns:
        An array of image's shape and dtype, where `image` is.

    Raises:
        BadArgumentError: If the factors are not in order, or the last axis has not three entries;
            or `seed` is not two integers.
    """
    image, _ = as_image(image)
    return _augment.with_saturation(image, lower, upper, stateless_draw_of(image, seed))


@gives_tensors
def stateless_random_hue(image: TensorLike, max_delta: TensorLike, seed: TensorLike) -> Any:
    """Return an image whose colors are turned around the color wheel, as `tf.image.stateless_random_hue`.

    Args:
        image: Red, green and blue in its last axis.
        max_delta: At most how far, from 0 to 0.5, which is half a turn either way.
        seed: Two integers; for a JAX array they may be traced.

    Returns:
        An array of image's shape and dtype, where `image` is.

    Raises:
        BadArgumentError: If `max_delta` is out of its range, or the last axis has not three entries;
            or `seed` is not two integers.
    """
    image, _ = as_image(image)
    return _augment.with_hue(image, max_delta, stateless_draw_of(image, seed))


@gives_tensors
def stateless_random_crop(
    value: TensorLike, size: TensorLike, seed: TensorLike, name: str | None = None
) -> Any:
    """Return a part of an array, all places being equally likely, as `tf.image.stateless_random_crop`.

    Args:
        value: An array of any shape.
        size: The part's size in every axis; that of the array where it is not to be cropped.
        seed: Two integers; for a JAX array they may be traced.
        name: Ignored.

    Returns:
        An array of shape `size` and value's dtype, where `value` is.

    Raises:
        BadArgumentError: If `size` does not fit;
            or `seed` is not two integers.
    """
    value, _ = as_image(value)
    return _augment.crop_at_random(value, size, stateless_draw_of(value, seed))
