"""The smallest are found as the largest are."""

import numpy as np
import pytest

import stratax.tf as tf
from stratax.errors import BadArgumentError


def test_the_smallest_are_found_as_the_largest_are():
    values, places = tf.nn.approx_min_k(np.array([[1.0, 3.0, 2.0]], np.float32), 2)
    assert (values.tolist(), places.tolist()) == ([[1.0, 2.0]], [[0, 2]])
    with pytest.raises(BadArgumentError, match="k must be from 0 to 3"):
        tf.nn.approx_max_k(np.ones(3, np.float32), 4)
