"""The bytes of image files from images (image layer)."""

import numpy as np

from stratax.base.shown import shown
from stratax.base.typing import TensorLike
from stratax.data.vectorise import gives_elements
from stratax.errors import BadArgumentError
from stratax.image import _pillow
from stratax.image._files import check_choice


@gives_elements
def encode_jpeg(
    image: TensorLike,
    format: str = "",
    quality: int = 95,
    progressive: bool = False,
    optimize_size: bool = False,
    chroma_downsampling: bool = True,
    density_unit: str = "in",
    x_density: int = 300,
    y_density: int = 300,
    xmp_metadata: str = "",
    name: str | None = None,
) -> bytes:
    """Return the bytes of a JPEG file that shows an image, as `tf.io.encode_jpeg`.

    Args:
        image: uint8, shape `[height, width, channels]` with 1 or 3 channels.
        format: "grayscale", "rgb", or "" for what fits the channels.
        quality: From 0 to 100.
        progressive: Whether the file can be shown coarsely before all of it has come.
        optimize_size: Whether to spend time on a smaller file.
        chroma_downsampling: Whether there is one color for four pixels.
        density_unit: "in" or "cm", for the densities.
        x_density: Pixels for each unit, written into the file.
        y_density: Likewise.
        xmp_metadata: Written into the file.
        name: Ignored.

    Returns:
        The bytes.

    Raises:
        BadArgumentError: If the image has another dtype or shape, or an argument none of its values; or a JPEG file
            can't hold it, with more than 65,500 rows or columns.
        MissingPackageError: If the packages for images are not installed.
    """
    pixels = _pixels(image, ("uint8",), (1, 3), "encode_jpeg")
    check_choice("format", format, ("", "grayscale", "rgb"))
    check_choice("density_unit", density_unit, ("in", "cm"))
    if quality not in range(101):
        raise BadArgumentError(
            f"The quality of a JPEG file is a whole number from 0 to 100. Received: quality={shown(quality)}. Pass 95 "
            "for the usual."
        )
    count = {"": pixels.shape[-1], "grayscale": 1, "rgb": 3}[format]
    check_choice("channels of an image in this format", pixels.shape[-1], (count,))
    per_inch = (x_density, y_density) if density_unit == "in" else (x_density * 2.54, y_density * 2.54)
    return _pillow.encode(
        pixels,
        "JPEG",
        quality=quality,
        progressive=progressive,
        optimize=optimize_size,
        subsampling=2 if chroma_downsampling else 0,
        dpi=tuple(round(density) for density in per_inch),
        **({"xmp": xmp_metadata.encode()} if xmp_metadata else {}),
    )


@gives_elements
def encode_png(image: TensorLike, compression: int = -1, name: str | None = None) -> bytes:
    """Return the bytes of a PNG file that shows an image, as `tf.io.encode_png`.

    Args:
        image: uint8, shape `[height, width, channels]` with 1 to 4 channels, or uint16 with 1.
        compression: From 0 (none, quick) to 9 (small, slow); -1 for zlib's default.
        name: Ignored.

    Returns:
        The bytes.

    Raises:
        BadArgumentError: If the image has another dtype or shape, or `compression` is none of those.
        MissingPackageError: If the packages for images are not installed.
    """
    pixels = _pixels(image, ("uint8", "uint16"), (1, 2, 3, 4), "encode_png")
    check_choice("compression", compression, range(-1, 10))
    if pixels.dtype == np.uint16:
        check_choice("channels of a uint16 image", pixels.shape[-1], (1,))
    return _pillow.encode(pixels, "PNG", **({} if compression == -1 else {"compress_level": compression}))


def _pixels(image: TensorLike, dtypes: tuple[str, ...], channels: tuple[int, ...], who: str) -> np.ndarray:
    """Return the image as a NumPy array, if it is one that the kind of file can hold.

    Raises:
        BadArgumentError: It is not.
    """
    pixels = np.asarray(image)
    if (
        pixels.dtype.name not in dtypes
        or pixels.ndim != 3
        or pixels.shape[-1] not in channels
        or not pixels.size
    ):
        raise BadArgumentError(
            f"{who} takes one image of dtype {' or '.join(dtypes)} and shape [height, width, channels] with "
            f"{min(channels)} to {max(channels)} channels. Received: image of dtype={pixels.dtype}, "
            f"shape={pixels.shape}. Convert it with convert_image_dtype(image, 'uint8', saturate=True)."
        )
    return pixels
