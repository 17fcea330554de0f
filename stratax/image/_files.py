"""The bytes of image files: what kind they look like, and errors about them (image layer)."""

from collections.abc import Container
from typing import Any

import numpy as np

from stratax.base.bounds import claim_pixels
from stratax.base.shown import shown
from stratax.base.typing import TensorLike
from stratax.errors import BadArgumentError, BadTypeError, DataLossError

_BEGINNINGS = (
    (b"\xff\xd8\xff", "JPEG"),
    (b"\x89PNG\r\n\x1a\n", "PNG"),
    (b"GIF87a", "GIF"),
    (b"GIF89a", "GIF"),
    (b"BM", "BMP"),
    (b"II*\x00", "TIFF"),
    (b"MM\x00*", "TIFF"),
    (b"\x00\x00\x00\x0cjP  ", "JPEG 2000"),
    (b"\xff\x0a", "JPEG XL"),
    (b"\x1f\x8b", "gzip"),
    (b"PK\x03\x04", "zip"),
    (b"%PDF", "PDF"),
)
_SHOWN_BYTES = 12
_LOOKED_AT = 512
_SMALL_IMAGE = 1 << 22
# Deflate makes at most 1032 bytes of one; eight pixels of a black and white PNG file are one byte.
_MOST_PIXELS_A_BYTE = 10_000

# How many pixels a file may have in all its images, where nothing else is asked for.
MAX_PIXELS = 1 << 28


def kind_of(contents: bytes) -> str | None:
    """Return the kind of file: `JPEG`, `PNG`, `GIF`, `BMP`, `WebP`, ...; None if it looks like none that is known."""
    for beginning, kind in _BEGINNINGS:
        if contents.startswith(beginning):
            return kind
    if contents[:4] == b"RIFF" and contents[8:12] == b"WEBP":
        return "WebP"
    if contents[4:8] == b"ftyp":
        return "AVIF or HEIF"
    start = contents[:_LOOKED_AT].lstrip().lower()
    if start.startswith((b"<!doctype html", b"<html")):
        return "HTML"
    return "SVG" if b"<svg" in start else None


def describe(contents: bytes) -> str:
    """Return the length, the first bytes and the kind, for a message."""
    if not contents:
        return "no bytes at all"
    return f"{len(contents)} bytes that begin with {contents[:_SHOWN_BYTES]!r} and {_looks(contents)}"


def _looks(contents: bytes) -> str:
    kind, start = kind_of(contents), contents[:_LOOKED_AT]
    if kind is not None:
        return f"look like {kind}"
    if not any(start):
        return "are zeros"
    if all(32 <= byte < 127 or byte in b"\t\r\n" for byte in start):
        return "look like text"
    return "look like no kind of image that is known here"


def as_bytes(contents: object) -> bytes:
    """Return the bytes of a file, which may come as a NumPy scalar.

    Raises:
        BadTypeError: It is something else.
    """
    if isinstance(contents, np.ndarray | np.generic) and contents.ndim == 0:
        contents = contents.item()
    if isinstance(contents, bytes | bytearray | memoryview):
        return bytes(contents)
    raise BadTypeError(
        "The contents of an image file are bytes. "
        f"Received: contents={shown(contents)} of type {type(contents).__name__}. Read the file first, "
        "and decode the files of a batch one by one: in Dataset.map before batch."
    )


def check_kind(contents: bytes, kinds: Container[str], expected: str, who: str) -> None:
    """Raise unless the bytes are those of one of some kinds of file.

    Raises:
        DataLossError: They look like another kind, or none.
    """
    if kind_of(contents) not in kinds:
        raise DataLossError(
            f"{who} needs the bytes of a {expected} file. Received: contents={describe(contents)}. Leave the file "
            "out, convert it, or use the function for its kind."
        )


def make_damage_error(contents: bytes, who: str, reason: str) -> DataLossError:
    """Return the error of a file that begins well but can't be read."""
    return DataLossError(
        f"{who} can't read the image: {reason}. Expected: a whole, undamaged file. "
        f"Received: contents={describe(contents)}. Leave the file out, or fetch it again."
    )


def check_claim(
    height: int, width: int, contents: bytes, who: str, max_pixels: int = MAX_PIXELS, images: int = 1
) -> None:
    """Raise if a header promises more than the file can hold or is allowed to, before memory is taken on its word.

    Raises:
        DataLossError: No kind of compression packs so many pixels into so few bytes, or they are beyond the limit.
    """
    if height * width > max(_SMALL_IMAGE, _MOST_PIXELS_A_BYTE * len(contents)):
        raise make_damage_error(
            contents, who, f"its header claims {height} x {width} pixels, which so few bytes can't hold"
        )
    if height * width * images > max_pixels:
        raise DataLossError(
            f"{who} reads at most max_pixels={max_pixels} pixels. Received: {images} x {height} x {width} pixels in "
            f"contents={describe(contents)}. Pass a larger max_pixels if such images are meant."
        )
    claim_pixels(height * width * images)


def check_choice(name: str, value: TensorLike, choices: Any) -> None:
    """Raise unless a value is one of some.

    Raises:
        BadArgumentError: It is none of them.
    """
    if value not in choices:
        expected = ", ".join(repr(choice) for choice in choices)
        raise BadArgumentError(f"{name} has to be one of {expected}. Received: {name}={shown(value)}.")
