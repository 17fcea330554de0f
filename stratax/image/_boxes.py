"""Parts of images that boxes say, and boxes drawn into images (image layer).

A box is `[y1, x1, y2, x2]`, in parts of height and width.
"""

from typing import Any

import numpy as np

from stratax.base.shown import shown
from stratax.base.typing import Array, DTypeLike, TensorLike
from stratax.data.elements import element_uniform
from stratax.data.vectorise import gives_tensors
from stratax.errors import BadArgumentError
from stratax.image._arrays import Namespace, as_image, two_sizes

# Yellow, blue, red, lime, purple, olive, maroon, navy, aqua, fuchsia: TensorFlow's.
_COLORS = (
    (1, 1, 0, 1), (0, 0, 1, 1), (1, 0, 0, 1), (0, 1, 0, 1), (0.5, 0, 0.5, 1),
    (0.5, 0.5, 0, 1), (0.5, 0, 0, 1), (0, 0, 0.5, 1), (0, 1, 1, 1), (1, 0, 1, 1),
)  # fmt: skip
_METHODS = ("bilinear", "nearest")
_NOISES = ("uniform", "gaussian", "zero")


def of_library(values: TensorLike, xp: Namespace, dtype: DTypeLike | None = None) -> Any:
    """Return values as an array of NumPy or JAX, as another operand is one."""
    return xp.asarray(as_image(values)[0], dtype=dtype)


def common(*operands: TensorLike) -> tuple[Namespace, list[Any]]:
    """Return the library that computes with all operands, and them as its arrays: NumPy if none is of a device."""
    images = [as_image(operand) for operand in operands]
    xp = next((xp for array, xp in images if not isinstance(array, np.ndarray | np.generic)), images[0][1])
    return xp, [xp.asarray(array) for array, _ in images]


def check_boxes(boxes: Any, name: str = "boxes", rank: int = 2) -> None:
    """Raise unless an array holds boxes.

    Raises:
        BadArgumentError: It has another rank, or no four numbers in its last dimension.
    """
    if boxes.ndim != rank or boxes.shape[-1] != 4:
        raise BadArgumentError(
            f"Boxes are [y1, x1, y2, x2]: an array of {rank} dimensions whose last has the size 4. Received: {name} of "
            f"shape={tuple(boxes.shape)}."
        )


@gives_tensors
def crop_and_resize(
    image: TensorLike,
    boxes: TensorLike,
    box_indices: TensorLike,
    crop_size: TensorLike,
    method: str = "bilinear",
    extrapolation_value: float = 0.0,
    name: str | None = None,
) -> Any:
    """Return parts of images, each brought to one size, as `tf.image.crop_and_resize`.

    Args:
        image: Images, shape `[batch, height, width, channels]`.
        boxes: Shape `[num_boxes, 4]`: y1, x1, y2, x2, where 1 is the last row or column. Those with y1 above y2 are
            upside down.
        box_indices: To which image each box belongs, shape `[num_boxes]`.
        crop_size: Height and width of the parts.
        method: `"bilinear"` or `"nearest"`.
        extrapolation_value: What stands outside of images.
        name: Ignored.

    Returns:
        float32, shape `[num_boxes, height, width, channels]`, where the operands are.

    Raises:
        BadArgumentError: If shapes don't fit, or the method is none of these.
    """
    xp, (image, boxes, box_indices) = common(image, boxes, box_indices)
    check_boxes(boxes)
    if image.ndim != 4 or box_indices.shape != boxes.shape[:1] or method not in _METHODS:
        raise BadArgumentError(
            "Expected: images of shape [batch, height, width, channels], an index for each box, and a method of "
            f"{_METHODS}. Received: image of shape={tuple(image.shape)}, box_indices of shape="
            f"{tuple(box_indices.shape)}, method={shown(method)}."
        )
    rows, columns = two_sizes(crop_size)
    boxes = boxes.astype("float32")
    ys = _places(boxes[:, 0], boxes[:, 2], image.shape[1], rows, xp)
    xs = _places(boxes[:, 1], boxes[:, 3], image.shape[2], columns, xp)
    is_inside = _within(ys, image.shape[1])[:, :, None] & _within(xs, image.shape[2])[:, None, :]
    which = box_indices[:, None, None]

    def pixels(row: object, column: object) -> Any:
        row = xp.clip(row, 0, image.shape[1] - 1).astype("int32")[:, :, None]
        column = xp.clip(column, 0, image.shape[2] - 1).astype("int32")[:, None, :]
        return image[which, row, column].astype("float32")

    if method == "nearest":
        parts = pixels(xp.floor(ys + 0.5), xp.floor(xs + 0.5))
    else:
        top, left = xp.floor(ys), xp.floor(xs)
        down, right = (ys - top)[:, :, None, None], (xs - left)[:, None, :, None]
        bottom, beside = xp.ceil(ys), xp.ceil(xs)
        upper = pixels(top, left) * (1 - right) + pixels(top, beside) * right
        lower = pixels(bottom, left) * (1 - right) + pixels(bottom, beside) * right
        parts = upper * (1 - down) + lower * down
    return xp.where(is_inside[..., None], parts, np.float32(extrapolation_value)).astype("float32")


def _places(first: Array, last: Any, size: int, count: int, xp: Namespace) -> Any:
    if count == 1:
        return (0.5 * (first + last) * np.float32(size - 1))[:, None]
    step = (last - first) * np.float32(size - 1) / np.float32(count - 1)
    return first[:, None] * np.float32(size - 1) + xp.arange(count, dtype="float32") * step[:, None]


def _within(places: Any, size: int) -> Any:
    return (places >= 0) & (places <= size - 1)


@gives_tensors
def draw_bounding_boxes(
    images: TensorLike, boxes: TensorLike, colors: TensorLike | None, name: str | None = None
) -> Any:
    """Return images with the outlines of boxes in them, as `tf.image.draw_bounding_boxes`.

    Args:
        images: Shape `[batch, height, width, channels]`.
        boxes: Shape `[batch, num_boxes, 4]`: y1, x1, y2, x2, where 1 is the last row or column.
        colors: A list of colors, which are used in turn; None for ten that are easy to tell apart.
        name: Ignored.

    Returns:
        The images, where the operands are.

    Raises:
        BadArgumentError: If shapes don't fit.
    """
    xp, (images, boxes) = common(images, boxes)
    check_boxes(boxes, rank=3)
    if images.ndim != 4 or images.shape[0] != boxes.shape[0]:
        raise BadArgumentError(
            "Expected: images of shape [batch, height, width, channels] and boxes for each of them. Received: images "
            f"of shape={tuple(images.shape)}, boxes of shape={tuple(boxes.shape)}."
        )
    height, width, channels = images.shape[1:]
    palette = _palette(colors, channels, xp)
    rows, columns = xp.arange(height)[None, :, None], xp.arange(width)[None, None, :]
    # As a C program makes whole numbers of them: towards 0.
    top, bottom = (
        xp.trunc(boxes[..., side].astype("float32") * (height - 1)).astype("int32") for side in (0, 2)
    )
    left, right = (
        xp.trunc(boxes[..., side].astype("float32") * (width - 1)).astype("int32") for side in (1, 3)
    )
    for number in range(boxes.shape[1]):
        y1, y2, x1, x2 = (edge[:, number][:, None, None] for edge in (top, bottom, left, right))
        is_within = (rows >= y1) & (rows <= y2) & (columns >= x1) & (columns <= x2)
        is_edge = (rows == y1) | (rows == y2) | (columns == x1) | (columns == x2)
        color = palette[number % len(palette)].astype(images.dtype)
        images = xp.where((is_within & is_edge)[..., None], color, images)
    return images


def _palette(colors: TensorLike | None, channels: int, xp: Namespace) -> Any:
    given = None if colors is None else of_library(colors, xp)
    if given is not None and given.size and given.ndim == 2:
        if given.shape[1] < channels:
            raise BadArgumentError(
                f"A color has a number for each of {channels} channels. Received: colors of shape={tuple(given.shape)}."
            )
        return given[:, :channels].astype("float32")
    table = np.array(_COLORS, np.float32)
    if channels == 1:
        table[:, 0] = 1
    return xp.asarray(table[:, :channels])


@gives_tensors
def extract_patches(
    images: TensorLike, sizes: Any, strides: Any, rates: Any, padding: str, name: str | None = None
) -> Any:
    """Return parts of images as channels, as `tf.image.extract_patches`.

    Args:
        images: Shape `[batch, height, width, channels]`.
        sizes: `[1, height, width, 1]` of a part.
        strides: `[1, rows, columns, 1]` from one part to the next.
        rates: `[1, rows, columns, 1]` from one pixel of a part to the next.
        padding: `"VALID"` for parts within the image, `"SAME"` for those that zeros around it fill, too.
        name: Ignored.

    Returns:
        Shape `[batch, parts below each other, parts side by side, height * width * channels]`, where `images` is.

    Raises:
        BadArgumentError: If `images` has another rank, or a setting is none of these.
    """
    image, xp = as_image(images)
    settings = [[int(number) for number in setting] for setting in (sizes, strides, rates)]
    is_whole = all(
        len(setting) == 4 and setting[0] == setting[3] == 1 and min(setting) > 0 for setting in settings
    )
    if image.ndim != 4 or not is_whole or padding.upper() not in ("SAME", "VALID"):
        raise BadArgumentError(
            "Expected: images of shape [batch, height, width, channels], sizes, strides and rates as [1, rows, "
            f'columns, 1], and a padding of "SAME" or "VALID". Received: images of shape={tuple(image.shape)}, '
            f"sizes={shown(sizes)}, strides={shown(strides)}, rates={shown(rates)}, padding={shown(padding)}."
        )
    (rows, columns), steps, apart = (setting[1:3] for setting in settings)
    wide = [(rows - 1) * apart[0] + 1, (columns - 1) * apart[1] + 1]
    if padding.upper() == "SAME":
        counts = [-(-size // step) for size, step in zip(image.shape[1:3], steps, strict=True)]
        more = [
            max((count - 1) * step + window - size, 0)
            for count, step, window, size in zip(counts, steps, wide, image.shape[1:3], strict=True)
        ]
        image = xp.pad(image, [(0, 0), *((each // 2, each - each // 2) for each in more), (0, 0)])
    counts = [
        max((size - window) // step + 1, 0)
        for size, window, step in zip(image.shape[1:3], wide, steps, strict=True)
    ]
    parts = [
        image[
            :,
            row * apart[0] : row * apart[0] + counts[0] * steps[0] : steps[0],
            column * apart[1] : column * apart[1] + counts[1] * steps[1] : steps[1],
        ][:, : counts[0], : counts[1]]
        for row in range(rows)
        for column in range(columns)
    ]
    return xp.concatenate(parts, axis=-1)


@gives_tensors
def extract_image_patches(
    images: TensorLike,
    ksizes: object = None,
    strides: object = None,
    rates: object = None,
    padding: str = "VALID",
    name: str | None = None,
    sizes: TensorLike | None = None,
) -> Any:
    """Return parts of images as channels, as `tf.compat.v1.image.extract_image_patches`: see `extract_patches`."""
    return extract_patches(images, ksizes if sizes is None else sizes, strides, rates, padding, name)


@gives_tensors
def extract_glimpse(
    input: TensorLike,
    size: TensorLike,
    offsets: TensorLike,
    centered: bool = True,
    normalized: bool = True,
    noise: str = "uniform",
    name: str | None = None,
) -> Any:
    """Return a part of each image, around a place, as `tf.image.extract_glimpse`.

    Args:
        input: Images, shape `[batch, height, width, channels]`.
        size: Height and width of the parts.
        offsets: The places, shape `[batch, 2]`: y and x.
        centered: Whether places are counted from an image's center, -1 to 1 for all of it; else from its corner.
        normalized: Whether places are parts of height and width; else pixels, and those of the part's corner.
        noise: What stands outside of images: random numbers, `"uniform"` in the image's range or `"gaussian"` with the
            mean and deviation of each channel, within its range; or `"zero"`.
        name: Ignored.

    Returns:
        float32, shape `[batch, height, width, channels]`, where the operands are.

    Raises:
        BadArgumentError: If shapes don't fit, or `noise` is none of these.
    """
    xp, (image, places) = common(input, offsets)
    rows, columns = two_sizes(size)
    if image.ndim != 4 or places.shape != (image.shape[0], 2) or noise not in _NOISES:
        raise BadArgumentError(
            "Expected: images of shape [batch, height, width, channels], a place for each of them, and a noise of "
            f"{_NOISES}. Received: input of shape={tuple(image.shape)}, offsets of shape={tuple(places.shape)}, "
            f"noise={shown(noise)}."
        )
    whole = np.array(image.shape[1:3], np.float32)
    places = places.astype("float32") * (whole if normalized else 1)
    if centered and normalized:
        places = (places + whole - np.array([rows, columns], np.float32)) / 2
    elif centered:
        places = places + whole / 2
    first = xp.trunc(places).astype("int32")
    ys, xs = first[:, :1] + xp.arange(rows), first[:, 1:] + xp.arange(columns)
    is_inside = _within(ys, image.shape[1])[:, :, None] & _within(xs, image.shape[2])[:, None, :]
    ys, xs = xp.clip(ys, 0, image.shape[1] - 1), xp.clip(xs, 0, image.shape[2] - 1)
    parts = image[xp.arange(len(image))[:, None, None], ys[:, :, None], xs[:, None, :]].astype("float32")
    if noise == "zero":
        outside = np.zeros(parts.shape, np.float32)
    else:
        outside = _noise(noise, image.astype("float32"), parts.shape, xp)
    return xp.where(is_inside[..., None], parts, xp.asarray(outside))


def _noise(noise: str, image: Any, shape: tuple[int, ...], xp: Any) -> Any:
    numbers = element_uniform(shape).astype(np.float32)
    if noise == "uniform":
        low, high = image.min(axis=(1, 2, 3), keepdims=True), image.max(axis=(1, 2, 3), keepdims=True)
        return low + numbers * (high - low)
    # Box and Muller's: from two uniform numbers a normal one.
    angles = element_uniform(shape).astype(np.float32)
    normal = np.sqrt(-2 * np.log(1 - numbers)) * np.cos(2 * np.pi * angles)
    mean, deviation = image.mean(axis=(1, 2), keepdims=True), image.std(axis=(1, 2), keepdims=True)
    low, high = image.min(axis=(1, 2), keepdims=True), image.max(axis=(1, 2), keepdims=True)
    return xp.clip(mean + normal * deviation, low, high)
