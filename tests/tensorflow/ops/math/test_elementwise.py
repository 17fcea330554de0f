"""Functions of one and two arrays agree on host and device."""

import numpy as np
import pytest

import stratax.tf as tf
from tests.tensorflow.ops.arrays.test_arrays import ANY, TWO, X, check_both

POSITIVE = np.abs(X) + np.float32(0.1)
ABOVE_ZERO = ("log", "log1p", "reciprocal", "rsqrt", "sqrt")


@pytest.mark.parametrize("name", ANY)
def test_functions_of_one_array_agree_on_host_and_device(name):
    check_both(getattr(tf.math, name), X)


@pytest.mark.parametrize("name", ABOVE_ZERO)
def test_functions_of_one_positive_array_agree_on_host_and_device(name):
    check_both(getattr(tf.math, name), POSITIVE)


@pytest.mark.parametrize("name", TWO)
def test_functions_of_two_arrays_agree_on_host_and_device(name):
    check_both(getattr(tf.math, name), X, POSITIVE[:1])


@pytest.mark.parametrize("name", ["logical_and", "logical_or", "logical_xor"])
def test_functions_of_truth_values_agree_on_host_and_device(name):
    result = check_both(getattr(tf.math, name), X > 0, X < 1)
    assert result.dtype == np.bool_


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int64", "float16", "bfloat16", "float32"])
def test_lists_take_the_dtype_of_the_other_operand(dtype):
    number = tf.constant([1], dtype)
    binary = [tf.add, tf.subtract, tf.multiply, tf.maximum, tf.minimum, tf.pow, tf.math.floordiv, tf.math.mod]
    arrays = [
        lambda x, y: tf.concat([x, y], 0),
        lambda x, y: tf.stack([x, y]),
        lambda x, y: tf.where(x > 0, x, y),
    ]
    for function in [*binary, *arrays]:
        assert function(number, [3]).dtype == number.dtype
        assert tf.function(lambda each, apply=function: apply(each, [3]))(number).dtype == number.dtype
    for function in [*binary, *arrays[:2]]:
        assert function((3,), number).dtype == number.dtype
    assert tf.nn.bias_add(number[None], [3]).dtype == number.dtype


def test_lists_beside_small_whole_numbers_wrap_as_these_do():
    # TensorFlow 2.21's.
    assert tf.subtract(tf.constant([1], "uint8"), [1, 2]).numpy().tolist() == [0, 255]
    assert tf.add([100, 27], tf.constant([28, 100], "int8")).numpy().tolist() == [-128, 127]
    # Fractions beside whole numbers, which TensorFlow refuses, stay fractions.
    assert tf.add(tf.constant([1]), [1.5]).numpy().tolist() == [2.5]
