"""Applying the weights of a resize to the rows and columns of images (image layer)."""

import functools
from types import ModuleType
from typing import Any, Literal

import array_api_compat
import numpy as np

from stratax.base.typing import TensorLike
from stratax.image import _compiled, _loops
from stratax.image._arrays import is_numpy
from stratax.image._kernels import Taps

_FEW_TAPS = 6
# No index is outside of its axis; of the three ways in which NumPy can look at them, this is the quickest.
_QUICKLY: Literal["wrap"] = "wrap"


def take_pixels(image: TensorLike, rows: np.ndarray, columns: np.ndarray, xp: ModuleType) -> Any:
    """Return the pixels at some rows and columns of `[..., height, width, channels]`."""
    return xp.take(xp.take(image, rows, axis=-3), columns, axis=-2)


def interpolate(image: Any, rows: Taps, columns: Taps, xp: Any) -> Any:
    """Two pixels in either direction, columns first as in TensorFlow: float32."""
    if not is_numpy(image):
        return _interpolate(_interpolate(image.astype(np.float32), columns, -2, xp), rows, -3, xp)
    *batch, height, width, channels = image.shape
    lines = image.reshape(*batch, height, width * channels)
    (upper, lower), shares = _places(rows, 1)
    if height > 2 * len(upper):
        # Most rows are never looked at.
        lines = lines.take(np.stack([upper, lower], 1).reshape(-1), axis=-2, mode=_QUICKLY)
        upper, lower = (np.arange(start, 2 * len(upper), 2) for start in (0, 1))
    sizes = len(rows.indices), len(columns.indices)
    if loop := _compiled.loop_for(_loops.interpolate, image):
        result = np.empty((*batch, sizes[0], sizes[1] * channels), np.float32)
        if result.size:
            source = np.ascontiguousarray(lines, np.float32).reshape(-1, *lines.shape[-2:])
            (left, right), column_shares = _places(columns, 1)
            target = result.reshape(-1, *result.shape[-2:])
            loop(source, upper, lower, shares, left, right, column_shares, channels, target)
    else:
        within = _between(lines, columns, channels)
        above, below = (within.take(places, axis=-2, mode=_QUICKLY) for places in (upper, lower))
        result = _blend(above, below, shares[:, None])
    return result.reshape(*batch, *sizes, channels)


def _between(lines: np.ndarray, columns: Taps, channels: int) -> np.ndarray:
    (before, after), shares = _places(columns, channels)
    left, right = (lines.take(places, axis=-1, mode=_QUICKLY) for places in (before, after))
    if lines.dtype != np.float32:
        left, right = left.astype(np.float32), right.astype(np.float32)
    return _blend(left, right, shares)


@functools.lru_cache(maxsize=1024)
def _places(taps: Taps, channels: int) -> tuple[np.ndarray, np.ndarray]:
    """Return where a line holds the two values that each value is made of, and the share of the second.

    Single values of a line are gathered faster than pixels of three.
    """
    pairs = (taps.indices.T[:, :, None] * channels + np.arange(channels)).reshape(2, -1)
    return np.ascontiguousarray(pairs), np.repeat(taps.weights[:, 1], channels)


def _blend(first: np.ndarray, second: np.ndarray, share: np.ndarray) -> np.ndarray:
    """First + (second - first) * share, computed in `second`."""
    # In place: the arguments are fresh copies, and no other memory is needed.
    second -= first
    second *= share
    second += first
    return second


def _interpolate(image: TensorLike, taps: Taps, axis: int, xp: ModuleType) -> Any:
    first, second = (xp.take(image, places, axis=axis) for places in taps.indices.T)
    # In this form, as TensorFlow computes it; two weights would round otherwise.
    return first + (second - first) * _along(taps.weights[:, 1], axis)


def weigh(image: Any, rows: Taps, columns: Taps, xp: Any) -> Any:
    """Weighted sums of any number of pixels in either direction: float32."""
    return _weigh(_weigh(image.astype(np.float32), rows, -3, xp), columns, -2, xp)


def _weigh(image: TensorLike, taps: Taps, axis: int, xp: ModuleType) -> Any:
    # Many taps are one product with a matrix; few are cheaper one by one.
    if taps.indices.shape[1] > _FEW_TAPS:
        return xp.moveaxis(_product(taps.matrix(), xp.moveaxis(image, axis, -1)), -1, axis)
    total = 0
    for places, weights in zip(taps.indices.T, taps.weights.T, strict=True):
        total = total + xp.take(image, places, axis=axis) * _along(weights, axis)
    return total


def _product(matrix: np.ndarray, image: TensorLike) -> Any:
    # Full precision: accelerators multiply matrices in bfloat16 by default, which is visible in pixels.
    if array_api_compat.is_jax_array(image):
        import jax  # It is there already: the image is its array.

        return jax.numpy.matmul(image, matrix.T, precision="highest")
    return np.matmul(image, matrix.T)


def _along(weights: np.ndarray, axis: int) -> np.ndarray:
    return weights.reshape(-1, *[1] * (-axis - 1))
