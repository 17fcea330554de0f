"""Dtypes have TensorFlow's names, sizes and kinds."""

import numpy as np

import stratax.tf as tf


def test_dtypes_are_names_numpy_knows_and_compare_with_them():
    assert tf.float32 == "float32"
    assert tf.as_dtype(np.int64) is tf.int64
    assert tf.bfloat16.size == 2
    assert tf.float16.is_floating
    assert not tf.int8.is_floating
    assert tf.uint8.max == 255
    assert repr(tf.float32) == "tf.float32"
