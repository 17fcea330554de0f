"""The bytes of elements as elements of another dtype."""

import numpy as np
import pytest

import stratax.tf as tf
from stratax import errors


def test_the_bits_of_a_float_are_those_of_ieee_754():
    assert int(tf.bitcast(np.float32(1), tf.int32)) == 0x3F800000
    assert np.asarray(tf.bitcast(np.int32([1]), tf.uint8)).tolist() == [[1, 0, 0, 0]]


def test_a_last_dimension_that_makes_no_element_is_refused():
    with pytest.raises(errors.BadArgumentError, match="The last dimension must be 4"):
        tf.bitcast(np.zeros(3, np.uint8), tf.int32)
