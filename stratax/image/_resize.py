"""Images of another size (image layer).

Results agree with TensorFlow's kernels. What is made of several pixels is always float32; TensorFlow 1 gave back an
image that had the size already as it was, whatever its dtype.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from stratax.base.shown import shown
from stratax.base.typing import Array, TensorLike
from stratax.data.vectorise import deferrable, gives_tensors
from stratax.errors import BadArgumentError
from stratax.image import _chain, _kernels, _resample
from stratax.image._arrays import as_image, check_image, two_sizes
from stratax.image._dtypes import is_floating
from stratax.image._geometry import pad_to_bounding_box


class ResizeMethod:
    """The methods of :func:`resize`, as `tf.image.ResizeMethod`.

    Attributes:
        BILINEAR: The two nearest pixels in either direction.
        NEAREST_NEIGHBOR: The nearest pixel; keeps the dtype.
        BICUBIC: The four nearest in either direction.
        AREA: The mean of all pixels that one covers.
        LANCZOS3: A sinc of radius 3.
        LANCZOS5: A sinc of radius 5.
        GAUSSIAN: A bell of radius 1.5 with a standard deviation of 0.5.
        MITCHELLCUBIC: The cubic filter of Mitchell and Netravali.
    """

    BILINEAR = "bilinear"
    NEAREST_NEIGHBOR = "nearest"
    BICUBIC = "bicubic"
    AREA = "area"
    LANCZOS3 = "lanczos3"
    LANCZOS5 = "lanczos5"
    GAUSSIAN = "gaussian"
    MITCHELLCUBIC = "mitchellcubic"


_METHODS = ("bilinear", "nearest", "bicubic", "area", "lanczos3", "lanczos5", "gaussian", "mitchellcubic")
# Those that look at the few pixels nearest to a place, however much smaller an image gets, and what applies them.
_FEW_PIXELS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "bilinear": (_kernels.linear, _resample.interpolate),
    "nearest": (_kernels.nearest, _resample.take_pixels),
    "bicubic": (_kernels.cubic, _resample.weigh),
}


@deferrable(_chain.try_resize)
@gives_tensors
def resize(
    images: TensorLike,
    size: TensorLike,
    method: object = ResizeMethod.BILINEAR,
    preserve_aspect_ratio: bool = False,
    antialias: bool = False,
    name: str | None = None,
) -> Any:
    """Return images of another size, as `tf.image.resize`.

    Args:
        images: Shape `[height, width, channels]`, or a batch of those; any numeric dtype.
        size: The new height and width; they have to be known while a program is traced.
        method: One of :class:`ResizeMethod`.
        preserve_aspect_ratio: Whether `size` is only the largest that the result may have.
        antialias: Whether pixels of a smaller image look as far as is needed not to miss any. Makes no difference to
            "nearest" and "area".
        name: Ignored.

    Returns:
        float32, or images' dtype with "nearest"; where `images` are. TensorFlow's result, to rounding.

    Raises:
        BadArgumentError: If `images` has another rank or no real numbers, or `size` or `method` is none.
        BadTypeError: If `size` is not integers, or is traced.

    Example:
        >>> import numpy as np
        >>> from stratax import image
        >>> image.resize(np.arange(8, dtype=np.uint8).reshape(2, 4, 1), (1, 2))[..., 0].tolist()
        [[2.5, 4.5]]
    """
    images, xp, rows, columns = _check(images, size, preserve_aspect_ratio=preserve_aspect_ratio)
    chosen = _method(method)
    if chosen == "area":
        return _area(images, rows, columns, align=False, xp=xp)
    if chosen == "nearest" or (chosen in _FEW_PIXELS and not antialias):
        return _few_pixels(chosen, images, rows, columns, align=False, half=True, xp=xp)
    height, width = images.shape[-3:-1]
    return _resample.weigh(
        images,
        _kernels.spread(chosen, height, rows, antialias=antialias),
        _kernels.spread(chosen, width, columns, antialias=antialias),
        xp,
    )


@gives_tensors
def resize_images(
    images: TensorLike,
    size: TensorLike,
    method: Any = 0,
    align_corners: bool = False,
    preserve_aspect_ratio: bool = False,
    name: str | None = None,
) -> Any:
    """Return images of another size as TensorFlow 1 made them (`tf.compat.v1.image.resize`).

    Its pixels are points at their upper left corners, which shifts images by up to half a pixel.

    Args:
        images: Shape `[height, width, channels]`, or a batch of those; any numeric dtype.
        size: The new height and width.
        method: 0 or "bilinear", 1 or "nearest", 2 or "bicubic", 3 or "area"; the others of :class:`ResizeMethod` are
            those of :func:`resize`.
        align_corners: Whether the centers of the corners stay where they are.
        preserve_aspect_ratio: Whether `size` is only the largest that the result may have.
        name: Ignored.

    Returns:
        float32, or images' dtype with "nearest"; where `images` are.

    Raises:
        BadArgumentError: If `images` has another rank or no real numbers, or `size` or `method` is none.
        BadTypeError: If `size` is not integers, or is traced.
    """
    images, xp, rows, columns = _check(images, size, preserve_aspect_ratio=preserve_aspect_ratio)
    # TensorFlow 1 numbered the first four.
    chosen = _method(_METHODS[method] if method in range(4) else method)
    if chosen == "area":
        return _area(images, rows, columns, align=align_corners, xp=xp)
    if chosen in _FEW_PIXELS:
        return _few_pixels(chosen, images, rows, columns, align=align_corners, half=False, xp=xp)
    return resize(images, (rows, columns), chosen, antialias=True)


@deferrable(_chain.try_resize_bilinear)
@gives_tensors
def resize_bilinear(
    images: TensorLike,
    size: TensorLike,
    align_corners: bool = False,
    name: str | None = None,
    half_pixel_centers: bool = False,
) -> Any:
    """Return images of another size by linear interpolation, as `tf.compat.v1.image.resize_bilinear`.

    Args:
        images: Shape `[height, width, channels]`, or a batch of those; any numeric dtype.
        size: The new height and width.
        align_corners: Whether the centers of the corners stay where they are.
        name: Ignored.
        half_pixel_centers: Whether pixels are squares around their centers, as in :func:`resize`, or points.

    Returns:
        float32; where `images` are.

    Raises:
        BadArgumentError: If `images` has another rank or no real numbers, `size` is none, or both ways of placing
            pixels are asked for.
        BadTypeError: If `size` is not integers, or is traced.
    """
    return _resize_placing(
        "bilinear", images, size, align_corners=align_corners, half_pixel_centers=half_pixel_centers
    )


@gives_tensors
def resize_bicubic(
    images: TensorLike,
    size: TensorLike,
    align_corners: bool = False,
    name: str | None = None,
    half_pixel_centers: bool = False,
) -> Any:
    """Return images of another size by cubic interpolation; otherwise as :func:`resize_bilinear`."""
    return _resize_placing(
        "bicubic", images, size, align_corners=align_corners, half_pixel_centers=half_pixel_centers
    )


@gives_tensors
def resize_nearest_neighbor(
    images: TensorLike,
    size: TensorLike,
    align_corners: bool = False,
    name: str | None = None,
    half_pixel_centers: bool = False,
) -> Any:
    """Return images made of their nearest pixels, in their dtype; otherwise as :func:`resize_bilinear`."""
    return _resize_placing(
        "nearest", images, size, align_corners=align_corners, half_pixel_centers=half_pixel_centers
    )


@gives_tensors
def resize_area(
    images: TensorLike, size: TensorLike, align_corners: bool = False, name: str | None = None
) -> Any:
    """Return images of another size made of the means of what a pixel covers; otherwise as :func:`resize_bilinear`."""
    images, xp, rows, columns = _check(images, size)
    return _area(images, rows, columns, align=align_corners, xp=xp)


@gives_tensors
def resize_with_pad(
    image: TensorLike,
    target_height: int,
    target_width: int,
    method: object = ResizeMethod.BILINEAR,
    antialias: bool = False,
) -> Any:
    """Return an image as large as fits a size, with zeros around it, as `tf.image.resize_with_pad`.

    Args:
        image: Shape `[height, width, channels]`, or a batch of those.
        target_height: How many rows.
        target_width: How many columns.
        method: One of :class:`ResizeMethod`.
        antialias: As for :func:`resize`.

    Returns:
        Shape `[target_height, target_width, channels]`, or a batch of those; dtype as for :func:`resize`.

    Raises:
        BadArgumentError: If `image` has another rank, or a size or `method` is none.
        BadTypeError: If a size is not an integer, or is traced.
    """
    image, _ = as_image(image)
    check_image(image)
    rows, columns = two_sizes((target_height, target_width))
    height, width = image.shape[-3:-1]
    # In float32 throughout, as in TensorFlow: the rounded sizes must be the same ones.
    ratio = max(np.float32(width) / np.float32(columns), np.float32(height) / np.float32(rows))
    inner = (np.float32(height) / ratio, np.float32(width) / ratio)
    top, left = (
        max(0, int(np.floor((np.float32(n) - m) / 2))) for n, m in zip((rows, columns), inner, strict=True)
    )
    resized = resize(image, [max(1, int(np.floor(size))) for size in inner], method, antialias=antialias)
    return pad_to_bounding_box(resized, top, left, rows, columns)


def _check(
    images: TensorLike, size: TensorLike, *, preserve_aspect_ratio: bool = False
) -> tuple[Any, Any, int, int]:
    images, xp = as_image(images)
    check_image(images, "images")
    if not is_floating(images.dtype) and np.dtype(images.dtype).kind not in "biu":
        raise BadArgumentError(
            f"Images of real numbers can be resized. Received: images of dtype={images.dtype}. Convert them first."
        )
    rows, columns = two_sizes(size)
    height, width = images.shape[-3:-1]
    if min(height, width) < 1:
        raise BadArgumentError(
            "An image without pixels can't be resized. "
            f"Received: images of shape={tuple(images.shape)}. Leave it out."
        )
    if preserve_aspect_ratio:
        # In float32, as in TensorFlow: the rounded sizes must be the same ones.
        scale = min(np.float32(rows) / np.float32(height), np.float32(columns) / np.float32(width))
        rows, columns = (max(1, int(np.rint(scale * np.float32(n)))) for n in (height, width))
    return images, xp, rows, columns


def _method(method: object) -> str:
    if method not in _METHODS:
        raise BadArgumentError(
            f"A method of resizing is one of {', '.join(_METHODS)}. Received: method={shown(method)}. Pass one of "
            "ResizeMethod."
        )
    return str(method)


def _resize_placing(
    method: str, images: TensorLike, size: TensorLike, *, align_corners: bool, half_pixel_centers: bool
) -> Any:
    """One of TensorFlow 1's operations, which take any way of placing pixels.

    Raises:
        BadArgumentError: Both ways are asked for.
    """
    images, xp, rows, columns = _check(images, size)
    if align_corners and half_pixel_centers:
        raise BadArgumentError(
            "Either the corners are aligned or pixels are squares around their centers. Received: "
            "align_corners=True, half_pixel_centers=True. Set one of them to False."
        )
    return _few_pixels(method, images, rows, columns, align=align_corners, half=half_pixel_centers, xp=xp)


def _few_pixels(
    method: str, images: Array, rows: int, columns: int, xp: object, *, align: bool, half: bool
) -> Any:
    height, width = images.shape[-3:-1]
    kernel, apply = _FEW_PIXELS[method]
    corners = {"align_corners": align, "half_pixel_centers": half}
    return apply(images, kernel(height, rows, **corners), kernel(width, columns, **corners), xp)


def _area(images: Array, rows: int, columns: int, xp: object, *, align: bool) -> Any:
    height, width = images.shape[-3:-1]
    return _resample.weigh(
        images,
        _kernels.area(height, rows, align_corners=align),
        _kernels.area(width, columns, align_corners=align),
        xp,
    )
