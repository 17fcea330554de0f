"""One image file becomes one serialized `tf.train.Example` (convert layer).

The processes and machines that convert import this module, so it imports nothing that is slow to import.
"""

from typing import Any

import numpy as np

from stratax import errors
from stratax.base.shown import shown
from stratax.data import BytesList, Example, Feature, Features, Int64List
from stratax.image import decode_jpeg, files
from stratax.image.files import kind_of, package

# More than a photograph has: a header that claims more is not believed.
_MOST_PIXELS = 2**28

_COLOUR_KINDS = {"YCbCr", "RGB"}


def image_example(
    contents: bytes,
    *,
    filename: str,
    label: int,
    text: str,
    resize: int | tuple[int, int] | None = None,
    quality: int = 95,
) -> bytes:
    """Make the record of one image.

    A JPEG file in colour stays as it is, byte by byte, unless it has to be resized; it is decoded all the same, so
    that a damaged one is found. Everything else becomes a JPEG in RGB: grey and CMYK ones, other formats (of an
    animation the first picture; transparency is left out). The orientation that a camera notes is not applied, as
    TensorFlow's decoder does not apply it.

    Args:
        contents: The file's content.
        filename: What the record calls it.
        label: The number of its class.
        text: The name of its class.
        resize: As in `ConversionSettings`.
        quality: The JPEG quality where it is encoded anew.

    Returns:
        A serialized `Example` with the features that TensorFlow's image tools write.

    Raises:
        DataLossError: If the content is damaged or no image. It bears the file's name.
        MissingPackageError: If a package for images is missing.
    """
    require_codecs()
    try:
        encoded, height, width = _as_jpeg(contents, resize, quality)
    # The machine is at fault, not the image.
    except MemoryError:
        raise
    # Decoders meet damaged files with errors of nearly every class.
    except Exception as error:
        raise errors.DataLossError(
            f"This image can't be decoded ({error}). Expected: a whole image file. Received: {shown(filename)}, "
            f"{len(contents)} bytes that begin with {shown(contents[:8])}. Mend or remove it, or have such "
            "images skipped.",
            filename=filename,
        ) from error
    return _serialize(encoded, height, width, filename=filename, label=label, text=text)


def require_codecs() -> None:
    """Raise MissingPackageError unless the packages that read and write images are installed."""
    package("simplejpeg")
    package("PIL.Image")


def _as_jpeg(contents: bytes, resize: int | tuple[int, int] | None, quality: int) -> tuple[bytes, int, int]:
    """Return the image as a JPEG file in RGB, its height and its width."""
    kind = _colour_kind(contents)
    pixels = decode_jpeg(contents, channels=3) if kind else files.decode(contents, 3, "The conversion")
    height, width = pixels.shape[:2]
    target = _target_size(height, width, resize)
    if target != (height, width):
        pixels = _resize(pixels, target)
    # A JPEG file in colour that keeps its size is taken over byte by byte, without loss.
    elif kind in _COLOUR_KINDS:
        return contents, height, width
    return _encode(pixels, quality), *target


def _colour_kind(contents: bytes) -> str | None:
    """Return how a JPEG file keeps its colours, such as `"YCbCr"` or `"Gray"`; None of another kind of file."""
    if kind_of(contents) != "JPEG":
        with files.open_image(contents, "The conversion") as image:
            _check_pixels(image.height, image.width)
        return None
    height, width, kind, _ = package("simplejpeg").decode_jpeg_header(contents, strict=False)
    _check_pixels(height, width)
    return kind


def _check_pixels(height: int, width: int) -> None:
    """Refuse an image whose header claims too many pixels, before anything is allocated for it."""
    if height * width > _MOST_PIXELS:
        raise errors.DataLossError(f"its header claims {height} x {width} pixels, more than {_MOST_PIXELS}")


def _target_size(height: int, width: int, resize: int | tuple[int, int] | None) -> tuple[int, int]:
    if resize is None:
        return height, width
    if isinstance(resize, tuple):
        return resize
    shorter = min(height, width)
    if shorter <= resize:
        return height, width
    return max(1, round(height * resize / shorter)), max(1, round(width * resize / shorter))


def _resize(pixels: np.ndarray, size: tuple[int, int]) -> np.ndarray:
    image = package("PIL.Image")
    # Pillow's filters reach as far as the reduction needs, so there is no aliasing.
    resized = image.fromarray(pixels).resize((size[1], size[0]), image.Resampling.BICUBIC)
    return np.asarray(resized)


def _encode(pixels: np.ndarray, quality: int) -> bytes:
    # 4:2:0, which nearly all photographs have: files become smaller without a visible difference.
    return package("simplejpeg").encode_jpeg(np.ascontiguousarray(pixels), quality, "RGB", "420")


def _serialize(encoded: bytes, height: int, width: int, *, filename: str, label: int, text: str) -> bytes:
    values: dict[str, Any] = {
        "image/channels": 3,
        "image/class/label": label,
        "image/class/text": _as_bytes(text),
        "image/colorspace": b"RGB",
        "image/encoded": encoded,
        "image/filename": _as_bytes(filename),
        "image/format": b"JPEG",
        "image/height": height,
        "image/width": width,
    }
    features = {name: _feature(value) for name, value in values.items()}
    # Deterministic: equal conversions make equal files, byte for byte.
    return Example(features=Features(feature=features)).SerializeToString(deterministic=True)


def _feature(value: int | bytes) -> Any:
    if isinstance(value, bytes):
        return Feature(bytes_list=BytesList(value=[value]))
    return Feature(int64_list=Int64List(value=[value]))


def _as_bytes(text: str) -> bytes:
    """Return text as UTF-8; a file name that is not UTF-8 gives the bytes that it has on disk."""
    return text.encode("utf-8", "surrogateescape")
