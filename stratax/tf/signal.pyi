"""`tf.signal`: frames, spectra, windows (tf layer)."""

from stratax.tensorflow.ops.signal.fourier import dct as dct
from stratax.tensorflow.ops.signal.fourier import fft as fft
from stratax.tensorflow.ops.signal.fourier import fft2d as fft2d
from stratax.tensorflow.ops.signal.fourier import fft3d as fft3d
from stratax.tensorflow.ops.signal.fourier import fftnd as fftnd
from stratax.tensorflow.ops.signal.fourier import fftshift as fftshift
from stratax.tensorflow.ops.signal.fourier import idct as idct
from stratax.tensorflow.ops.signal.fourier import ifft as ifft
from stratax.tensorflow.ops.signal.fourier import ifft2d as ifft2d
from stratax.tensorflow.ops.signal.fourier import ifft3d as ifft3d
from stratax.tensorflow.ops.signal.fourier import ifftnd as ifftnd
from stratax.tensorflow.ops.signal.fourier import ifftshift as ifftshift
from stratax.tensorflow.ops.signal.fourier import irfft as irfft
from stratax.tensorflow.ops.signal.fourier import irfft2d as irfft2d
from stratax.tensorflow.ops.signal.fourier import irfft3d as irfft3d
from stratax.tensorflow.ops.signal.fourier import irfftnd as irfftnd
from stratax.tensorflow.ops.signal.fourier import rfft as rfft
from stratax.tensorflow.ops.signal.fourier import rfft2d as rfft2d
from stratax.tensorflow.ops.signal.fourier import rfft3d as rfft3d
from stratax.tensorflow.ops.signal.fourier import rfftnd as rfftnd
from stratax.tensorflow.ops.signal.signals import frame as frame
from stratax.tensorflow.ops.signal.signals import inverse_mdct as inverse_mdct
from stratax.tensorflow.ops.signal.signals import inverse_stft as inverse_stft
from stratax.tensorflow.ops.signal.signals import linear_to_mel_weight_matrix as linear_to_mel_weight_matrix
from stratax.tensorflow.ops.signal.signals import mdct as mdct
from stratax.tensorflow.ops.signal.signals import (
    mfccs_from_log_mel_spectrograms as mfccs_from_log_mel_spectrograms,
)
from stratax.tensorflow.ops.signal.signals import overlap_and_add as overlap_and_add
from stratax.tensorflow.ops.signal.signals import stft as stft
from stratax.tensorflow.ops.signal.windows import hamming_window as hamming_window
from stratax.tensorflow.ops.signal.windows import hann_window as hann_window
from stratax.tensorflow.ops.signal.windows import inverse_stft_window_fn as inverse_stft_window_fn
from stratax.tensorflow.ops.signal.windows import kaiser_bessel_derived_window as kaiser_bessel_derived_window
from stratax.tensorflow.ops.signal.windows import kaiser_window as kaiser_window
from stratax.tensorflow.ops.signal.windows import vorbis_window as vorbis_window
