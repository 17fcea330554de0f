"""Signals cut into frames, and their spectra: `tf.signal` (ops layer).

NumPy arrays stay on the host (see `stratax.tensorflow.ops.calls._host`).
"""

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

from stratax.base.shown import shown
from stratax.base.typing import Array, DTypeLike, TensorLike
from stratax.data.elements import sizes_of
from stratax.errors import BadArgumentError
from stratax.tensorflow.ops.calls._computed import call_with_library, scatter_at
from stratax.tensorflow.ops.calls.creation import convert_to_tensor
from stratax.tensorflow.ops.calls.dtypes import as_dtype
from stratax.tensorflow.ops.calls.op import op
from stratax.tensorflow.ops.signal.fourier import dct, irfft, rfft
from stratax.tensorflow.ops.signal.windows import hann_window, vorbis_window

Window = Callable[..., Any] | None


def _one(name: str, size: object, least: int = 1) -> int:
    sizes = sizes_of(name, size)
    if len(sizes) != 1 or sizes[0] < least:
        raise BadArgumentError(
            f"{name} is one whole number of at least {least}. Received: {name}={shown(size)}."
        )
    return sizes[0]


def _frame(library: ModuleType, signal: Array, length: int, step: int, padding: object, axis: int) -> Any:
    if not -signal.ndim <= axis < signal.ndim:
        raise BadArgumentError(
            f"There is no such dimension. Received: axis={axis} of a signal of shape {signal.shape}."
        )
    moved = library.moveaxis(signal, axis, -1)
    size = moved.shape[-1]
    if padding is None:
        num = max(0, 1 + (size - length) // step)
    else:
        # Each step up to the signal's end begins a frame, of which the last ones hang over it.
        num = -(-size // step)
        more = max(0, length + step * (num - 1) - size) if num else 0
        moved = library.pad(moved, [(0, 0)] * (moved.ndim - 1) + [(0, more)], constant_values=padding)
    # Shape (frames, length): where in the signal each sample of a frame is.
    places = np.arange(num)[:, None] * step + np.arange(length)
    axis = axis % signal.ndim
    return library.moveaxis(moved[..., places], (-2, -1), (axis, axis + 1))


@op
def frame(
    signal: TensorLike,
    frame_length: TensorLike,
    frame_step: TensorLike,
    pad_end: bool = False,
    pad_value: TensorLike = 0,
    axis: int = -1,
) -> Any:
    """Return parts of a signal, which may overlap, as `tf.signal.frame`.

    Args:
        signal: An array.
        frame_length: How long the parts are.
        frame_step: How far they are apart.
        pad_end: Whether the end of the signal is filled up, so that each step begins a part.
        pad_value: By what.
        axis: The dimension of time.

    Returns:
        An array with two dimensions, `[frames, frame_length]`, in place of the one; where `signal` is.

    Raises:
        BadArgumentError: If a size or the dimension makes no sense.
    """
    length, step = _one("frame_length", frame_length), _one("frame_step", frame_step)
    return call_with_library(
        _frame, signal, length=length, step=step, padding=pad_value if pad_end else None, axis=int(axis)
    )


def _overlap(library: ModuleType, signal: Array, step: int) -> Any:
    if signal.ndim < 2:
        raise BadArgumentError(
            f"A signal of frames has the shape [..., frames, frame_length]. Received: shape {signal.shape}."
        )
    frames, length = signal.shape[-2:]
    # As in `_frame`: what lies in several frames is summed.
    places = np.arange(frames)[:, None] * step + np.arange(length)
    size = (frames - 1) * step + length if frames else 0
    silence = library.zeros([*signal.shape[:-2], size], signal.dtype)
    return scatter_at(library, silence, (..., places), signal, "add")


@op
def overlap_and_add(signal: TensorLike, frame_step: TensorLike) -> Any:
    """Return the signal that is the sum of its frames, as `tf.signal.overlap_and_add`.

    Args:
        signal: Shape `[..., frames, frame_length]`.
        frame_step: How far the frames are apart.
    """
    return call_with_library(_overlap, signal, step=_one("frame_step", frame_step))


def _weigh(frames: Array, window_fn: Window) -> Any:
    if window_fn is None:
        return frames
    window = window_fn(frames.shape[-1], dtype=np.dtype(frames.dtype))
    return call_with_library(_times, frames, np.asarray(window) if isinstance(frames, np.ndarray) else window)


def _times(library: ModuleType, frames: TensorLike, window: Any) -> Any:
    return frames * window


@op(is_told=False, is_raw=True)
def stft(
    signals: TensorLike,
    frame_length: TensorLike,
    frame_step: TensorLike,
    fft_length: TensorLike | None = None,
    window_fn: Window = hann_window,
    pad_end: bool = False,
) -> Any:
    """Return the spectra of the parts of signals, as `tf.signal.stft`.

    Args:
        signals: Floats, shape `[..., samples]`.
        frame_length: How long the parts are.
        frame_step: How far they are apart.
        fft_length: The size of the transform; None for the power of two that holds a part.
        window_fn: Gives the weights of a part, from their number and a dtype; None for 1.
        pad_end: Whether the end of signals is filled up with zeros.

    Returns:
        Complex numbers, shape `[..., frames, fft_length // 2 + 1]`, where `signals` is.
    """
    frames = _weigh(frame(signals, frame_length, frame_step, pad_end), window_fn)
    return rfft(frames, [_transform_size(frame_length, fft_length)])


def _transform_size(frame_length: object, fft_length: object) -> int:
    length = _one("frame_length", frame_length)
    # TensorFlow's default is the next power of two.
    return 1 << (length - 1).bit_length() if fft_length is None else _one("fft_length", fft_length)


@op(is_told=False, is_raw=True)
def inverse_stft(
    stfts: TensorLike,
    frame_length: TensorLike,
    frame_step: TensorLike,
    fft_length: TensorLike | None = None,
    window_fn: Window = hann_window,
) -> Any:
    """Return the signals that have given spectra, as `tf.signal.inverse_stft`.

    Args:
        stfts: What `stft` gives, shape `[..., frames, fft_length // 2 + 1]`.
        frame_length: How long the parts are.
        frame_step: How far they are apart.
        fft_length: The size of the transform; None for the power of two that holds a part.
        window_fn: Gives the weights of a part; for the signal as it was, `inverse_stft_window_fn(frame_step)`.
    """
    frames = irfft(stfts, [_transform_size(frame_length, fft_length)])
    frames = call_with_library(_cut_or_filled, frames, size=_one("frame_length", frame_length))
    return overlap_and_add(_weigh(frames, window_fn), frame_step)


def _cut_or_filled(library: ModuleType, frames: Array, size: int) -> Any:
    more = max(0, size - frames.shape[-1])
    return library.pad(frames[..., :size], [(0, 0)] * (frames.ndim - 1) + [(0, more)])


@op(is_told=False, is_raw=True)
def mdct(
    signals: TensorLike,
    frame_length: TensorLike,
    window_fn: Window = vorbis_window,
    pad_end: bool = False,
    norm: str | None = None,
) -> Any:
    """Return the modified cosine transforms of the parts of signals, as `tf.signal.mdct`.

    Args:
        signals: Floats, shape `[..., samples]`.
        frame_length: How long the parts are, a multiple of 4; each begins in the middle of the one before.
        window_fn: As in :func:`stft`; None for `1 / sqrt(2)`.
        pad_end: Whether the end of signals is filled up with zeros.
        norm: None or `"ortho"`.

    Returns:
        Shape `[..., frames, frame_length // 2]`, where `signals` is.

    Raises:
        BadArgumentError: If `frame_length` is no multiple of 4.
    """
    length = _one("frame_length", frame_length)
    if length % 4:
        raise BadArgumentError(f"frame_length must be a multiple of 4. Received: frame_length={length}.")
    frames = _weigh(frame(signals, length, length // 2, pad_end), window_fn)
    return dct(call_with_library(_fold, frames, factor=1.0 if window_fn else np.sqrt(0.5)), 4, norm=norm)


def _fold(library: ModuleType, frames: Array, factor: float) -> Any:
    first, second, third, fourth = library.split(frames, 4, axis=-1)
    # A frame (a, b, c, d) has the cosine transform of half as long a signal, (-c' - d, a - b'), where ' turns a quarter
    # around: the other half of the frame follows from the symmetries of cosines.
    halves = [-third[..., ::-1] - fourth, first - second[..., ::-1]]
    return library.concatenate(halves, axis=-1) * frames.dtype.type(factor)


@op(is_told=False, is_raw=True)
def inverse_mdct(mdcts: TensorLike, window_fn: Window = vorbis_window, norm: str | None = None) -> Any:
    """Return the signals that have given modified cosine transforms, as `tf.signal.inverse_mdct`.

    Args:
        mdcts: What `mdct` gives.
        window_fn: The same as there.
        norm: The same as there.
    """
    halves = dct(mdcts, 4, norm=norm)
    half = halves.shape[-1]
    # The cosine transform of type 4 is its own inverse but for 2 * half; two halves overlap, each with the window once.
    factor = (1.0 if norm else 0.5 / half) * (1.0 if window_fn else np.sqrt(0.5))
    return overlap_and_add(_weigh(call_with_library(_unfold, halves, factor=factor), window_fn), half)


def _unfold(library: ModuleType, halves: Array, factor: float) -> Any:
    first, second = library.split(halves, 2, axis=-1)
    # The signs and orders that `_fold` has taken away; what is added of the neighbours cancels when frames overlap.
    parts = [second, -second[..., ::-1], -first[..., ::-1], -first]
    return library.concatenate(parts, axis=-1) * halves.dtype.type(factor)


@op(is_told=False, is_raw=True)
def linear_to_mel_weight_matrix(
    num_mel_bins: int = 20,
    num_spectrogram_bins: int = 129,
    sample_rate: float = 8000,
    lower_edge_hertz: float = 125.0,
    upper_edge_hertz: float = 3800.0,
    dtype: DTypeLike = "float32",
) -> Any:
    """Return the matrix that makes mel bands of spectra, as `tf.signal.linear_to_mel_weight_matrix`.

    Args:
        num_mel_bins: How many bands.
        num_spectrogram_bins: How many frequencies the spectra have.
        sample_rate: How many samples a second the signal has.
        lower_edge_hertz: Where the bands begin.
        upper_edge_hertz: Where they end.
        dtype: The dtype of the matrix.

    Returns:
        Shape `[num_spectrogram_bins, num_mel_bins]`.

    Raises:
        BadArgumentError: If there are no bands, or the frequencies are out of order.
    """
    rate, lower, upper = float(sample_rate), float(lower_edge_hertz), float(upper_edge_hertz)
    if num_mel_bins < 1 or rate <= 0 or not 0 <= lower < upper <= rate / 2:
        raise BadArgumentError(
            "Expected: one band at least, and 0 <= lower_edge_hertz < upper_edge_hertz <= sample_rate / 2. Received: "
            f"num_mel_bins={shown(num_mel_bins)}, sample_rate={shown(sample_rate)}, "
            f"lower_edge_hertz={shown(lower_edge_hertz)}, upper_edge_hertz={shown(upper_edge_hertz)}."
        )
    # Shape (frequencies - 1, 1), so that it broadcasts with the bands.
    bins = _mel(np.linspace(0, rate / 2, int(num_spectrogram_bins))[1:])[:, None]
    edges = np.linspace(_mel(lower), _mel(upper), int(num_mel_bins) + 2)
    begin, center, end = edges[:-2], edges[1:-1], edges[2:]
    # Triangles that reach from the center of the band before to that of the one behind, straight in mel and not in
    # Hertz.
    weights = np.minimum((bins - begin) / (center - begin), (end - bins) / (end - center))
    # No band has frequency 0.
    return convert_to_tensor(np.pad(np.maximum(weights, 0), [(1, 0), (0, 0)]).astype(as_dtype(dtype)))


def _mel(hertz: Any) -> Any:
    """Return a pitch in mel, by the formula of the HTK toolkit."""
    return 1127.0 * np.log1p(hertz / 700.0)


@op(is_told=False, is_raw=True)
def mfccs_from_log_mel_spectrograms(log_mel_spectrograms: TensorLike) -> Any:
    """Return cepstral coefficients of mel bands, as `tf.signal.mfccs_from_log_mel_spectrograms`.

    Args:
        log_mel_spectrograms: Logarithms of the bands' magnitudes, shape `[..., num_mel_bins]`.

    Raises:
        BadArgumentError: If there are no bands.
    """
    return call_with_library(_cepstral, dct(log_mel_spectrograms, 2))


def _cepstral(library: ModuleType, spectra: Array) -> Any:
    # TensorFlow scales the cosine transform so, as the HTK toolkit does.
    return spectra * spectra.dtype.type(1 / np.sqrt(2 * spectra.shape[-1]))
