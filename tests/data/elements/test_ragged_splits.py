"""Where rows begin, how long they are, and which row a value is of."""

import numpy as np

import stratax.tf as tf


def test_splits_lengths_and_row_numbers_say_the_same():
    rows = tf.ragged.constant([[1, 2], [], [3]])
    assert np.asarray(rows.row_splits).tolist() == [0, 2, 2, 3]
    assert np.asarray(rows.row_lengths()).tolist() == [2, 0, 1]
    assert np.asarray(rows.value_rowids()).tolist() == [0, 0, 2]
