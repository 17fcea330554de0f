"""What a summary holds: arrays on their way to the host, and how they are written there (summary layer).

The work is divided where the device ends: a histogram that a compiled program writes leaves it as a few counts, an
image as bytes. All that is slow on the host (PNG files, float64 sums) is done by the thread that writes the file.
"""

import dataclasses
import io
import wave
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import keras
import numpy as np

from stratax.base.shown import shown
from stratax.base.typing import TensorLike
from stratax.errors import BadArgumentError, BadTypeError, MissingPackageError
from stratax.summary._packages import tensorboard

DEFAULT_BUCKETS = 30
# `DT_FLOAT` of TensorFlow's `types.proto`.
_FLOAT = 1
# A sample of 16 bits is the amplitude times this, as TensorFlow rounds it.
_LOUDEST = 1 << 15
_SAMPLE_BYTES = 2
# The largest number of a pixel of 8 bits.
_BRIGHTEST = 255


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Content:
    """The content of one summary.

    Attributes:
        arrays: Numbers, on the host or on a device or traced.
        encode: Makes what the summary holds of the prepared arrays' values: a NumPy array, or a list of bytes.
        prepare: Makes fewer numbers of the arrays, as a tuple: in a program only where they are recorded, else by the
            thread that writes.
    """

    arrays: tuple[Any, ...]
    encode: Callable[..., Any]
    prepare: Callable[..., tuple[Any, ...]] = lambda *arrays: arrays


def tensor_message(value: object) -> Any:
    """Return the `TensorProto` of a content's value."""
    if isinstance(value, np.ndarray) and value.shape == () and value.dtype == np.float32:
        # What most summaries are: TensorBoard's function takes ten times as long.
        message = tensorboard("compat.proto.tensor_pb2").TensorProto(dtype=_FLOAT, float_val=[float(value)])
        message.tensor_shape.SetInParent()
        return message
    return tensorboard("util.tensor_util").make_tensor_proto(value)


def of_tensor(value: object) -> Content:
    """Return the content that is an array as it is: numbers or strings.

    Raises:
        BadTypeError: If it is none.
    """
    if isinstance(value, Content):
        return value
    value = _plain(value)
    if isinstance(value, (str, bytes)) or (
        not _is_on_device(value) and np.asarray(value).dtype.kind in "OSU"
    ):
        return of_text(value)
    return Content((_numbers(value, "a summary"),), np.asarray)


def of_scalar(data: TensorLike) -> Content:
    """Return a number, as float32.

    Raises:
        BadArgumentError: If it is more than one number.
        BadTypeError: If it is none.
    """
    value = _numbers(data, "a scalar summary")
    if np.shape(value) != ():
        raise BadArgumentError(
            "A scalar summary holds one number. Expected: data of shape (). Received: data of shape "
            f"{np.shape(value)}. Reduce it first (`jnp.mean(data)`), or write a histogram."
        )
    return Content((_as_float(value, "a scalar summary"),), lambda number: np.asarray(number, np.float32))


def of_histogram(data: TensorLike, buckets: int | None) -> Content:
    """Return counts of numbers in buckets of equal width. NaN and infinities are left out.

    Raises:
        BadTypeError: If the data are no real numbers.
    """
    count = DEFAULT_BUCKETS if buckets is None else max(0, int(buckets))
    value = _as_float(_numbers(data, "a histogram"), "a histogram")
    if not isinstance(value, jax.core.Tracer):
        # In float64, by the thread that writes.
        return Content((value,), lambda numbers: _buckets(numbers, count))
    if count == 0 or value.size == 0:
        return Content((), lambda: np.zeros((count, 3)))
    return Content((value,), _buckets_of_counts, lambda numbers: _counts(numbers, count))


def of_images(data: TensorLike, max_outputs: int) -> Content:
    """Return images as PNG files, behind their width and height.

    Raises:
        BadArgumentError: If the shape or `max_outputs` is none of images.
        BadTypeError: If the data are no numbers.
    """
    value = _numbers(data, "an image summary")
    _check_count(max_outputs)
    if np.ndim(value) != 4 or np.shape(value)[3] not in (1, 2, 3, 4):
        raise BadArgumentError(
            "An image summary holds several images. Expected: data of shape [count, height, width, channels] with 1 "
            f"to 4 channels. Received: data of shape {np.shape(value)}. Add the missing dimension (`data[None]`)."
        )
    return Content((value[:max_outputs],), _pictures, _pixels)


def of_text(data: object) -> Content:
    """Return strings.

    Raises:
        BadTypeError: If they are something else.
    """
    data = _plain(data)
    array = None if _is_on_device(data) else np.asarray(data, object if isinstance(data, bytes) else None)
    if array is not None and array.dtype.kind in "SU":
        array = array.astype(object)
    if (
        array is None
        or array.dtype != object
        or not all(isinstance(each, (str, bytes)) for each in array.flat)
    ):
        raise BadTypeError(
            "A text summary holds strings. Expected: a str, bytes, or a list or NumPy array of them. "
            f"Received: data={shown(data)}. Format it first (`str(data)`)."
        )
    text = np.vectorize(lambda each: each.encode() if isinstance(each, str) else each, otypes=[object])(array)
    return Content((), lambda: text)


def of_audio(data: TensorLike, sample_rate: int, max_outputs: int) -> Content:
    """Return clips as WAV files, each with an empty label.

    Raises:
        BadArgumentError: If the shape, `sample_rate` or `max_outputs` is none of clips.
        BadTypeError: If the data are no numbers.
    """
    value = _as_float(_numbers(data, "an audio summary"), "an audio summary")
    _check_count(max_outputs)
    if np.ndim(value) != 3:
        raise BadArgumentError(
            "An audio summary holds several clips. Expected: data of shape [count, frames, channels]. "
            f"Received: data of shape {np.shape(value)}. Add the missing dimensions (`data[None, :, None]`)."
        )
    if isinstance(sample_rate, jax.core.Tracer) or int(sample_rate) <= 0:
        raise BadArgumentError(
            "The sample rate of audio is a positive number of samples a second, known while a function is traced. "
            f"Received: sample_rate={shown(sample_rate)}. Pass a Python number such as 44100."
        )
    rate = int(sample_rate)
    return Content((value[:max_outputs],), lambda clips: _clips(clips, rate))


def _check_count(max_outputs: Any) -> None:
    if isinstance(max_outputs, jax.core.Tracer) or int(max_outputs) < 0:
        raise BadArgumentError(
            "The number of examples in a summary is known while a function is traced, and not negative. "
            f"Received: max_outputs={shown(max_outputs)}. Pass a Python number such as 3."
        )


def _plain(value: object) -> Any:
    if isinstance(value, keras.Variable):
        return value.value
    # What stands for an array, such as an assignment of TensorFlow 1; that of a tracer is None.
    as_array = getattr(value, "__jax_array__", None)
    return value if as_array is None else as_array()


def _is_on_device(value: object) -> bool:
    return isinstance(value, jax.Array)


def _numbers(data: object, what: str) -> Any:
    """Return data as an array that nobody changes afterwards: one of JAX, or a copy in NumPy."""
    value = _plain(data)
    if _is_on_device(value):
        if jnp.issubdtype(value.dtype, jax.dtypes.extended):
            value = jax.random.key_data(value)
        return value
    try:
        array = np.array(value)
    except (TypeError, ValueError) as error:
        raise BadTypeError(_no_numbers(data, what)) from error
    if array.dtype.kind not in "biufc" and not jnp.issubdtype(array.dtype, jnp.floating):
        raise BadTypeError(_no_numbers(data, what))
    return array


def _no_numbers(data: object, what: str) -> str:
    return (
        f"The data of {what} must be numbers. Expected: an array, a variable or a Python number. "
        f"Received: data={shown(data)} ({type(data).__name__}). Values of replicas become one by `strategy.reduce` or "
        "`strategy.gather`."
    )


def _as_float(value: Any, what: str) -> Any:
    if jnp.issubdtype(value.dtype, jnp.complexfloating):
        raise BadTypeError(
            f"The data of {what} must be real numbers. Received: an array of dtype {value.dtype}. Take its real part, "
            "or its absolute value."
        )
    if isinstance(value, jax.core.Tracer) and not jnp.issubdtype(value.dtype, jnp.floating):
        return value.astype(jnp.float32)
    return value


def _buckets(numbers: np.ndarray, count: int) -> np.ndarray:
    """Return rows of left edge, right edge and count."""
    data = np.asarray(numbers).astype(np.float64).ravel()
    data = data[np.isfinite(data)]
    if count == 0 or data.size == 0:
        return np.zeros((count, 3))
    least, most = float(data.min()), float(data.max())
    if least == most:
        places = np.full(data.shape, count - 1)
    else:
        places = np.floor((data - least) / ((most - least) / count)).astype(np.int64)
    counts = np.bincount(np.minimum(places, count - 1), minlength=count)
    return _rows(least, most, counts)


def _rows(least: float, most: float, counts: np.ndarray) -> np.ndarray:
    edges = np.linspace(least, most, len(counts) + 1)
    if least == most:
        # TensorFlow's form for a single value: all edges are it, and the last bucket has the count.
        edges[:] = most
    return np.stack([edges[:-1], edges[1:], np.asarray(counts, np.float64)], 1)


def _counts(data: Any, count: int) -> tuple[Any, Any, Any]:
    """Count on the device: return the least and the greatest number, and how many are in each bucket."""
    data = data.ravel()
    if data.dtype.itemsize < np.dtype(np.float32).itemsize:
        data = data.astype(jnp.float32)
    finite = jnp.isfinite(data)
    least = jnp.min(data, where=finite, initial=jnp.inf)
    most = jnp.max(data, where=finite, initial=-jnp.inf)
    width = (most - least) / count
    # Where all numbers are equal, or none is finite, `where` keeps a division by zero from being used.
    places = jnp.where(width > 0, jnp.floor((data - least) / jnp.where(width > 0, width, 1)), count - 1)
    places = jnp.clip(jnp.where(finite, places, 0), 0, count - 1).astype(jnp.int32)
    counts = jnp.zeros((count,), jnp.int32).at[places].add(finite.astype(jnp.int32))
    return least, most, counts


def _buckets_of_counts(least: np.ndarray, most: np.ndarray, counts: np.ndarray) -> np.ndarray:
    if not np.any(counts):
        return np.zeros((len(counts), 3))
    return _rows(float(least), float(most), counts)


def _pixels(data: Any) -> tuple[Any]:
    """Return pixels as bytes, where they are: fractions from 0 to 1, whole numbers up to their dtype's largest one.

    The numbers are those of `image.convert_image_dtype` with saturation.

    Raises:
        BadArgumentError: If they are neither fractions nor whole numbers.
    """
    dtype, number = np.dtype(data.dtype), np.dtype(data.dtype).type
    if dtype == np.uint8:
        return (data,)
    if jnp.issubdtype(dtype, jnp.floating):
        # Half a step more than the largest makes the cast, which cuts off, round.
        with np.errstate(invalid="ignore"):
            return ((data * number(_BRIGHTEST + 0.5)).clip(number(0), number(_BRIGHTEST)).astype(np.uint8),)
    if dtype.kind not in "iu":
        raise BadArgumentError(
            "The dtype of an image is floating point or integer. "
            f"Received: image of dtype={dtype}. Pass for instance float32 or uint8."
        )
    largest = int(np.iinfo(dtype).max)
    if largest < _BRIGHTEST:
        return (data.clip(number(0), number(largest)).astype(np.uint8) * np.uint8(2),)
    scaled = data // number((largest + 1) // (_BRIGHTEST + 1))
    return (scaled.clip(number(0), number(_BRIGHTEST)).astype(np.uint8),)


def _pictures(pixels: np.ndarray) -> list[bytes]:
    _, height, width, _ = np.shape(pixels)
    return [str(width).encode(), str(height).encode(), *map(png, np.asarray(pixels))]


def png(pixels: np.ndarray) -> bytes:
    """Return the PNG file of an image of bytes, shape `[height, width, channels]`."""
    try:
        from PIL import Image
    except ImportError as error:
        raise MissingPackageError(
            "Image summaries need pillow, which is not installed. Run `pip install 'stratax-train[images]'`."
        ) from error
    file = io.BytesIO()
    Image.fromarray(pixels[..., 0] if pixels.shape[-1] == 1 else pixels).save(file, "PNG")
    return file.getvalue()


def _clips(clips: np.ndarray, rate: int) -> np.ndarray:
    rows = np.empty((len(clips), 2), object)
    for position, clip in enumerate(clips):
        rows[position] = wav(np.asarray(clip, np.float32), rate), b""
    return rows


def wav(clip: np.ndarray, rate: int) -> bytes:
    """Return the WAV file of a clip, shape `[frames, channels]`, with 16 bits a sample."""
    # Half away from zero, as C's `round`: NumPy's rounds half to even.
    scaled = clip * np.float32(_LOUDEST)
    rounded = np.copysign(np.floor(np.abs(scaled) + np.float32(0.5)), scaled)
    samples = np.clip(rounded, -_LOUDEST, _LOUDEST - 1).astype("<i2")
    file = io.BytesIO()
    with wave.open(file, "wb") as writer:
        writer.setnchannels(clip.shape[-1])
        writer.setsampwidth(_SAMPLE_BYTES)
        writer.setframerate(rate)
        writer.writeframes(samples.tobytes())
    return file.getvalue()
