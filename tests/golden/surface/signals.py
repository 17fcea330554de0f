"""Cases of `tf.signal`."""
# ruff: noqa: E501

from collections.abc import Callable

from tests.golden.surface import Case

# The same lines compute in a compiled function and on a device, where each transform would be compiled by itself.
_MODES = ("host", "function")
_X = "x = a(np.sin(np.arange(2 * 10) ** 2).reshape(2, 10), 'float32')"
_C = "c = a(np.sin(np.arange(24) ** 2).reshape(2, 3, 4) + 1j * np.cos(np.arange(24)).reshape(2, 3, 4), 'complex64')"
_LONG = "x = a(np.sin(np.arange(2 * 40) ** 1.3).reshape(2, 40), 'float32')"


def _with(before: str) -> Callable[[str], Case]:
    return lambda code: Case(f"{before}; {code}", _MODES, 3e-5)


_x, _c, _long = _with(_X), _with(_C), _with(_LONG)

CASES = [
    *(_c(f"tf.signal.{name}(c)") for name in ("fft", "ifft", "fft2d", "ifft2d", "fft3d", "ifft3d")),
    _c("tf.signal.irfft(c)"),
    _c("tf.signal.irfft(c, [5])"),
    _c("tf.signal.irfft2d(c, [4, 6])"),
    _c("tf.signal.irfft3d(c)"),
    _c("tf.signal.rfft(c)"),
    _x("tf.signal.fft(x)"),
    _x("tf.signal.rfft(x)"),
    _x("tf.signal.rfft(x, fft_length=[16])"),
    _x("tf.signal.rfft(x, [7])"),
    _x("tf.signal.rfft2d(x)"),
    _x("tf.signal.rfft2d(x[0])"),
    _x("tf.signal.rfft3d(x[None])"),
    _x("tf.signal.rfft(x, [4, 4])"),
    _x("tf.signal.fftshift(x)"),
    _x("tf.signal.fftshift(x, axes=1)"),
    _x("tf.signal.ifftshift(x, axes=[-1])"),
    *(_x(f"tf.signal.dct(x, type={kind})") for kind in (1, 2, 3, 4)),
    *(_x(f"tf.signal.dct(x, type={kind}, norm='ortho')") for kind in (1, 2, 3, 4)),
    *(_x(f"tf.signal.idct(x, type={kind})") for kind in (1, 2, 3, 4)),
    _x("tf.signal.idct(x, norm='ortho')"),
    _x("tf.signal.dct(x, n=6)"),
    _x("tf.signal.dct(x, n=12, norm='ortho')"),
    _x("tf.signal.dct(x, type=5)"),
    _x("tf.signal.dct(x, axis=0)"),
    _x("tf.signal.frame(x, 4, 3)"),
    _x("tf.signal.frame(x, 4, 3, pad_end=True, pad_value=7)"),
    _x("tf.signal.frame(x, 12, 3)"),
    _x("tf.signal.frame(x, 2, 1, axis=0)"),
    Case("tf.signal.frame(i(np.arange(7)), 3, 2)"),
    Case("tf.signal.frame(i(np.arange(5)), frame_length=3, frame_step=5, pad_end=True)", _MODES),
    _x("tf.signal.frame(x, 4, 3, axis=3)"),
    _x("tf.signal.overlap_and_add(x, 4)"),
    _x("tf.signal.overlap_and_add(x[None], 10)"),
    _x("tf.signal.overlap_and_add(x[0], 4)"),
    _long("tf.signal.stft(x, 12, 5)"),
    _long("tf.signal.stft(x, frame_length=16, frame_step=8, fft_length=20, window_fn=None, pad_end=True)"),
    _long("tf.abs(tf.signal.stft(x[0], 16, 4, window_fn=tf.signal.hamming_window))"),
    _long("tf.signal.inverse_stft(tf.signal.stft(x, 16, 4), 16, 4, window_fn=tf.signal.inverse_stft_window_fn(4))"),
    _long("tf.signal.inverse_stft(tf.signal.stft(x, 12, 5), 12, 5)"),
    _long("tf.signal.inverse_stft(tf.signal.stft(x, 12, 5, fft_length=8), 12, 5, fft_length=8, window_fn=None)"),
    _long("tf.signal.mdct(x, 16)"),
    _long("tf.signal.mdct(x, 8, norm='ortho', window_fn=None, pad_end=True)"),
    _long("tf.signal.mdct(x, 10)"),
    _long("tf.signal.inverse_mdct(tf.signal.mdct(x, 16))"),
    _long("tf.signal.inverse_mdct(tf.signal.mdct(x, 8, norm='ortho', window_fn=None), norm='ortho', window_fn=None)"),
    Case("tf.signal.hann_window(8)"),
    Case("tf.signal.hann_window(7, periodic=False)"),
    Case("tf.signal.hann_window(1)"),
    Case("tf.signal.hamming_window(6, dtype=tf.float16)", tolerance=1e-3),
    Case("tf.signal.hann_window(6, dtype=tf.int32)"),
    Case("tf.signal.kaiser_window(9, beta=5.0)"),
    Case("tf.signal.kaiser_bessel_derived_window(8)"),
    Case("tf.signal.vorbis_window(6)"),
    Case("tf.signal.inverse_stft_window_fn(3)(8, dtype=tf.float32)"),
    Case("tf.signal.linear_to_mel_weight_matrix(6, 17)", tolerance=1e-4),
    Case("tf.signal.linear_to_mel_weight_matrix(num_mel_bins=4, num_spectrogram_bins=9, sample_rate=16000, lower_edge_hertz=80.0, upper_edge_hertz=7600.0)", tolerance=1e-4),
    Case("tf.signal.linear_to_mel_weight_matrix(lower_edge_hertz=4000.0)"),
    _x("tf.signal.mfccs_from_log_mel_spectrograms(x)"),
    Case(f"{_LONG}\nwith tf.GradientTape() as tape:\n  tape.watch(x)\n  y = tf.reduce_sum(tf.abs(tf.signal.stft(x, 12, 5)))\ntape.gradient(y, x)", ("device", "function"), 1e-4),
]  # fmt: skip
