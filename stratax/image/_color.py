"""Brightness, contrast and colors of images (image layer).

Images of integers are computed with as float32 from 0 to 1 and come back as what they were. Floats of 16 and 32 bits
are taken as they are, whatever their range.
"""

from typing import Any

import numpy as np

from stratax.base.shown import shown
from stratax.base.typing import Array, TensorLike
from stratax.data.vectorise import deferrable, gives_tensors
from stratax.errors import BadArgumentError, BadTypeError
from stratax.image import _chain, _compiled, _loops
from stratax.image._arrays import Namespace, as_image, check_channels, is_numpy
from stratax.image._dtypes import convert_image_dtype, name_of, to_float

_GRAY = (0.2989, 0.5870, 0.1140)


@deferrable(_chain.try_brighten)
@gives_tensors
def adjust_brightness(image: TensorLike, delta: TensorLike) -> Any:
    """Return an image with `delta` added to every value, as `tf.image.adjust_brightness`.

    Args:
        image: An array of any shape.
        delta: What is added, on the scale from 0 to 1; a number, or an array that broadcasts.

    Returns:
        An array of image's shape and dtype, where `image` is; integers are kept within their dtype.

    Example:
        >>> import numpy as np
        >>> from stratax import image
        >>> image.adjust_brightness(np.array([[[10, 250, 0]]], np.uint8), 0.1).tolist()
        [[[35, 255, 25]]]
    """
    image, xp = as_image(image)
    floats = to_float(image)
    return _back(floats + _number(delta, floats, xp), image)


@deferrable(_chain.try_stretch)
@gives_tensors
def adjust_contrast(images: TensorLike, contrast_factor: TensorLike) -> Any:
    """Return images whose values lie `contrast_factor` times as far from their mean, as `tf.image.adjust_contrast`.

    Args:
        images: Shape `[..., height, width, channels]`. Every channel of every image has its own mean.
        contrast_factor: The factor.

    Returns:
        An array of images' shape and dtype, where `images` is; integers are kept within their dtype.

    Raises:
        BadArgumentError: If there are less than three axes.
    """
    images, xp = as_image(images)
    _check_three(images, "images")
    floats = to_float(images)
    factor = _number(contrast_factor, floats, xp)
    # On the host, one factor for all images has a method with fewer passes over memory.
    if is_numpy(floats) and factor.ndim == 0:
        return _back(_stretch(floats, factor), images)
    mean = xp.mean(floats, axis=(-3, -2), keepdims=True)
    return _back((floats - mean) * factor + mean, images)


def _stretch(floats: np.ndarray, factor: np.ndarray) -> np.ndarray:
    """`floats * factor + mean * (1 - factor)`, by whole lines of pixels.

    NumPy is slow where only the last axis, of few channels, runs on without a break.
    """
    # NumPy adds in the order of memory, whatever that of the axes is.
    floats = np.ascontiguousarray(floats)
    height, width, channels = floats.shape[-3:]
    if floats.dtype == np.float32 and floats.size and (loop := _compiled.loop_for(_loops.stretch, floats)):
        stretched = np.empty(floats.shape, np.float32)
        as_lines = (-1, height, width * channels)
        source = floats.reshape(as_lines)
        loop(source, channels, factor[()], stretched.reshape(as_lines))
        return stretched
    lines = np.add.reduce(floats, axis=-3, dtype=np.float32)
    mean = np.add.reduce(lines, axis=-2) / np.float32(height * width)
    rest = np.repeat((mean * (1 - factor))[..., None, None, :], width, axis=-2)
    stretched = floats * factor
    stretched += rest.astype(floats.dtype, copy=False)
    return stretched


@gives_tensors
def adjust_gamma(image: TensorLike, gamma: Any = 1, gain: TensorLike = 1) -> Any:
    """`gain * image**gamma`, as `tf.image.adjust_gamma`.

    Args:
        image: An array of any shape.
        gamma: The exponent, at least 0: above 1 the image gets darker.
        gain: The factor.

    Returns:
        An array of image's shape and dtype, where `image` is; integers are kept within their dtype.

    Raises:
        BadArgumentError: If `gamma` is known and negative.
    """
    if _is_known(gamma) and gamma < 0:
        raise BadArgumentError(f"gamma has to be at least 0. Received: gamma={shown(gamma)}.")
    image, xp = as_image(image)
    floats = to_float(image)
    return _back(_number(gain, floats, xp) * floats ** _number(gamma, floats, xp), image)


@gives_tensors
def adjust_saturation(image: TensorLike, saturation_factor: TensorLike, name: str | None = None) -> Any:
    """Return an image with more or less color, as `tf.image.adjust_saturation`.

    Args:
        image: Red, green and blue in its last axis.
        saturation_factor: What the saturation is multiplied by; 0 leaves gray.
        name: Ignored.

    Returns:
        An array of image's shape and dtype, where `image` is.

    Raises:
        BadArgumentError: If the last axis has not three entries.
    """
    image, xp = as_image(image)
    check_channels(image, 3)
    floats = to_float(image)
    factor = _number(saturation_factor, floats, xp)
    if (changed := _by_pixel(_loops.saturate, floats, factor)) is not None:
        return convert_image_dtype(changed, image.dtype)
    planes = _planes(floats)
    value, least = _largest(planes, xp), _smallest(planes, xp)
    saturation = _saturation(value, least, xp)
    changed = xp.clip(saturation * factor, 0, 1)
    # With hue and value kept, all differences from the value scale with the saturation.
    scale = changed / xp.where(saturation > 0, saturation, xp.ones_like(saturation))
    return convert_image_dtype(
        xp.stack([value - (value - plane) * scale for plane in planes], axis=-1), image.dtype
    )


@gives_tensors
def adjust_hue(image: TensorLike, delta: Any, name: str | None = None) -> Any:
    """Return an image whose colors are turned around the color wheel, as `tf.image.adjust_hue`.

    Args:
        image: Red, green and blue in its last axis.
        delta: How far, from -1 to 1, which are a whole turn.
        name: Ignored.

    Returns:
        An array of image's shape and dtype, where `image` is.

    Raises:
        BadArgumentError: If the last axis has not three entries, or `delta` is known and out of its range.
    """
    if _is_known(delta) and not -1 <= delta <= 1:
        raise BadArgumentError(f"The turn of a hue is from -1 to 1. Received: delta={shown(delta)}.")
    image, xp = as_image(image)
    check_channels(image, 3)
    floats = to_float(image)
    turn = _number(delta, floats, xp)
    if (turned := _by_pixel(_loops.turn, floats, turn)) is not None:
        return convert_image_dtype(turned, image.dtype)
    planes = _planes(floats)
    least = _smallest(planes, xp)
    spread = _largest(planes, xp) - least
    turned = _hue(planes, spread, xp) + turn
    weights = _wheel(turned - xp.floor(turned), xp)
    return convert_image_dtype(
        xp.stack([least + spread * weight for weight in weights], axis=-1), image.dtype
    )


@gives_tensors
def per_image_standardization(image: TensorLike) -> Any:
    """Return images with mean 0 and variance 1, as `tf.image.per_image_standardization`.

    Args:
        image: Shape `[..., height, width, channels]`; integers are not scaled to 1 first.

    Returns:
        `(image - mean) / max(stddev, 1 / sqrt(number of values))`, float32.

    Raises:
        BadArgumentError: If there are less than three axes.
    """
    image, xp = as_image(image)
    _check_three(image, "image")
    floats = image.astype(np.float32)
    axes = (-1, -2, -3)
    # TensorFlow's lower bound, which keeps an image of one color from a division by zero.
    least = np.float32(1 / np.sqrt(np.prod(image.shape[-3:], dtype=np.float64)))
    centered = floats - xp.mean(floats, axis=axes, keepdims=True)
    deviation = xp.sqrt(xp.mean(centered * centered, axis=axes, keepdims=True))
    return centered / xp.maximum(deviation, least)


@gives_tensors
def rgb_to_grayscale(images: TensorLike, name: str | None = None) -> Any:
    """Return images in gray, as `tf.image.rgb_to_grayscale`.

    Args:
        images: Red, green and blue in the last axis.
        name: Ignored.

    Returns:
        An array of images' dtype with one entry in the last axis.

    Raises:
        BadArgumentError: If the last axis has not three entries.
    """
    images, _ = as_image(images)
    check_channels(images, 3, "images")
    floats = to_float(images) if name_of(np.dtype(images.dtype)) != "float64" else images
    red, green, blue = (floats[..., i : i + 1] * floats.dtype.type(_GRAY[i]) for i in range(3))
    return convert_image_dtype(red + green + blue, images.dtype)


@gives_tensors
def grayscale_to_rgb(images: TensorLike, name: str | None = None) -> Any:
    """Gray images with three equal channels, as `tf.image.grayscale_to_rgb`.

    Args:
        images: One entry in the last axis.
        name: Ignored.

    Returns:
        An array of images' dtype with three entries in the last axis.

    Raises:
        BadArgumentError: If the last axis has not one entry.
    """
    images, xp = as_image(images)
    check_channels(images, 1, "images")
    return xp.concatenate([images] * 3, axis=-1)


@gives_tensors
def rgb_to_hsv(images: TensorLike, name: str | None = None) -> Any:
    """Hue, saturation and value of colors, as `tf.image.rgb_to_hsv`.

    Args:
        images: Floats; red, green and blue, from 0 to 1, in the last axis.
        name: Ignored.

    Returns:
        An array of images' shape and dtype; a hue is from 0 to 1.

    Raises:
        BadArgumentError: If the last axis has not three entries, or the dtype is not floating point.
    """
    images, xp = _colors(images)
    planes = _planes(images)
    value, least = _largest(planes, xp), _smallest(planes, xp)
    hue = _hue(planes, value - least, xp)
    return xp.stack([hue, _saturation(value, least, xp), value], axis=-1)


@gives_tensors
def hsv_to_rgb(images: TensorLike, name: str | None = None) -> Any:
    """Red, green and blue of colors, as `tf.image.hsv_to_rgb`: the inverse of :func:`rgb_to_hsv`.

    Args:
        images: Floats; hue, saturation and value, from 0 to 1, in the last axis.
        name: Ignored.

    Returns:
        An array of images' shape and dtype.

    Raises:
        BadArgumentError: If the last axis has not three entries, or the dtype is not floating point.
    """
    images, xp = _colors(images)
    hue, saturation, value = _planes(images)
    rest = 1 - saturation
    return xp.stack([(rest + saturation * weight) * value for weight in _wheel(hue, xp)], axis=-1)


def _colors(images: TensorLike) -> tuple[Any, Namespace]:
    images, xp = as_image(images)
    check_channels(images, 3, "images")
    if np.dtype(images.dtype).kind in "iub":
        raise BadArgumentError(
            "Hue, saturation and value are floats. "
            f"Received: images of dtype={images.dtype}. Convert them with convert_image_dtype(images, 'float32')."
        )
    return images, xp


def _check_three(image: Array, name: str) -> None:
    if image.ndim < 3:
        raise BadArgumentError(
            "An image has the shape [height, width, channels], several have more axes before. "
            f"Received: {name} of shape={tuple(image.shape)}. Add the missing axes."
        )


def _is_known(value: object) -> bool:
    """Return whether a parameter is a number, and not one that is traced or one for each image."""
    return isinstance(value, int | float | np.number)


def _number(value: Any, like: Any, xp: Namespace) -> Any:
    # NumPy would make NaN of the one, and complain of the other.
    if value is None or isinstance(value, str):
        raise BadTypeError(
            "How much an image changes is a number, or an array of them. "
            f"Received: {shown(value)} of type {type(value).__name__}. Pass a float."
        )
    return np.asarray(value, like.dtype) if is_numpy(like) else xp.asarray(value, dtype=like.dtype)


def _by_pixel(function: _compiled.Loop, floats: Any, parameter: Any) -> np.ndarray | None:
    """Return what a compiled loop makes of every color; None where there is none for them."""
    # The compiled loops are made for float32 and one parameter.
    if floats.dtype != np.float32 or np.ndim(parameter):
        return None
    loop = _compiled.loop_for(function, floats)
    if loop is None:
        return None
    result = np.empty(floats.shape, np.float32)
    loop(np.ascontiguousarray(floats).reshape(-1, 3), parameter[()], result.reshape(-1, 3))
    return result


def _back(floats: Any, image: Array) -> Any:
    return floats if floats.dtype == image.dtype else convert_image_dtype(floats, image.dtype, saturate=True)


def _saturation(value: Array, least: Any, xp: Namespace) -> Any:
    is_color = (value > 0) & (value > least)
    return xp.where(is_color, (value - least) / xp.where(is_color, value, xp.ones_like(value)), 0)


def _planes(image: Array) -> list[Any]:
    """Return the channels; of NumPy's arrays copies, since values that lie side by side are computed with faster."""
    planes = [image[..., i] for i in range(3)]
    # NumPy is several times as fast on planes as on every third number.
    return [np.ascontiguousarray(plane) for plane in planes] if is_numpy(image) else planes


def _largest(planes: list[Any], xp: Namespace) -> Any:
    return xp.maximum(xp.maximum(planes[0], planes[1]), planes[2])


def _smallest(planes: list[Any], xp: Namespace) -> Any:
    return xp.minimum(xp.minimum(planes[0], planes[1]), planes[2])


def _hue(planes: list[Any], spread: Any, xp: Namespace) -> Any:
    """From 0 to 1; 0 where there is no color."""
    red, green, blue = planes
    value = _largest(planes, xp)
    is_color = spread > 0
    # The divisor is replaced before the division, so that gray pixels neither warn nor spoil a gradient.
    sixth = 1 / (6 * xp.where(is_color, spread, xp.ones_like(spread)))
    hue = xp.where(
        red == value,
        sixth * (green - blue),
        xp.where(green == value, sixth * (blue - red) + 2 / 6, sixth * (red - green) + 4 / 6),
    )
    # Gray has no hue: 0, as in TensorFlow.
    hue = xp.where(is_color, hue, 0)
    return xp.where(hue < 0, hue + 1, hue).astype(red.dtype)


def _wheel(hue: Any, xp: Namespace) -> list[Any]:
    """Return how much of red, green and blue the brightest color of a hue has."""
    sixths = hue * 6
    red = xp.clip(xp.abs(sixths - 3) - 1, 0, 1)
    green = xp.clip(2 - xp.abs(sixths - 2), 0, 1)
    blue = xp.clip(2 - xp.abs(sixths - 4), 0, 1)
    return [red, green, blue]
