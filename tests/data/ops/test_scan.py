"""A state goes through all elements."""

import numpy as np
import pytest

import stratax.tf as tf
from stratax import errors
from stratax.data import Dataset


def test_a_state_goes_through_the_elements_in_their_order():
    sums = Dataset.range(5).scan(np.int64(0), lambda state, element: (state + element, state + element))
    assert [int(element) for element in sums] == [0, 1, 3, 6, 10]
    # Each pass begins with the first state.
    assert [int(element) for element in sums] == [0, 1, 3, 6, 10]


def test_a_function_that_gives_no_pair_is_refused():
    with pytest.raises(errors.StrataxError, match="scan"):
        list(Dataset.range(2).scan(np.int64(0), lambda state, element: state + element))


def test_a_list_is_a_state_of_constants_and_numbers():
    # TensorFlow 2.21's answer; a constant of int64 is int32 on devices.
    first = [tf.constant(0, tf.int64), tf.constant(1, tf.int64)]
    scanned = Dataset.range(4).scan(first, lambda s, x: ([s[0] + x, s[1] * 2], s[0] + s[1]))
    assert [int(element) for element in scanned] == [1, 2, 5, 11]
    before = Dataset.range(4).scan(tf.constant(0, tf.int64), lambda s, x: (s + x, s))
    assert [int(element) for element in before] == [0, 0, 1, 3]
    assert next(iter(before)).dtype == tf.int64
