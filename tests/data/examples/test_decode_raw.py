"""Bytes as the numbers that they hold."""

import ml_dtypes
import numpy as np
import pytest

from stratax.data import decode_raw
from stratax.errors import BadArgumentError, BadTypeError, DataError


@pytest.mark.parametrize(
    "dtype",
    ["uint8", "int16", "int32", "int64", "float16", "float32", "float64", "complex64", ml_dtypes.bfloat16],
)
@pytest.mark.parametrize("little_endian", [True, False])
def test_numbers_of_either_order_of_bytes(dtype, little_endian):
    numbers = np.arange(6).astype(dtype)
    size = numbers.dtype.itemsize // (2 if numbers.dtype.kind == "c" else 1)
    data = numbers.tobytes() if little_endian else numbers.view(f"u{size}").byteswap().tobytes()
    found = decode_raw(data, dtype, little_endian)
    assert found.dtype == numbers.dtype
    np.testing.assert_array_equal(found, numbers)


def test_every_byte_but_zero_is_true():
    np.testing.assert_array_equal(decode_raw(b"\0\1\2", bool), [False, True, True])


def test_strings_of_an_array_become_rows():
    np.testing.assert_array_equal(decode_raw([b"ab", b"cd"], "uint8"), [[97, 98], [99, 100]])
    strings = np.array([[b"ab"], [b"cd"]], object)
    assert decode_raw(strings, "uint16").shape == (2, 1, 1)
    assert decode_raw([b"", b""], "uint16").shape == (2, 0)


def test_a_fixed_length_cuts_and_fills_up():
    np.testing.assert_array_equal(
        decode_raw([b"\1\0\2", b"", b"\1\0\2\0\3\0"], "uint16", fixed_length=4), [[1, 2], [0, 0], [1, 2]]
    )


def test_no_strings_at_all_have_the_shape_that_is_known():
    assert decode_raw([], "uint16").shape == (0, 0)
    assert decode_raw([], "uint16", fixed_length=4).shape == (0, 2)


@pytest.mark.parametrize("dtype", ["V4", "timedelta64[s]", "datetime64[s]", [("a", "i4")]])
def test_memory_without_a_meaning_is_refused(dtype):
    with pytest.raises(BadArgumentError, match="Bytes are decoded to numbers"):
        decode_raw(bytes(8), np.dtype(dtype))


@pytest.mark.parametrize("length", [2.0, "4", True, 0, -2])
def test_a_fixed_length_that_is_none_is_refused(length):
    with pytest.raises(BadArgumentError, match="multiple of the size of a number.*fixed_length="):
        decode_raw(b"abcd", "uint16", fixed_length=length)


def test_the_result_may_be_written_to():
    numbers = decode_raw(b"\1\2", "uint8")
    numbers += 1
    assert numbers.tolist() == [2, 3]


def test_what_can_not_be_decoded_is_refused():
    with pytest.raises(DataError, match="multiple of 2 bytes for uint16. Received: 5 bytes"):
        decode_raw(b"abcde", "uint16")
    with pytest.raises(
        DataError, match=r"equally long. Expected: 4 bytes.*Received: 2 bytes in input_bytes\[1\]"
    ):
        decode_raw([b"abcd", b"ab"], "uint16")
    with pytest.raises(BadArgumentError, match="multiple of the size of a number.*fixed_length=5"):
        decode_raw(b"abcde", "uint16", fixed_length=5)
    with pytest.raises(BadArgumentError, match="decoded to numbers. Received: out_type=<class 'object'>"):
        decode_raw(b"abcde", object)
    with pytest.raises(BadTypeError, match="takes `bytes`. Received: 3 of type int"):
        decode_raw([b"a", 3], "uint8")


def test_text_is_taken_as_its_bytes():
    # TensorFlow 2.21.
    assert decode_raw("1234", "int16").tolist() == [0x3231, 0x3433]
    assert decode_raw(["12345678", "87654321"], "int32").tolist() == [
        [875770417, 943142453],
        [892745528, 825373492],
    ]
