"""Random parts of images that show enough of an object (image layer). All compute on the host.

The method is TensorFlow's: an aspect ratio is drawn, then an area, then a place, until a box satisfies what is asked
for or the attempts are used up.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from stratax.base.shown import shown
from stratax.base.tracing import is_traced
from stratax.base.typing import TensorLike
from stratax.data.elements import element_uniform
from stratax.data.vectorise import gives_tensors
from stratax.errors import BadArgumentError, BadTypeError
from stratax.image._draws import stateless_draw_of

_ATTEMPTS = 100


class SampledBox(NamedTuple):
    """What `sample_distorted_bounding_box` returns.

    Attributes:
        begin: Where the part begins, for `tf.slice`: `[row, column, 0]`.
        size: How large it is: `[rows, columns, -1]`.
        bboxes: The part as a box, float32, shape `[1, 1, 4]`, for `tf.image.draw_bounding_boxes`.
    """

    begin: np.ndarray
    size: np.ndarray
    bboxes: np.ndarray


@gives_tensors
def sample_distorted_bounding_box(
    image_size: TensorLike,
    bounding_boxes: TensorLike,
    seed: int | None = 0,
    min_object_covered: float = 0.1,
    aspect_ratio_range: Sequence[float] | None = None,
    area_range: Sequence[float] | None = None,
    max_attempts: int | None = None,
    use_image_if_no_bounding_boxes: bool | None = None,
    name: str | None = None,
) -> SampledBox:
    """Return a random part of an image that shows enough of an object, as `tf.image.sample_distorted_bounding_box`.

    Args:
        image_size: The image's height, width and channels.
        bounding_boxes: Where objects are, shape `[batch, num_boxes, 4]`: y1, x1, y2, x2, in parts of height and width.
        seed: In a pipeline 0 and None draw what follows from its seed and the element; another number makes the draws
            of this operation its own.
        min_object_covered: How much of one object the part shows at least.
        aspect_ratio_range: Of its width to its height; None for 0.75 to 1.33.
        area_range: Which part of the image it is; None for 0.05 to 1.
        max_attempts: After so many the whole image is returned; None for 100.
        use_image_if_no_bounding_boxes: Whether, without boxes, the image is the object; else an error is raised.
        name: Ignored.

    Returns:
        `begin`, `size` and `bboxes`, on the host.

    Raises:
        BadArgumentError: If a range or the boxes make no sense, or there are none.
        BadTypeError: If an operand is traced: the part's size would be no constant of the program.
    """
    number = int(seed) if seed else None
    sides = [0.05, 1.0] if area_range is None else area_range
    return _sample(
        image_size,
        bounding_boxes,
        lambda: float(element_uniform((), number)),
        (min_object_covered, aspect_ratio_range or (0.75, 1.33), sides, max_attempts or _ATTEMPTS),
        bool(use_image_if_no_bounding_boxes),
    )


@gives_tensors
def stateless_sample_distorted_bounding_box(
    image_size: TensorLike,
    bounding_boxes: TensorLike,
    seed: TensorLike,
    min_object_covered: float = 0.1,
    aspect_ratio_range: Sequence[float] | None = None,
    area_range: Sequence[float] | None = None,
    max_attempts: int | None = None,
    use_image_if_no_bounding_boxes: bool | None = None,
    name: str | None = None,
) -> SampledBox:
    """Return a part of an image that follows from a seed, as `tf.image.stateless_sample_distorted_bounding_box`.

    The arguments are those of :func:`sample_distorted_bounding_box`, except that `seed` is two integers.
    """
    _check_known(seed)
    settings = (
        min_object_covered,
        aspect_ratio_range or (0.75, 1.33),
        area_range or (0.05, 1.0),
        max_attempts or _ATTEMPTS,
    )
    # Enough for all attempts; the stream is drawn once, since each draw of a seed is the same.
    drawn = iter(stateless_draw_of(np.zeros(0), np.asarray(seed))((4 * settings[3],)).tolist())
    return _sample(
        image_size, bounding_boxes, lambda: next(drawn), settings, bool(use_image_if_no_bounding_boxes)
    )


def _check_known(value: object) -> None:
    if is_traced(value):
        raise BadTypeError(
            "A part of an image is drawn on the host: its size would be no constant of a compiled program. Received: a "
            "traced value. Draw it in the pipeline, with Dataset.map, or use tf.image.random_crop."
        )


def _sample(
    image_size: Any, bounding_boxes: Any, draw: Callable[[], float], settings: Any, is_whole: bool
) -> SampledBox:
    _check_known(image_size)
    _check_known(bounding_boxes)
    least_covered, ratios, areas, attempts = settings
    height, width = (int(size) for size in np.asarray(image_size)[:2])
    objects = _objects(np.asarray(bounding_boxes, np.float32), height, width, is_whole)
    is_ordered = all(len(pair) == 2 and 0 < pair[0] <= pair[1] for pair in (ratios, areas))
    if not is_ordered or areas[1] > 1 or not 0 <= least_covered <= 1 or min(height, width) < 1:
        raise BadArgumentError(
            "Expected: ranges of two positive numbers in order, an area of at most 1, a part from 0 to 1 to be "
            f"covered. Received: aspect_ratio_range={shown(ratios)}, area_range={shown(areas)}, "
            f"min_object_covered={shown(least_covered)}, image_size={shown(image_size)}."
        )
    top, left, rows, columns = 0, 0, height, width
    for _ in range(attempts):
        ratio = draw() * (ratios[1] - ratios[0]) + ratios[0]
        box = _draw_box(height, width, areas, ratio, draw)
        if box is not None and _covers(box, objects, least_covered):
            top, left, rows, columns = box
            break
    corners = [top / height, left / width, (top + rows) / height, (left + columns) / width]
    return SampledBox(
        np.array([top, left, 0], np.int32),
        np.array([rows, columns, -1], np.int32),
        np.array([[corners]], np.float32),
    )


def _objects(boxes: np.ndarray, height: int, width: int, is_whole: bool) -> np.ndarray:
    """Return boxes in pixels."""
    if boxes.size == 0 and is_whole:
        boxes = np.array([[[0, 0, 1, 1]]], np.float32)
    if boxes.ndim != 3 or boxes.shape[-1] != 4 or not boxes.size:
        raise BadArgumentError(
            "Expected: boxes of shape [batch, num_boxes, 4], one at least. Received: bounding_boxes of shape="
            f"{boxes.shape}. Pass use_image_if_no_bounding_boxes=True for images without objects."
        )
    flat = boxes.reshape(-1, 4)
    if (flat < 0).any() or (flat > 1).any() or (flat[:, :2] >= flat[:, 2:]).any():
        raise BadArgumentError(
            "Boxes are [y1, x1, y2, x2], from 0 to 1, with y1 below y2 and x1 below x2. Received: "
            f"bounding_boxes={shown(boxes)}."
        )
    return np.trunc(flat * np.array([height, width, height, width], np.float32))


def _draw_box(
    height: int, width: int, areas: Sequence[float], ratio: float, draw: Callable[[], float]
) -> tuple[int, int, int, int] | None:
    """Return row, column, rows and columns of a part, or None if none was found for this ratio."""
    least, most = (share * height * width for share in areas)
    rows, most_rows = round(math.sqrt(least / ratio)), round(math.sqrt(most / ratio))
    if round(most_rows * ratio) > width:
        # Rounded down by a hair, so that the width does not become too large.
        most_rows = int((width + 0.5 - 1e-7) / ratio)
        most_rows -= round(most_rows * ratio) > width
    most_rows = min(most_rows, height)
    rows = min(rows, most_rows)
    rows += int(draw() * (most_rows - rows + 1)) if rows < most_rows else 0
    columns = round(rows * ratio)
    # What rounding made too small or too large.
    if rows * columns < least:
        rows += 1
        columns = round(rows * ratio)
    if rows * columns > most:
        rows -= 1
        columns = round(rows * ratio)
    is_fitting = 0 < rows <= height and 0 < columns <= width and least <= rows * columns <= most
    if not is_fitting:
        return None
    top = int(draw() * (height - rows)) if rows < height else 0
    left = int(draw() * (width - columns)) if columns < width else 0
    return top, left, rows, columns


def _covers(box: tuple[int, int, int, int], objects: np.ndarray, least: float) -> bool:
    top, left, rows, columns = box
    height = np.minimum(objects[:, 2], top + rows) - np.maximum(objects[:, 0], top)
    width = np.minimum(objects[:, 3], left + columns) - np.maximum(objects[:, 1], left)
    shown_areas = np.maximum(height, 0) * np.maximum(width, 0)
    areas = (objects[:, 2] - objects[:, 0]) * (objects[:, 3] - objects[:, 1])
    return bool(((shown_areas > 0) & (shown_areas >= least * areas)).any())
