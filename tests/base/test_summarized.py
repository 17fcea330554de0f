"""The texts are TensorFlow 2.21's, of `tf.strings.format`."""

import ml_dtypes
import numpy as np
import pytest

from stratax.base.summarized import summarize_array


@pytest.mark.parametrize(
    ("array", "text"),
    [
        (np.float32([[1e-10, 0.333333333], [123456789, 1e6]]), "[[1e-10 0.333333343]\n [123456792 1e+06]]"),
        (np.float32([1e15, 1.5e-5, 16777217, 0.00001234567]), "[1e+15 1.5e-05 16777216 1.23456703e-05]"),
        (np.float64([2 / 3, 0.1, 1e300]), "[0.66666666666666663 0.1 1e+300]"),
        (np.float16([0.1, 2.333, 65504, 1e-7]), "[0.0999755859 2.33203125 65504 1.1920929e-07]"),
        (np.array([0.1, 2.333], ml_dtypes.bfloat16), "[0.100097656 2.328125]"),
        (np.float32([np.nan, np.inf, -np.inf, -0.0]), "[nan inf -inf -0]"),
        (np.array(True), "1"),
        (np.zeros(0), "[]"),
        (np.uint8(3), "3"),
        (
            np.array([b"a\n", b'q"', "é".encode(), b"'", b"\t\x01\\"], object),
            '["a\\n" "q\\"" "é" "\\\'" "\\t\\001\\\\"]',
        ),
    ],
)
def test_numbers_and_text_look_as_tensorflows(array, text):
    assert summarize_array(np.asarray(array), 3) == text


def test_rows_stand_under_one_another():
    rows = np.arange(24).reshape(2, 1, 3, 4)
    assert summarize_array(rows, 1) == (
        "[[[[0 ... 3]\n   ...\n   [8 ... 11]]]\n\n\n [[[12 ... 15]\n   ...\n   [20 ... 23]]]]"
    )
