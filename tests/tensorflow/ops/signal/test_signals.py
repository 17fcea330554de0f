"""`tf.signal`: transforms over given dimensions, and signals in a pipeline; the rest is in tests/golden/surface."""

import numpy as np
import pytest

import stratax.tf as tf
from stratax.errors import BadArgumentError, BadTypeError

SIGNAL = np.sin(np.arange(24.0)).reshape(2, 3, 4).astype(np.float32)


def test_spectra_of_a_pipeline_stay_on_the_host():
    def spectrum(samples):
        found = tf.abs(tf.signal.stft(samples, 8, 4))
        return tf.tensordot(found, tf.signal.linear_to_mel_weight_matrix(3, 5, 4000, 100.0, 1900.0), 1)

    data = tf.data.Dataset.from_tensor_slices(np.ones((2, 20), np.float32)).map(spectrum)
    assert [np.asarray(element).shape for element in data] == [(4, 3)] * 2
    assert isinstance(tf.signal.stft(SIGNAL[0, 0], 4, 2), np.ndarray)


@pytest.mark.parametrize(
    ("function", "error", "what"),
    [
        (lambda: tf.signal.fft(SIGNAL), BadTypeError, "complex64 or complex128"),
        (lambda: tf.signal.rfft3d(SIGNAL[0]), BadArgumentError, "3 dimensions at least"),
        (lambda: tf.signal.rfft(SIGNAL, [1, 2]), BadArgumentError, "a size for each of 1"),
        (lambda: tf.signal.fftnd(SIGNAL, norm="ortho"), BadArgumentError, "norm is None"),
        (lambda: tf.signal.dct(SIGNAL, n=0), BadArgumentError, "at least 1"),
        (lambda: tf.signal.frame(SIGNAL, 0, 1), BadArgumentError, "frame_length is one whole number"),
        (lambda: tf.signal.mdct(SIGNAL, 6), BadArgumentError, "multiple of 4"),
        (lambda: tf.signal.linear_to_mel_weight_matrix(0), BadArgumentError, "one band at least"),
    ],
)
def test_what_does_not_fit_is_refused(function, error, what):
    with pytest.raises(error, match=what):
        function()
