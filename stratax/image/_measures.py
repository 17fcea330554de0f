"""How alike images are, and how their pixels change (image layer)."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from stratax.base.typing import Array, TensorLike
from stratax.data.vectorise import gives_tensors
from stratax.errors import BadArgumentError
from stratax.image._arrays import Namespace, as_image
from stratax.image._boxes import common
from stratax.image._dtypes import convert_image_dtype

# Wang, Simoncelli, Bovik 2003.
_POWERS = (0.0448, 0.2856, 0.3001, 0.2363, 0.1333)


def _pair(a: TensorLike, b: TensorLike, max_val: TensorLike) -> tuple[Any, Any, Any, Namespace]:
    """Return two images and the range of their values as float32."""
    xp, (a, b) = common(a, b)
    if min(a.ndim, b.ndim) < 3 or a.shape[-3:] != b.shape[-3:]:
        raise BadArgumentError(
            "Images are compared that have one height, width and number of channels. Received: images of shape="
            f"{tuple(a.shape)} and shape={tuple(b.shape)}."
        )
    largest = convert_image_dtype(xp.asarray(as_image(max_val)[0]).astype(a.dtype), "float32")
    return convert_image_dtype(a, "float32"), convert_image_dtype(b, "float32"), largest, xp


@gives_tensors
def psnr(a: TensorLike, b: TensorLike, max_val: TensorLike, name: str | None = None) -> Any:
    """Return the peak signal-to-noise ratio of pairs of images, in decibels, as `tf.image.psnr`.

    Args:
        a: Shape `[..., height, width, channels]`.
        b: Others.
        max_val: The difference of the largest and the smallest value that images may have.
        name: Ignored.

    Returns:
        float32, shape `[...]`.

    Raises:
        BadArgumentError: If the images' shapes are different.
    """
    a, b, largest, xp = _pair(a, b, max_val)
    error = xp.mean(xp.square(a - b), axis=(-3, -2, -1))
    with np.errstate(divide="ignore"):
        return 20 * xp.log(largest) / np.float32(math.log(10)) - np.float32(10 / math.log(10)) * xp.log(error)


def _blur(images: Array, size: int, sigma: float) -> Any:
    """Return means weighted by a bell: of two factors, one for rows and one for columns."""
    places = np.arange(size, dtype=np.float32) - np.float32((size - 1) / 2)
    weights = np.exp(np.square(places) * np.float32(-0.5 / sigma**2))
    weights = (weights / weights.sum()).tolist()
    height, width = images.shape[-3:-1]
    rows = sum(weight * images[..., i : height - size + 1 + i, :, :] for i, weight in enumerate(weights))
    return sum(weight * rows[..., i : width - size + 1 + i, :] for i, weight in enumerate(weights))


def _similarity(
    a: Array, b: Array, largest: Any, size: int, sigma: float, k1: float, k2: float
) -> tuple[Any, Any]:
    """Return the similarity at each place, and of it the part of contrast and structure."""
    if min(*a.shape[-3:-1], *b.shape[-3:-1]) < size:
        raise BadArgumentError(
            f"Images must be as large as the filter. Expected: at least filter_size={size} rows and columns. Received: "
            f"images of shape={tuple(a.shape)}. Pass a smaller filter_size."
        )
    c1, c2 = (k1 * largest) ** 2, (k2 * largest) ** 2
    mean_a, mean_b = _blur(a, size, sigma), _blur(b, size, sigma)
    product, squares = mean_a * mean_b * 2, mean_a**2 + mean_b**2
    structure = (_blur(a * b, size, sigma) * 2 - product + c2) / (
        _blur(a**2 + b**2, size, sigma) - squares + c2
    )
    return (product + c1) / (squares + c1) * structure, structure


@gives_tensors
def ssim(
    img1: TensorLike,
    img2: TensorLike,
    max_val: TensorLike,
    filter_size: int = 11,
    filter_sigma: float = 1.5,
    k1: float = 0.01,
    k2: float = 0.03,
    return_index_map: bool = False,
) -> Any:
    """Return the structural similarity of pairs of images, as `tf.image.ssim`.

    Args:
        img1: Shape `[..., height, width, channels]`.
        img2: Others.
        max_val: The difference of the largest and the smallest value that images may have.
        filter_size: How many pixels the filter looks at in either direction.
        filter_sigma: The standard deviation of its bell.
        k1: The method's first constant.
        k2: The second.
        return_index_map: Whether each place has a result of its own.

    Returns:
        float32, shape `[...]`, or that of the places.

    Raises:
        BadArgumentError: If the images' shapes are different, or they are smaller than the filter.
    """
    a, b, largest, xp = _pair(img1, img2, max_val)
    similarity, _ = _similarity(a, b, largest, int(filter_size), filter_sigma, k1, k2)
    return xp.mean(similarity, axis=-1 if return_index_map else (-3, -2, -1))


@gives_tensors
def ssim_multiscale(
    img1: TensorLike,
    img2: TensorLike,
    max_val: TensorLike,
    power_factors: Sequence[float] = _POWERS,
    filter_size: int = 11,
    filter_sigma: float = 1.5,
    k1: float = 0.01,
    k2: float = 0.03,
) -> Any:
    """Return the structural similarity of pairs of images at several sizes, as `tf.image.ssim_multiscale`.

    The arguments are those of :func:`ssim`.

    Args:
        img1: Shape `[..., height, width, channels]`.
        img2: Others.
        max_val: The difference of the largest and the smallest value that images may have.
        power_factors: The weights of the sizes, each half of the one before.
        filter_size: How many pixels the filter looks at in either direction.
        filter_sigma: The standard deviation of its bell.
        k1: The method's first constant.
        k2: The second.
    """
    a, b, largest, xp = _pair(img1, img2, max_val)
    parts = []
    for scale, power in enumerate(power_factors):
        if scale:
            a, b = _halve(a, xp), _halve(b, xp)
        similarity, structure = _similarity(a, b, largest, int(filter_size), filter_sigma, k1, k2)
        last = scale == len(power_factors) - 1
        parts.append(xp.maximum(xp.mean(similarity if last else structure, axis=(-3, -2)), 0) ** power)
    return xp.mean(math.prod(parts), axis=-1)


def _halve(images: Array, xp: Namespace) -> Any:
    height, width = images.shape[-3:-1]
    if height % 2 or width % 2:
        more = [(0, 0)] * (images.ndim - 3) + [(0, height % 2), (0, width % 2), (0, 0)]
        images = xp.pad(images, more, mode="symmetric")
    rows = images[..., ::2, :, :] + images[..., 1::2, :, :]
    return (rows[..., ::2, :] + rows[..., 1::2, :]) / 4


@gives_tensors
def sobel_edges(image: TensorLike) -> Any:
    """Return how much values change downwards and to the right, as `tf.image.sobel_edges`.

    Args:
        image: Floats, shape `[batch, height, width, channels]`.

    Returns:
        Shape `[batch, height, width, channels, 2]`, where `image` is.

    Raises:
        BadArgumentError: If `image` has another rank.
    """
    image, xp = as_image(image)
    if image.ndim != 4:
        raise BadArgumentError(
            f"Expected: images of shape [batch, height, width, channels]. Received: shape={tuple(image.shape)}."
        )
    padded = xp.pad(image, [(0, 0), (1, 1), (1, 1), (0, 0)], mode="reflect")
    across = padded[:, :, :-2] + 2 * padded[:, :, 1:-1] + padded[:, :, 2:]
    down = padded[:, :-2] + 2 * padded[:, 1:-1] + padded[:, 2:]
    return xp.stack([across[:, 2:] - across[:, :-2], down[:, :, 2:] - down[:, :, :-2]], axis=-1)


@gives_tensors
def image_gradients(image: TensorLike) -> tuple[Any, Any]:
    """Return the differences of each pixel to the ones below and to the right, as `tf.image.image_gradients`.

    Args:
        image: Shape `[batch, height, width, channels]`.

    Returns:
        Two arrays of image's shape; the last row and the last column of them are 0.

    Raises:
        BadArgumentError: If `image` has another rank.
    """
    image, xp = as_image(image)
    if image.ndim != 4:
        raise BadArgumentError(
            f"Expected: images of shape [batch, height, width, channels]. Received: shape={tuple(image.shape)}."
        )
    down, right = image[:, 1:] - image[:, :-1], image[:, :, 1:] - image[:, :, :-1]
    return (
        xp.pad(down, [(0, 0), (0, 1), (0, 0), (0, 0)]),
        xp.pad(right, [(0, 0), (0, 0), (0, 1), (0, 0)]),
    )


@gives_tensors
def total_variation(images: TensorLike, name: str | None = None) -> Any:
    """Return the sum of the absolute differences of neighbouring pixels, as `tf.image.total_variation`.

    Args:
        images: Shape `[height, width, channels]`, or a batch of those.
        name: Ignored.

    Returns:
        A scalar, or one number for each image.

    Raises:
        BadArgumentError: If `images` has another rank.
    """
    image, xp = as_image(images)
    if image.ndim not in (3, 4):
        raise BadArgumentError(
            "Expected: an image of shape [height, width, channels], or a batch of them. Received: images of shape="
            f"{tuple(image.shape)}."
        )
    down, right = image[..., 1:, :, :] - image[..., :-1, :, :], image[..., 1:, :] - image[..., :-1, :]
    return sum(xp.sum(xp.abs(part), axis=(-3, -2, -1), dtype=part.dtype) for part in (down, right))
