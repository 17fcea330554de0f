"""Which of many boxes to keep: the best, and none that overlaps a better one (image layer).

NumPy arrays are computed with on the host, others in one loop on the device. Results whose length follows from the
values need known values; in a compiled function there is `non_max_suppression_padded`.
"""

from typing import Any, NamedTuple

import numpy as np

from stratax.base.shown import shown
from stratax.base.tracing import is_traced
from stratax.base.typing import Array, TensorLike
from stratax.data.vectorise import gives_tensors
from stratax.errors import BadArgumentError, BadTypeError
from stratax.image._arrays import Namespace
from stratax.image._boxes import check_boxes, common

_NO_THRESHOLD = float("-inf")


class CombinedNonMaxSuppression(NamedTuple):
    """What `combined_non_max_suppression` returns.

    Attributes:
        nmsed_boxes: float32, shape `[batch, detections, 4]`.
        nmsed_scores: float32, shape `[batch, detections]`.
        nmsed_classes: float32, shape `[batch, detections]`.
        valid_detections: int32, shape `[batch]`: how many of them count.
    """

    nmsed_boxes: Any
    nmsed_scores: Any
    nmsed_classes: Any
    valid_detections: Any


def _overlaps(one: Any, boxes: Array, xp: Namespace) -> Any:
    """Return intersection over union of a box and each of others."""
    y1, y2 = xp.minimum(boxes[:, 0], boxes[:, 2]), xp.maximum(boxes[:, 0], boxes[:, 2])
    x1, x2 = xp.minimum(boxes[:, 1], boxes[:, 3]), xp.maximum(boxes[:, 1], boxes[:, 3])
    top, bottom = xp.minimum(one[0], one[2]), xp.maximum(one[0], one[2])
    left, right = xp.minimum(one[1], one[3]), xp.maximum(one[1], one[3])
    area, areas = (bottom - top) * (right - left), (y2 - y1) * (x2 - x1)
    height = xp.maximum(xp.minimum(y2, bottom) - xp.maximum(y1, top), 0)
    width = xp.maximum(xp.minimum(x2, right) - xp.maximum(x1, left), 0)
    union = area + areas - height * width
    return xp.where((area > 0) & (areas > 0), height * width / xp.where(union > 0, union, 1), 0)


def _choose(
    scores: Array,
    overlaps_with: Any,
    count: int,
    threshold: Any,
    score_threshold: object,
    sigma: float,
    xp: Namespace,
) -> tuple[Any, Any, Any]:
    """Return the places and scores of the boxes to keep, `count` of them, and how many of these count."""
    numbers = xp.arange(scores.shape[0])

    def step(turn: object, state: Array) -> Any:
        scores, places, kept, num = state
        best = xp.argmax(scores)
        is_found = scores[best] > score_threshold
        places = xp.where((xp.arange(count) == turn) & is_found, best.astype("int32"), places)
        kept = xp.where((xp.arange(count) == turn) & is_found, scores[best], kept)
        overlaps = overlaps_with(best)
        softer = scores * xp.exp(np.float32(-0.5 / sigma) * overlaps**2) if sigma > 0 else scores
        scores = xp.where((overlaps > threshold) | (numbers == best), -np.inf, softer).astype("float32")
        return scores, places, kept, num + is_found.astype("int32")

    state = (
        scores,
        xp.zeros(count, dtype="int32"),
        xp.zeros(count, dtype="float32"),
        xp.asarray(0, dtype="int32"),
    )
    if scores.shape[0] == 0 or count == 0:
        return state[1:]
    if isinstance(scores, np.ndarray):
        for turn in range(count):
            before, state = state[3], step(turn, state)
            if state[3] == before:
                break
        return state[1:]
    import jax

    return jax.lax.fori_loop(0, count, step, state)[1:]


def _of_boxes(
    boxes: TensorLike,
    scores: TensorLike,
    max_output_size: object,
    threshold: object,
    score_threshold: object,
    sigma: float = 0.0,
    is_padded: bool = False,
) -> tuple[Any, Any, Any]:
    xp, (boxes, scores) = common(boxes, scores)
    check_boxes(boxes)
    _check(scores, (boxes.shape[0],), threshold)
    boxes, scores = boxes.astype("float32"), scores.astype("float32")
    count = _whole(max_output_size)
    count = count if is_padded else min(count, boxes.shape[0])
    return _choose(
        scores, lambda best: _overlaps(boxes[best], boxes, xp), count, threshold, score_threshold, sigma, xp
    )


def _check(scores: Array, shape: tuple[int, ...], threshold: object) -> None:
    is_known = not is_traced(threshold)
    if tuple(scores.shape) != shape or (is_known and not 0 <= float(np.asarray(threshold)) <= 1):
        raise BadArgumentError(
            f"Expected: a score for each box, of shape {shape}, and a threshold from 0 to 1. Received: scores of shape="
            f"{tuple(scores.shape)}, threshold={shown(threshold)}."
        )


def _whole(max_output_size: object) -> int:
    if is_traced(max_output_size):
        raise BadTypeError(
            "max_output_size is the size of a result, which has to be known while a program is traced. Received: a "
            "traced value. Pass a number of Python."
        )
    return int(np.asarray(max_output_size))


def _cut(places: object, num: Any) -> slice:
    if is_traced(num):
        raise BadTypeError(
            "How many boxes are kept is known only when a compiled program runs. Use "
            "tf.image.non_max_suppression_padded(..., pad_to_max_output_size=True), which says how many of its places "
            "count, or tf.image.combined_non_max_suppression."
        )
    return slice(0, int(num))


@gives_tensors
def non_max_suppression(
    boxes: TensorLike,
    scores: TensorLike,
    max_output_size: TensorLike,
    iou_threshold: object = 0.5,
    score_threshold: object = _NO_THRESHOLD,
    name: str | None = None,
) -> Any:
    """Return the places of the best boxes of which none overlaps a better one, as `tf.image.non_max_suppression`.

    Args:
        boxes: Shape `[num_boxes, 4]`: y1, x1, y2, x2.
        scores: Shape `[num_boxes]`; the larger the better.
        max_output_size: How many are kept at most.
        iou_threshold: Boxes whose intersection with a better one is more than this part of their union are left out.
        score_threshold: Those with no higher score are left out.
        name: Ignored.

    Returns:
        int32, shape `[boxes that are kept]`, best first; where the operands are.

    Raises:
        BadArgumentError: If shapes don't fit, or the threshold is out of its range.
        BadTypeError: If values are traced: the result has no fixed shape.
    """
    places, _, num = _of_boxes(boxes, scores, max_output_size, iou_threshold, score_threshold)
    return places[_cut(places, num)]


@gives_tensors
def non_max_suppression_with_scores(
    boxes: TensorLike,
    scores: TensorLike,
    max_output_size: TensorLike,
    iou_threshold: object = 0.5,
    score_threshold: object = _NO_THRESHOLD,
    soft_nms_sigma: float = 0.0,
    name: str | None = None,
) -> tuple[Any, Any]:
    """Return places and scores of boxes to keep, as `tf.image.non_max_suppression_with_scores`.

    The arguments are those of :func:`non_max_suppression`; with a `soft_nms_sigma` above 0 scores of boxes sink, the
    more they overlap a better one.
    """
    given = boxes, scores, max_output_size, iou_threshold, score_threshold
    places, kept, num = _of_boxes(*given, float(soft_nms_sigma))
    cut = _cut(places, num)
    return places[cut], kept[cut]


@gives_tensors
def non_max_suppression_overlaps(
    overlaps: TensorLike,
    scores: TensorLike,
    max_output_size: TensorLike,
    overlap_threshold: object = 0.5,
    score_threshold: object = _NO_THRESHOLD,
    name: str | None = None,
) -> Any:
    """Return the places of the best of which none overlaps a better one, as `tf.image.non_max_suppression_overlaps`.

    Args:
        overlaps: How much each overlaps each, shape `[num_boxes, num_boxes]`.
        scores: Shape `[num_boxes]`.
        max_output_size: How many are kept at most.
        overlap_threshold: What overlaps a better one by more is left out.
        score_threshold: What has no higher score is left out.
        name: Ignored.
    """
    xp, (overlaps, scores) = common(overlaps, scores)
    if overlaps.ndim != 2 or overlaps.shape[0] != overlaps.shape[1] or scores.shape != overlaps.shape[:1]:
        raise BadArgumentError(
            "Expected: overlaps of shape [num_boxes, num_boxes] and a score for each box. Received: overlaps of shape="
            f"{tuple(overlaps.shape)}, scores of shape={tuple(scores.shape)}."
        )
    count = min(_whole(max_output_size), scores.shape[0])
    places, _, num = _choose(
        scores.astype("float32"), overlaps.__getitem__, count, overlap_threshold, score_threshold, 0.0, xp
    )
    return places[_cut(places, num)]


@gives_tensors
def non_max_suppression_padded(
    boxes: TensorLike,
    scores: TensorLike,
    max_output_size: TensorLike,
    iou_threshold: Any = 0.5,
    score_threshold: Any = _NO_THRESHOLD,
    pad_to_max_output_size: bool = False,
    name: str | None = None,
    sorted_input: bool = False,
    canonicalized_coordinates: bool = False,
    tile_size: int = 512,
) -> tuple[Any, Any]:
    """Return the places of boxes to keep, and how many count, as `tf.image.non_max_suppression_padded`.

    The first arguments are those of :func:`non_max_suppression`; the last three are hints for TensorFlow.

    Args:
        boxes: Shape `[..., num_boxes, 4]`.
        scores: Shape `[..., num_boxes]`.
        max_output_size: How many are kept at most.
        iou_threshold: As in :func:`non_max_suppression`.
        score_threshold: Likewise.
        pad_to_max_output_size: Whether there are always `max_output_size` places, behind the kept ones 0; this is what
            can be compiled.
        name: Ignored.
        sorted_input: Ignored.
        canonicalized_coordinates: Ignored.
        tile_size: Ignored.
    """
    xp, (boxes, scores) = common(boxes, scores)
    settings = max_output_size, iou_threshold, score_threshold, 0.0
    if boxes.ndim == 2:
        places, _, num = _of_boxes(boxes, scores, *settings, is_padded=pad_to_max_output_size)
        return (places if pad_to_max_output_size else places[_cut(places, num)]), num
    check_boxes(boxes.reshape(-1, boxes.shape[-1]))
    batch = boxes.shape[:-2]
    each = [
        _of_boxes(*pair, *settings, is_padded=True)
        for pair in zip(
            boxes.reshape(-1, *boxes.shape[-2:]), scores.reshape(-1, scores.shape[-1]), strict=True
        )
    ]
    places = xp.stack([places for places, _, _ in each]).reshape(*batch, -1)
    return places, xp.stack([num for _, _, num in each]).reshape(batch)


@gives_tensors
def combined_non_max_suppression(
    boxes: TensorLike,
    scores: TensorLike,
    max_output_size_per_class: TensorLike,
    max_total_size: TensorLike,
    iou_threshold: object = 0.5,
    score_threshold: object = _NO_THRESHOLD,
    pad_per_class: bool = False,
    clip_boxes: bool = True,
    name: str | None = None,
) -> CombinedNonMaxSuppression:
    """Return the best boxes of all classes of each image, as `tf.image.combined_non_max_suppression`.

    Args:
        boxes: Shape `[batch, num_boxes, 1 or classes, 4]`.
        scores: Shape `[batch, num_boxes, classes]`.
        max_output_size_per_class: How many of one class are kept at most.
        max_total_size: How many of all classes are kept at most.
        iou_threshold: As in :func:`non_max_suppression`, within a class.
        score_threshold: Likewise.
        pad_per_class: Whether there are no more detections than all classes can have.
        clip_boxes: Whether boxes end at 0 and 1.
        name: Ignored.

    Raises:
        BadArgumentError: If shapes don't fit, or the threshold is out of its range.
    """
    xp, (boxes, scores) = common(boxes, scores)
    check_boxes(boxes, rank=4)
    num_classes = scores.shape[-1]
    is_fitting = (
        scores.ndim == 3 and scores.shape[:2] == boxes.shape[:2] and boxes.shape[2] in (1, num_classes)
    )
    if not is_fitting:
        raise BadArgumentError(
            "Expected: boxes of shape [batch, num_boxes, 1 or classes, 4] and scores of shape [batch, num_boxes, "
            f"classes]. Received: boxes of shape={tuple(boxes.shape)}, scores of shape={tuple(scores.shape)}."
        )
    per_class, total = _whole(max_output_size_per_class), _whole(max_total_size)
    total = min(total, per_class * num_classes) if pad_per_class else total
    settings = per_class, iou_threshold, score_threshold
    images = [_combine(*pair, settings, total, clip_boxes, xp) for pair in zip(boxes, scores, strict=True)]
    return CombinedNonMaxSuppression(*(xp.stack(part) for part in zip(*images, strict=True)))


def _combine(boxes: Any, scores: Any, settings: Any, total: int, clip_boxes: bool, xp: Namespace) -> Any:
    """Return boxes, scores, classes and number of what is kept of one image."""
    found = []
    for number in range(scores.shape[-1]):
        own = boxes[:, min(number, boxes.shape[1] - 1)].astype("float32")
        places, kept, num = _of_boxes(own, scores[:, number], *settings)
        counts = xp.arange(places.shape[0]) < num
        classes = xp.full(places.shape, number, dtype="float32")
        found.append((own[places], xp.where(counts, kept, -np.inf), classes))
    boxes, scores, classes = (xp.concatenate([part[i] for part in found]) for i in range(3))
    order = xp.argsort(-scores, stable=True)[:total]
    is_one = scores[order] > -np.inf
    boxes, kept = boxes[order], xp.where(is_one, scores[order], 0).astype("float32")
    boxes = xp.where(is_one[:, None], xp.clip(boxes, 0, 1) if clip_boxes else boxes, 0)
    classes = xp.where(is_one, classes[order], 0)
    more = total - order.shape[0]
    parts = [xp.pad(part, [(0, more)] + [(0, 0)] * (part.ndim - 1)) for part in (boxes, kept, classes)]
    return *parts, xp.sum(is_one).astype("int32")
