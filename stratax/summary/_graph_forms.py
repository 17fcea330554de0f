"""Summaries in the form that TensorFlow 1 wrote them: one message for each tag, without a plugin (summary layer).

Each function returns a function of NumPy arrays that makes a `Summary` message.
"""

import functools
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from stratax.summary import _contents
from stratax.summary._packages import metadata_of, new_summary, tensorboard

Encode = Callable[..., Any]

# TensorFlow's buckets grow by a tenth from the smallest to the greatest limit, on both sides of zero.
_SMALLEST_LIMIT = 1e-12
_GREATEST_LIMIT = 1e20
_GROWTH = 1.1
# An image whose greatest value is below this is shown black, as TensorFlow shows it.
_DARK = 1e-6


def scalar(tag: str) -> Encode:
    """Return what makes a number's message."""

    def encode(value: np.ndarray) -> Any:
        message = new_summary()
        message.value.add(tag=tag, simple_value=float(value))
        return message

    return encode


def histogram(tag: str) -> Encode:
    """Return what makes a distribution's message. NaN and infinities are left out."""

    def encode(values: np.ndarray) -> Any:
        data = np.asarray(values).astype(np.float64).ravel()
        data = data[np.isfinite(data)]
        limits = _limits()
        counts = np.bincount(np.searchsorted(limits, data, "right"), minlength=len(limits))
        # Of neighbouring empty buckets only the last one is kept.
        kept = (counts > 0) | np.append(counts[1:] > 0, True)
        message = new_summary()
        histo = message.value.add(tag=tag).histo
        histo.min = data.min(initial=sys.float_info.max)
        histo.max = data.max(initial=-sys.float_info.max)
        histo.num, histo.sum, histo.sum_squares = data.size, data.sum(), np.square(data).sum()
        histo.bucket_limit.extend(limits[kept])
        histo.bucket.extend(counts[kept].astype(np.float64))
        return message

    return encode


@functools.cache
def _limits() -> np.ndarray:
    positive = []
    limit = _SMALLEST_LIMIT
    # By multiplication, one after the other: powers would differ in their last bits.
    while limit < _GREATEST_LIMIT:
        positive.append(limit)
        limit *= _GROWTH
    positive.append(sys.float_info.max)
    return np.array([*(-limit for limit in reversed(positive)), 0.0, *positive])


def image(tag: str, max_outputs: int, bad_color: object = None) -> Encode:
    """Return what makes images' messages: one for each.

    Args:
        tag: The tag, which a number follows unless there is at most one image.
        max_outputs: How many images are written at most.
        bad_color: The color of pixels that are no numbers, uint8; None for red.
    """

    def encode(images: np.ndarray) -> Any:
        message = new_summary()
        for number, pixels in enumerate(images[:max_outputs]):
            height, width, channels = pixels.shape
            part = message.value.add(tag=_number_tag(f"{tag}/image", number, max_outputs)).image
            part.height, part.width, part.colorspace = height, width, channels
            part.encoded_image_string = _contents.png(_as_bytes(pixels, bad_color))
        return message

    return encode


def _as_bytes(pixels: np.ndarray, bad_color: object) -> np.ndarray:
    """Stretch an image's values over those of a byte, each image by itself; zero is in the middle if any is below."""
    if pixels.dtype == np.uint8:
        return pixels
    values = pixels.astype(np.float32)
    good = np.isfinite(values).all(-1)
    found = values[good]
    least, most = found.min(initial=np.inf), found.max(initial=-np.inf)
    if least < 0:
        peak, span, offset = max(abs(least), abs(most)), np.float32(127), np.float32(128)
    else:
        peak, span, offset = most, np.float32(255), np.float32(0)
    scale = np.float32(0) if peak < _DARK else span / np.float32(peak)
    result = np.empty(values.shape, np.uint8)
    result[good] = (found * scale + offset).astype(np.uint8)
    color = np.array([255, 0, 0, 255] if bad_color is None else bad_color, np.uint8)
    result[~good] = color[: values.shape[-1]]
    return result


def audio(tag: str, sample_rate: float, max_outputs: int) -> Encode:
    """Return what makes clips' messages: one for each."""

    def encode(clips: np.ndarray) -> Any:
        message = new_summary()
        clips = clips if clips.ndim == 3 else clips[..., None]
        for number, clip in enumerate(clips[:max_outputs]):
            part = message.value.add(tag=_number_tag(f"{tag}/audio", number, max_outputs)).audio
            part.sample_rate, part.num_channels, part.length_frames = sample_rate, clip.shape[1], len(clip)
            part.encoded_audio_string = _contents.wav(np.asarray(clip, np.float32), int(sample_rate))
            part.content_type = "audio/wav"
        return message

    return encode


def tensor(tag: str, metadata: object, *, display_name: str | None = None) -> Encode:
    """Return what makes the message of an array of numbers or strings.

    Args:
        tag: The tag.
        metadata: Its `SummaryMetadata`, or what makes it; None for none.
        display_name: What TensorBoard calls it; None for the tag.
    """

    def encode(value: np.ndarray) -> Any:
        message = new_summary()
        part = message.value.add(tag=tag, tensor=_contents.tensor_message(value))
        if metadata is not None:
            part.metadata.CopyFrom(metadata() if callable(metadata) else metadata)
        if display_name is not None:
            part.metadata.display_name = display_name
        return message

    return encode


def text(tag: str) -> Encode:
    """Return what makes a text's message."""
    return tensor(tag, metadata_of("text", None))


def parse_summary(content: bytes) -> Any:
    """Return a `Summary` message from its bytes."""
    return tensorboard("compat.proto.summary_pb2").Summary.FromString(content)


def _number_tag(tag: str, number: int, most: int) -> str:
    return tag if most == 1 else f"{tag}/{number}"
