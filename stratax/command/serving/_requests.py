"""From a request's JSON to arrays, by TensorFlow Serving's rules (serving layer).

A value of JSON becomes a number only where nothing is lost: `true` is no number, `1.5` no integer, and `16777217` no
float32. NaN, Infinity and -Infinity are numbers, as in TensorFlow Serving; `1e999` is none.
"""

import base64
import binascii
import dataclasses
import json
from collections.abc import Mapping, Sequence
from typing import Any

import ml_dtypes
import numpy as np

from stratax.base.shown import shown
from stratax.errors import BadArgumentError, BadTypeError
from stratax.export import TensorInfo

DEFAULT_SIGNATURE = "serving_default"


class _Constant(float):
    """`NaN`, `Infinity` or `-Infinity`, as it stood in the text: `1e999`, which Python reads as infinity, is none."""


@dataclasses.dataclass(frozen=True, slots=True)
class PredictRequest:
    """What a `:predict` asks.

    Attributes:
        arrays: What the signature takes, by name.
        is_row_wise: Whether it came as `instances`; else as `inputs`.
    """

    arrays: Mapping[str, np.ndarray]
    is_row_wise: bool


def parse_body(body: bytes | bytearray) -> dict[str, Any]:
    """Return the object that a body is.

    Raises:
        BadArgumentError: It is no JSON, or no object.
    """
    try:
        found = json.loads(body.decode(), parse_constant=_Constant)
    except UnicodeDecodeError as error:
        raise BadArgumentError(
            f"JSON Parse error: the body is no UTF-8 text at offset {error.start}. Binary data is sent as "
            '{"b64": "..."}.'
        ) from error
    except RecursionError as error:
        raise BadArgumentError("JSON Parse error: lists or objects are nested too deeply.") from error
    except ValueError as error:
        raise BadArgumentError(f"JSON Parse error: {str(error)[:200]}") from error
    if not isinstance(found, dict):
        raise BadArgumentError(f"The body must be a JSON object. Received: {_kind(found)}.")
    return found


def signature_name(values: Mapping[str, Any]) -> str:
    """Return the name of the signature that a request asks for.

    Raises:
        BadTypeError: It is no text.
    """
    name = values.get("signature_name", DEFAULT_SIGNATURE)
    if not isinstance(name, str):
        raise BadTypeError(f"'signature_name' must be a string. Received: {_kind(name)}.")
    return name or DEFAULT_SIGNATURE


def predict_request(values: Mapping[str, Any], inputs: Mapping[str, TensorInfo]) -> PredictRequest:
    """Return the arrays of a `:predict`.

    Args:
        values: The request's object.
        inputs: What the signature takes.

    Raises:
        BadArgumentError: There are none, or of another shape.
        BadTypeError: A value is of another type.
    """
    if "instances" in values and "inputs" in values:
        raise BadArgumentError("Expected only one of 'inputs' and 'instances'. Received: both.")
    if "instances" in values:
        return PredictRequest(_of_instances(values["instances"], inputs), True)
    if "inputs" in values:
        return PredictRequest(_of_inputs(values["inputs"], inputs), False)
    raise BadArgumentError("Missing 'inputs' or 'instances' key.")


def _of_instances(rows: object, inputs: Mapping[str, TensorInfo]) -> dict[str, np.ndarray]:
    if not isinstance(rows, list):
        raise BadTypeError(f"Expected 'instances' to be a list. Received: {_kind(rows)}.")
    if not rows:
        raise BadArgumentError("No values in the 'instances' list.")
    if inputs and all(info.shape == () for info in inputs.values()):
        return _of_one_instance(rows, inputs)
    is_named = _is_named(rows[0])
    if not is_named and len(inputs) != 1:
        raise BadArgumentError(
            f"'instances' is a plain list, and the signature takes several inputs. Expected: a list of objects with "
            f"the keys {', '.join(inputs)}."
        )
    if not is_named:
        (name,) = inputs
        return {name: array_of(name, rows, inputs[name])}
    for number, row in enumerate(rows):
        if not _is_named(row):
            raise BadTypeError(f"Expected an object at item {number} of 'instances'. Received: {_kind(row)}.")
        if row.keys() != inputs.keys():
            raise BadArgumentError(
                f"The keys of item {number} of 'instances' must be {', '.join(inputs)}. Received: {shown(list(row))}."
            )
    return {name: array_of(name, [row[name] for row in rows], info) for name, info in inputs.items()}


def _of_one_instance(rows: list[Any], inputs: Mapping[str, TensorInfo]) -> dict[str, np.ndarray]:
    """Return what the only row is to a signature that has no batches.

    TensorFlow Serving gives its graph a list of one, which programs undo with a `squeeze`.
    """
    if len(rows) > 1:
        raise BadArgumentError(
            f"The signature takes one instance at a time: its inputs have no batch dimension. Received: {len(rows)}. "
            "Send each by itself, or export with inputs of shape [None]."
        )
    return _of_inputs(rows[0], inputs, "item 0 of 'instances'")


def _of_inputs(
    value: Any, inputs: Mapping[str, TensorInfo], where: str = "'inputs'"
) -> dict[str, np.ndarray]:
    if not _is_named(value):
        if len(inputs) != 1:
            raise BadArgumentError(
                f"{where} is a plain value or list, and the signature takes several inputs. Expected: an object with "
                f"the keys {', '.join(inputs)}."
            )
        (name,) = inputs
        return {name: array_of(name, value, inputs[name])}
    # TensorFlow Serving takes no notice of others, and so of misspelt ones.
    if value.keys() != inputs.keys():
        raise BadArgumentError(
            f"The keys of {where} must be {', '.join(inputs)}. Received: {shown(list(value))}."
        )
    return {name: array_of(name, value[name], info) for name, info in inputs.items()}


def array_of(name: str, value: object, info: TensorInfo) -> np.ndarray:
    """Return a value of JSON as an array.

    Args:
        name: The input's name, for errors.
        value: Numbers, texts, ``{"b64": ...}`` or lists of these.
        info: What is expected.

    Raises:
        BadArgumentError: It has another shape.
        BadTypeError: A value is not of its type.
    """
    shape: list[int] = []
    leaves: list[Any] = [value]
    while leaves and isinstance(leaves[0], list):
        size = len(leaves[0])
        if any(not isinstance(each, list) or len(each) != size for each in leaves):
            raise _other_shape(name, info, f"lists of different lengths in dimension {len(shape)}")
        if len(shape) == len(info.shape):
            raise _other_shape(name, info, "more dimensions")
        shape.append(size)
        leaves = leaves[0] if len(leaves) == 1 else [leaf for each in leaves for leaf in each]
    if len(shape) < len(info.shape) and not (shape and shape[-1] == 0):
        raise _other_shape(name, info, f"shape {tuple(shape)}")
    # Lists without a value do not say how they would go on.
    shape += [size or 0 for size in info.shape[len(shape) :]]
    if any(size is not None and size != have for size, have in zip(info.shape, shape, strict=True)):
        raise _other_shape(name, info, f"shape {tuple(shape)}")
    flat = _texts(name, leaves, info) if info.dtype == "string" else _numbers(name, leaves, info)
    return flat.reshape(shape)


def _numbers(name: str, leaves: Sequence[Any], info: TensorInfo) -> np.ndarray:
    dtype = info.numpy_dtype
    types = set(map(type, leaves))
    kind = _kind_of(dtype)
    if kind not in _TYPES:
        raise BadTypeError(f"Input {shown(name)} can't be sent as JSON. Its dtype is {info.dtype}.")
    if wrong := types - _TYPES[kind]:
        found = next(each for each in leaves if type(each) in wrong)
        raise _other_value(name, info, found)
    if kind == "int":
        limits = np.iinfo(dtype) if dtype.kind in "iu" else ml_dtypes.iinfo(dtype)
        for each in (min(leaves, default=0), max(leaves, default=0)):
            if not limits.min <= each <= limits.max:
                raise _lossy(name, info, each)
    if kind == "float":
        floats = ml_dtypes.finfo(dtype)
        most, most_whole = float(floats.max), 2 ** (floats.nmant + 1) - 1
        if int in types:
            for each in leaves:
                if type(each) is int and abs(each) > most_whole:
                    raise _lossy(name, info, each)
        doubles = np.array(leaves, np.float64)
        for position in np.flatnonzero(np.abs(doubles) > most).tolist():
            if type(leaves[position]) is not _Constant:
                raise _lossy(name, info, leaves[position])
        return doubles.astype(dtype)
    return np.array(leaves, dtype)


_TYPES: dict[str, set[type]] = {"bool": {bool}, "int": {int}, "float": {int, float, _Constant}}


def _kind_of(dtype: Any) -> str:
    if dtype.kind == "b":
        return "bool"
    if dtype.kind in "iu" or dtype.name in ("int4", "uint4"):
        return "int"
    return "complex" if dtype.kind == "c" else "float"


def _texts(name: str, leaves: Sequence[Any], info: TensorInfo) -> np.ndarray:
    made = np.empty(len(leaves), object)
    for position, each in enumerate(leaves):
        if isinstance(each, str):
            try:
                made[position] = each.encode()
            except UnicodeEncodeError as error:
                raise BadArgumentError(
                    f"Input {shown(name)} has text with half of a surrogate pair, which UTF-8 does not have. "
                    'Binary data is sent as {"b64": "..."}.'
                ) from error
        elif _is_base64(each):
            made[position] = decode_base64(each["b64"])
        else:
            raise _other_value(name, info, each)
    return made


def decode_base64(text: str) -> bytes:
    """Return the bytes of a base64 text, with or without padding.

    Raises:
        BadArgumentError: It is none.
    """
    try:
        return base64.b64decode(text.rstrip("=") + "=" * (-len(text.rstrip("=")) % 4), validate=True)
    except (binascii.Error, ValueError) as error:
        raise BadArgumentError(f"Unable to base64 decode a value: {str(error)[:100]}.") from error


def _is_base64(value: object) -> bool:
    return isinstance(value, dict) and len(value) == 1 and isinstance(value.get("b64"), str)


def _is_named(value: object) -> bool:
    return isinstance(value, dict) and not _is_base64(value)


def _kind(value: object) -> str:
    names = {
        dict: "an object",
        list: "a list",
        str: "a string",
        bool: "a bool",
        int: "a number",
        float: "a number",
    }
    return names.get(type(value), "null")


def _other_shape(name: str, info: TensorInfo, what: str) -> BadArgumentError:
    return BadArgumentError(f"Input {shown(name)} has another shape. Expected: {info}. Received: {what}.")


def _other_value(name: str, info: TensorInfo, value: object) -> BadTypeError:
    what = _kind(value) if isinstance(value, dict | list | str) or value is None else str(value)[:40]
    return BadTypeError(
        f"Input {shown(name)} has a value of another type. Expected: {info}. Received: {what}."
    )


def _lossy(name: str, info: TensorInfo, value: float) -> BadArgumentError:
    text = str(value) if isinstance(value, float) or abs(value) < 1 << 64 else "a number of more than 64 bits"
    return BadArgumentError(
        f"Input {shown(name)} has a number that {info.dtype} can't hold without loss. Received: {text}."
    )
