"""Parts of matrices, and matrices of parts."""

import numpy as np

import stratax.tf as tf


def test_diagonals_are_taken_and_put():
    matrix = np.arange(9, dtype=np.float32).reshape(3, 3)
    assert np.asarray(tf.linalg.diag_part(matrix)).tolist() == [0, 4, 8]
    assert np.asarray(tf.linalg.diag(np.float32([1, 2]))).tolist() == [[1, 0], [0, 2]]
    assert float(tf.linalg.trace(matrix)) == 12


def test_a_band_keeps_what_lies_beside_the_diagonal():
    assert np.asarray(tf.linalg.band_part(np.ones((3, 3)), 0, -1)).tolist() == [
        [1, 1, 1],
        [0, 1, 1],
        [0, 0, 1],
    ]
