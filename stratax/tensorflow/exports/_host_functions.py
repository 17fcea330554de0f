"""The functions that the host's part of an export may call: no others are ever looked up (export layer).

Each has the name that it has in TensorFlow below `tf`, by which a SavedModel has it, and is computed here by the
function that `Dataset.map` calls: with NumPy, on the host. `TEXT_IDS` is what a layer of text computes in one call.
"""

import functools
import importlib
from collections.abc import Callable
from typing import Any

from stratax.base.shown import shown
from stratax.errors import DataLossError

TEXT_IDS = "keras.layers.TextVectorization"
# By module: what a function is called in TensorFlow, and there.
_MADE_IN = {
    "stratax.data.elements._sparse": {
        "sparse.to_dense": "sparse_to_dense",
    },
    "stratax.data.examples._decode_raw": {
        "io.decode_raw": "decode_raw",
    },
    "stratax.data.examples._parse": {
        "io.parse_example": "parse_example",
        "io.parse_single_example": "parse_single_example",
    },
    "stratax.data.examples._tensor_proto": {
        "io.parse_tensor": "parse_tensor",
    },
    "stratax.data.readers.csv._dataset": {
        "io.decode_csv": "decode_csv",
    },
    "stratax.image._boxes": {
        "image.crop_and_resize": "crop_and_resize",
        "image.extract_glimpse": "extract_glimpse",
    },
    "stratax.image._color": {
        "image.adjust_brightness": "adjust_brightness",
        "image.adjust_contrast": "adjust_contrast",
        "image.adjust_gamma": "adjust_gamma",
        "image.adjust_hue": "adjust_hue",
        "image.adjust_saturation": "adjust_saturation",
        "image.grayscale_to_rgb": "grayscale_to_rgb",
        "image.hsv_to_rgb": "hsv_to_rgb",
        "image.per_image_standardization": "per_image_standardization",
        "image.rgb_to_grayscale": "rgb_to_grayscale",
        "image.rgb_to_hsv": "rgb_to_hsv",
    },
    "stratax.image._color_spaces": {
        "image.rgb_to_yuv": "rgb_to_yuv",
        "image.yuv_to_rgb": "yuv_to_rgb",
    },
    "stratax.image._decode": {
        "io.decode_and_crop_jpeg": "decode_and_crop_jpeg",
        "io.decode_bmp": "decode_bmp",
        "io.decode_gif": "decode_gif",
        "io.decode_image": "decode_image",
        "io.decode_jpeg": "decode_jpeg",
        "io.decode_png": "decode_png",
        "io.extract_jpeg_shape": "extract_jpeg_shape",
        "io.is_jpeg": "is_jpeg",
    },
    "stratax.image._dtypes": {
        "image.convert_image_dtype": "convert_image_dtype",
        "saturate_cast": "saturate_cast",
    },
    "stratax.image._encode": {
        "io.encode_jpeg": "encode_jpeg",
        "io.encode_png": "encode_png",
    },
    "stratax.image._geometry": {
        "image.central_crop": "central_crop",
        "image.crop_to_bounding_box": "crop_to_bounding_box",
        "image.flip_left_right": "flip_left_right",
        "image.flip_up_down": "flip_up_down",
        "image.pad_to_bounding_box": "pad_to_bounding_box",
        "image.resize_with_crop_or_pad": "resize_with_crop_or_pad",
        "image.rot90": "rot90",
        "image.transpose": "transpose",
    },
    "stratax.image._random": {
        "image.random_brightness": "random_brightness",
        "image.random_contrast": "random_contrast",
        "image.random_crop": "random_crop",
        "image.random_flip_left_right": "random_flip_left_right",
        "image.random_flip_up_down": "random_flip_up_down",
        "image.random_hue": "random_hue",
        "image.random_saturation": "random_saturation",
    },
    "stratax.image._resize": {
        "compat.v1.image.resize_area": "resize_area",
        "compat.v1.image.resize_bicubic": "resize_bicubic",
        "compat.v1.image.resize_bilinear": "resize_bilinear",
        "compat.v1.image.resize_images": "resize_images",
        "compat.v1.image.resize_nearest_neighbor": "resize_nearest_neighbor",
        "image.resize": "resize",
        "image.resize_with_pad": "resize_with_pad",
    },
    "stratax.tensorflow.ops.math.arithmetic": {
        "math.add_n": "add_n",
    },
    "stratax.tensorflow.ops.arrays.arrays": {
        "broadcast_to": "broadcast_to",
        "cast": "cast",
        "concat": "concat",
        "expand_dims": "expand_dims",
        "gather": "gather",
        "identity": "identity",
        "one_hot": "one_hot",
        "pad": "pad",
        "rank": "rank",
        "repeat": "repeat",
        "reshape": "reshape",
        "reverse": "reverse",
        "shape": "shape",
        "size": "size",
        "split": "split",
        "squeeze": "squeeze",
        "stack": "stack",
        "tile": "tile",
        "transpose": "transpose",
        "unstack": "unstack",
        "where": "where",
    },
    "stratax.tensorflow.ops.math.bits": {
        "bitcast": "bitcast",
    },
    "stratax.tensorflow.ops.calls.creation": {
        "convert_to_tensor": "convert_to_tensor",
        "fill": "fill",
        "ones_like": "ones_like",
        "zeros_like": "zeros_like",
    },
    "stratax.tensorflow.ops.math.elementwise": {
        "clip_by_value": "clip_by_value",
        "math.abs": "abs",
        "math.add": "add",
        "math.ceil": "ceil",
        "math.cos": "cos",
        "math.divide": "divide",
        "math.divide_no_nan": "divide_no_nan",
        "math.equal": "equal",
        "math.exp": "exp",
        "math.floor": "floor",
        "math.floordiv": "floordiv",
        "math.floormod": "mod",
        "math.greater": "greater",
        "math.greater_equal": "greater_equal",
        "math.is_finite": "is_finite",
        "math.is_nan": "is_nan",
        "math.less": "less",
        "math.less_equal": "less_equal",
        "math.log": "log",
        "math.log1p": "log1p",
        "math.logical_and": "logical_and",
        "math.logical_not": "logical_not",
        "math.logical_or": "logical_or",
        "math.maximum": "maximum",
        "math.minimum": "minimum",
        "math.multiply": "multiply",
        "math.negative": "negative",
        "math.not_equal": "not_equal",
        "math.pow": "pow",
        "math.round": "round",
        "math.rsqrt": "rsqrt",
        "math.sigmoid": "sigmoid",
        "math.sign": "sign",
        "math.sin": "sin",
        "math.sqrt": "sqrt",
        "math.square": "square",
        "math.squared_difference": "squared_difference",
        "math.subtract": "subtract",
        "math.tanh": "tanh",
    },
    "stratax.tensorflow.ops.text.encodings": {
        "io.decode_base64": "decode_base64",
        "io.decode_compressed": "decode_compressed",
        "io.encode_base64": "encode_base64",
    },
    "stratax.tensorflow.ops.arrays.indexing": {
        "boolean_mask": "boolean_mask",
        "gather_nd": "gather_nd",
        "meshgrid": "meshgrid",
        "slice": "slice",
        "strided_slice": "strided_slice",
    },
    "stratax.tensorflow.ops.math.linalg": {
        "linalg.matmul": "matmul",
    },
    "stratax.tensorflow.ops.tables.lookup": {
        "lookup.StaticHashTable.lookup": "StaticHashTable.lookup",
        "lookup.StaticVocabularyTable.lookup": "StaticVocabularyTable.lookup",
    },
    "stratax.tensorflow.ops.control.mapping": {
        "map_fn": "map_fn",
    },
    "stratax.tensorflow.ops.arrays.ordering": {
        "argsort": "argsort",
        "math.top_k": "top_k",
        "searchsorted": "searchsorted",
        "sort": "sort",
        "unique": "unique",
    },
    "stratax.tensorflow.ops.math.reductions": {
        "math.argmax": "argmax",
        "math.argmin": "argmin",
        "math.cumsum": "cumsum",
        "math.reduce_all": "reduce_all",
        "math.reduce_any": "reduce_any",
        "math.reduce_max": "reduce_max",
        "math.reduce_mean": "reduce_mean",
        "math.reduce_min": "reduce_min",
        "math.reduce_prod": "reduce_prod",
        "math.reduce_std": "reduce_std",
        "math.reduce_sum": "reduce_sum",
        "math.reduce_variance": "reduce_variance",
    },
    "stratax.tensorflow.ops.arrays.shapes": {
        "ensure_shape": "ensure_shape",
    },
    "stratax.tensorflow.ops.arrays.sparse": {
        "sparse.concat": "concat",
        "sparse.cross_hashed": "cross_hashed",
        "sparse.reset_shape": "reset_shape",
        "sparse.slice": "slice",
    },
    "stratax.tensorflow.ops.text.string_parts": {
        "strings.bytes_split": "bytes_split",
        "strings.format": "format",
        "strings.ngrams": "ngrams",
        "strings.reduce_join": "reduce_join",
        "strings.split": "split",
    },
    "stratax.tensorflow.ops.text.strings": {
        "strings.as_string": "as_string",
        "strings.join": "join",
        "strings.length": "length",
        "strings.lower": "lower",
        "strings.regex_full_match": "regex_full_match",
        "strings.regex_replace": "regex_replace",
        "strings.strip": "strip",
        "strings.substr": "substr",
        "strings.to_hash_bucket": "to_hash_bucket",
        "strings.to_hash_bucket_fast": "to_hash_bucket_fast",
        "strings.to_hash_bucket_strong": "to_hash_bucket_strong",
        "strings.to_number": "to_number",
        "strings.upper": "upper",
    },
    "stratax.tensorflow.ops.text.vectorized": {
        TEXT_IDS: "text_ids",
    },
    "stratax.tensorflow.ops.text.unicode": {
        "strings.unicode_decode": "unicode_decode",
        "strings.unicode_encode": "unicode_encode",
        "strings.unicode_split": "unicode_split",
        "strings.unicode_transcode": "unicode_transcode",
    },
}
_WHERE = {name: (module, each) for module, names in _MADE_IN.items() for name, each in names.items()}
NAMES = frozenset(_WHERE)


@functools.cache
def function_named(name: str) -> Callable[..., Any]:
    """Return the function of a name.

    Raises:
        DataLossError: An export may not call it.
    """
    if name not in _WHERE:
        raise DataLossError(f"The host's part of an export may not call {shown(name)}.")
    module, path = _WHERE[name]
    found: Any = importlib.import_module(module)
    for part in path.split("."):
        found = getattr(found, part)
    return found  # type: ignore[no-any-return]


def name_of(function: object) -> str | None:
    """Return by which name an export calls a function; None if it may not."""
    return _names().get(id(function))


@functools.cache
def _names() -> dict[int, str]:
    # The functions live as long as their modules.
    return {id(function_named(name)): name for name in NAMES}
