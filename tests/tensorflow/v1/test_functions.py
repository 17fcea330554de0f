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
