"""Cropping, padding and turning images (image layer).

Crops of NumPy arrays are views: nothing is copied before a batch is put together.
"""

from typing import Any

import numpy as np

from stratax.base.shown import shown
from stratax.base.typing import TensorLike
from stratax.data.elements import sizes_of
from stratax.data.vectorise import deferrable, gives_tensors
from stratax.errors import BadArgumentError
from stratax.image import _chain, _compiled, _loops
from stratax.image._arrays import as_image, check_image, is_numpy


@deferrable(_chain.try_mirror)
@gives_tensors
def flip_left_right(image: TensorLike) -> Any:
    """Return an image mirrored: its columns in reverse order, as `tf.image.flip_left_right`.

    Args:
        image: Shape `[height, width, channels]`, or a batch of those.

    Returns:
        An array of image's shape and dtype, where `image` is.

    Raises:
        BadArgumentError: If `image` has another rank.
    """
    image, _ = as_image(image)
    check_image(image)
    return _mirror(image) if is_numpy(image) else image[..., ::-1, :]


def _mirror(image: np.ndarray) -> np.ndarray:
    """Return a copy: a view's pixels would be handled one by one. Channel by channel it is 4 times as quick."""
    mirrored = np.empty_like(image, order="C")
    if image.ndim == 3 and (loop := _compiled.loop_for(_loops.mirror, image)):
        loop(image, mirrored)
        return mirrored
    for channel in range(image.shape[-1]):
        mirrored[..., channel] = image[..., ::-1, channel]
    return mirrored


@gives_tensors
def flip_up_down(image: TensorLike) -> Any:
    """Return an image upside down: its rows in reverse order; otherwise as :func:`flip_left_right`."""
    image, _ = as_image(image)
    check_image(image)
    return image[..., ::-1, :, :]


@gives_tensors
def transpose(image: TensorLike, name: str | None = None) -> Any:
    """Return an image mirrored at its diagonal: rows become columns, as `tf.image.transpose`.

    Args:
        image: Shape `[height, width, channels]`, or a batch of those.
        name: Ignored.

    Returns:
        Shape `[width, height, channels]`, or a batch of those.

    Raises:
        BadArgumentError: If `image` has another rank.
    """
    image, _ = as_image(image)
    check_image(image)
    return image.transpose((1, 0, 2) if image.ndim == 3 else (0, 2, 1, 3))


@gives_tensors
def rot90(image: TensorLike, k: int = 1, name: str | None = None) -> Any:
    """Return an image turned by `k` times 90 degrees against the clock, as `tf.image.rot90`.

    Args:
        image: Shape `[height, width, channels]`, or a batch of those.
        k: How often, an integer; it has to be known while a program is traced.
        name: Ignored.

    Returns:
        The image, with height and width exchanged if `k` is odd.

    Raises:
        BadArgumentError: If `image` has another rank.
        BadTypeError: If `k` is not an integer.
    """
    (turns,) = sizes_of("k", k)
    if turns % 4 == 1:
        return transpose(flip_left_right(image))
    if turns % 4 == 3:
        return flip_left_right(transpose(image))
    return flip_up_down(flip_left_right(image)) if turns % 4 else as_image(image)[0]


@deferrable(_chain.try_crop_to_box)
@gives_tensors
def crop_to_bounding_box(
    image: TensorLike, offset_height: int, offset_width: int, target_height: int, target_width: int
) -> Any:
    """Return a part of an image, as `tf.image.crop_to_bounding_box`.

    Args:
        image: Shape `[height, width, channels]`, or a batch of those.
        offset_height: The first row.
        offset_width: The first column.
        target_height: How many rows.
        target_width: How many columns.

    Returns:
        Shape `[target_height, target_width, channels]`, or a batch of those.

    Raises:
        BadArgumentError: If `image` has another rank, or the part is not within it.

    Example:
        >>> import numpy as np
        >>> from stratax import image
        >>> image.crop_to_bounding_box(np.arange(12).reshape(3, 4, 1), 1, 2, 2, 2)[..., 0].tolist()
        [[6, 7], [10, 11]]
    """
    image, _ = as_image(image)
    check_image(image)
    top, left, rows, columns = _box(offset_height, offset_width, target_height, target_width)
    height, width = image.shape[-3:-1]
    if top + rows > height or left + columns > width:
        raise BadArgumentError(
            f"The part has to be within the image, whose height is {height} and width {width}. Received: "
            f"offset_height={top}, offset_width={left}, target_height={rows}, target_width={columns}. Make it "
            "smaller, or enlarge the image first."
        )
    return image[..., top : top + rows, left : left + columns, :]


@gives_tensors
def pad_to_bounding_box(
    image: TensorLike, offset_height: int, offset_width: int, target_height: int, target_width: int
) -> Any:
    """Return an image with zeros around it, as `tf.image.pad_to_bounding_box`.

    Args:
        image: Shape `[height, width, channels]`, or a batch of those.
        offset_height: How many rows of zeros above.
        offset_width: How many columns of zeros to the left.
        target_height: How many rows in all.
        target_width: How many columns in all.

    Returns:
        Shape `[target_height, target_width, channels]`, or a batch of those.

    Raises:
        BadArgumentError: If `image` has another rank, or does not fit.
    """
    image, xp = as_image(image)
    check_image(image)
    top, left, rows, columns = _box(offset_height, offset_width, target_height, target_width)
    height, width = image.shape[-3:-1]
    if top + height > rows or left + width > columns:
        raise BadArgumentError(
            f"The image, of height {height} and width {width}, has to fit. Received: offset_height={top}, "
            f"offset_width={left}, target_height={rows}, target_width={columns}. Make the target larger, or crop "
            "the image first."
        )
    # Nothing to add: no copy.
    if (rows, columns) == (height, width):
        return image
    around = [(top, rows - top - height), (left, columns - left - width), (0, 0)]
    return xp.pad(image, [(0, 0)] * (image.ndim - 3) + around)


def _box(
    top: TensorLike, left: TensorLike, rows: TensorLike, columns: TensorLike
) -> tuple[int, int, int, int]:
    (top,) = sizes_of("offset_height", top)
    (left,) = sizes_of("offset_width", left)
    (rows,) = sizes_of("target_height", rows)
    (columns,) = sizes_of("target_width", columns)
    if min(top, left) < 0 or min(rows, columns) < 1:
        raise BadArgumentError(
            "Offsets are at least 0, and heights and widths at least 1. Received: "
            f"offset_height={top}, offset_width={left}, target_height={rows}, target_width={columns}."
        )
    return top, left, rows, columns


@gives_tensors
def central_crop(image: TensorLike, central_fraction: float) -> Any:
    """Return the middle of an image, as `tf.image.central_crop`.

    Args:
        image: Shape `[height, width, channels]`, or a batch of those.
        central_fraction: Which part of height and width to keep, above 0 and at most 1.

    Returns:
        The part. As much is cut off on both sides, so that it may be a row or column larger.

    Raises:
        BadArgumentError: If `image` has another rank, or `central_fraction` is out of its range.
    """
    image, _ = as_image(image)
    check_image(image)
    if not 0 < central_fraction <= 1:
        raise BadArgumentError(
            "The fraction of an image to keep is above 0 and at most 1. "
            f"Received: central_fraction={shown(central_fraction)}. Pass for instance 0.875."
        )
    height, width = image.shape[-3:-1]
    # Rounded as TensorFlow does: the same offset on both sides.
    top = int((height - height * float(central_fraction)) / 2)
    left = int((width - width * float(central_fraction)) / 2)
    return image[..., top : height - top, left : width - left, :]


@gives_tensors
def resize_with_crop_or_pad(image: TensorLike, target_height: int, target_width: int) -> Any:
    """Return an image cut at its edges, or with zeros around it, to a size, as `tf.image.resize_with_crop_or_pad`.

    Args:
        image: Shape `[height, width, channels]`, or a batch of those.
        target_height: How many rows.
        target_width: How many columns.

    Returns:
        Shape `[target_height, target_width, channels]`, or a batch of those.

    Raises:
        BadArgumentError: If `image` has another rank, or a size is less than 1.
    """
    image, _ = as_image(image)
    check_image(image)
    _, _, rows, columns = _box(0, 0, target_height, target_width)
    height, width = image.shape[-3:-1]
    more_rows, more_columns = rows - height, columns - width
    cropped = crop_to_bounding_box(
        image,
        max(-more_rows // 2, 0),
        max(-more_columns // 2, 0),
        min(rows, height),
        min(columns, width),
    )
    return pad_to_bounding_box(cropped, max(more_rows // 2, 0), max(more_columns // 2, 0), rows, columns)


resize_image_with_crop_or_pad = resize_with_crop_or_pad
transpose_image = transpose
