"""One table says what TensorFlow's dtypes are called, numbered and listed as."""

import ml_dtypes
import numpy as np
import pytest

from stratax.data import parse_tensor
from stratax.data.elements import DType
from stratax.io import TENSOR_TYPES, TYPES_BY_DTYPE, VALUE_FIELDS, list_values, make_messages

Message = make_messages("tests/values.proto", {"Values": VALUE_FIELDS})["Values"]


def test_names_and_numbers_are_those_of_tensorflow():
    # `DataType` of TensorFlow 2.21.
    assert {kind.constant: kind.number for kind in TENSOR_TYPES} == {
        "DT_FLOAT": 1, "DT_DOUBLE": 2, "DT_INT32": 3, "DT_UINT8": 4, "DT_INT16": 5, "DT_INT8": 6, "DT_STRING": 7,
        "DT_COMPLEX64": 8, "DT_INT64": 9, "DT_BOOL": 10, "DT_BFLOAT16": 14, "DT_UINT16": 17, "DT_COMPLEX128": 18,
        "DT_HALF": 19, "DT_UINT32": 22, "DT_UINT64": 23, "DT_FLOAT8_E5M2": 24, "DT_FLOAT8_E4M3FN": 25, "DT_INT4": 29,
        "DT_UINT4": 30,
    }  # fmt: skip


@pytest.mark.parametrize("kind", TENSOR_TYPES, ids=lambda kind: kind.name)
def test_a_dtype_has_its_number_and_the_number_its_dtype(kind):
    assert DType(kind.dtype).as_datatype_enum == kind.number
    assert DType(kind.number) == kind.dtype
    assert DType(kind.dtype.newbyteorder(">")).as_datatype_enum == kind.number


def test_numbers_of_eight_bits_are_listed_as_bytes():
    values = np.array([1.5, -2, 0], ml_dtypes.float8_e5m2)
    found = list_values(Message(float8_val=values.tobytes()), TYPES_BY_DTYPE[values.dtype])
    assert found.dtype == values.dtype
    assert found.tolist() == [1.5, -2, 0]


def test_half_of_a_complex_number_is_left_out():
    found = list_values(Message(scomplex_val=[1, 2, 3]), TYPES_BY_DTYPE[np.dtype("complex64")])
    assert found.tolist() == [1 + 2j]


def test_a_tensor_of_eight_bits_that_tensorflow_wrote_is_read():
    # `tf.make_tensor_proto(np.array([1.5, -2], ml_dtypes.float8_e5m2)).SerializeToString()`
    assert parse_tensor(b"\x08\x18\x12\x04\x12\x02\x08\x02\x22\x02\x3e\xc0", "float8_e5m2").tolist() == [
        1.5,
        -2,
    ]
