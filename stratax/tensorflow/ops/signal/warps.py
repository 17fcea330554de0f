"""Images turned, moved and bent: `tf.contrib.image` (ops layer).

NumPy arrays stay on the host (see `stratax.tensorflow.ops.calls._host`).
"""

from types import ModuleType
from typing import Any

import numpy as np

from stratax.base.shown import shown
from stratax.base.typing import Array, TensorLike
from stratax.data.elements import sizes_of
from stratax.errors import BadArgumentError, BadTypeError
from stratax.tensorflow.ops.calls._computed import call_with_library
from stratax.tensorflow.ops.calls.op import op

_NEAREST, _BILINEAR = "NEAREST", "BILINEAR"


def _shape_of(images: TensorLike) -> tuple[int, ...]:
    return tuple(images.shape) if hasattr(images, "shape") else np.shape(images)


@op
def transform(
    images: TensorLike,
    transforms: TensorLike,
    interpolation: str = _NEAREST,
    output_shape: TensorLike | None = None,
) -> Any:
    """Return images seen through projections, as `tf.contrib.image.transform`.

    Args:
        images: Shape `[num, height, width, channels]`, `[height, width, channels]` or `[height, width]`.
        transforms: Shape `[8]` or `[num, 8]`: `[a0, a1, a2, b0, b1, b2, c0, c1]` says that a pixel at `(x, y)` comes
            from `((a0 x + a1 y + a2) / k, (b0 x + b1 y + b2) / k)` with `k = c0 x + c1 y + 1`.
        interpolation: `"NEAREST"` or `"BILINEAR"`.
        output_shape: Height and width of the result; by default those of the images.

    Returns:
        Images of the given rank and dtype, 0 where nothing was.

    Raises:
        BadArgumentError: If an argument has another shape, or there is no such interpolation.
    """
    return call_with_library(_transform, images, transforms, **_options(images, interpolation, output_shape))


def _options(images: TensorLike, interpolation: str, output_shape: object = None) -> dict[str, Any]:
    if interpolation not in (_NEAREST, _BILINEAR):
        raise BadArgumentError(
            f"interpolation is NEAREST or BILINEAR. Received: interpolation={shown(interpolation)}."
        )
    rank = len(_shape_of(images))
    if rank not in (2, 3, 4):
        raise BadTypeError("Images should have rank between 2 and 4.")
    size = None if output_shape is None else sizes_of("output_shape", output_shape)
    if size is not None and len(size) != 2:
        raise BadArgumentError(
            f"output_shape must be two numbers, height and width. Received: {shown(output_shape)}."
        )
    return {"rank": rank, "interpolation": interpolation, "size": size}


def _transform(
    library: ModuleType,
    images: Array,
    transforms: Array,
    *,
    rank: int,
    interpolation: str,
    size: tuple[int, int] | None,
) -> Any:
    # Always (num, height, width, channels) from here on.
    batch: Any = {2: lambda: images[None, :, :, None], 3: lambda: images[None], 4: lambda: images}[rank]()
    rows = transforms.astype("float32").reshape(-1, 8)
    height, width = batch.shape[1:3] if size is None else size
    y, x = library.meshgrid(
        library.arange(height, dtype="float32"), library.arange(width, dtype="float32"), indexing="ij"
    )
    # Each of shape (num, 1, 1), against x and y of shape (height, width).
    a0, a1, a2, b0, b1, b2, c0, c1 = (rows[:, each, None, None] for each in range(8))
    k = c0 * x + c1 * y + 1
    # Where k is 0 a pixel comes from infinity: divided by 1, and left out at the end.
    is_finite = k != 0
    k = library.where(is_finite, k, 1)
    place_x, place_y = (a0 * x + a1 * y + a2) / k, (b0 * x + b1 * y + b2) / k
    shape = (batch.shape[0], height, width)
    place_x, place_y, is_finite = (
        library.broadcast_to(each, shape) for each in (place_x, place_y, is_finite)
    )
    read = _nearest if interpolation == _NEAREST else _bilinear
    found = read(library, batch, place_y, place_x)
    found = library.where(is_finite[..., None], found, library.zeros_like(found))
    return {2: lambda: found[0, :, :, 0], 3: lambda: found[0], 4: lambda: found}[rank]()


def _pixels(library: Any, images: Any, rows: Any, columns: Any) -> Any:
    """Return the pixels at whole numbers; 0 where there are none."""
    height, width = images.shape[1:3]
    is_inside = (rows >= 0) & (rows < height) & (columns >= 0) & (columns < width)
    # Any pixel does where there is none: it is replaced by 0.
    rows = library.clip(rows, 0, height - 1).astype("int32")
    columns = library.clip(columns, 0, width - 1).astype("int32")
    numbers = library.arange(images.shape[0])[:, None, None]
    found = images[numbers, rows, columns]
    return library.where(is_inside[..., None], found, library.zeros_like(found))


def _nearest(library: object, images: object, y: object, x: object) -> Any:
    return _pixels(library, images, _round(library, y), _round(library, x))


def _round(library: Any, values: Any) -> Any:
    # Halves away from 0, as C does.
    return library.where(values < 0, library.ceil(values - 0.5), library.floor(values + 0.5))


def _bilinear(library: Any, images: Any, y: Array, x: Array) -> Any:
    # A pixel between four is mixed first along the rows, then along the columns, as TensorFlow's kernel does.
    top, left = library.floor(y), library.floor(x)

    def row(rows: Array) -> Any:
        first, second = (
            _pixels(library, images, rows, columns).astype("float32") for columns in (left, left + 1)
        )
        return (left + 1 - x)[..., None] * first + (x - left)[..., None] * second

    mixed = (top + 1 - y)[..., None] * row(top) + (y - top)[..., None] * row(top + 1)
    return mixed.astype(images.dtype)


@op
def angles_to_projective_transforms(
    angles: TensorLike, image_height: TensorLike, image_width: TensorLike
) -> Any:
    """Return the projections that turn images, as `tf.contrib.image.angles_to_projective_transforms`.

    Args:
        angles: An angle in radians, or one for each image.
        image_height: The images' height.
        image_width: Their width.

    Returns:
        Shape `[num, 8]`, what `transform` takes.
    """
    return call_with_library(_make_rotations, angles, image_height, image_width)


def _make_rotations(library: Any, angles: Array, height: Any, width: Any) -> Any:
    angles = angles.astype("float32").reshape(-1)
    # The distance between the centers of the outermost pixels, around the middle of which it turns.
    high, wide = height.astype("float32") - 1, width.astype("float32") - 1
    cos, sin = library.cos(angles), library.sin(angles)
    x_offset = (wide - (cos * wide - sin * high)) / 2
    y_offset = (high - (sin * wide + cos * high)) / 2
    nothing = library.zeros_like(cos)
    return library.stack([cos, -sin, x_offset, sin, cos, y_offset, nothing, nothing], 1)


@op
def translations_to_projective_transforms(translations: TensorLike) -> Any:
    """Return the projections that move images, as `tf.contrib.image.translations_to_projective_transforms`.

    Args:
        translations: `[dx, dy]`, or such a row for each image.

    Returns:
        Shape `[num, 8]`, what `transform` takes.
    """
    return call_with_library(_make_translations, translations)


def _make_translations(library: ModuleType, translations: Array) -> Any:
    pairs = translations.astype("float32").reshape(-1, 2)
    zeros, ones = library.zeros_like(pairs[:, 0]), library.ones_like(pairs[:, 0])
    # A projection says where a pixel comes from, so that moving is written backwards.
    return library.stack([ones, zeros, -pairs[:, 0], zeros, ones, -pairs[:, 1], zeros, zeros], 1)


@op
def rotate(images: TensorLike, angles: TensorLike, interpolation: str = _NEAREST) -> Any:
    """Return images turned against the clock, as `tf.contrib.image.rotate`.

    Args:
        images: As for `transform`.
        angles: An angle in radians, or one for each image.
        interpolation: `"NEAREST"` or `"BILINEAR"`.
    """
    return call_with_library(_rotate, images, angles, **_options(images, interpolation))


def _rotate(library: Any, images: Array, angles: Array, **options: Any) -> Any:
    height, width = images.shape[1:3] if images.ndim == 4 else images.shape[:2]
    return _transform(
        library, images, _make_rotations(library, angles, np.float32(height), np.float32(width)), **options
    )


@op
def translate(images: TensorLike, translations: TensorLike, interpolation: str = _NEAREST) -> Any:
    """Return images moved to the right and down, as `tf.contrib.image.translate`.

    Args:
        images: As for `transform`.
        translations: `[dx, dy]`, or such a row for each image.
        interpolation: `"NEAREST"` or `"BILINEAR"`.
    """
    return call_with_library(_translate, images, translations, **_options(images, interpolation))


def _translate(library: Any, images: Array, translations: Array, **options: Any) -> Any:
    return _transform(library, images, _make_translations(library, translations), **options)


@op
def flat_transforms_to_matrices(transforms: TensorLike) -> Any:
    """Return projections as matrices, as `tf.contrib.image.flat_transforms_to_matrices`.

    Args:
        transforms: Shape `[8]` or `[num, 8]`.

    Returns:
        Shape `[num, 3, 3]`.
    """
    return call_with_library(_as_matrices, transforms)


def _as_matrices(library: ModuleType, transforms: Array) -> Any:
    rows = transforms.reshape(-1, 8)
    return library.concatenate([rows, library.ones_like(rows[:, :1])], 1).reshape(-1, 3, 3)


@op
def matrices_to_flat_transforms(transform_matrices: TensorLike) -> Any:
    """Return matrices as projections, as `tf.contrib.image.matrices_to_flat_transforms`.

    Args:
        transform_matrices: Shape `[3, 3]` or `[num, 3, 3]`.

    Returns:
        Shape `[num, 8]`.
    """
    return call_with_library(_as_rows, transform_matrices)


def _as_rows(library: ModuleType, matrices: Array) -> Any:
    rows = matrices.reshape(-1, 9)
    # Scaled so that the ninth number is 1, which `transform` leaves out.
    return rows[:, :8] / rows[:, 8:]


@op
def compose_transforms(*transforms: TensorLike) -> Any:
    """Return the projection that is several, one after the other, as `tf.contrib.image.compose_transforms`.

    Args:
        *transforms: Each of shape `[8]` or `[num, 8]`; the first is applied last.

    Returns:
        Shape `[num, 8]`.
    """
    made = flat_transforms_to_matrices(transforms[0])
    for each in transforms[1:]:
        made = made @ flat_transforms_to_matrices(each)
    return matrices_to_flat_transforms(made)


@op
def dense_image_warp(image: TensorLike, flow: TensorLike) -> Any:
    """Return images whose pixels come from elsewhere, each from its own place, as `tf.contrib.image.dense_image_warp`.

    Args:
        image: Shape `[batch, height, width, channels]`, height and width at least 2.
        flow: Shape `[batch, height, width, 2]`: the pixel in row `j` and column `i` comes from row `j - flow[..., 0]`
            and column `i - flow[..., 1]`, between four pixels; from the edge where that is outside.

    Raises:
        BadArgumentError: If an argument has another shape.
    """
    shape = _shape_of(image)
    if len(shape) != 4 or min(shape[1:3]) < 2:
        raise BadArgumentError(
            f"Grid must be 4 dimensional, and its height and width at least 2. Received size: {shape}."
        )
    return call_with_library(_warp, image, flow)


def _warp(library: ModuleType, image: Array, flow: Array) -> Any:
    height, width = image.shape[1:3]
    rows, columns = library.meshgrid(library.arange(height), library.arange(width), indexing="ij")
    places = [grid.astype(flow.dtype) - flow[..., each] for each, grid in enumerate((rows, columns))]
    floors = [
        # The last but one at most: a neighbour on the other side is always there.
        library.clip(library.floor(place), 0, size - 2)
        for place, size in zip(places, (height, width), strict=True)
    ]
    down, right = (
        # Outside of the image it is all of the edge's pixel.
        library.clip((place - floor).astype(image.dtype), 0, 1)[..., None]
        for place, floor in zip(places, floors, strict=True)
    )
    top, left = (floor.astype("int32") for floor in floors)
    numbers = library.arange(image.shape[0])[:, None, None]

    def row(at: Array) -> Any:
        first, second = image[numbers, at, left], image[numbers, at, left + 1]
        return right * (second - first) + first

    upper, lower = row(top), row(top + 1)
    return down * (lower - upper) + upper
