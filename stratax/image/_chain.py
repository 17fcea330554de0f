"""Operations on a photograph that follow one another, computed in one compiled loop (image layer).

`Dataset.map` asks for it where the result of one operation goes into the next one and nowhere else (see
:func:`stratax.data.vectorise.chain_operations`). A :class:`Developed` notes what each operation is going to do; the
numbers are those of the operations one by one, to the bit. The functions here stand beside operations, whose arguments
they take. They return None, or raise, where an operation has to be called itself: it says what is wrong, or knows more.
"""

import functools
import math
from typing import Any

import numpy as np

from stratax.base.typing import DTypeLike, TensorLike
from stratax.data.elements import as_dtype, as_plain, sizes_of
from stratax.data.vectorise import Deferred
from stratax.image import _compiled, _kernels, _loops
from stratax.image._arrays import two_sizes
from stratax.image._draws import between, draw_of

_CHANNELS = 3
_BYTE_STEP, _AS_IT_IS = np.float32(1 / 255), np.float32(1)
# Beyond these a product could be too large for a float, which NumPy warns of.
_LARGEST, _MOST_STEPS = 1e6, 4
# Added to a number it changes nothing; 0.0 would make 0.0 of -0.0.
_NOTHING = -0.0

_NO_STEPS = np.empty((0, 2), np.float32)

_Places = tuple[np.ndarray, np.ndarray]
"""For each pixel along an axis the two that it is made of, as two rows, and the share of the second."""


class Developed(Deferred):
    """What becomes of a photograph in bytes, `[height, width, 3]`, as float32.

    Each operation gives it to the next one and to no other, so all note in the same object what they do.

    Args:
        source: The photograph.
        scale: What a byte is multiplied by.
        loop: Computes it.
    """

    __slots__ = (
        "_columns", "_factor", "_is_copied", "_is_mirrored", "_loop", "_num_before", "_rows", "_scale", "_size",
        "_start", "_steps", "source",
    )  # fmt: skip

    def __init__(self, source: np.ndarray, scale: np.float32, loop: _compiled.Loop) -> None:
        self.source = source
        self._scale = scale
        self._loop = loop
        self._rows: _Places | None = None
        self._columns: tuple[int, int, bool, bool] | None = None
        self._start = (0, 0)
        self._size = source.shape[:2]
        self._is_mirrored = self._is_copied = False
        self._steps: list[tuple[float, float]] = []
        self._factor: float | None = None
        self._num_before: int | None = None

    @property
    def size(self) -> tuple[int, int] | None:
        """Height and width, if it was resized and can still be mirrored."""
        is_done = self._rows is None or self._steps or self._factor is not None
        return None if is_done else self._size

    @property
    def takes_crop(self) -> bool:
        """Whether it was resized and can still be cropped."""
        return self.size is not None and not self._is_copied

    @property
    def takes_step(self) -> bool:
        """Whether it was resized and its values can change once more."""
        return self._rows is not None and len(self._steps) < _MOST_STEPS

    @property
    def takes_stretch(self) -> bool:
        """Whether it was resized and its values can move away from their means."""
        return self._rows is not None and self._factor is None

    def resize(self, rows: int, columns: int, *, align: bool, half: bool) -> "Developed | None":
        """Give it another size, once."""
        if self._rows is not None:
            return None
        height, width = self._size
        self._rows = _rows(height, rows, align, half)
        self._columns = (width, columns, align, half)
        self._size = rows, columns
        return self

    def crop(self, top: int, left: int, rows: int, columns: int) -> "Developed | None":
        """Keep a part, before it is mirrored."""
        height, width = self._size
        if not (0 <= top <= height - rows < height and 0 <= left <= width - columns < width):
            return None
        self._start = self._start[0] + top, self._start[1] + left
        self._size = rows, columns
        return self

    def mirror(self) -> "Developed":
        """Reverse the order of the columns."""
        self._is_mirrored, self._is_copied = not self._is_mirrored, True
        return self

    def step(self, times: float, plus: float) -> "Developed | None":
        """Multiply all values, and add to the products."""
        if not (self.takes_step and abs(times) <= _LARGEST and abs(plus) <= _LARGEST):
            return None
        steps = self._steps
        if times == 1 and len(steps) > (self._num_before or 0) and steps[-1][1] is _NOTHING:
            steps[-1] = steps[-1][0], plus
        else:
            steps.append((times, plus))
        return self

    def stretch(self, factor: float) -> "Developed | None":
        """Move values away from the mean of their channel, once."""
        if not (self.takes_stretch and abs(factor) <= _LARGEST):
            return None
        self._factor, self._num_before = factor, len(self._steps)
        return self

    def operate(self, symbol: str, operand: Any) -> "Developed | None":
        # Others make float64 of it, or another shape.
        if type(operand) not in (int, float, np.float32):
            return None
        number = float(np.float32(operand))
        if symbol == "*":
            return self.step(number, _NOTHING)
        return self.step(1.0, number if symbol == "+" else -number)

    def value(self, into: np.ndarray | None = None) -> np.ndarray:
        if self._rows is None or self._columns is None:
            return self._floats()
        columns = _columns(*self._columns, self._is_mirrored)
        if self._is_copied or self._steps or self._factor is not None:
            return self._part(self._rows, columns, self._start, self._size, into)
        # Of an image that was only cropped, NumPy adds numbers in another order than of a copy.
        whole = self._part(self._rows, columns, (0, 0), (len(self._rows[1]), len(columns[1])))
        (top, left), (height, width) = self._start, self._size
        return whole[top : top + height, left : left + width, :]

    def _floats(self) -> np.ndarray:
        result = np.empty(self.source.shape, np.float32)
        loop = _compiled.loop_for(_loops.to_floats, self.source)
        if loop is None:
            return np.multiply(self.source, self._scale, out=result)
        loop(self.source.reshape(-1), self._scale, result.reshape(-1))
        return result

    def _part(
        self,
        rows: _Places,
        columns: _Places,
        start: tuple[int, int],
        size: tuple[int, int],
        into: np.ndarray | None = None,
    ) -> np.ndarray:
        shape, (top, left) = (*size, _CHANNELS), start
        if into is None or into.dtype != np.float32 or into.shape != shape or not into.flags.c_contiguous:
            into = np.empty(shape, np.float32)
        if self._is_mirrored:
            left = len(columns[1]) - left - size[1]
        self._loop(
            self.source.reshape(len(self.source), -1),
            self._scale,
            *rows,
            top,
            *columns,
            left,
            np.array(self._steps, np.float32) if self._steps else _NO_STEPS,
            int(self._factor is not None),
            len(self._steps) if self._num_before is None else self._num_before,
            np.float32(self._factor or 0),
            into.reshape(size[0], -1),
        )
        return into


@functools.lru_cache(maxsize=1024)
def _rows(size: int, count: int, align: bool, half: bool) -> _Places:
    taps = _kernels.linear(size, count, align_corners=align, half_pixel_centers=half)
    return np.ascontiguousarray(taps.indices.T), np.ascontiguousarray(taps.weights[:, 1])


@functools.lru_cache(maxsize=1024)
def _columns(size: int, count: int, align: bool, half: bool, is_mirrored: bool) -> _Places:
    indices, shares = _rows(size, count, align, half)
    order = slice(None, None, -1 if is_mirrored else 1)
    return np.ascontiguousarray(indices[:, order] * _CHANNELS), np.ascontiguousarray(shares[order])


def _begin(image: TensorLike, scale: np.float32) -> Developed | None:
    """Return the chain that an image is in, or begin one."""
    if type(image) is Developed:
        return image
    image = as_plain(image)
    if type(image) is not np.ndarray or image.dtype != np.uint8 or image.ndim != 3 or not image.size:
        return None
    if image.shape[2] != _CHANNELS or not image.flags.c_contiguous:
        return None
    loop = _compiled.loop_for(_loops.develop, image)
    return None if loop is None else Developed(image, scale, loop)


def try_convert(
    image: TensorLike, dtype: DTypeLike, saturate: bool = False, name: str | None = None
) -> Developed | None:
    """Stand beside :func:`convert_image_dtype`."""
    return _begin(image, _BYTE_STEP) if as_dtype(dtype) == np.float32 else None


def try_resize(
    images: TensorLike,
    size: TensorLike,
    method: object = "bilinear",
    preserve_aspect_ratio: bool = False,
    antialias: bool = False,
    name: str | None = None,
) -> Developed | None:
    """Stand beside :func:`resize`."""
    if method != "bilinear" or preserve_aspect_ratio or antialias:
        return None
    return try_resize_bilinear(images, size, half_pixel_centers=True)


def try_resize_bilinear(
    images: TensorLike,
    size: TensorLike,
    align_corners: bool = False,
    name: str | None = None,
    half_pixel_centers: bool = False,
) -> Developed | None:
    """Stand beside :func:`resize_bilinear`."""
    if align_corners and half_pixel_centers:
        return None
    rows, columns = two_sizes(size)
    chain = _begin(images, _AS_IT_IS)
    if chain is None:
        return None
    return chain.resize(rows, columns, align=bool(align_corners), half=bool(half_pixel_centers))


def try_crop_to_box(
    image: Any, offset_height: int, offset_width: int, target_height: int, target_width: int
) -> Developed | None:
    """Stand beside :func:`crop_to_bounding_box`."""
    box = (offset_height, offset_width, target_height, target_width)
    is_possible = type(image) is Developed and image.takes_crop and all(type(n) is int for n in box)
    return image.crop(*box) if is_possible else None


def try_crop_at_random(
    value: TensorLike, size: TensorLike, seed: int | None = None, name: str | None = None
) -> Developed | None:
    """Stand beside :func:`random_crop`."""
    if type(value) is not Developed or not value.takes_crop or value.size is None:
        return None
    height, width = value.size
    rows, columns, channels = sizes_of("size", size)
    if channels != _CHANNELS or not (0 < rows <= height and 0 < columns <= width):
        return None
    down, along, _ = draw_of(value.source, seed)((3,)).tolist()
    return value.crop(int(down * (height - rows + 1)), int(along * (width - columns + 1)), rows, columns)


def try_mirror(image: TensorLike) -> Developed | None:
    """Stand beside :func:`flip_left_right`."""
    return image.mirror() if type(image) is Developed and image.size is not None else None


def try_mirror_at_random(image: TensorLike, seed: int | None = None) -> Developed | None:
    """Stand beside :func:`random_flip_left_right`."""
    if type(image) is not Developed or image.size is None:
        return None
    return image.mirror() if draw_of(image.source, seed)(()) < 0.5 else image


def try_brighten(image: TensorLike, delta: TensorLike) -> Developed | None:
    """Stand beside :func:`adjust_brightness`."""
    return image.step(1.0, _number(delta)) if type(image) is Developed else None


def try_brighten_at_random(image: TensorLike, max_delta: Any, seed: int | None = None) -> Developed | None:
    """Stand beside :func:`random_brightness`."""
    if type(image) is not Developed or not image.takes_step or not 0 <= max_delta <= _LARGEST:
        return None
    return image.step(1.0, _number(between(-max_delta, max_delta, draw_of(image.source, seed))))


def try_stretch(images: TensorLike, contrast_factor: object) -> Developed | None:
    """Stand beside :func:`adjust_contrast`."""
    return images.stretch(_number(contrast_factor)) if type(images) is Developed else None


def try_stretch_at_random(
    images: TensorLike, lower: Any, upper: Any, seed: int | None = None
) -> Developed | None:
    """Stand beside :func:`random_contrast`."""
    if type(images) is not Developed or not images.takes_stretch or not 0 <= lower < upper <= _LARGEST:
        return None
    return images.stretch(_number(between(lower, upper, draw_of(images.source, seed))))


def _number(value: Any) -> float:
    """Return a number as float32 has it; NaN for what is none, which no limit holds for."""
    is_number = isinstance(value, int | float | np.number) or (type(value) is np.ndarray and not value.ndim)
    return float(np.float32(value)) if is_number else math.nan
