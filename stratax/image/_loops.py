"""Loops over the numbers of images that Numba compiles, each in one pass (image layer).

They give the same numbers as the operations of NumPy that they stand for, to the bit: the same formulas in float32, in
the same order. Annotations say what they are compiled for. Only :mod:`stratax.image._compiled` calls for them.
"""

import dataclasses
from typing import Annotated

import numpy as np


@dataclasses.dataclass(frozen=True, slots=True)
class MemoryLayout:
    """How an array that is given to a loop lies in memory.

    Attributes:
        dtype: Its dtype; None for the one that the loop is compiled for.
        ndim: Its rank.
        is_result: Whether the loop writes into it; else it may be read-only.
        is_strided: Whether its values may lie apart.
    """

    dtype: str | None
    ndim: int
    is_result: bool = False
    is_strided: bool = False


Values = Annotated[np.ndarray, MemoryLayout(None, 1)]
Lines = Annotated[np.ndarray, MemoryLayout("float32", 3)]
Pixels = Annotated[np.ndarray, MemoryLayout(None, 2)]
View = Annotated[np.ndarray, MemoryLayout(None, 3, is_strided=True)]
Pairs = Annotated[np.ndarray, MemoryLayout("intp", 2)]
Places = Annotated[np.ndarray, MemoryLayout("intp", 1)]
Steps = Annotated[np.ndarray, MemoryLayout("float32", 2)]
Shares = Annotated[np.ndarray, MemoryLayout("float32", 1)]
FloatValues = Annotated[np.ndarray, MemoryLayout("float32", 1, is_result=True)]
FloatLines = Annotated[np.ndarray, MemoryLayout("float32", 3, is_result=True)]
FloatPixels = Annotated[np.ndarray, MemoryLayout("float32", 2, is_result=True)]
ByteValues = Annotated[np.ndarray, MemoryLayout("uint8", 1, is_result=True)]
Copy = Annotated[np.ndarray, MemoryLayout(None, 3, is_result=True)]

_ZERO, _ONE, _TWO, _THREE, _FOUR, _SIX = (np.float32(n) for n in (0, 1, 2, 3, 4, 6))
_THIRD, _TWO_THIRDS = np.float32(2 / 6), np.float32(4 / 6)
_FIRST, _SECOND, _LAST, _NEXT = (np.uintp(n) for n in range(4))
_BYTE_STEPS, _LARGEST_BYTE = np.float32(255.5), np.float32(255)


def to_floats(values: Values, scale: np.float32, result: FloatValues) -> None:
    """Make floats of whole numbers, times a scale."""
    for i in range(values.size):
        result[i] = np.float32(values[i]) * scale


def to_bytes(values: Values, result: ByteValues) -> None:
    """Make numbers from 0 to 255 of floats from 0 to 1; what is beyond becomes the nearest."""
    for i in range(values.size):
        value = values[i] * _BYTE_STEPS
        if value >= _LARGEST_BYTE:
            result[i] = 255
        elif value > _ZERO:
            result[i] = np.uint8(value)
        else:
            result[i] = 0


def mirror(image: View, result: Copy) -> None:
    """Reverse the order of the columns of an image."""
    height, width, channels = image.shape
    for i in range(height):
        if channels == 3:
            for j in range(width):
                result[i, j, 0] = image[i, width - 1 - j, 0]
                result[i, j, 1] = image[i, width - 1 - j, 1]
                result[i, j, 2] = image[i, width - 1 - j, 2]
        else:
            for j in range(width):
                for k in range(channels):
                    result[i, j, k] = image[i, width - 1 - j, k]


def interpolate(
    images: Lines,
    upper: Places,
    lower: Places,
    row_shares: Shares,
    left: Places,
    right: Places,
    column_shares: Shares,
    channels: int,
    result: FloatLines,
) -> None:
    """Interpolate between two columns, then between two rows; the two rows that were made last are kept.

    A row and the one below it are one even and one odd number, or the same.
    """
    lines = np.empty((2, left.size * channels), np.float32)
    held = np.empty(2, np.intp)
    for n in range(images.shape[0]):
        held[:] = -1
        for i in range(upper.size):
            for row in (upper[i], lower[i]):
                if held[row % 2] == row:
                    continue
                held[row % 2] = row
                source, target = images[n, row], lines[row % 2]
                # Three channels one by one, at numbers that can't be negative: twice as quick as the other loop.
                if channels == 3:
                    place = _FIRST
                    for j in range(left.size):
                        before, after, share = np.uintp(left[j] * 3), np.uintp(right[j] * 3), column_shares[j]
                        red, green, blue = source[before], source[before + _SECOND], source[before + _LAST]
                        target[place] = (source[after] - red) * share + red
                        target[place + _SECOND] = (source[after + _SECOND] - green) * share + green
                        target[place + _LAST] = (source[after + _LAST] - blue) * share + blue
                        place += _NEXT
                else:
                    for j in range(left.size):
                        before, after, share = left[j] * channels, right[j] * channels, column_shares[j]
                        for k in range(channels):
                            first = source[before + k]
                            target[j * channels + k] = (source[after + k] - first) * share + first
            above, below, share = lines[upper[i] % 2], lines[lower[i] % 2], row_shares[i]
            for j in range(above.size):
                result[n, i, j] = (below[j] - above[j]) * share + above[j]


def develop(
    image: Pixels,
    scale: np.float32,
    rows: Pairs,
    row_shares: Shares,
    top: int,
    columns: Pairs,
    column_shares: Shares,
    start: int,
    steps: Steps,
    is_stretched: int,
    num_before: int,
    factor: np.float32,
    result: FloatPixels,
) -> None:
    """Make floats of the bytes of a photograph, and a part of it in another size, and change its values.

    Interpolates as :func:`interpolate`, and moves values away from the means of the three channels as :func:`stretch`.
    Before that come some of the steps, behind it the others: pairs of a factor and what is added to the product.
    Columns are places in a row of values.
    """
    height, size = result.shape
    width = size // 3
    source, lines = np.empty(image.shape[1], np.float32), np.empty((2, size), np.float32)
    totals, total = np.zeros(size, np.float32), np.zeros(3, np.float32)
    held = np.full(2, -1, np.intp)
    # Slices begin at 0: places that can't be negative need no look.
    left, right, shares = (
        columns[0, start : start + width],
        columns[1, start : start + width],
        column_shares[start : start + width],
    )
    for i in range(height):
        upper, lower, row_share = rows[0, top + i], rows[1, top + i], row_shares[top + i]
        for row in (upper, lower):
            if held[row % 2] == row:
                continue
            held[row % 2] = row
            for j in range(source.size):
                source[j] = np.float32(image[row, j]) * scale
            target, place = lines[row % 2], _FIRST
            for j in range(width):
                before, after, share = np.uintp(left[j]), np.uintp(right[j]), shares[j]
                red, green, blue = source[before], source[before + _SECOND], source[before + _LAST]
                target[place] = (source[after] - red) * share + red
                target[place + _SECOND] = (source[after + _SECOND] - green) * share + green
                target[place + _LAST] = (source[after + _LAST] - blue) * share + blue
                place += _NEXT
        above, below, line = lines[upper % 2], lines[lower % 2], result[i]
        for j in range(size):
            line[j] = (below[j] - above[j]) * row_share + above[j]
        for k in range(num_before):
            times, plus = steps[k, 0], steps[k, 1]
            for j in range(size):
                line[j] = line[j] * times + plus
        if is_stretched:
            for j in range(size):
                totals[j] += line[j]
    if not is_stretched:
        return
    rest, pixels = _ONE - factor, np.float32(height * width)
    for j in range(size):
        total[j % 3] += totals[j]
    for j in range(size):
        totals[j] = total[j % 3] / pixels * rest
    for i in range(height):
        line = result[i]
        for j in range(size):
            line[j] = line[j] * factor + totals[j]
        for k in range(num_before, steps.shape[0]):
            times, plus = steps[k, 0], steps[k, 1]
            for j in range(size):
                line[j] = line[j] * times + plus


def stretch(images: Lines, channels: int, factor: np.float32, result: FloatLines) -> None:
    """Move values `factor` times as far from the mean of their channel of their image."""
    number, height, size = images.shape
    line, total = np.empty(size, np.float32), np.empty(channels, np.float32)
    rest, pixels = _ONE - factor, np.float32(height * (size // channels))
    for n in range(number):
        line[:] = 0
        for i in range(height):
            for j in range(size):
                line[j] += images[n, i, j]
        total[:] = 0
        for j in range(size):
            total[j % channels] += line[j]
        for j in range(size):
            line[j] = total[j % channels] / pixels * rest
        for i in range(height):
            for j in range(size):
                result[n, i, j] = images[n, i, j] * factor + line[j]


def saturate(pixels: Pixels, factor: np.float32, result: FloatPixels) -> None:
    """Multiply the saturation of every color."""
    for i in range(pixels.shape[0]):
        red, green, blue = pixels[i, 0], pixels[i, 1], pixels[i, 2]
        value = np.maximum(np.maximum(red, green), blue)
        spread = value - np.minimum(np.minimum(red, green), blue)
        is_color = value > _ZERO and spread > _ZERO
        saturation = spread / value if is_color else _ZERO
        changed = np.minimum(np.maximum(saturation * factor, _ZERO), _ONE)
        scale = changed / (saturation if saturation > _ZERO else _ONE)
        result[i, 0] = value - (value - red) * scale
        result[i, 1] = value - (value - green) * scale
        result[i, 2] = value - (value - blue) * scale


def turn(pixels: Pixels, delta: np.float32, result: FloatPixels) -> None:
    """Turn every color around the color wheel."""
    for i in range(pixels.shape[0]):
        red, green, blue = pixels[i, 0], pixels[i, 1], pixels[i, 2]
        value, least = np.maximum(np.maximum(red, green), blue), np.minimum(np.minimum(red, green), blue)
        spread = value - least
        sixth = _ONE / (_SIX * (spread if spread > _ZERO else _ONE))
        if red == value:
            hue = sixth * (green - blue)
        elif green == value:
            hue = sixth * (blue - red) + _THIRD
        else:
            hue = sixth * (red - green) + _TWO_THIRDS
        hue = hue if spread > _ZERO else _ZERO
        turned = (hue + _ONE if hue < _ZERO else hue) + delta
        sixths = (turned - np.floor(turned)) * _SIX
        result[i, 0] = least + spread * np.minimum(np.maximum(np.abs(sixths - _THREE) - _ONE, _ZERO), _ONE)
        result[i, 1] = least + spread * np.minimum(np.maximum(_TWO - np.abs(sixths - _TWO), _ZERO), _ONE)
        result[i, 2] = least + spread * np.minimum(np.maximum(_TWO - np.abs(sixths - _FOUR), _ZERO), _ONE)
