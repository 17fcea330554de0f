"""Transforms over given dimensions."""

import numpy as np
import pytest

import stratax.tf as tf

SIGNAL = np.sin(np.arange(24.0)).reshape(2, 3, 4).astype(np.float32)


@pytest.mark.parametrize("place", [np.asarray, tf.constant])
def test_transforms_over_given_dimensions(place):
    complex_signal = place(SIGNAL.astype(np.complex64))
    spectrum = tf.signal.fftnd(complex_signal, [2, 4], axes=[1, 2])
    np.testing.assert_allclose(spectrum, np.fft.fftn(SIGNAL, (2, 4), (1, 2)), atol=1e-5)
    np.testing.assert_allclose(tf.signal.ifftnd(tf.signal.fftnd(complex_signal)), SIGNAL, atol=1e-5)
    halves = tf.signal.rfftnd(place(SIGNAL), axes=[0, 2])
    np.testing.assert_allclose(halves, np.fft.rfftn(SIGNAL, axes=(0, 2)), atol=1e-5)
    np.testing.assert_allclose(tf.signal.irfftnd(halves, [2, 4], axes=[0, 2]), SIGNAL, atol=1e-5)
