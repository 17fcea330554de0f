"""Animated images: GIF and WebP files, as TensorFlow puts their images together (image layer)."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from stratax.errors import BadArgumentError
from stratax.image._files import check_claim
from stratax.image._pillow import errors_of, open_image

_GIF_HEADER = 13
_EXTENSION, _IMAGE, _END = 0x21, 0x2C, 0x3B
_CONTROL = 0xF9
_DISPOSAL, _KEEP = 0b11100, 0b00100


class _Frame(NamedTuple):
    """Where an image of a GIF file lies on its canvas."""

    left: int
    top: int
    width: int
    height: int


def decode_gif(data: bytes, who: str, max_pixels: int, only_first: bool = False) -> np.ndarray:
    """All images of a GIF file: uint8, shape `[images, height, width, 3]`.

    As in TensorFlow every image is painted over the one before it, whatever the file says about disposing of that, and
    what no image has painted is black.

    Raises:
        DataLossError: The file is damaged or cut off.
    """
    kept, frames = _without_disposal(data)
    picture = open_image(kept, who, max_pixels)
    with errors_of(data, who):
        count = 1 if only_first else picture.n_frames
        check_claim(picture.height, picture.width, data, who, max_pixels, count)
        images = np.zeros((count, picture.height, picture.width, 3), np.uint8)
        painted = np.zeros(images.shape[1:3], bool)
        if len(frames) < count:
            raise ValueError("an image has no place")
        for number in range(count):
            picture.seek(number)
            frame, pixels = frames[number], np.asarray(picture.convert("RGBA"))
            painted[frame.top : frame.top + frame.height, frame.left : frame.left + frame.width] = True
            images[number] = np.where((painted & (pixels[..., 3] > 0))[..., None], pixels[..., :3], 0)
    return images


def _without_disposal(data: bytes) -> tuple[bytes, list[_Frame]]:
    """Return the file with every image left where it is painted, and where each of them lies."""
    content, frames = bytearray(data), []
    for kind, position in _blocks(data):
        if kind == _IMAGE:
            frames.append(_Frame(*np.frombuffer(data, "<u2", 4, position + 1).tolist()))
        elif content[position + 1] == _CONTROL and content[position + 2] == 4:
            content[position + 3] = content[position + 3] & ~_DISPOSAL | _KEEP
    return bytes(content), frames


def _blocks(data: bytes) -> Iterator[tuple[int, int]]:
    """Return the kind and position of each block; none behind the point where the file is damaged or cut off."""
    try:
        position = _GIF_HEADER + _palette_bytes(data[10])
        while (kind := data[position]) != _END:
            if kind == _EXTENSION:
                after = position + 2
            elif kind == _IMAGE:
                after = position + 11 + _palette_bytes(data[position + 9])
            else:
                return
            while size := data[after]:
                after += size + 1
            yield kind, position
            position = after + 1
    except IndexError:
        # The decoder says what is wrong.
        return


def _palette_bytes(flags: int) -> int:
    return 3 << ((flags & 7) + 1) if flags & 0x80 else 0


def decode_webp(
    data: bytes, channels: int, who: str, max_pixels: int, only_first: bool = False
) -> np.ndarray:
    """All images of a WebP file: uint8, shape `[images, height, width, 3 or 4]`; those of an animation have opacity.

    Raises:
        BadArgumentError: The file has another number of channels.
        DataLossError: The file is damaged or cut off.
    """
    picture = open_image(data, who, max_pixels)
    with errors_of(data, who):
        count = picture.n_frames
        own = 4 if count > 1 or picture.mode == "RGBA" else 3
        check_claim(picture.height, picture.width, data, who, max_pixels, count)
    if channels not in (0, own):
        raise BadArgumentError(
            f"A WebP file is read with the channels that it has. Expected: 0 or {own}. Received: channels={channels}."
        )
    count = 1 if only_first else count
    images = np.empty((count, picture.height, picture.width, own), np.uint8)
    with errors_of(data, who):
        for number in range(count):
            images[number] = _frame(picture, number, own)
    return images


def _frame(picture: Any, number: int, channels: int) -> np.ndarray:
    picture.seek(number)
    return np.asarray(picture.convert("RGBA" if channels == 4 else "RGB"))
