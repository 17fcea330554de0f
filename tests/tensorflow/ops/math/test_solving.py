"""A singular matrix raises where it is known."""

import numpy as np
import pytest

import stratax.tf as tf


@pytest.mark.parametrize(
    "function",
    [tf.linalg.inv, lambda matrix: tf.linalg.solve(matrix, tf.ones([2, 1])), tf.linalg.lu],
)
def test_a_singular_matrix_on_a_device_raises_where_it_is_known(function):
    matrix = tf.constant([[1.0, 1.0], [1.0, 1.0]])
    with pytest.raises(tf.errors.InvalidArgumentError, match="not invertible"):
        function(matrix)
    tf.function(function)(matrix)
    # Infinite numbers alone are no sign of it.
    assert np.isinf(tf.linalg.inv(tf.constant([[1e-39]]))).all()
