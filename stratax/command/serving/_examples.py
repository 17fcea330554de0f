"""Requests of `:classify` and `:regress`: Examples in JSON, by TensorFlow Serving's rules (serving layer)."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from stratax.base.shown import shown
from stratax.command.serving._requests import array_of, decode_base64
from stratax.data import BytesList, Example, Feature, Features, FloatList, Int64List
from stratax.errors import BadArgumentError, BadTypeError
from stratax.export import TensorInfo

_LARGEST = float(np.finfo(np.float32).max)
_LIMITS = (-(1 << 63), (1 << 63) - 1)


def examples_request(values: Mapping[str, Any], inputs: Mapping[str, TensorInfo]) -> dict[str, np.ndarray]:
    """Return the arrays of a `:classify` or `:regress`.

    Args:
        values: The request's object: `examples`, and what all of them share in `context`.
        inputs: What the signature takes: serialized Examples, or the features themselves.

    Raises:
        BadArgumentError: There are no examples, or a feature of other values.
        BadTypeError: A value is of another type.
    """
    rows = values.get("examples")
    if not isinstance(rows, list) or not rows:
        raise BadArgumentError("Expected 'examples' to be a list of at least one object.")
    context = values.get("context", {})
    for what, each in (
        ("'context'", context),
        *((f"item {n} of 'examples'", row) for n, row in enumerate(rows)),
    ):
        if not isinstance(each, dict):
            raise BadTypeError(f"Expected an object as {what}. Received: {shown(each)}.")
    merged = [{**context, **row} for row in rows]
    if _takes_examples(inputs):
        (name,) = inputs
        made = np.empty(len(merged), object)
        made[:] = [_serialize(row) for row in merged]
        return {name: made}
    for number, row in enumerate(merged):
        if missing := [name for name in inputs if name not in row]:
            raise BadArgumentError(f"Item {number} of 'examples' has no feature {shown(missing[0])}.")
    return {name: array_of(name, [row[name] for row in merged], info) for name, info in inputs.items()}


def _takes_examples(inputs: Mapping[str, TensorInfo]) -> bool:
    infos = list(inputs.values())
    return len(infos) == 1 and infos[0].dtype == "string" and len(infos[0].shape) == 1


def _serialize(row: Mapping[str, Any]) -> bytes:
    return Example(
        features=Features(feature={name: _feature(name, value) for name, value in row.items()})
    ).SerializeToString()


def _feature(name: str, value: Any) -> Any:
    """Return a feature: of text, of whole numbers, or of fractions, as its values are."""
    listed = value if isinstance(value, list) else [value]
    kinds = {_kind_of(name, each) for each in listed}
    if len(kinds) > 1:
        raise BadTypeError(f"The values of feature {shown(name)} are of several types. Expected: of one.")
    kind = kinds.pop() if kinds else None
    if kind == "bytes":
        return Feature(bytes_list=BytesList(value=[_bytes(name, each) for each in listed]))
    if kind == "int":
        return Feature(int64_list=Int64List(value=[int(each) for each in listed]))
    return Feature(float_list=FloatList(value=[float(each) for each in listed])) if kind else Feature()


def _kind_of(name: str, value: object) -> str:
    if isinstance(value, str) or (
        isinstance(value, dict) and list(value) == ["b64"] and isinstance(value["b64"], str)
    ):
        return "bytes"
    if isinstance(value, bool | int):
        if not _LIMITS[0] <= value <= _LIMITS[1]:
            raise BadArgumentError(f"Feature {shown(name)} has a whole number that 64 bits do not hold.")
        return "int"
    if isinstance(value, float):
        if math.isfinite(value) and abs(value) > _LARGEST:
            raise BadArgumentError(f"Feature {shown(name)} has a number that float32 does not hold: {value}.")
        return "float"
    raise BadTypeError(
        f"Feature {shown(name)} has a value of another type. Expected: text, numbers, "
        f'{{"b64": "..."}} or a list of these. Received: {shown(value)}.'
    )


def _bytes(name: str, value: object) -> bytes:
    if isinstance(value, dict):
        return decode_base64(value["b64"])
    try:
        return str(value).encode()
    except UnicodeEncodeError as error:
        raise BadArgumentError(
            f"Feature {shown(name)} has text with half of a surrogate pair, which UTF-8 does not have."
        ) from error
