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
