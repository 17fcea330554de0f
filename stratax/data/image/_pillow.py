"""What Pillow does: every image but usual JPEG files (data layer)."""

import contextlib
import io
import reprlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from stratax.data.image._files import check_claim, damaged
from stratax.data.image._packages import package
from stratax.errors import BadArgumentError, StrataxError

_MODES = {1: "L", 2: "LA", 3: "RGB", 4: "RGBA"}


def open_image(data: bytes, who: str) -> Any:
    """Pillow's object for an image, of which only the header has been read.

    Raises:
        DataLossError: Pillow can't make sense of the header, or it can't be true.
    """
    library = package("PIL.Image")
    with errors_of(data, who):
        picture = library.open(io.BytesIO(data))
    check_claim(picture.height, picture.width, data, who)
    return picture


@contextlib.contextmanager
def errors_of(data: bytes, who: str) -> Iterator[None]:
    """Turns what Pillow raises for files that it can't read into an error of the family."""
    try:
        yield
    except StrataxError:
        raise
    except Exception as e:
        # Besides OSError, damaged files bring out IndexError, SyntaxError, struct.error and others.
        raise damaged(data, who, f"Pillow says: {str(e) or type(e).__name__}") from e


def decode(data: bytes, channels: int, who: str) -> np.ndarray:
    """An image of any kind that Pillow knows, with 8 bits for each value.

    Args:
        data: The bytes of the file.
        channels: How many; 0 for as many as the file has.
        who: The function, for messages.

    Returns:
        uint8, shape `[height, width, channels]`.

    Raises:
        DataLossError: The file is damaged or cut off.
    """
    picture = open_image(data, who)
    count = channels or _own_channels(picture)
    if _is_deep_gray(picture):
        with errors_of(data, who):
            upper = (np.asarray(picture) >> 8).astype(np.uint8)
        return _spread_gray(upper, count)
    with errors_of(data, who):
        array = np.array(picture.convert(_MODES[count]))
    return array.reshape(*array.shape[:2], count)


def decode_sixteen_bits(data: bytes, channels: int, who: str) -> np.ndarray:
    """A PNG image of 16 bits for each value.

    Returns:
        uint16, shape `[height, width, channels]`.

    Raises:
        BadArgumentError: It has colors.
        DataLossError: The file is damaged or cut off.
    """
    picture = open_image(data, who)
    if not _is_deep_gray(picture):
        raise BadArgumentError(
            f"{who} reads 16 bits of gray only: Pillow has no colors of 16 bits. Received: dtype=uint16 and a PNG "
            "file with colors or opacity of 16 bits. Pass dtype=uint8 for the upper 8 bits."
        )
    with errors_of(data, who):
        array = np.asarray(picture).astype(np.uint16)
    return _spread_gray(array, channels or 1)


def decode_frames(data: bytes, who: str) -> np.ndarray:
    """All images of an animation: uint8, shape `[images, height, width, 3]`.

    Raises:
        DataLossError: The file is damaged or cut off.
    """
    picture = open_image(data, who)
    frames = package("PIL.ImageSequence").Iterator(picture)
    with errors_of(data, who):
        return np.stack([np.asarray(frame.convert("RGB")) for frame in frames])


def encode(pixels: np.ndarray, format: str, **options: Any) -> bytes:
    """The bytes of a file that shows `[height, width, channels]`.

    Raises:
        BadArgumentError: Such a file can't hold it.
    """
    shown = pixels[..., 0] if pixels.shape[-1] == 1 else pixels
    picture, file = package("PIL.Image").fromarray(np.ascontiguousarray(shown)), io.BytesIO()
    try:
        picture.save(file, format, **options)
    except (OSError, ValueError) as e:
        raise BadArgumentError(
            f"Pillow can't make a {format} file of it: {e}. Received: an image of shape={pixels.shape}, and "
            f"{reprlib.repr(options)}. Make the image smaller, or leave an option out."
        ) from e
    return file.getvalue()


def _is_deep_gray(picture: Any) -> bool:
    return picture.mode == "I" or picture.mode.startswith("I;16")


def _own_channels(picture: Any) -> int:
    has_opacity = picture.mode in ("LA", "PA", "RGBA") or "transparency" in picture.info
    is_gray = picture.mode in ("1", "L", "LA") or _is_deep_gray(picture)
    return (1 if is_gray else 3) + has_opacity


def _spread_gray(array: np.ndarray, channels: int) -> np.ndarray:
    """Gray as so many channels, with full opacity where there is one."""
    gray = np.repeat(array[..., None], 1 if channels < 3 else 3, axis=-1)
    if channels not in (2, 4):
        return gray
    opaque = np.full((*array.shape, 1), np.iinfo(array.dtype).max, array.dtype)
    return np.concatenate([gray, opaque], axis=-1)
