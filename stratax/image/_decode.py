"""Images from the bytes of their files (image layer).

JPEG files are read by libjpeg-turbo (through `simplejpeg`), which lets other threads of Python run meanwhile; all
others by Pillow. Both come with `pip install 'stratax-train[images]'` and are imported when they are first needed.
"""

import dataclasses

import numpy as np

from stratax.base.shown import cut, shown
from stratax.base.typing import DTypeLike, TensorLike
from stratax.data.elements import as_dtype, sizes_of
from stratax.data.vectorise import gives_elements, gives_tensors
from stratax.errors import BadArgumentError
from stratax.image import _animations, _pillow
from stratax.image._dtypes import convert_image_dtype
from stratax.image._files import (
    MAX_PIXELS,
    as_bytes,
    check_choice,
    check_claim,
    check_kind,
    kind_of,
    make_damage_error,
)
from stratax.image._geometry import crop_to_bounding_box
from stratax.image._packages import package

# Where the header of a PNG file says how many bits a value has.
_PNG_DEPTH_AT = 24
_JPEG_SPACES = {"Gray": 1, "YCbCr": 3, "RGB": 3}
_LOOKED_AT_FOR_ADOBE = 1 << 16
_JPEG_INKS = ("CMYK", "YCCK")
_JPEG_COLORS = {1: "GRAY", 3: "RGB"}
_KINDS = ("JPEG", "PNG", "BMP", "GIF", "WebP")


@gives_elements
def decode_jpeg(
    contents: bytes | TensorLike,
    channels: int = 0,
    ratio: int = 1,
    fancy_upscaling: bool = True,
    try_recover_truncated: bool = False,
    acceptable_fraction: float = 1,
    dct_method: str = "",
    name: str | None = None,
    *,
    max_pixels: int = MAX_PIXELS,
) -> np.ndarray:
    """Return the image in the bytes of a JPEG file, as `tf.io.decode_jpeg`: the same numbers, to the bit.

    As in TensorFlow, the bytes of a PNG, BMP or GIF file (its first image) are taken too, and those of a WebP file,
    which give all its images (see :func:`decode_webp`). Runs on the host; while it
    decodes, other threads of Python go on.

    Args:
        contents: The bytes of the file.
        channels: 0 for as many as the file has (1 or 3), 1 for gray, 3 for red, green and blue.
        ratio: 1, 2, 4 or 8: the image is made so many times smaller while it is decoded.
        fancy_upscaling: Whether colors, of which JPEG files have fewer than pixels, are interpolated.
        try_recover_truncated: Whether a file that is cut off gives what it has, the rest being gray.
        acceptable_fraction: Ignored: what can be recovered is.
        dct_method: "INTEGER_FAST", which is the default as in TensorFlow, or "INTEGER_ACCURATE".
        name: Ignored.
        max_pixels: How many pixels the file may have, 2**28 if nothing else is asked for.

    Returns:
        uint8, shape `[height, width, channels]`.

    Raises:
        DataLossError: If it is no image, or damaged or cut off.
        BadTypeError: If `contents` is not bytes.
        BadArgumentError: If another argument has none of its values.
        MissingPackageError: If the packages for images are not installed.

    Example:
        >>> import numpy as np
        >>> from stratax import image
        >>> contents = image.encode_jpeg(np.full((4, 6, 3), 200, np.uint8))
        >>> tuple(image.decode_jpeg(contents).shape)
        (4, 6, 3)
    """
    data = as_bytes(contents)
    check_choice("channels", channels, (0, 1, 3))
    check_choice("ratio", ratio, (1, 2, 4, 8))
    check_choice("dct_method", dct_method, ("", "INTEGER_FAST", "INTEGER_ACCURATE"))
    check_kind(data, _KINDS, "JPEG", "decode_jpeg")
    if kind_of(data) != "JPEG":
        return _decode_any(data, channels, np.dtype(np.uint8), "decode_jpeg", max_pixels)
    options = _JpegOptions(
        ratio=ratio,
        fast_dct=dct_method != "INTEGER_ACCURATE",
        fast_upsampling=not fancy_upscaling,
        recover=try_recover_truncated,
        max_pixels=max_pixels,
    )
    return _decode_jpeg(data, channels, options, "decode_jpeg")


@gives_elements
def decode_and_crop_jpeg(
    contents: bytes | TensorLike,
    crop_window: TensorLike,
    channels: int = 0,
    ratio: int = 1,
    fancy_upscaling: bool = True,
    try_recover_truncated: bool = False,
    acceptable_fraction: float = 1,
    dct_method: str = "",
    name: str | None = None,
    *,
    max_pixels: int = MAX_PIXELS,
) -> np.ndarray:
    """Return a part of the image in the bytes of a JPEG file, as `tf.io.decode_and_crop_jpeg`.

    Here all of it is decoded first.

    Args:
        contents: The bytes of the file.
        crop_window: The first row, the first column, the height and the width.
        channels: As for :func:`decode_jpeg`, like all that follow.
        ratio: Likewise; the part is one of the smaller image.
        fancy_upscaling: Likewise.
        try_recover_truncated: Likewise.
        acceptable_fraction: Likewise.
        dct_method: Likewise.
        name: Ignored.
        max_pixels: As for :func:`decode_jpeg`.

    Returns:
        uint8, shape `[height, width, channels]`.

    Raises:
        DataLossError: If it is no image, or damaged or cut off.
        BadTypeError: If `contents` is not bytes.
        BadArgumentError: If another argument has none of its values, or the part is not within the image.
        MissingPackageError: If the packages for images are not installed.
    """
    window = sizes_of("crop_window", crop_window)
    if len(window) != 4:
        raise BadArgumentError(
            "A part of an image is four numbers: first row, first column, height, width. "
            f"Received: crop_window={shown(crop_window)}."
        )
    image = decode_jpeg(
        contents,
        channels,
        ratio,
        fancy_upscaling,
        try_recover_truncated,
        acceptable_fraction,
        dct_method,
        max_pixels=max_pixels,
    )
    return crop_to_bounding_box(image, *window)


@gives_elements
def decode_png(
    contents: bytes | TensorLike,
    channels: int = 0,
    dtype: DTypeLike = "uint8",
    name: str | None = None,
    *,
    max_pixels: int = MAX_PIXELS,
) -> np.ndarray:
    """Return the image in the bytes of a PNG file, as `tf.io.decode_png`.

    As in TensorFlow, the bytes of a JPEG, BMP or GIF file (its first image) are taken too, and those of a WebP file,
    which give all its images (see :func:`decode_webp`).

    Args:
        contents: The bytes of the file.
        channels: 0 for as many as the file has (2 are gray and opacity), 1 for gray, 3 for red, green and blue, 4 for
            those and opacity. A palette's colors are looked up.
        dtype: uint8, or uint16 for files of 16 bits.
        name: Ignored.
        max_pixels: How many pixels the file may have, 2**28 if nothing else is asked for.

    Returns:
        An array of `dtype`, shape `[height, width, channels]`.

    Raises:
        DataLossError: If it is no image, or damaged or cut off.
        BadTypeError: If `contents` is not bytes.
        BadArgumentError: If `channels` or `dtype` is none of those, or it is uint16 and the file holds colors of 16
            bits, which Pillow can't read.
        MissingPackageError: If the packages for images are not installed.
    """
    data = as_bytes(contents)
    check_choice("channels", channels, (0, 1, 3, 4))
    check_choice("dtype", as_dtype(dtype).name, ("uint8", "uint16"))
    check_kind(data, _KINDS, "PNG", "decode_png")
    return _decode_any(data, channels, as_dtype(dtype), "decode_png", max_pixels)


@gives_elements
def decode_bmp(
    contents: bytes | TensorLike, channels: int = 0, name: str | None = None, *, max_pixels: int = MAX_PIXELS
) -> np.ndarray:
    """Return the image in the bytes of a BMP file, as `tf.io.decode_bmp`.

    Args:
        contents: The bytes of the file.
        channels: 0 for as many as the file has, or 1, 3 or 4. A palette's colors are not looked up, as in TensorFlow:
            its numbers are taken for gray.
        name: Ignored.
        max_pixels: How many pixels the file may have, 2**28 if nothing else is asked for.

    Returns:
        uint8, shape `[height, width, channels]`.

    Raises:
        DataLossError: If it is no BMP image, or damaged or cut off.
        BadTypeError: If `contents` is not bytes.
        BadArgumentError: If `channels` is none of those.
        MissingPackageError: If the packages for images are not installed.
    """
    data = as_bytes(contents)
    check_choice("channels", channels, (0, 1, 3, 4))
    check_kind(data, ("BMP",), "BMP", "decode_bmp")
    return _pillow.decode(data, channels, "decode_bmp", max_pixels)


@gives_elements
def decode_gif(
    contents: bytes | TensorLike, name: str | None = None, *, max_pixels: int = MAX_PIXELS
) -> np.ndarray:
    """Return the images in the bytes of a GIF file, as `tf.io.decode_gif`.

    Args:
        contents: The bytes of the file.
        name: Ignored.
        max_pixels: How many pixels the file may have in all its images, 2**28 if nothing else is asked for.

    Returns:
        uint8, shape `[images, height, width, 3]`.

    Raises:
        DataLossError: If it is no GIF file, or damaged or cut off.
        BadTypeError: If `contents` is not bytes.
        MissingPackageError: If the packages for images are not installed.
    """
    data = as_bytes(contents)
    check_kind(data, ("GIF",), "GIF", "decode_gif")
    return _animations.decode_gif(data, "decode_gif", max_pixels)


@gives_elements
def decode_webp(
    contents: bytes | TensorLike,
    channels: int = 0,
    dtype: DTypeLike = "uint8",
    name: str | None = None,
    *,
    max_pixels: int = MAX_PIXELS,
) -> np.ndarray:
    """Return the images in the bytes of a WebP file, as `tf.io.decode_webp`.

    Args:
        contents: The bytes of the file.
        channels: 0 for as many as the file has, or that number: 3, or 4 with opacity. Those of an animation have 4.
        dtype: uint8.
        name: Ignored.
        max_pixels: How many pixels the file may have in all its images, 2**28 if nothing else is asked for.

    Returns:
        uint8, shape `[images, height, width, channels]`.

    Raises:
        DataLossError: If it is no WebP file, or damaged or cut off.
        BadTypeError: If `contents` is not bytes.
        BadArgumentError: If the file has another number of channels.
        MissingPackageError: If the packages for images are not installed.
    """
    data = as_bytes(contents)
    check_choice("channels", channels, (0, 3, 4))
    check_choice("dtype", as_dtype(dtype).name, ("uint8",))
    check_kind(data, ("WebP",), "WebP", "decode_webp")
    return _animations.decode_webp(data, channels, "decode_webp", max_pixels)


@gives_elements
def decode_image(
    contents: bytes | TensorLike,
    channels: int | None = None,
    dtype: DTypeLike = "uint8",
    name: str | None = None,
    expand_animations: bool = True,
    *,
    max_pixels: int = MAX_PIXELS,
) -> np.ndarray:
    """Return the image in the bytes of a JPEG, PNG, GIF, BMP or WebP file, as `tf.io.decode_image`.

    Args:
        contents: The bytes of the file.
        channels: 0 or None for as many as the file has, else 1, 3 or 4, where the kind of file can have so many.
        dtype: The dtype of the result: an integer one, or a floating-point one for values from 0 to 1 (see
            :func:`convert_image_dtype`).
        name: Ignored.
        expand_animations: Whether a GIF or WebP file gives all its images, `[images, height, width, channels]`, or the
            first.
        max_pixels: How many pixels the file may have in all its images, 2**28 if nothing else is asked for.

    Returns:
        An array of `dtype`, shape `[height, width, channels]`, or that of all images of a GIF or WebP file.

    Raises:
        DataLossError: If it is no image, or damaged or cut off.
        BadTypeError: If `contents` is not bytes.
        BadArgumentError: If the kind of file can't have so many channels.
        MissingPackageError: If the packages for images are not installed.
    """
    data, count, target = as_bytes(contents), channels or 0, as_dtype(dtype)
    check_choice("channels", count, (0, 1, 3, 4))
    check_kind(data, _KINDS, "JPEG, PNG, GIF, BMP or WebP", "decode_image")
    if kind_of(data) == "GIF" and expand_animations:
        check_choice("channels of a GIF file", count, (0, 3))
        return convert_image_dtype(_animations.decode_gif(data, "decode_image", max_pixels), target)
    if kind_of(data) == "WebP":
        images = _animations.decode_webp(
            data, count, "decode_image", max_pixels, only_first=not expand_animations
        )
        return convert_image_dtype(images if expand_animations else images[0], target)
    is_wide = target == np.uint16 and kind_of(data) == "PNG"
    own = np.dtype(np.uint16 if is_wide or (target != np.uint8 and _is_deep(data)) else np.uint8)
    return convert_image_dtype(_decode_any(data, count, own, "decode_image", max_pixels), target)


@gives_tensors
def is_jpeg(contents: bytes | TensorLike, name: str | None = None) -> bool:
    """Return whether bytes begin as those of a JPEG file do, as `tf.io.is_jpeg`."""
    return kind_of(as_bytes(contents)) == "JPEG"


@gives_tensors
def extract_jpeg_shape(
    contents: bytes | TensorLike, output_type: DTypeLike = "int32", name: str | None = None
) -> np.ndarray:
    """Height, width and channels of a JPEG file, whose pixels are not decoded, as `tf.io.extract_jpeg_shape`.

    Args:
        contents: The bytes of the file.
        output_type: The dtype of the result.
        name: Ignored.

    Returns:
        Three numbers.

    Raises:
        DataLossError: If it is no JPEG file, or damaged.
        BadTypeError: If `contents` is not bytes.
        MissingPackageError: If the packages for images are not installed.
    """
    data = as_bytes(contents)
    check_kind(data, ("JPEG",), "JPEG", "extract_jpeg_shape")
    picture = _pillow.open_image(data, "extract_jpeg_shape")
    # From the header alone.
    return np.array([picture.height, picture.width, len(picture.getbands())], as_dtype(output_type))


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class _JpegOptions:
    """How a JPEG file is decoded; without any, as TensorFlow does."""

    ratio: int = 1
    fast_dct: bool = True
    fast_upsampling: bool = False
    recover: bool = False
    max_pixels: int = MAX_PIXELS


def _is_deep(data: bytes) -> bool:
    """Return whether it is a PNG file with 16 bits for each value."""
    return kind_of(data) == "PNG" and data[_PNG_DEPTH_AT : _PNG_DEPTH_AT + 1] == b"\x10"


def _decode_any(data: bytes, channels: int, dtype: np.dtype, who: str, max_pixels: int) -> np.ndarray:
    if kind_of(data) == "JPEG":
        check_choice("channels of a JPEG file", channels, (0, 1, 3))
        return convert_image_dtype(
            _decode_jpeg(data, channels, _JpegOptions(max_pixels=max_pixels), who), dtype
        )
    if dtype == np.uint16 and _is_deep(data):
        return _pillow.decode_sixteen_bits(data, channels, who, max_pixels)
    if kind_of(data) == "GIF":
        check_choice("channels of a GIF file", channels, (0, 3))
        image = _animations.decode_gif(data, who, max_pixels, only_first=True)[0]
    elif kind_of(data) == "WebP":
        image = _animations.decode_webp(data, channels, who, max_pixels)
    else:
        image = _pillow.decode(data, channels, who, max_pixels)
    # 255 becomes 65535, as TensorFlow does with PNG files, not 255 * 256 as convert_image_dtype does.
    return image.astype(np.uint16) * np.uint16(257) if dtype == np.uint16 else image


def _decode_jpeg(data: bytes, channels: int, options: _JpegOptions, who: str) -> np.ndarray:
    simplejpeg = package("simplejpeg")
    try:
        height, width, space, _ = simplejpeg.decode_jpeg_header(data)
    except ValueError:
        # An odd way of storing colors, or no whole header: Pillow reads the one and says what is wrong with the other.
        return _decode_odd_jpeg(data, channels, options, who)
    if space in _JPEG_INKS:
        return _decode_inks(data, channels, options, who)
    if space not in _JPEG_SPACES:
        return _decode_odd_jpeg(data, channels, options, who)
    # Before any memory is taken: the header may be wrong or malicious.
    check_claim(height, width, data, who, options.max_pixels)
    return _decode_as(data, (height, width), _JPEG_COLORS[channels or _JPEG_SPACES[space]], options, who)


def _decode_as(
    data: bytes, size: tuple[int, int], colors: str, options: _JpegOptions, who: str
) -> np.ndarray:
    height, width = size
    try:
        pixels: np.ndarray = package("simplejpeg").decode_jpeg(
            data,
            colors,
            fastdct=options.fast_dct,
            fastupsample=options.fast_upsampling,
            # The decoder scales by itself, to a size rounded up.
            min_height=-(-height // options.ratio),
            min_width=-(-width // options.ratio),
            min_factor=options.ratio,
            strict=not options.recover,
        )
        return pixels
    except (ValueError, MemoryError) as e:
        raise make_damage_error(data, who, f"libjpeg-turbo says: {cut(str(e)) or 'out of memory'}") from e


def _decode_inks(data: bytes, channels: int, options: _JpegOptions, who: str) -> np.ndarray:
    """Return a picture for printing: the color of the inks on black, which Adobe's files store inverted."""
    height, width, _, _ = package("simplejpeg").decode_jpeg_header(data)
    check_claim(height, width, data, who, options.max_pixels)
    inks = _decode_as(data, (height, width), "CMYK", options, who).astype(np.uint16)
    # Adobe's programs store inks inverted; other files have to be brought to the same form.
    if b"Adobe" not in data[:_LOOKED_AT_FOR_ADOBE]:
        inks = 255 - inks
    # In 16 bits, since products of two bytes do not fit into one.
    colors = (inks[..., :3] * inks[..., 3:] // 255).astype(np.uint8)
    return _pillow.gray_of(colors) if channels == 1 else colors


def _decode_odd_jpeg(data: bytes, channels: int, options: _JpegOptions, who: str) -> np.ndarray:
    return _pillow.decode(data, channels, who, options.max_pixels)[:: options.ratio, :: options.ratio]
