"""Ragged rows in a compiled function: what is refused, by name."""

import numpy as np
import pytest

import stratax.tf as tf
from stratax.errors import TracingError


def _ragged():
    return tf.ragged.constant([[1.0, 2.0], [3.0]])


def test_a_mask_of_ragged_rows_is_refused_by_name():
    with pytest.raises(
        TracingError, match="tf.ragged.boolean_mask gives rows whose lengths depend on values"
    ):
        tf.function(lambda rows: tf.ragged.boolean_mask(rows, rows > 1))(_ragged())


@pytest.mark.parametrize("method", ["to_sparse", "numpy"])
def test_a_method_that_needs_lengths_of_rows_says_so(method):
    with pytest.raises(TypeError, match=f"{method} needs the lengths of rows"):
        tf.function(lambda rows: getattr(rows, method)())(_ragged())


def test_the_variance_of_equal_values_is_not_below_zero():
    rows = tf.ragged.constant([[0.1] * 3, [10000.1] * 7], dtype=tf.float32)
    assert np.asarray(tf.math.reduce_variance(rows, 1)).tolist() == [0.0, 0.0]
    assert np.asarray(tf.math.reduce_std(rows, 1)).tolist() == [0.0, 0.0]
    assert np.asarray(tf.math.reduce_std(rows)).item() > 0


def test_rows_that_are_looked_up_have_a_largest_norm():
    table = tf.constant([[3.0, 4.0], [0.3, 0.4]])
    found = tf.nn.embedding_lookup(table, tf.ragged.constant([[0], [1, 0]]), max_norm=1.0)
    np.testing.assert_allclose(np.asarray(found.flat_values), [[0.6, 0.8], [0.3, 0.4], [0.6, 0.8]], rtol=1e-6)
