"""Functions of TensorFlow 1 that mean another thing than those of their names today."""

import numpy as np
import pytest

import stratax.tf as tf


def test_where_with_a_vector_takes_rows():
    # Values of TensorFlow 2.21; `tf.where` would broadcast the vector along rows.
    where = tf.compat.v1.where
    assert where([True, False], [[1, 2], [3, 4]], [[5, 6], [7, 8]]).tolist() == [[1, 2], [7, 8]]
    assert where([True, False], [1, 2], [3, 4]).tolist() == [1, 4]
    assert where(True, [1, 2], [3, 4]).tolist() == [1, 2]
    assert where([True, False]).tolist() == [[0]]
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"tf\.compat\.v2\.where, which broadcasts"):
        where([True, False], 1, 0)


def test_numbers_become_complex():
    # Values of TensorFlow 2.21's `tf.compat.v1`.
    for convert, dtype in (
        (tf.compat.v1.to_complex64, "complex64"),
        (tf.compat.v1.to_complex128, "complex128"),
    ):
        found = convert(np.array([1.5, -2.0], np.float32))
        assert found.dtype == dtype
        assert np.asarray(found).tolist() == [1.5 + 0j, -2 + 0j]


def test_batch_gather_takes_slices_row_by_row():
    numbers = np.arange(24).reshape(2, 3, 4)
    assert tf.compat.v1.batch_gather([[1, 2, 3], [4, 5, 6]], [[0, 2], [1, 1]]).numpy().tolist() == [
        [1, 3],
        [5, 5],
    ]
    assert tf.compat.v1.batch_gather([5, 6, 7], [2, 0]).numpy().tolist() == [7, 5]
    rows = tf.compat.v1.batch_gather(numbers, [[0, 2], [1, 1]])
    assert rows.numpy().tolist() == numbers[[[0], [1]], [[0, 2], [1, 1]]].tolist()
    parts = tf.compat.v1.batch_gather(numbers, np.zeros((2, 3, 1), np.int32))
    assert parts.numpy().tolist() == [[[0], [4], [8]], [[12], [16], [20]]]
