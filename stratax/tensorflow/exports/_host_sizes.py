"""How large the results of a plan's calls get, as far as it is known before they are made (export layer).

Most functions give no more than they take. Those that don't have their sizes among their arguments, or extend arrays
along each other's dimensions.
"""

import inspect
import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from stratax.base.bounds import check_bytes
from stratax.export.parts import leaves_in
from stratax.tensorflow.exports._host_functions import TEXT_IDS, function_named

# What no element is larger than.
_ITEM = 8

Arguments = Mapping[str, Any]


def check_result(name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
    """Look whether the result of a call may be made.

    Args:
        name: The function's name below `tf`.
        args: Its arguments.
        kwargs: Its arguments by name.

    Raises:
        BadArgumentError: It would be too large.
    """
    what = f"tf.{name}"
    arrays = [each for each in leaves_in((args, dict(kwargs))) if isinstance(each, np.ndarray)]
    check_bytes(what, [sum(each.nbytes for each in arrays)], 1)
    if name in _SIZES:
        given = inspect.signature(function_named(name)).bind(*args, **kwargs).arguments
        check_bytes(what, _SIZES[name](given), _ITEM)
    elif name.startswith("math.") or name in ("where", "clip_by_value"):
        check_bytes(what, _broadcast(arrays), _ITEM)


def _broadcast(arrays: list[np.ndarray]) -> tuple[int, ...]:
    try:
        return np.broadcast_shapes(*(each.shape for each in arrays))
    except ValueError:  # The function itself says what is wrong.
        return ()


def _of(value: object) -> list[int]:
    """Return sizes; what are none is left to the function."""
    found = np.asarray(value).reshape(-1)
    return [max(0, each) for each in found.tolist()] if found.dtype.kind in "iu" else []


def _images(value: Any, size: Any) -> list[int]:
    """Return the sizes of images of another height and width."""
    shape = np.shape(value)
    return [*shape[:-3], *_of(size), *shape[-1:]]


def _measure_tile(given: Arguments) -> list[int]:
    return [np.size(given["input"]), *_of(given["multiples"])]


def _measure_repeat(given: Arguments) -> list[int]:
    size, repeats = np.size(given["input"]), _of(given["repeats"])
    # One number is of all elements; several are each of a part of the same size.
    return [size // len(repeats), sum(repeats)] if repeats else []


def _measure_pad(given: Arguments) -> list[int]:
    paddings = np.asarray(given["paddings"])
    if paddings.dtype.kind not in "iu" or paddings.shape != (np.ndim(given["tensor"]), 2):
        return []
    return [size + sum(both) for size, both in zip(np.shape(given["tensor"]), paddings.tolist(), strict=True)]


def _measure_matmul(given: Arguments) -> list[int]:
    a, b = np.shape(given["a"]), np.shape(given["b"])
    if min(len(a), len(b)) < 2:
        return []
    is_a_turned, is_b_turned = (
        given.get(f"transpose_{each}") or given.get(f"adjoint_{each}") for each in "ab"
    )
    return [*np.broadcast_shapes(a[:-2], b[:-2]), a[-1 if is_a_turned else -2], b[-2 if is_b_turned else -1]]


def _measure_gather(given: Arguments) -> list[int]:
    shape, batch = np.shape(given["params"]), int(given.get("batch_dims", 0))
    axis = batch if given.get("axis") is None else int(given["axis"])
    if not -len(shape) <= axis < len(shape):
        return []
    # Each index takes a row, of its own example where there are dimensions of a batch.
    rest = math.prod(shape) // max(1, shape[axis] * math.prod(shape[: max(0, batch)]))
    return [np.size(given["indices"]), rest]


def _measure_crop(given: Arguments) -> list[int]:
    return [len(given["boxes"]), *_of(given["crop_size"]), *np.shape(given["image"])[-1:]]


def _measure_resize(given: Arguments) -> list[int]:
    return _images(given["images"], given["size"])


def _to_target(given: Arguments) -> list[int]:
    return _images(given["image"], [given["target_height"], given["target_width"]])


def _measure_text(given: Arguments) -> list[int]:
    texts, widths = np.asarray(given["texts"], object).reshape(-1), given.get("ngrams") or (1,)
    if given.get("length") is not None:
        return [len(texts), *_of(given["length"])]
    # Each text has at most as many terms as bytes, and its row is as long as the longest.
    return [len(texts), len(widths), max((len(each) for each in texts if isinstance(each, bytes)), default=0)]


_SIZES: Mapping[str, Callable[[Arguments], list[int]]] = {
    "broadcast_to": lambda given: _of(given["shape"]),
    "fill": lambda given: _of(given["dims"]),
    "gather": _measure_gather,
    "image.crop_and_resize": _measure_crop,
    "image.pad_to_bounding_box": _to_target,
    "image.resize_with_crop_or_pad": _to_target,
    "image.resize_with_pad": _to_target,
    "linalg.matmul": _measure_matmul,
    "meshgrid": lambda given: [np.size(each) for each in given.get("args", ())],
    "one_hot": lambda given: [np.size(given["indices"]), *_of(given["depth"])],
    "pad": _measure_pad,
    "repeat": _measure_repeat,
    TEXT_IDS: _measure_text,
    "tile": _measure_tile,
    "strings.ngrams": lambda given: [np.size(given["data"]), sum(_of(given["ngram_width"]))],
    **dict.fromkeys(
        [
            "image.resize",
            *(
                f"compat.v1.image.resize_{each}"
                for each in ("area", "bicubic", "bilinear", "images", "nearest_neighbor")
            ),
        ],
        _measure_resize,
    ),
}
