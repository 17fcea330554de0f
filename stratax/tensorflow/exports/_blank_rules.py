"""What functions give for blank examples that do not take blank text: arrays of new sizes (export layer)."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from stratax.base.shown import shown
from stratax.data import FixedLenFeature, FixedLenSequenceFeature, SparseTensor, VarLenFeature
from stratax.errors import BadArgumentError, BadTypeError
from stratax.tensorflow.exports import _host_functions

# What many functions of text take.
BLANK = b"0"


class NewSizes:
    """Sizes that are not known, by their numbers, in one of the two blank examples.

    Args:
        make: Gives one more, in both.
        made: Those that there are.
        which: The example.
    """

    def __init__(self, make: Callable[..., tuple[int, int]], made: list[tuple[int, int]], which: int) -> None:
        self._make = make
        self._made = made
        self._which = which

    def __getitem__(self, number: int) -> int:
        return self._of(number, are_small=False)

    def small(self, number: int) -> int:
        """Return one of something that is never large."""
        return self._of(number, are_small=True)

    def _of(self, number: int, *, are_small: bool) -> int:
        while number >= len(self._made):
            self._made.append(self._make(are_small=are_small and number == len(self._made)))
        return self._made[number][self._which]


def _make_image(
    sizes: NewSizes,
    contents: object,
    channels: int = 0,
    *args: object,
    dtype: object = np.uint8,
    **kwargs: object,
) -> Any:
    del contents, args, kwargs
    return np.zeros((sizes[0], sizes[1], channels or sizes.small(2)), getattr(dtype, "as_numpy_dtype", dtype))


def _make_any_image(
    sizes: NewSizes,
    contents: object,
    channels: int | None = None,
    dtype: object = np.uint8,
    name: object = None,
    expand_animations: bool = True,
) -> Any:
    if expand_animations:
        raise BadArgumentError(
            "The number of dimensions of an image is not known before it is decoded. Expected: "
            "tf.io.decode_image(contents, channels=3, expand_animations=False). Received: expand_animations=True."
        )
    del name
    return _make_image(sizes, contents, channels or 0, dtype=dtype)


def _make_cropped_image(
    sizes: NewSizes, contents: object, crop_window: object, channels: int = 0, **kwargs: object
) -> Any:
    del contents, crop_window, kwargs
    return np.zeros((sizes[0], sizes[1], channels or sizes.small(2)), np.uint8)


def _animation(sizes: NewSizes, contents: object, **kwargs: object) -> Any:
    del contents, kwargs
    return np.zeros((sizes[0], sizes[1], sizes[2], 3), np.uint8)


def _make_box(
    sizes: NewSizes,
    image: Any,
    offset_height: object,
    offset_width: object,
    target_height: Any,
    target_width: Any,
) -> Any:
    del sizes, offset_height, offset_width
    image = np.asarray(image)
    # Whether the box fits is known when the export runs.
    shape = (*image.shape[:-3], int(target_height), int(target_width), image.shape[-1])
    return np.zeros(shape, image.dtype)


def _make_raw(sizes: NewSizes, contents: Any, out_type: Any, *args: Any, **kwargs: Any) -> Any:
    del args, kwargs
    dtype = np.dtype(getattr(out_type, "as_numpy_dtype", out_type))
    return np.zeros((*np.shape(contents), sizes[0]), dtype)


def _same_text(sizes: NewSizes, contents: Any, *args: Any, **kwargs: Any) -> Any:
    del sizes, args, kwargs
    return _full(np.shape(contents), BLANK)


def _truths(sizes: NewSizes, contents: Any, *args: object, **kwargs: Any) -> Any:
    del sizes, args, kwargs
    return np.zeros(np.shape(contents), np.bool_)


def _ensure(sizes: NewSizes, x: Any, shape: Any, **kwargs: object) -> Any:
    del sizes, kwargs
    own = np.shape(x)
    if len(own) != len(shape):
        raise BadArgumentError(f"A value of {len(own)} dimensions is said to have the shape {shown(shape)}.")
    made = [have if size is None else int(size) for have, size in zip(own, shape, strict=True)]
    return _blank_array(tuple(made), np.asarray(x).dtype)


def _reshape(sizes: NewSizes, tensor: object, shape: object, **kwargs: object) -> Any:
    del sizes, kwargs
    array = np.asarray(tensor, object if isinstance(tensor, bytes) else None)
    wanted = [int(size) for size in np.asarray(shape).reshape(-1)]
    try:
        return array.reshape(wanted)
    except ValueError:
        # Of bytes, whose number is not known: it is checked when the export runs. What is left belongs to the examples.
        rows = array.shape[0] if array.ndim else 1
        return _blank_array(tuple(rows if size == -1 else size for size in wanted), array.dtype)


def _part_of_text(sizes: NewSizes, input: Any, pos: Any, *args: object, **kwargs: Any) -> Any:
    del sizes, args, kwargs
    # Blank text is short: whether a part is in it is known when the export runs.
    return _full(np.broadcast_shapes(np.shape(input), np.shape(pos)), BLANK)


def _mask(sizes: NewSizes, tensor: Any, mask: Any, axis: int | None = None, **kwargs: object) -> Any:
    del kwargs
    tensor, first = np.asarray(tensor), axis or 0
    shape = (*tensor.shape[:first], sizes[0], *tensor.shape[first + np.ndim(mask) :])
    return _blank_array(shape, tensor.dtype)


def _unique(sizes: NewSizes, x: object, *args: object, **kwargs: object) -> Any:
    found = _host_functions.function_named("unique")(x, *args, **kwargs)
    return found._replace(y=_blank_array((sizes[0],), np.asarray(x).dtype))


def _make_pieces(sizes: NewSizes, input: object, *args: object, **kwargs: object) -> Any:
    return _divide(sizes, input, np.dtype(object))


def _make_characters(sizes: NewSizes, input: object, *args: object, **kwargs: object) -> Any:
    return _divide(sizes, input, np.dtype(np.int32))


def _divide(sizes: NewSizes, text: Any, dtype: np.dtype) -> np.ndarray:
    if np.ndim(text):
        raise BadTypeError(
            "The host's part of an export has no RaggedTensors, which several strings become. Expected: one string, in "
            "tf.map_fn for instance, whose function gives something of a size that all have. Received: text of "
            f"{np.ndim(text)} dimensions."
        )
    return _blank_array((sizes[0],), dtype)


def _three_sizes(sizes: NewSizes, *args: object, **kwargs: object) -> Any:
    del sizes, args, kwargs
    return np.ones(3, np.int32)


def _make_features(
    sizes: NewSizes, serialized: Any, features: Mapping[str, Any], *args: object, **kwargs: object
) -> Any:
    del args, kwargs
    batch = np.shape(serialized)
    # Each feature has a length of its own, and a number of values.
    return {
        key: _make_feature(key, each, batch, sizes, 2 * index)
        for index, (key, each) in enumerate(features.items())
    }


def _make_feature(key: str, feature: object, batch: tuple[int, ...], sizes: NewSizes, first: int) -> Any:
    if isinstance(feature, FixedLenFeature):
        return _blank_array((*batch, *feature.shape), feature.dtype)
    if isinstance(feature, FixedLenSequenceFeature):
        return _blank_array((*batch, sizes[first], *feature.shape), feature.dtype)
    if isinstance(feature, VarLenFeature):
        width = sizes[first]
        return _varying(batch, width, sizes[first + 1] if batch else width, feature.dtype)
    raise BadTypeError(
        "The host's part of an export parses FixedLenFeature, FixedLenSequenceFeature and VarLenFeature. Received: "
        f"{shown(feature)} for {shown(key)}."
    )


def _cross(sizes: NewSizes, inputs: Any, *args: object, **kwargs: object) -> Any:
    del args, kwargs
    first = inputs[0]
    rows = int(first.dense_shape[0]) if isinstance(first, SparseTensor) else len(first)
    return _varying((rows,), sizes[0], sizes[1], np.int64)


def _varying(batch: tuple[int, ...], width: int, count: int, dtype: object) -> SparseTensor:
    """Return a SparseTensor of so many values: the first row is full, and the others have more."""
    places = [divmod(place, width) for place in range(count)] if batch else [(each,) for each in range(count)]
    return SparseTensor(
        np.array(places, np.int64), _blank_array((count,), dtype), np.array([*batch, width], np.int64)
    )


def _blank_array(shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    dtype = np.dtype(getattr(dtype, "as_numpy_dtype", dtype))
    return _full(shape, BLANK) if dtype.hasobject else np.zeros(shape, dtype)


def _full(shape: tuple[int, ...], value: bytes) -> np.ndarray:
    made = np.empty(shape, object)
    made[...] = value
    return made


RULES: dict[str, Callable[..., Any]] = {
    "image.crop_to_bounding_box": _make_box,
    "image.pad_to_bounding_box": _make_box,
    "io.decode_jpeg": _make_image,
    "io.decode_png": _make_image,
    "io.decode_bmp": _make_image,
    "io.decode_gif": _animation,
    "io.decode_image": _make_any_image,
    "io.decode_and_crop_jpeg": _make_cropped_image,
    "io.decode_raw": _make_raw,
    "io.decode_base64": _same_text,
    "io.decode_compressed": _same_text,
    "io.extract_jpeg_shape": _three_sizes,
    "io.is_jpeg": _truths,
    "boolean_mask": _mask,
    "strings.bytes_split": _make_pieces,
    "strings.split": _make_pieces,
    "strings.substr": _part_of_text,
    "strings.unicode_decode": _make_characters,
    "strings.unicode_split": _make_pieces,
    "unique": _unique,
    "ensure_shape": _ensure,
    "reshape": _reshape,
    "io.parse_example": _make_features,
    "sparse.cross_hashed": _cross,
    "io.parse_single_example": _make_features,
}
