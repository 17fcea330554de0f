"""Arrays as serialized `TensorProto` and back, wire-compatible with TensorFlow (data layer)."""

import math
from typing import Any, NoReturn

import numpy as np
from google.protobuf.message import DecodeError

from stratax.base.bounds import check_bytes
from stratax.base.shown import shown
from stratax.base.typing import DTypeLike, TensorLike
from stratax.data.elements import as_array, as_objects, without_tensors
from stratax.data.examples._features import value_dtype
from stratax.data.vectorise import gives_tensors
from stratax.errors import BadArgumentError, BadTypeError, DataError
from stratax.io import TENSOR_TYPES, TYPES_BY_NUMBER, VALUE_FIELDS, DataType, list_values, make_messages

# A few bytes can stand for an array that is one value over and over; as long as this they are taken for damage.
_MOST_EXPANDED_BYTES = 1 << 30

_MESSAGES = make_messages(
    "stratax/tensor.proto",
    {
        "Dim": {"size": (1, "int64"), "name": (2, "string")},
        "TensorShapeProto": {"dim": (2, "repeated Dim"), "unknown_rank": (3, "bool")},
        "TensorProto": {
            "dtype": (1, "int32"),
            "tensor_shape": (2, "TensorShapeProto"),
            "version_number": (3, "int32"),
            "tensor_content": (4, "bytes"),
            **VALUE_FIELDS,
        },
    },
)
_TensorProto = _MESSAGES["TensorProto"]
_STRING = np.dtype(object)
# TensorFlow serializes no numbers of fewer bits.
_KINDS = {kind.dtype: kind for kind in TENSOR_TYPES if kind.number < 24}


@gives_tensors
def serialize_tensor(tensor: TensorLike, name: str | None = None) -> bytes:
    """Return an array as bytes that :func:`parse_tensor` and TensorFlow read, as `tf.io.serialize_tensor`.

    Args:
        tensor: An array (it is copied to the host), a number, `bytes`, or nested lists of them; text becomes UTF-8.
        name: Ignored.

    Returns:
        A serialized `TensorProto`, byte for byte as TensorFlow's.

    Raises:
        BadArgumentError: The dtype is none of those that the message names.
        BadTypeError: An array of objects holds something else than `bytes` and text, or lists are not equally long.

    Example:
        >>> import numpy as np
        >>> from stratax.data import parse_tensor, serialize_tensor
        >>> parse_tensor(serialize_tensor(np.array([[1.5, 2.0]])), "float64").tolist()
        [[1.5, 2.0]]
    """
    array = _as_tensor(tensor)
    # In the machine's order, so that dtypes compare equal below.
    array = array.astype(array.dtype.newbyteorder("="), copy=False)
    if array.dtype not in _KINDS:
        raise BadArgumentError(
            f"Arrays of this dtype can't be serialized. Expected: one of {', '.join(map(str, _KINDS))}. "
            f"Received: an array of dtype {array.dtype}. Cast it."
        )
    message = _TensorProto(dtype=_KINDS[array.dtype].number)
    # Also for scalars: a shape without dimensions is not the same as no shape.
    message.tensor_shape.SetInParent()
    for size in array.shape:
        message.tensor_shape.dim.add(size=size)
    if array.dtype == _STRING:
        message.string_val.extend(array.reshape(-1).tolist())
    else:
        message.tensor_content = np.asarray(array, array.dtype.newbyteorder("<")).tobytes()
    return message.SerializeToString(deterministic=True)


def _as_tensor(value: object) -> np.ndarray:
    value = without_tensors(value)
    try:
        array = np.asarray(value)
    except ValueError as e:
        raise BadTypeError(
            f"A tensor is a whole array. Received: tensor={shown(value)}, which NumPy can't make an array of ({e}). "
            "Make the nested lists equally long."
        ) from e
    if array.dtype.kind not in "OSU":
        return np.asarray(as_array(value))
    # As objects: NumPy's own strings have one length and drop trailing zeros.
    array = np.array(value, object)
    strings = [item.encode() if isinstance(item, str) else item for item in array.reshape(-1)]
    wrong = [item for item in strings if not isinstance(item, bytes)]
    if wrong:
        raise BadTypeError(
            f"An array of objects is serialized if they are `bytes` or text. Received: {shown(wrong[0])} of type "
            f"{type(wrong[0]).__name__} in tensor. Convert it to an array of numbers."
        )
    return as_objects(strings).reshape(array.shape)


@gives_tensors
def parse_tensor(serialized: object, out_type: DTypeLike, name: str | None = None) -> Any:
    """Return the array that was serialized by `serialize_tensor`, here or in TensorFlow, as `tf.io.parse_tensor`.

    Args:
        serialized: A serialized `TensorProto`: `bytes`.
        out_type: Its dtype; `object` for byte strings.
        name: Ignored.

    Returns:
        An array on the host; a NumPy scalar or `bytes` where the shape is `()`.

    Raises:
        BadTypeError: `serialized` is not `bytes`.
        DataError: They are no `TensorProto`, its parts do not agree, or it holds another dtype.
    """
    data = serialized[()] if isinstance(serialized, np.ndarray) and serialized.ndim == 0 else serialized
    if not isinstance(data, bytes):
        raise BadTypeError(
            f"parse_tensor takes `bytes`. Received: serialized of type {type(serialized).__name__}. Pass what "
            "serialize_tensor gave."
        )
    message = _decode(data)
    kind = TYPES_BY_NUMBER.get(message.dtype)
    if kind is None:
        _raise_damaged(
            data, f"its dtype has the number {message.dtype}, expected one of {sorted(TYPES_BY_NUMBER)}"
        )
    if kind.dtype != value_dtype(out_type):
        raise DataError(
            f"A serialized tensor is parsed with its own dtype. Expected: out_type={shown(str(kind.dtype))}. "
            f"Received: out_type={shown(out_type)}. Pass that, and cast the result."
        )
    shape = _shape_of(message, data)
    values = _values_of(message, kind, math.prod(shape), data)
    return values.reshape(shape) if shape else values[0]


def _decode(data: bytes) -> Any:
    try:
        return _TensorProto.FromString(data)
    except DecodeError as e:
        raise DataError(
            f"The bytes are not a serialized tensor, or they are damaged ({e}). Expected: what serialize_tensor gave. "
            f"Received: {len(data)} bytes. Use decode_raw for bare numbers."
        ) from e


def _shape_of(message: Any, data: bytes) -> tuple[int, ...]:
    shape = tuple(dim.size for dim in message.tensor_shape.dim)
    if message.tensor_shape.unknown_rank or any(size < 0 for size in shape):
        _raise_damaged(data, f"its shape {shape} is not known in full")
    return shape


def _values_of(message: Any, kind: DataType, count: int, data: bytes) -> np.ndarray:
    """Return the values as a flat array, from the bytes or from the list of the dtype."""
    dtype = kind.dtype
    if message.tensor_content and dtype != _STRING:
        if len(message.tensor_content) != count * dtype.itemsize:
            _raise_damaged(
                data,
                f"it has {len(message.tensor_content)} bytes of values, expected {count} of {dtype.itemsize} each",
            )
        # `astype` copies, too: `frombuffer` gives memory that cannot be written to.
        return np.frombuffer(message.tensor_content, dtype.newbyteorder("<")).astype(dtype)
    values = list_values(message, kind)
    if len(values) < count:
        # Before any memory is taken: the shape may be damaged.
        if count * dtype.itemsize > _MOST_EXPANDED_BYTES:
            _raise_damaged(data, f"{len(values)} value(s) are to fill an array of {count}")
        return _fill(values, count, dtype)
    return values[:count]


def _fill(values: np.ndarray, count: int, dtype: np.dtype) -> np.ndarray:
    """Return the values, those that are left out like the last one, or 0 where there is none."""
    last = values[-1] if len(values) else (b"" if dtype == _STRING else 0)
    check_bytes("Reading an array", (count,), dtype.itemsize)
    filled = np.full(count, last, dtype)
    filled[: len(values)] = values
    return filled


def _raise_damaged(data: bytes, what: str) -> NoReturn:
    raise DataError(
        f"A serialized tensor is damaged, or made by something else: {what}. Expected: what serialize_tensor gave. "
        f"Received: {len(data)} bytes."
    )
