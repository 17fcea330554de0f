"""Ragged tensors are made of values and what divides them."""

import numpy as np

import stratax.tf as tf


def test_splits_lengths_and_row_numbers_divide_alike():
    values, rows = np.int32([1, 2, 3]), [[1, 2], [], [3]]
    assert tf.RaggedTensor.from_row_splits(values, [0, 2, 2, 3]).to_list() == rows
    assert tf.RaggedTensor.from_row_lengths(values, [2, 0, 1]).to_list() == rows
    assert tf.RaggedTensor.from_value_rowids(values, [0, 0, 2]).to_list() == rows
    assert tf.RaggedTensor.from_row_starts(values, [0, 2, 2]).to_list() == rows
    assert tf.RaggedTensor.from_row_limits(values, [2, 2, 3]).to_list() == rows
