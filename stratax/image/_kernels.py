"""How far a pixel of a resized image looks, and how it weights what it sees (image layer).

The formulas and constants are those of TensorFlow's kernels, in float32 as there, so that results agree.
"""

import dataclasses
import functools
import math
from collections.abc import Callable

import numpy as np

_TABLE_SIZE = 1024
_LANCZOS_CENTER = np.float32(1e-3)
_GAUSSIAN_RADIUS, _GAUSSIAN_SIGMA = 1.5, 0.5
_SMALLEST_SUM = 1000 * np.finfo(np.float32).tiny
_HALF = np.float32(0.5)


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True, slots=True)
class Taps:
    """What the pixels along one axis of the result are made of.

    Attributes:
        size: The size of the axis before.
        indices: Which pixels, shape `[pixels of the result, taps]`.
        weights: Their weights, float32, of the same shape.
    """

    size: int
    indices: np.ndarray
    weights: np.ndarray

    def matrix(self) -> np.ndarray:
        """Return the weights of all pixels, most of them 0: shape `[pixels of the result, size]`, float32."""
        whole = np.zeros((len(self.indices), self.size), np.float32)
        np.add.at(whole, (np.arange(len(self.indices))[:, None], self.indices), self.weights)
        return whole


def positions(size: int, count: int, *, align_corners: bool, half_pixel_centers: bool) -> np.ndarray:
    """Return where the centers of `count` pixels lie on an axis of `size`, in float32."""
    scale = _scale(size, count, align_corners=align_corners)
    numbers = np.arange(count, dtype=np.float32)
    if half_pixel_centers:
        return (numbers + _HALF) * scale - _HALF
    return numbers * scale


def _scale(size: int, count: int, *, align_corners: bool) -> np.float32:
    if align_corners and count > 1:
        return np.float32(size - 1) / np.float32(count - 1)
    return np.float32(size) / np.float32(count)


@functools.lru_cache(maxsize=1024)
def nearest(size: int, count: int, *, align_corners: bool, half_pixel_centers: bool) -> np.ndarray:
    """Return the pixel that each of `count` takes from an axis of `size`."""
    scale = _scale(size, count, align_corners=align_corners)
    numbers = np.arange(count, dtype=np.float32)
    places = (numbers + _HALF) * scale if half_pixel_centers else numbers * scale
    # Halves go up: the C function round, not Python's.
    places = np.floor(places + _HALF) if align_corners else np.floor(places)
    return np.clip(places, 0, size - 1).astype(np.intp)


@functools.lru_cache(maxsize=1024)
def linear(size: int, count: int, *, align_corners: bool, half_pixel_centers: bool) -> Taps:
    """Return the two pixels around each place; the weights are those of the second."""
    places = positions(size, count, align_corners=align_corners, half_pixel_centers=half_pixel_centers)
    below = np.floor(places)
    pair = np.stack([np.maximum(below, 0), np.minimum(np.ceil(places), size - 1)], axis=1)
    share = places - below
    return Taps(size=size, indices=pair.astype(np.intp), weights=np.stack([1 - share, share], axis=1))


@functools.lru_cache(maxsize=1024)
def cubic(size: int, count: int, *, align_corners: bool, half_pixel_centers: bool) -> Taps:
    """Return the four pixels around each place, weighted by a cubic curve out of a table, as in TensorFlow.

    With centers at half pixels, pixels outside of the image count nothing; else the one at the edge stands for them.
    """
    places = positions(size, count, align_corners=align_corners, half_pixel_centers=half_pixel_centers)
    below = np.floor(places)
    entries = np.rint((places - below) * np.float32(_TABLE_SIZE)).astype(np.intp)
    near, far = _cubic_table(-0.5 if half_pixel_centers else -0.75)
    weights = np.stack(
        [far[entries], near[entries], near[_TABLE_SIZE - entries], far[_TABLE_SIZE - entries]], axis=1
    )
    wanted = below.astype(np.intp)[:, None] + np.arange(-1, 3)
    indices = np.clip(wanted, 0, size - 1)
    if half_pixel_centers:
        weights = _normalize(np.where(indices == wanted, weights, np.float32(0)))
    return Taps(size=size, indices=indices, weights=weights)


@functools.cache
def _cubic_table(a: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the curve from 0 to 1 and from 1 to 2."""
    x = np.arange(_TABLE_SIZE + 1) / _TABLE_SIZE
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    far = ((a * (x + 1) - 5 * a) * (x + 1) + 8 * a) * (x + 1) - 4 * a
    return near.astype(np.float32), far.astype(np.float32)


@functools.lru_cache(maxsize=1024)
def area(size: int, count: int, *, align_corners: bool) -> Taps:
    """All pixels under each, weighted by how much of them it covers."""
    scale = _scale(size, count, align_corners=align_corners)
    begins = np.arange(count, dtype=np.float32) * scale
    ends = np.arange(1, count + 1, dtype=np.float32) * scale
    first = np.floor(begins).astype(np.intp)
    width = int((np.ceil(ends).astype(np.intp) - first).max())
    wanted = first[:, None] + np.arange(width)
    lower = wanted.astype(np.float32)
    upper = lower + np.float32(1)
    is_begun, is_over = lower < begins[:, None], upper > ends[:, None]
    inner = np.where(is_over, ends[:, None] - lower, np.float32(1))
    covered = np.where(is_begun, np.where(is_over, scale, upper - begins[:, None]), inner)
    weights = np.where(lower < ends[:, None], covered, np.float32(0)) / scale
    return Taps(size=size, indices=np.clip(wanted, 0, size - 1), weights=weights)


@functools.lru_cache(maxsize=1024)
def spread(method: str, size: int, count: int, *, antialias: bool) -> Taps:
    """Return a kernel around each place, which `antialias` widens where the image gets smaller.

    Args:
        method: A name in `KERNELS`.
        size: The size of the axis before.
        count: Its size after.
        antialias: Whether to widen it.
    """
    radius, kernel = KERNELS[method]
    inverse = np.float32(1 / (np.float32(count) / np.float32(size)))
    wide = max(inverse, np.float32(1)) if antialias else np.float32(1)
    places = (np.arange(count) + 0.5).astype(np.float32) * inverse
    reach = np.float32(radius) * wide
    first = np.clip(np.ceil(places - reach - _HALF), 0, size - 1).astype(np.intp)
    last = np.clip(np.floor(places + reach - _HALF), 0, size - 1).astype(np.intp)
    wanted = first[:, None] + np.arange(int((last - first).max()) + 1)
    distances = np.abs(wanted.astype(np.float32) + _HALF - places[:, None]) * (np.float32(1) / wide)
    weights = np.where(wanted <= last[:, None], kernel(distances), np.float32(0)).astype(np.float32)
    return Taps(size=size, indices=np.minimum(wanted, size - 1), weights=_normalize(weights))


def _normalize(weights: np.ndarray) -> np.ndarray:
    total = weights.sum(axis=1, keepdims=True, dtype=np.float32)
    is_some = np.abs(total) >= _SMALLEST_SUM
    return np.where(is_some, weights / np.where(is_some, total, np.float32(1)), weights)


def _triangle(x: np.ndarray) -> np.ndarray:
    return np.maximum(1 - x, 0)


def _keys_cubic(x: np.ndarray) -> np.ndarray:
    near = ((1.5 * x - 2.5) * x) * x + 1
    far = ((-0.5 * x + 2.5) * x - 4) * x + 2
    return np.where(x >= 2, 0, np.where(x >= 1, far, near))


def _mitchell_cubic(x: np.ndarray) -> np.ndarray:
    near = ((7 / 6 * x - 2) * x) * x + 8 / 9
    far = ((-7 / 18 * x + 2) * x - 10 / 3) * x + 16 / 9
    return np.where(x >= 2, 0, np.where(x >= 1, far, near))


def _gaussian(x: np.ndarray) -> np.ndarray:
    return np.where(x >= _GAUSSIAN_RADIUS, 0, np.exp(-(x * x) / (2 * _GAUSSIAN_SIGMA**2)))


def _lanczos(radius: float) -> Callable[[np.ndarray], np.ndarray]:
    def kernel(x: np.ndarray) -> np.ndarray:
        safe = np.maximum(x, _LANCZOS_CENTER)
        curve = (
            radius
            * np.sin(math.pi * safe)
            * np.sin(math.pi * safe / radius)
            / (math.pi * math.pi * safe * safe)
        )
        return np.where(x > radius, 0, np.where(x <= _LANCZOS_CENTER, 1, curve))

    return kernel


# Radius and curve of each method of `resize` that has a kernel.
KERNELS = {
    "bilinear": (1.0, _triangle),
    "bicubic": (2.0, _keys_cubic),
    "lanczos3": (3.0, _lanczos(3.0)),
    "lanczos5": (5.0, _lanczos(5.0)),
    "gaussian": (_GAUSSIAN_RADIUS, _gaussian),
    "mitchellcubic": (2.0, _mitchell_cubic),
}
