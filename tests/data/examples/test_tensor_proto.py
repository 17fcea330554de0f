"""Arrays as serialized tensors: byte for byte TensorFlow's, and back."""

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stratax.data import parse_tensor, serialize_tensor
from stratax.data.examples import _tensor_proto
from stratax.errors import BadArgumentError, BadTypeError, DataError

# What tf.io.serialize_tensor of TensorFlow 2.21 gives.
TENSORFLOWS = [
    (np.array([1.0, 2.0], np.float32), b'\x08\x01\x12\x04\x12\x02\x08\x02"\x08\x00\x00\x80?\x00\x00\x00@'),
    (np.array(3, np.int32), b'\x08\x03\x12\x00"\x04\x03\x00\x00\x00'),
    (np.array([b"ab", b""], object), b"\x08\x07\x12\x04\x12\x02\x08\x02B\x02abB\x00"),
    (np.array([[True]]), b'\x08\n\x12\x08\x12\x02\x08\x01\x12\x02\x08\x01"\x01\x01'),
    (np.array([1.5], ml_dtypes.bfloat16), b'\x08\x0e\x12\x04\x12\x02\x08\x01"\x02\xc0?'),
    (np.array([1.5], np.float16), b'\x08\x13\x12\x04\x12\x02\x08\x01"\x02\x00>'),
    (np.zeros((0, 3), np.float32), b"\x08\x01\x12\x06\x12\x00\x12\x02\x08\x03"),
]


@pytest.mark.parametrize(("array", "serialized"), TENSORFLOWS)
def test_the_bytes_are_tensorflows(array, serialized):
    assert serialize_tensor(array) == serialized
    again = parse_tensor(serialized, array.dtype)
    assert np.asarray(again).dtype == array.dtype
    np.testing.assert_array_equal(again, array)


@pytest.mark.parametrize("dtype", [dtype for dtype in _tensor_proto._KINDS if dtype.kind != "O"])
def test_every_dtype_comes_back(dtype):
    array = np.arange(6).reshape(2, 3).astype(dtype)
    again = parse_tensor(serialize_tensor(array), dtype)
    assert again.dtype == array.dtype
    np.testing.assert_array_equal(again, array)


def test_a_scalar_comes_back_as_one():
    assert parse_tensor(serialize_tensor(b"ab\0"), "string") == b"ab\0"
    assert parse_tensor(serialize_tensor("ä"), object) == "ä".encode()
    for value, dtype in ((2.5, np.float32), (3, np.int32)):
        again = parse_tensor(serialize_tensor(value), dtype)
        assert (again, again.dtype, again.shape) == (value, dtype, ())


def test_numbers_of_the_other_byte_order_are_serialized_as_they_are():
    array = np.arange(3, dtype=">i4")
    assert serialize_tensor(array) == serialize_tensor(array.astype("=i4"))


def message(**fields):
    shape = fields.pop("shape", ())
    found = _tensor_proto._TensorProto(**fields)
    for size in shape:
        found.tensor_shape.dim.add(size=size)
    return found.SerializeToString()


@pytest.mark.parametrize(
    ("number", "field", "values", "dtype", "expected"),
    [
        (1, "float_val", [1.5, 2.5], "float32", [1.5, 2.5]),
        (2, "double_val", [1.5], "float64", [1.5, 1.5]),
        (3, "int_val", [-1, 2, 3], "int32", [-1, 2]),
        (4, "int_val", [255], "uint8", [255, 255]),
        (6, "int_val", [-3], "int8", [-3, -3]),
        (7, "string_val", [b"x"], "string", [b"x", b"x"]),
        (8, "scomplex_val", [1, 2], "complex64", [1 + 2j, 1 + 2j]),
        (9, "int64_val", [-(2**63)], "int64", [-(2**63)] * 2),
        (10, "bool_val", [True, False], "bool", [True, False]),
        (14, "half_val", [0x3FC0], ml_dtypes.bfloat16, [1.5, 1.5]),
        (19, "half_val", [0x3E00], "float16", [1.5, 1.5]),
        (22, "uint32_val", [2**32 - 1], "uint32", [2**32 - 1] * 2),
        (23, "uint64_val", [2**64 - 1], "uint64", [2**64 - 1] * 2),
        (1, "float_val", [], "float32", [0, 0]),
        (7, "string_val", [], "string", [b"", b""]),
    ],
)
def test_lists_of_values_are_read_and_the_last_one_fills_up(number, field, values, dtype, expected):
    parsed = parse_tensor(message(dtype=number, shape=[2], **{field: values}), dtype)
    assert parsed.tolist() == expected


def test_what_can_not_be_serialized_is_refused():
    with pytest.raises(
        BadArgumentError, match=r"dtype can't be serialized.*Received: an array of dtype datetime64"
    ):
        serialize_tensor(np.array(["2020-01-01"], "datetime64[D]"))
    with pytest.raises(
        BadTypeError, match=r"a whole array. Received: tensor=\[\[1\], \[1, 2\]\].*equally long"
    ):
        serialize_tensor([[1], [1, 2]])
    with pytest.raises(BadTypeError, match="`bytes` or text. Received: 3 of type int"):
        serialize_tensor(np.array([b"a", 3], object))


def test_what_is_no_tensor_is_refused():
    with pytest.raises(BadTypeError, match="parse_tensor takes `bytes`.*type list"):
        parse_tensor([b""], "int32")
    with pytest.raises(DataError, match="not a serialized tensor.*3 bytes"):
        parse_tensor(b"abc", "int32")
    with pytest.raises(
        DataError, match="its own dtype. Expected: out_type='int32'. Received: out_type='float32'"
    ):
        parse_tensor(serialize_tensor(1), "float32")
    with pytest.raises(DataError, match="its dtype has the number 99"):
        parse_tensor(message(dtype=99), "float32")
    with pytest.raises(DataError, match="its shape .* is not known"):
        parse_tensor(message(dtype=1, shape=[-1]), "float32")
    with pytest.raises(DataError, match="it has 3 bytes of values, expected 2 of 4 each"):
        parse_tensor(message(dtype=1, shape=[2], tensor_content=b"abc"), "float32")


def test_a_shape_that_is_too_large_allocates_nothing():
    with pytest.raises(DataError, match=rf"1 value.s. are to fill an array of {2**60}"):
        parse_tensor(message(dtype=1, shape=[2**30, 2**30], float_val=[1.0]), "float32")
    with pytest.raises(DataError, match=f"expected {2**120} of 4 each"):
        parse_tensor(message(dtype=1, shape=[2**60, 2**60], tensor_content=b"abc"), "float32")


@settings(deadline=None, max_examples=100)
@given(st.binary(max_size=40), st.booleans(), st.integers(0, 3))
def test_any_bytes_are_parsed_or_an_error(data, is_message, dims):
    if is_message:
        data = message(dtype=1, shape=[len(data)] * dims, tensor_content=data)
    try:
        parse_tensor(data, "float32")
    except DataError:
        return
