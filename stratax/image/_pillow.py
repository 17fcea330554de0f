"""What Pillow does: every image but usual JPEG files (image layer)."""

import contextlib
import io
from collections.abc import Iterator
from typing import Any

import numpy as np

from stratax.base.shown import cut, shown
from stratax.errors import BadArgumentError, StrataxError
from stratax.image._files import MAX_PIXELS, check_claim, make_damage_error
from stratax.image._packages import package
from stratax.image._png import check_whole

# Where the header of a BMP file says where its pixels begin, how high it is (below zero: the first row comes first),
# how many bits a pixel has, and how pixels are stored.
_BMP_PIXELS_AT, _BMP_HEIGHT_AT, _BMP_DEPTH_AT, _BMP_STORAGE_AT = 10, 22, 28, 30
# Those that TensorFlow gives libpng for red, green and blue, in parts of 2**15.
_GRAY_WEIGHTS = (9797, 19234, 3737)
# The gamma of sRGB in a PNG file, and how near to 1 libpng takes one for none.
_SRGB_GAMMA, _NO_GAMMA = 0.45455, 0.05
_MODES = {1: "L", 2: "LA", 3: "RGB", 4: "RGBA"}


def open_image(data: bytes, who: str, max_pixels: int = MAX_PIXELS) -> Any:
    """Pillow's object for an image, of which only the header has been read.

    Raises:
        DataLossError: Pillow can't make sense of the header, or it can't be true.
    """
    library = package("PIL.Image")
    with errors_of(data, who):
        picture = library.open(io.BytesIO(data))
    # Before the pixels are decoded: the header may claim any size.
    check_claim(picture.height, picture.width, data, who, max_pixels)
    # Pillow ignores checksums of pixels and accepts files that are cut off.
    if picture.format == "PNG":
        check_whole(data, who)
    return picture


@contextlib.contextmanager
def errors_of(data: bytes, who: str) -> Iterator[None]:
    """Turn what Pillow raises for files that it can't read into an error of the family."""
    try:
        yield
    except StrataxError:
        raise
    except Exception as e:
        # Besides OSError, damaged files bring out IndexError, SyntaxError, struct.error and others.
        reason = f"Pillow says: {cut(str(e)) or type(e).__name__}"
        if type(e).__name__ == "DecompressionBombError":
            reason += " It may be raised with PIL.Image.MAX_IMAGE_PIXELS"
        raise make_damage_error(data, who, reason) from e


def decode(data: bytes, channels: int, who: str, max_pixels: int = MAX_PIXELS) -> np.ndarray:
    """Return an image of any kind that Pillow knows, with 8 bits for each value.

    Args:
        data: The bytes of the file.
        channels: How many; 0 for as many as the file has.
        who: The function, for messages.
        max_pixels: How many there may be.

    Returns:
        uint8, shape `[height, width, channels]`.

    Raises:
        DataLossError: The file is damaged or cut off.
    """
    picture = open_image(data, who, max_pixels)
    count = channels or _own_channels(picture)
    if picture.format == "BMP" and picture.mode == "P":
        # TensorFlow does not look a palette's colors up.
        with errors_of(data, who):
            if data[_BMP_DEPTH_AT] != 8:
                raise ValueError(f"a palette of {data[_BMP_DEPTH_AT]} bits is not read")
            return _spread_gray(np.asarray(picture), channels or 1)
    if picture.format == "BMP" and channels in (0, 4) and _has_plain_opacity(data):
        with errors_of(data, who):
            return _bmp_with_opacity(data, picture.height, picture.width)
    if _is_deep_gray(picture):
        with errors_of(data, who):
            upper = (np.asarray(picture) >> 8).astype(np.uint8)
        return _spread_gray(upper, count)
    with errors_of(data, who):
        # Pillow's own weights for gray are not those of TensorFlow.
        if picture.format == "PNG" and count == 1 and picture.mode not in ("1", "L", "LA"):
            return gray_of(np.asarray(picture.convert("RGB")), _gamma_of(picture))
        array = np.array(picture.convert(_MODES[count]))
    return array.reshape(*array.shape[:2], count)


def decode_sixteen_bits(data: bytes, channels: int, who: str, max_pixels: int = MAX_PIXELS) -> np.ndarray:
    """Return a PNG image of 16 bits for each value.

    Returns:
        uint16, shape `[height, width, channels]`.

    Raises:
        BadArgumentError: It has colors.
        DataLossError: The file is damaged or cut off.
    """
    picture = open_image(data, who, max_pixels)
    if not _is_deep_gray(picture):
        raise BadArgumentError(
            f"{who} reads 16 bits of gray only: Pillow has no colors of 16 bits. Received: dtype=uint16 and a PNG "
            "file with colors or opacity of 16 bits. Pass dtype=uint8 for the upper 8 bits."
        )
    with errors_of(data, who):
        array = np.asarray(picture).astype(np.uint16)
    return _spread_gray(array, channels or 1)


def encode(pixels: np.ndarray, format: str, **options: object) -> bytes:
    """Return the bytes of a file that shows `[height, width, channels]`.

    Raises:
        BadArgumentError: Such a file can't hold it.
    """
    plane = pixels[..., 0] if pixels.shape[-1] == 1 else pixels
    picture, file = package("PIL.Image").fromarray(np.ascontiguousarray(plane)), io.BytesIO()
    try:
        picture.save(file, format, **options)
    except (OSError, ValueError) as e:
        raise BadArgumentError(
            f"Pillow can't make a {format} file of it: {e}. Received: an image of shape={pixels.shape}, and "
            f"{shown(options)}. Make the image smaller, or leave an option out."
        ) from e
    return file.getvalue()


def _has_plain_opacity(data: bytes) -> bool:
    """Return whether a BMP file has 32 bits for a pixel and does not say what the last 8 are; Pillow ignores those."""
    return data[_BMP_DEPTH_AT] == 32 and not any(data[_BMP_STORAGE_AT : _BMP_STORAGE_AT + 4])


def _bmp_with_opacity(data: bytes, height: int, width: int) -> np.ndarray:
    """Return the pixels with the last 8 bits as opacity, which TensorFlow takes them for."""
    first = int.from_bytes(data[_BMP_PIXELS_AT : _BMP_PIXELS_AT + 4], "little")
    rows = np.frombuffer(data, np.uint8, height * width * 4, first).reshape(height, width, 4)
    is_upside_down = int.from_bytes(data[_BMP_HEIGHT_AT : _BMP_HEIGHT_AT + 4], "little", signed=True) > 0
    # BMP files store blue first.
    return (rows[::-1] if is_upside_down else rows)[..., [2, 1, 0, 3]]


def _is_deep_gray(picture: Any) -> bool:
    return picture.mode == "I" or picture.mode.startswith("I;16")


def _own_channels(picture: Any) -> int:
    # As in TensorFlow one color of a PNG file that is transparent makes no channel, unless it is one of a palette.
    has_palette = picture.mode == "P"
    has_opacity = picture.mode in ("LA", "PA", "RGBA") or (has_palette and "transparency" in picture.info)
    is_gray = picture.mode in ("1", "L", "LA") or _is_deep_gray(picture)
    return (1 if is_gray else 3) + has_opacity


def gray_of(colors: np.ndarray, gamma: float = 1.0) -> np.ndarray:
    """Return the gray of colors as libpng makes it, with a dimension of one channel.

    Args:
        colors: uint8, shape `[height, width, 3]`.
        gamma: How the file says that light was encoded. Where it is not 1, the mean is that of light, and rounded.
    """
    weights = np.array(_GRAY_WEIGHTS, np.uint32)
    if not _is_gamma(gamma) and not _is_gamma(1 / gamma):
        gray = (colors @ weights >> 15).astype(np.uint8)
    else:
        light = _powers(1 / gamma)[colors]
        gray = _powers(gamma)[light @ weights + (1 << 14) >> 15]
        is_gray = (colors == colors[..., :1]).all(-1)
        gray = np.where(is_gray, colors[..., 0], gray)
    return gray[..., None]


def _is_gamma(exponent: float) -> bool:
    return abs(exponent - 1) > _NO_GAMMA


def _powers(exponent: float) -> np.ndarray:
    if not _is_gamma(exponent):
        return np.arange(256, dtype=np.uint8)
    return np.floor(255 * (np.arange(256) / 255) ** exponent + 0.5).astype(np.uint8)


def _gamma_of(picture: Any) -> float:
    """Return the gamma of a PNG file; sRGB has one of its own."""
    return _SRGB_GAMMA if "srgb" in picture.info else float(picture.info.get("gamma", 1.0))


def _spread_gray(array: np.ndarray, channels: int) -> np.ndarray:
    """Gray as so many channels, with full opacity where there is one."""
    gray = np.repeat(array[..., None], 1 if channels < 3 else 3, axis=-1)
    if channels not in (2, 4):
        return gray
    # Without opacity of its own an image is fully opaque.
    opaque = np.full((*array.shape, 1), np.iinfo(array.dtype).max, array.dtype)
    return np.concatenate([gray, opaque], axis=-1)
