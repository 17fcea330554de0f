"""Text that functions can read, for trials of their shapes: lines, records, files of several sizes (graph layer)."""

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from stratax.data import (
    BytesList,
    Example,
    Feature,
    FeatureList,
    FeatureLists,
    Features,
    FloatList,
    Int64List,
    SequenceExample,
)
from stratax.image import encode_jpeg
from stratax.tensorflow.graph._nodes import GraphCall

_Arguments = Mapping[str, Any]
# Bytes of the largest number.
_WIDEST = 16


def _line(given: _Arguments, size: int) -> bytes:
    columns = given.get("select_cols")
    count = max(columns) + 1 if columns else len(given["record_defaults"])
    return given.get("field_delim", ",").encode().join([b"0"] * count)


def _picture(given: _Arguments, size: int) -> bytes:
    # Gray or colored, where the program does not say it.
    return encode_jpeg(np.zeros((size, size + 1, 1 if size % 2 else 3), np.uint8))


def _feature(kind: Any, size: int, *, is_row: bool = False) -> Any:
    """Return a feature of zeros, with as many values as there may be."""
    sizes = getattr(kind, "shape", None)
    count = size if sizes is None else int(np.prod(sizes, dtype=int))
    if type(kind).__name__ == "FixedLenSequenceFeature" and not is_row:
        count *= size
    dtype = np.dtype(kind.dtype)
    if dtype.hasobject:
        return Feature(bytes_list=BytesList(value=[b""] * count))
    if dtype.kind == "f":
        return Feature(float_list=FloatList(value=[0.0] * count))
    return Feature(int64_list=Int64List(value=[0] * count))


def _example(given: _Arguments, size: int) -> bytes:
    features = {
        name: _feature(kind, size) for name, kind in given["features"].items() if hasattr(kind, "dtype")
    }
    return Example(features=Features(feature=features)).SerializeToString()


def _sequence(given: _Arguments, size: int) -> bytes:
    context = {name: _feature(kind, size) for name, kind in (given.get("context_features") or {}).items()}
    lists = {
        name: FeatureList(feature=[_feature(kind, size, is_row=True)] * size)
        for name, kind in (given.get("sequence_features") or {}).items()
    }
    return SequenceExample(
        context=Features(feature=context), feature_lists=FeatureLists(feature_list=lists)
    ).SerializeToString()


# By the names of functions: what makes such a text, of the call's arguments and a size.
_MAKERS: dict[str, Callable[[_Arguments, int], bytes]] = {
    "decode_csv": _line,
    "decode_raw": lambda given, size: bytes(_WIDEST * size),
    "decode_jpeg": _picture,
    "decode_png": _picture,
    "decode_image": _picture,
    "parse_example": _example,
    "parse_single_example": _example,
    "parse_single_sequence_example": _sequence,
    "string_split": lambda given, size: b" ".join([b"0"] * size),
    "string_to_number": lambda given, size: b"0",
    "to_number": lambda given, size: b"0",
}


def has_blanks(call: GraphCall) -> bool:
    """Return whether a call reads text that it could not read if it was empty."""
    return getattr(call.function, "__name__", "") in _MAKERS


def make_blank(call: GraphCall, number: int) -> bytes:
    """Return a text that a call can read.

    Args:
        call: The call.
        number: Which of the trials it is for: what has no fixed size has another one in each.
    """
    function: Any = call.function
    given = inspect.signature(function).bind(*call.args, **call.kwargs).arguments
    return _MAKERS[function.__name__](given, number + 2)
