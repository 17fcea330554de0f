"""Rows whose lengths only the running program knows; the numbers are those of TensorFlow 2.21."""

import numpy as np
import pytest

import stratax.tf as tf
from stratax.errors import BadArgumentError

ROWS = [[1, 2, 3], [], [4], [5, 6]]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, [[1, 2, 3], [0, 0, 0], [4, 0, 0], [5, 6, 0]]),
        ({"default_value": -1}, [[1, 2, 3], [-1, -1, -1], [4, -1, -1], [5, 6, -1]]),
        ({"shape": [None, 2]}, [[1, 2], [0, 0], [4, 0], [5, 6]]),
        ({"shape": [2, None], "default_value": 9}, [[1, 2, 3], [9, 9, 9]]),
        ({"shape": [5, 4]}, [[1, 2, 3, 0], [0] * 4, [4, 0, 0, 0], [5, 6, 0, 0], [0] * 4]),
    ],
)
def test_an_argument_becomes_dense(given, expected):
    made = tf.function(lambda rows: rows.to_tensor(**given))(tf.ragged.constant(ROWS))
    assert np.asarray(made).tolist() == expected


@pytest.mark.parametrize("rows", [[[], []], [[]], [[7]], [[1], [2]], []])
def test_empty_and_short_rows_become_dense(rows):
    given = tf.ragged.constant(rows, dtype=tf.float32, ragged_rank=1)
    made = tf.function(lambda rows: rows.to_tensor())(given)
    assert np.asarray(made).tolist() == given.to_tensor().tolist()
    assert made.shape == given.to_tensor().shape


def test_rows_of_rows_and_of_vectors_become_dense():
    dense = tf.function(lambda rows: rows.to_tensor(-1))
    nested = dense(tf.ragged.constant([[[1, 2], []], [[3]], []]))
    assert np.asarray(nested).tolist() == [[[1, 2], [-1, -1]], [[3, -1], [-1, -1]], [[-1, -1], [-1, -1]]]
    vectors = dense(tf.ragged.constant([[[1, 2]], [[3, 4], [5, 6]]], ragged_rank=1))
    assert np.asarray(vectors).tolist() == [[[1, 2], [-1, -1]], [[3, 4], [5, 6]]]
    with pytest.raises(BadArgumentError, match="does not change the sizes of dense dimensions"):
        tf.function(lambda rows: rows.to_tensor(shape=[2, 2, 3]))(
            tf.ragged.constant([[[1, 2]], [[3, 4]]], ragged_rank=1)
        )


def test_what_is_computed_of_it_counts_the_longest_row_only():
    @tf.function(input_signature=[tf.RaggedTensorSpec([None, None], tf.int32)])
    def compute(rows):
        dense = rows.to_tensor()
        return tf.reduce_min(dense, axis=1), tf.reduce_sum(dense), rows.bounding_shape(), rows.value_rowids()

    made = [np.asarray(each).tolist() for each in compute(-tf.ragged.constant(ROWS))]
    assert made == [[-3, 0, -4, -6], -21, [4, 3], [0, 0, 0, 2, 3, 3]]
    made = [np.asarray(each).tolist() for each in compute(tf.ragged.constant([[1, 2], [3, 4]]))]
    assert made == [[1, 3], 10, [2, 2], [0, 0, 1, 1]]


def test_gradients_reach_the_values():
    rows = tf.ragged.constant([[1.0, 2.0], [], [3.0]])

    @tf.function
    def derive(rows):
        with tf.GradientTape() as tape:
            tape.watch(rows.flat_values)
            loss = tf.reduce_sum(rows.to_tensor() ** 2)
        return tape.gradient(loss, rows.flat_values)

    assert np.asarray(derive(rows)).tolist() == [2.0, 4.0, 6.0]
