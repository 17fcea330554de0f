"""A value of JSON becomes an array only where nothing is lost."""

import json

import ml_dtypes
import numpy as np
import pytest

from stratax.command.serving import _requests
from stratax.errors import BadArgumentError, BadTypeError
from stratax.export import TensorInfo


def read(text, dtype, shape=(None,)):
    values = _requests.parse_body(f'{{"inputs": {text}}}'.encode())
    return _requests.predict_request(values, {"x": TensorInfo(dtype, shape)}).arrays["x"]


@pytest.mark.parametrize(
    ("text", "dtype", "expected"),
    [
        ("[1, 2.5, -0.0]", "float32", np.float32([1, 2.5, -0.0])),
        ("[16777215]", "float32", np.float32([16777215])),
        ("[9007199254740991, 1e300]", "float64", np.float64([9007199254740991, 1e300])),
        ("[65504.0, 1]", "float16", np.float16([65504, 1])),
        ("[1.5]", "bfloat16", np.array([1.5], ml_dtypes.bfloat16)),
        ("[-128, 127]", "int8", np.int8([-128, 127])),
        ("[18446744073709551615]", "uint64", np.uint64([18446744073709551615])),
        ("[true, false]", "bool", np.array([True, False])),
        ("[]", "int32", np.int32([])),
    ],
)
def test_numbers_are_read(text, dtype, expected):
    found = read(text, dtype)
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    ("text", "dtype"),
    [
        ("[128]", "int8"),
        ("[-1]", "uint8"),
        ("[18446744073709551616]", "uint64"),
        ("[9223372036854775808]", "int64"),
        ("[16777217]", "float32"),
        ("[65505.0, 70000.0]", "float16"),
        ("[1e400]", "float64"),
        ("[-1e400]", "float32"),
        ("[9007199254740993]", "float64"),
    ],
)
def test_a_number_that_would_lose_something_is_refused(text, dtype):
    with pytest.raises(BadArgumentError, match="can't hold without loss"):
        read(text, dtype)


@pytest.mark.parametrize(
    ("text", "dtype"),
    [
        ("[1.0]", "int32"),
        ("[true]", "int32"),
        ("[1]", "bool"),
        ("[NaN]", "int32"),
        ('["1"]', "float32"),
        ("[1]", "string"),
    ],
)
def test_a_value_of_another_type_is_refused(text, dtype):
    with pytest.raises(BadTypeError, match="value of another type"):
        read(text, dtype)


def test_complex_numbers_can_not_be_sent():
    with pytest.raises(BadTypeError, match="can't be sent as JSON"):
        read("[1]", "complex64")


def test_text_and_bytes_are_read():
    assert read('["ä", {"b64": "AP8="}, {"b64": "AP8"}]', "string").tolist() == [
        "ä".encode(),
        b"\0\xff",
        b"\0\xff",
    ]
    assert read('{"b64": "AP8="}', "string", ()).item() == b"\0\xff"
    rows = _requests.parse_body(b'{"instances": [{"b64": "YQ=="}, "b"]}')
    found = _requests.predict_request(rows, {"x": TensorInfo("string", (None,))})
    assert found.arrays["x"].tolist() == [b"a", b"b"]


@pytest.mark.parametrize("text", ["A", "A===A", "A B=", "-_-_", "ä"])
def test_text_that_is_no_base64_is_refused(text):
    with pytest.raises(BadArgumentError, match="Unable to base64 decode"):
        read(json.dumps([{"b64": text}]), "string")


def test_half_a_surrogate_pair_is_refused():
    with pytest.raises(BadArgumentError, match="surrogate pair"):
        read(r'["\ud800"]', "string")


SCALARS = {"image": TensorInfo("string", ()), "gain": TensorInfo("float32", ())}


def test_one_instance_is_the_value_of_a_signature_without_batches():
    sent = {"instances": [{"image": {"b64": "AAE="}, "gain": 2.5}]}
    request = _requests.predict_request(sent, SCALARS)
    assert request.is_row_wise
    assert {name: array.item() for name, array in request.arrays.items()} == {"image": b"\0\1", "gain": 2.5}


@pytest.mark.parametrize(
    ("instances", "told"),
    [
        ([{"image": "a", "gain": 1.0}] * 2, "one instance at a time"),
        (["a"], "item 0 of 'instances' is a plain value"),
        ([{"image": "a"}], "keys of item 0 of 'instances' must be image, gain"),
        ([{"image": ["a"], "gain": 1.0}], "Received: more dimensions"),
    ],
)
def test_instances_that_a_signature_without_batches_can_not_take_are_refused(instances, told):
    with pytest.raises(BadArgumentError, match=told):
        _requests.predict_request({"instances": instances}, SCALARS)
