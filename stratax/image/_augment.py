"""Random image operations, given where their random numbers come from (image layer)."""

from collections.abc import Callable
from typing import Any

import array_api_compat
import numpy as np

from stratax.base.shown import shown
from stratax.base.typing import Array, TensorLike
from stratax.data.elements import sizes_of
from stratax.errors import BadArgumentError
from stratax.image._arrays import as_image, check_image
from stratax.image._color import adjust_brightness, adjust_contrast, adjust_hue, adjust_saturation
from stratax.image._draws import Draw, between
from stratax.image._geometry import flip_left_right, flip_up_down


def flip_left_right_at_random(image: TensorLike, draw: Draw) -> Any:
    """Each image mirrored or not."""
    return _flip_at_random(image, flip_left_right, draw)


def flip_up_down_at_random(image: TensorLike, draw: Draw) -> Any:
    """Each image upside down or not."""
    return _flip_at_random(image, flip_up_down, draw)


def _flip_at_random(image: TensorLike, flip: Callable[[Any], Any], draw: Draw) -> Any:
    image, xp = as_image(image)
    check_image(image)
    number = draw((image.shape[0], 1, 1, 1) if image.ndim == 4 else ())
    if image.ndim == 4 or array_api_compat.is_jax_array(number):
        return xp.where(number < 0.5, flip(image), image)
    return flip(image) if number < 0.5 else image


def crop_at_random(value: TensorLike, size: object, draw: Draw) -> Any:
    """Return a part of a given size, all places being equally likely.

    Raises:
        BadArgumentError: The size has another rank, or is larger.
    """
    value, _ = as_image(value)
    sizes = sizes_of("size", size)
    if len(sizes) != value.ndim or any(a > b or a < 0 for a, b in zip(sizes, value.shape, strict=False)):
        raise BadArgumentError(
            f"The size of a random crop has one number for each axis, at most the array's, which are "
            f"{tuple(value.shape)}. Received: size={shown(size)}. Pass the whole size of axes that are not to "
            "be cropped."
        )
    room = [whole - part for whole, part in zip(value.shape, sizes, strict=True)]
    numbers = draw((value.ndim,))
    if array_api_compat.is_jax_array(value):
        return _crop_on_device(value, sizes, numbers, np.array(room, np.int32))
    starts = [int(number * (n + 1)) for number, n in zip(numbers.tolist(), room, strict=True)]
    return value[tuple(slice(a, a + n) for a, n in zip(starts, sizes, strict=True))]


def _crop_on_device(value: Array, sizes: tuple[int, ...], numbers: TensorLike, room: np.ndarray) -> Any:
    import jax  # It is there already: the value is its array.

    # A product of float32 can be rounded up to the next whole number.
    starts = jax.numpy.minimum((numbers * (room + 1)).astype("int32"), room)
    return jax.lax.dynamic_slice(value, list(starts), sizes)


def with_brightness(image: TensorLike, max_delta: Any, draw: Draw) -> Any:
    """Brightness changed by at most `max_delta`.

    Raises:
        BadArgumentError: It is negative.
    """
    if max_delta < 0:
        raise BadArgumentError(f"max_delta has to be at least 0. Received: max_delta={shown(max_delta)}.")
    return adjust_brightness(image, between(-max_delta, max_delta, draw))


def with_hue(image: TensorLike, max_delta: Any, draw: Draw) -> Any:
    """Hue turned by at most `max_delta`.

    Raises:
        BadArgumentError: It is not from 0 to 0.5.
    """
    if not 0 <= max_delta <= 0.5:
        raise BadArgumentError(
            "The largest turn of a random hue is from 0 to 0.5, which is half a turn either way. "
            f"Received: max_delta={shown(max_delta)}."
        )
    return adjust_hue(image, between(-max_delta, max_delta, draw))


def with_contrast(image: TensorLike, lower: TensorLike, upper: TensorLike, draw: Draw) -> Any:
    """Contrast multiplied by a factor between two.

    Raises:
        BadArgumentError: They are not in order.
    """
    _check_factors(lower, upper)
    return adjust_contrast(image, between(lower, upper, draw))


def with_saturation(image: TensorLike, lower: TensorLike, upper: TensorLike, draw: Draw) -> Any:
    """Saturation multiplied by a factor between two.

    Raises:
        BadArgumentError: They are not in order.
    """
    _check_factors(lower, upper)
    return adjust_saturation(image, between(lower, upper, draw))


def _check_factors(lower: Any, upper: Any) -> None:
    if not 0 <= lower < upper:
        raise BadArgumentError(
            f"The smallest factor is at least 0 and less than the largest. Received: lower={shown(lower)}, "
            f"upper={shown(upper)}."
        )
