"""Windows of `tf.signal`: weights of the parts of a signal (ops layer).

They are on a device, and on the host in functions that a `Dataset` calls, as other arrays that are made.
"""

import functools
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

from stratax.base.shown import shown
from stratax.base.typing import Array, DTypeLike, TensorLike
from stratax.data.elements import sizes_of
from stratax.errors import BadArgumentError
from stratax.tensorflow.ops.calls._computed import call_with_library
from stratax.tensorflow.ops.calls.creation import convert_to_tensor, lengths_of
from stratax.tensorflow.ops.calls.dtypes import as_dtype


def _length(window_length: object, dtype: DTypeLike) -> int:
    (length,) = lengths_of("window_length", window_length)
    kind = as_dtype(dtype)
    if kind.kind != "f" and kind.name != "bfloat16":
        raise BadArgumentError(f"A window is of floating-point numbers. Received: dtype={shown(dtype)}.")
    return length


def _cosine(length: int, is_periodic: bool, share: float) -> np.ndarray:
    if length == 1:
        return np.ones(1)
    # TensorFlow makes windows of an even length periodic only.
    whole = length + (1 - length % 2) * is_periodic - 1
    return share - (1 - share) * np.cos(2 * np.pi * np.arange(length) / whole)


def _cosine_window(name: str, share: float) -> Callable[..., Any]:
    def function(
        window_length: TensorLike,
        periodic: bool = True,
        dtype: DTypeLike = "float32",
        name: str | None = None,
    ) -> Any:
        # On the host in 64 bits: a window is a constant.
        weights = _cosine(_length(window_length, dtype), bool(periodic), share)
        return convert_to_tensor(weights.astype(as_dtype(dtype)))

    function.__name__ = function.__qualname__ = f"{name}_window"
    function.__doc__ = f"""Return the {name.capitalize()} window, as `tf.signal.{name}_window`.

    Args:
        window_length: How many weights.
        periodic: Whether the window of an even length goes on after its last weight; else it is symmetric.
        dtype: The dtype of the weights.
        name: Ignored.
    """
    return function


# The share of the constant: 0.5 - 0.5 * cos, and 0.54 - 0.46 * cos.
hann_window = _cosine_window("hann", 0.5)
hamming_window = _cosine_window("hamming", 0.54)


def _kaiser(length: int, beta: float) -> np.ndarray:
    if length == 1:
        return np.ones(1)
    half = (length - 1) / 2
    places = np.arange(length) - half
    # Rounding may leave a little less than 0 at both ends.
    return np.i0(beta * np.sqrt(np.maximum(1 - (places / half) ** 2, 0))) / np.i0(beta)


def kaiser_window(
    window_length: TensorLike, beta: float = 12.0, dtype: DTypeLike = "float32", name: str | None = None
) -> Any:
    """Return the Kaiser window, as `tf.signal.kaiser_window`.

    Args:
        window_length: How many weights.
        beta: The larger, the narrower.
        dtype: The dtype of the weights.
        name: Ignored.
    """
    return convert_to_tensor(_kaiser(_length(window_length, dtype), float(beta)).astype(as_dtype(dtype)))


def kaiser_bessel_derived_window(
    window_length: TensorLike, beta: float = 12.0, dtype: DTypeLike = "float32", name: str | None = None
) -> Any:
    """Return the Kaiser-Bessel derived window, as `tf.signal.kaiser_bessel_derived_window`.

    The arguments are those of :func:`kaiser_window`.
    """
    sums = np.cumsum(_kaiser(_length(window_length, dtype) // 2 + 1, float(beta)))
    # Of one number more than half of the window, so that squares of overlapping halves add up to 1.
    half = np.sqrt(sums[:-1] / sums[-1])
    return convert_to_tensor(np.concatenate([half, half[::-1]]).astype(as_dtype(dtype)))


def vorbis_window(window_length: TensorLike, dtype: DTypeLike = "float32", name: str | None = None) -> Any:
    """Return the window of Vorbis, as `tf.signal.vorbis_window`.

    Args:
        window_length: How many weights.
        dtype: The dtype of the weights.
        name: Ignored.
    """
    length = _length(window_length, dtype)
    # The window of Vorbis I's specification: sin(pi / 2 * sin(pi * (n + 1/2) / length) ** 2).
    inner = np.sin(np.pi / max(length, 1) * (np.arange(length) + 0.5)) ** 2
    return convert_to_tensor(np.sin(np.pi / 2 * inner).astype(as_dtype(dtype)))


def inverse_stft_window_fn(
    frame_step: int, forward_window_fn: Callable[..., Any] = hann_window, name: str | None = None
) -> Callable[..., Any]:
    """Return a window for `inverse_stft` that undoes another, as `tf.signal.inverse_stft_window_fn`.

    Args:
        frame_step: How far frames are apart.
        forward_window_fn: The window of `stft`.
        name: Ignored.

    Returns:
        A function of the frames' length and a dtype.
    """
    (step,) = sizes_of("frame_step", frame_step)
    return functools.partial(_inverse, step, forward_window_fn)


def _inverse(step: int, forward_window_fn: Callable[..., Any], frame_length: object, dtype: DTypeLike) -> Any:
    return call_with_library(_divide, forward_window_fn(frame_length, dtype=dtype), step=step)


def _divide(library: ModuleType, forward: Array, step: int) -> Any:
    """Divide by the sum of squares of all windows that overlap: equation 7 of Griffin and Lim."""
    overlaps = -(-len(forward) // step)
    # Shape (overlaps, step): in each column stand the weights that meet in one sample.
    squares = library.pad(forward**2, (0, overlaps * step - len(forward))).reshape(overlaps, step)
    total = library.tile(squares.sum(0), overlaps)[: len(forward)]
    return library.where(total == 0, 0, forward / library.where(total == 0, 1, total)).astype(forward.dtype)
