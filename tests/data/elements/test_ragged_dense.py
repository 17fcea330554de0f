"""Rows are filled up to the longest."""

import numpy as np

import stratax.tf as tf


def test_rows_are_filled_up_with_a_value():
    rows = tf.ragged.constant([[1, 2], [], [3]])
    assert np.asarray(rows.to_tensor()).tolist() == [[1, 2], [0, 0], [3, 0]]
    assert np.asarray(rows.to_tensor(-1)).tolist() == [[1, 2], [-1, -1], [3, -1]]
