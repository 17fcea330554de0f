"""Rows are reduced by the number of their segment."""

import numpy as np

import stratax.tf as tf


def test_rows_of_one_segment_are_reduced_together():
    rows, ids = np.float32([1, 2, 5]), np.int32([0, 0, 1])
    assert np.asarray(tf.math.segment_sum(rows, ids)).tolist() == [3, 5]
    assert np.asarray(tf.math.segment_mean(rows, ids)).tolist() == [1.5, 5]
    assert np.asarray(tf.math.unsorted_segment_max(rows, np.int32([1, 0, 1]), 2)).tolist() == [2, 5]
