"""Rows and parts of rows are taken by index."""

import numpy as np

import stratax.tf as tf


def test_a_row_and_a_part_of_each_row():
    rows = tf.ragged.constant([[1, 2], [], [3]])
    assert np.asarray(rows[0]).tolist() == [1, 2]
    assert rows[1:].to_list() == [[], [3]]
    assert rows[:, :1].to_list() == [[1], [], [3]]
