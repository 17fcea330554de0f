"""Windows of signals."""

import numpy as np

import stratax.tf as tf


def test_a_periodic_hann_window_of_four():
    np.testing.assert_allclose(tf.signal.hann_window(4), [0, 0.5, 1, 0.5], atol=1e-6)


def test_a_hamming_window_begins_above_zero():
    np.testing.assert_allclose(tf.signal.hamming_window(4), [0.08, 0.54, 1, 0.54], atol=1e-6)
