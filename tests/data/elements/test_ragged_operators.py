"""Operators compute with the values of rows."""

import stratax.tf as tf


def test_numbers_and_rows_of_one_shape_are_combined():
    rows = tf.ragged.constant([[1, 2], [], [3]])
    assert (rows + 1).to_list() == [[2, 3], [], [4]]
    assert (rows * rows).to_list() == [[1, 4], [], [9]]
    assert (-rows).to_list() == [[-1, -2], [], [-3]]
