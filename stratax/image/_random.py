"""Random image operations, whose randomness comes from the pipeline (image layer).

In a function given to `Dataset.map` an operation draws from the generator of the element that is being made: what it
draws is fixed by the pipeline's seed and the element's position, in whatever thread or process. For JAX arrays numbers
come from the generator that `tf.random.set_seed` seeds, in a compiled function too.
"""

from typing import Any

from stratax.base.typing import TensorLike
from stratax.data.vectorise import deferrable, gives_tensors
from stratax.image import _augment, _chain
from stratax.image._arrays import as_image
from stratax.image._draws import draw_of


@deferrable(_chain.try_mirror_at_random)
@gives_tensors
def random_flip_left_right(image: TensorLike, seed: int | None = None) -> Any:
    """Every image mirrored with a chance of one half, as `tf.image.random_flip_left_right`.

    In a pipeline its randomness is that of the element which is being made, so a seed of the pipeline fixes it.

    Args:
        image: Shape `[height, width, channels]`, or a batch of those. Each image of a batch has its own chance.
        seed: None, or an integer that makes the draws of this operation its own (see above).

    Returns:
        An array of image's shape and dtype, where `image` is.

    Raises:
        BadArgumentError: If `image` has another rank.

    Example:
        >>> import numpy as np
        >>> from stratax import image
        >>> tuple(image.random_flip_left_right(np.zeros((8, 4, 6, 3), np.uint8), seed=1).shape)
        (8, 4, 6, 3)
    """
    image, _ = as_image(image)
    return _augment.flip_left_right_at_random(image, draw_of(image, seed))


@gives_tensors
def random_flip_up_down(image: TensorLike, seed: int | None = None) -> Any:
    """Every image turned upside down with a chance of one half, as `tf.image.random_flip_up_down`.

    Args:
        image: Shape `[height, width, channels]`, or a batch of those. Each image of a batch has its own chance.
        seed: None, or an integer that makes the draws of this operation its own (see above).

    Returns:
        An array of image's shape and dtype, where `image` is.

    Raises:
        BadArgumentError: If `image` has another rank.
    """
    image, _ = as_image(image)
    return _augment.flip_up_down_at_random(image, draw_of(image, seed))


@deferrable(_chain.try_brighten_at_random)
@gives_tensors
def random_brightness(image: TensorLike, max_delta: TensorLike, seed: int | None = None) -> Any:
    """Return an image made brighter or darker, as `tf.image.random_brightness`.

    Args:
        image: An array of any shape; all of it changes alike.
        max_delta: At most how much is added or subtracted, on the scale from 0 to 1.
        seed: None, or an integer that makes the draws of this operation its own (see above).

    Returns:
        An array of image's shape and dtype, where `image` is.

    Raises:
        BadArgumentError: If `max_delta` is negative.
    """
    image, _ = as_image(image)
    return _augment.with_brightness(image, max_delta, draw_of(image, seed))


@deferrable(_chain.try_stretch_at_random)
@gives_tensors
def random_contrast(image: TensorLike, lower: TensorLike, upper: TensorLike, seed: int | None = None) -> Any:
    """Return images with more or less contrast, as `tf.image.random_contrast`.

    Args:
        image: Shape `[..., height, width, channels]`; all images change alike.
        lower: The smallest factor, at least 0.
        upper: The largest factor.
        seed: None, or an integer that makes the draws of this operation its own (see above).

    Returns:
        An array of image's shape and dtype, where `image` is.

    Raises:
        BadArgumentError: If the factors are not in order, or there are less than three axes.
    """
    image, _ = as_image(image)
    return _augment.with_contrast(image, lower, upper, draw_of(image, seed))


@gives_tensors
def random_saturation(
    image: TensorLike, lower: TensorLike, upper: TensorLike, seed: int | None = None
) -> Any:
    """Return an image with more or less color, as `tf.image.random_saturation`.

    Args:
        image: Red, green and blue in its last axis.
        lower: The smallest factor, at least 0.
        upper: The largest factor.
        seed: None, or an integer that makes the draws of this operation its own (see above).

    Returns:
        An array of image's shape and dtype, where `image` is.

    Raises:
        BadArgumentError: If the factors are not in order, or the last axis has not three entries.
    """
    image, _ = as_image(image)
    return _augment.with_saturation(image, lower, upper, draw_of(image, seed))


@gives_tensors
def random_hue(image: TensorLike, max_delta: TensorLike, seed: int | None = None) -> Any:
    """Return an image whose colors are turned around the color wheel, as `tf.image.random_hue`.

    Args:
        image: Red, green and blue in its last axis.
        max_delta: At most how far, from 0 to 0.5, which is half a turn either way.
        seed: None, or an integer that makes the draws of this operation its own (see above).

    Returns:
        An array of image's shape and dtype, where `image` is.

    Raises:
        BadArgumentError: If `max_delta` is out of its range, or the last axis has not three entries.
    """
    image, _ = as_image(image)
    return _augment.with_hue(image, max_delta, draw_of(image, seed))


@deferrable(_chain.try_crop_at_random)
@gives_tensors
def random_crop(value: TensorLike, size: TensorLike, seed: int | None = None, name: str | None = None) -> Any:
    """Return a part of an array, all places being equally likely, as `tf.image.random_crop`.

    Args:
        value: An array of any shape.
        size: The part's size in every axis; that of the array where it is not to be cropped.
        seed: None, or an integer that makes the draws of this operation its own (see above).
        name: Ignored.

    Returns:
        An array of shape `size` and value's dtype, where `value` is.

    Raises:
        BadArgumentError: If `size` does not fit.
    """
    value, _ = as_image(value)
    return _augment.crop_at_random(value, size, draw_of(value, seed))
