"""Rows of tables are looked up."""

import numpy as np

import stratax.tf as tf


def test_rows_are_those_of_the_ids():
    table = np.float32([[1, 1], [2, 2], [3, 3]])
    assert np.asarray(tf.nn.embedding_lookup(table, np.int32([2, 0]))).tolist() == [[3, 3], [1, 1]]
