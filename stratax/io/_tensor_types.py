"""TensorFlow's dtypes by their numbers, and how its messages list values of them (io layer).

The numbers are those of `DataType` in TensorFlow's `types.proto`, the fields those of `TensorProto` in `tensor.proto`.
"""

from typing import NamedTuple

import ml_dtypes
import numpy as np

_TEXT = np.dtype(object)


class DataType(NamedTuple):
    """A dtype as TensorFlow's files name it.

    Attributes:
        number: Its number in `DataType`.
        dtype: NumPy's; `object` for text.
        field: The field of a message that lists values of it.
    """

    number: int
    dtype: np.dtype
    field: str

    @property
    def name(self) -> str:
        """Its name in TensorFlow."""
        return "string" if self.dtype == _TEXT else self.dtype.name

    @property
    def constant(self) -> str:
        """The name of its number in `DataType`."""
        return f"DT_{'HALF' if self.name == 'float16' else _WORDS.get(self.name, self.name.upper())}"


_WORDS = {"float32": "FLOAT", "float64": "DOUBLE"}
TENSOR_TYPES = tuple(
    DataType(number, np.dtype(dtype), field)
    for number, dtype, field in (
        (1, np.float32, "float_val"),
        (2, np.float64, "double_val"),
        (3, np.int32, "int_val"),
        (4, np.uint8, "int_val"),
        (5, np.int16, "int_val"),
        (6, np.int8, "int_val"),
        (7, object, "string_val"),
        (8, np.complex64, "scomplex_val"),
        (9, np.int64, "int64_val"),
        (10, np.bool_, "bool_val"),
        (14, ml_dtypes.bfloat16, "half_val"),
        (17, np.uint16, "int_val"),
        (18, np.complex128, "dcomplex_val"),
        (19, np.float16, "half_val"),
        (22, np.uint32, "uint32_val"),
        (23, np.uint64, "uint64_val"),
        (24, ml_dtypes.float8_e5m2, "float8_val"),
        (25, ml_dtypes.float8_e4m3fn, "float8_val"),
        (29, ml_dtypes.int4, "int_val"),
        (30, ml_dtypes.uint4, "int_val"),
    )
)
_OTHERS = {
    "DT_QINT8": 11,
    "DT_QUINT8": 12,
    "DT_QINT32": 13,
    "DT_QINT16": 15,
    "DT_QUINT16": 16,
    "DT_RESOURCE": 20,
}
_CONSTANTS = {kind.constant: kind.number for kind in TENSOR_TYPES} | _OTHERS | {"DT_VARIANT": 21}
# All of `DataType`, as `make_messages` takes it. A variable of TensorFlow 1 has its dtype's number with 100 added.
DATA_TYPE = {
    "DataType": {
        "DT_INVALID": 0,
        **_CONSTANTS,
        **{f"{name}_REF": number + 100 for name, number in _CONSTANTS.items()},
    }
}
TYPES_BY_NUMBER = {kind.number: kind for kind in TENSOR_TYPES}
TYPES_BY_DTYPE = {kind.dtype: kind for kind in TENSOR_TYPES}
# What lists values, as `make_messages` takes it.
VALUE_FIELDS = {
    "float_val": (5, "repeated float"),
    "double_val": (6, "repeated double"),
    "int_val": (7, "repeated int32"),
    "string_val": (8, "repeated bytes"),
    "scomplex_val": (9, "repeated float"),
    "int64_val": (10, "repeated int64"),
    "bool_val": (11, "repeated bool"),
    "dcomplex_val": (12, "repeated double"),
    "half_val": (13, "repeated int32"),
    "uint32_val": (16, "repeated uint32"),
    "uint64_val": (17, "repeated uint64"),
    "float8_val": (18, "bytes"),
}


def list_values(message: object, kind: DataType) -> np.ndarray:
    """Return the values that a message lists, in one dimension.

    Args:
        message: A message with the fields of `VALUE_FIELDS`.
        kind: The dtype that it says it is of.

    Returns:
        An array of that dtype; text as `bytes`.
    """
    values, dtype = getattr(message, kind.field), kind.dtype
    if dtype == _TEXT:
        made = np.empty(len(values), object)
        made[:] = values
        return made
    if dtype.kind == "c":
        parts = np.array(values, np.dtype(f"float{dtype.itemsize * 4}"))
        # Real and imaginary parts in turn; a part without its pair is left out.
        return parts[: len(parts) // 2 * 2].view(dtype)
    if kind.field == "float8_val":
        return np.frombuffer(values, np.uint8).view(dtype)
    if kind.field == "half_val":
        # Half floats are stored as their bits, one number each.
        return np.array(values, np.int32).astype(np.uint16).view(dtype)
    return np.array(values, np.int32 if kind.field == "int_val" else dtype).astype(dtype)
