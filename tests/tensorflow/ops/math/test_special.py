"""Special functions, at points whose values are known."""

import numpy as np

import stratax.tf as tf


def test_known_values():
    zero = np.float32([0])
    assert np.asarray(tf.math.bessel_i0(zero)).tolist() == [1]
    assert np.asarray(tf.math.bessel_i1(zero)).tolist() == [0]
    np.testing.assert_allclose(tf.math.special.expint(np.float32([1])), [1.8951178], rtol=1e-5)
