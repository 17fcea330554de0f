"""Values are brought to a norm, a mean and a variance."""

import numpy as np

import stratax.tf as tf


def test_rows_get_length_one():
    np.testing.assert_allclose(tf.nn.l2_normalize(np.float32([3, 4]), axis=0), [0.6, 0.8], rtol=1e-6)


def test_moments_are_mean_and_variance():
    mean, variance = tf.nn.moments(np.float32([1, 3]), [0])
    assert (float(mean), float(variance)) == (2, 1)
