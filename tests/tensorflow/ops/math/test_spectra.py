"""Eigenvalues and singular values."""

import numpy as np

import stratax.tf as tf


def test_eigenvalues_of_a_symmetric_matrix_are_in_order():
    np.testing.assert_allclose(tf.linalg.eigvalsh(np.float32([[2, 1], [1, 2]])), [1, 3], rtol=1e-5)


def test_singular_values_are_in_falling_order():
    np.testing.assert_allclose(
        tf.linalg.svd(np.float32([[0, 1], [4, 0]]), compute_uv=False), [4, 1], rtol=1e-5
    )
