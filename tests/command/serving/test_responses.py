"""Answers are written with no more digits than they need, and as what they are."""

import json

import ml_dtypes
import numpy as np
import pytest

from stratax.command.serving import _responses
from stratax.errors import BadArgumentError


def written(row_wise, **outputs):
    return json.loads(_responses.predict_response(outputs, is_row_wise=row_wise))


def texts(*values):
    made = np.empty(len(values), object)
    made[:] = values
    return made


def test_floats_are_written_with_the_digits_that_they_need():
    numbers = [0.1, 1 / 3, 1e-38, 3.4028235e38, 16777216.0]
    for dtype in (np.float32, np.float64):
        found = written(True, y=np.array(numbers, dtype))["predictions"]
        assert np.array(found, dtype).tolist() == np.array(numbers, dtype).tolist()
    assert (
        _responses.predict_response({"y": np.float32([0.1])}, is_row_wise=True) == b'{"predictions": [0.1]}'
    )
    assert written(False, y=np.array([1.5], ml_dtypes.bfloat16)) == {"outputs": [1.5]}


def test_other_values_are_written():
    assert written(False, y=np.array(True)) == {"outputs": True}
    assert written(False, y=np.uint64([1 << 63])) == {"outputs": [1 << 63]}
    assert written(True, y=texts(b"a", "ä".encode())) == {"predictions": ["a", "ä"]}
    assert written(True, y_bytes=texts(b"\xff")) == {"predictions": [{"b64": "/w=="}]}


def test_what_can_not_be_written_is_told():
    with pytest.raises(BadArgumentError, match="ends with '_bytes'"):
        written(True, y=texts(b"\xff"))
    with pytest.raises(BadArgumentError, match="can't be sent as JSON"):
        written(True, y=np.complex64([1]))
    with pytest.raises(BadArgumentError, match="can't be divided into predictions"):
        written(True, y=np.float32(1))
    with pytest.raises(BadArgumentError, match="Expected: 2 rows"):
        written(True, y=np.float32([1, 2]), z=np.float32([1]))
