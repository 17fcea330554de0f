"""The kinds of summaries: numbers, distributions, images, text and sound (summary layer)."""

from typing import Any

import keras

from stratax.base.shown import shown
from stratax.base.typing import TensorLike
from stratax.errors import BadArgumentError
from stratax.summary import _contents
from stratax.summary._context import summary_scope
from stratax.summary._packages import metadata_of, tensorboard
from stratax.summary._recording import record


def scalar(name: str, data: TensorLike, step: object = None, description: str | None = None) -> Any:
    """Write a number, as `tf.summary.scalar`.

    In a compiled function the number and its step leave the program while it runs, and every iteration of a loop
    writes its own; inside `strategy.run` the first replica's is written.

    Args:
        name: The name, behind those of the name scopes around it.
        data: A number; written as float32.
        step: The step, a whole number; None for the one that is set.
        description: What TensorBoard shows beside it, as Markdown.

    Returns:
        Whether it is recorded: a bool, or an array of one in a compiled function.

    Raises:
        BadArgumentError: If it is more than one number, or has no step.
        BadTypeError: If it is no number.

    Example:
        >>> import stratax as sx
        >>> sx.summary.scalar("loss", 0.5, step=1)  # There is no default writer.
        False
    """
    with summary_scope(name, "scalar_summary") as (tag, _):
        return record(tag, lambda: _contents.of_scalar(data), metadata_of("scalars", description), step)


def histogram(
    name: str,
    data: TensorLike,
    step: object = None,
    buckets: int | None = None,
    description: str | None = None,
) -> Any:
    """Write the distribution of numbers, as `tf.summary.histogram`.

    Args:
        name: The name, behind those of the name scopes around it.
        data: Numbers, of any shape. NaN and infinities are left out. In a compiled function they are counted on the
            device, with float32.
        step: The step, a whole number; None for the one that is set.
        buckets: How many buckets of equal width; default 30.
        description: What TensorBoard shows beside it, as Markdown.

    Returns:
        Whether it is recorded: a bool, or an array of one in a compiled function.

    Raises:
        BadArgumentError: If it has no step.
        BadTypeError: If the data are no real numbers.
    """
    with summary_scope(name, "histogram_summary") as (tag, _):
        metadata = metadata_of("histograms", description)
        return record(tag, lambda: _contents.of_histogram(data, buckets), metadata, step)


def image(
    name: str, data: TensorLike, step: object = None, max_outputs: int = 3, description: str | None = None
) -> Any:
    """Write images, as `tf.summary.image`.

    Args:
        name: The name, behind those of the name scopes around it.
        data: Shape `[count, height, width, channels]`, with 1 to 4 channels. Floats from 0 to 1, or whole numbers
            over the range of their dtype.
        step: The step, a whole number; None for the one that is set.
        max_outputs: How many of them are written at most.
        description: What TensorBoard shows beside them, as Markdown.

    Returns:
        Whether they are recorded: a bool, or an array of one in a compiled function.

    Raises:
        BadArgumentError: If the shape is another one, or there is no step.
        BadTypeError: If the data are no numbers.
    """
    with summary_scope(name, "image_summary") as (tag, _):
        metadata = metadata_of("images", description)
        return record(tag, lambda: _contents.of_images(data, max_outputs), metadata, step)


def text(name: str, data: object, step: object = None, description: str | None = None) -> Any:
    """Write text, which TensorBoard shows as Markdown, as `tf.summary.text`.

    Args:
        name: The name, behind those of the name scopes around it.
        data: A string, or an array or list of strings, which is shown as a table.
        step: The step, a whole number; None for the one that is set.
        description: What TensorBoard shows beside it, as Markdown.

    Returns:
        Whether it is recorded: a bool, or an array of one in a compiled function.

    Raises:
        BadArgumentError: If it has no step.
        BadTypeError: If the data are no strings.
    """
    with summary_scope(name, "text_summary") as (tag, _):
        return record(tag, lambda: _contents.of_text(data), metadata_of("text", description), step)


def keras_model(name: str, data: keras.Model, step: object = None) -> Any:
    """Write a Keras model's configuration, which TensorBoard draws as a graph.

    Args:
        name: The name, behind those of the name scopes around it.
        data: The model.
        step: The step, a whole number; None for the one that is set.

    Returns:
        Whether it is recorded.

    Raises:
        BadArgumentError: If it has no step.
    """
    metadata = tensorboard("compat.proto.summary_pb2").SummaryMetadata()
    metadata.plugin_data.plugin_name = "graph_keras_model"
    metadata.plugin_data.content = b"1"
    with summary_scope(name, "graph_keras_model") as (tag, _):
        return record(tag, lambda: _contents.of_text(data.to_json()), metadata, step)


def audio(
    name: str,
    data: TensorLike,
    sample_rate: int,
    step: object = None,
    max_outputs: int = 3,
    encoding: str | None = None,
    description: str | None = None,
) -> Any:
    """Write sound, as `tf.summary.audio`.

    Args:
        name: The name, behind those of the name scopes around it.
        data: Clips, shape `[count, frames, channels]`, amplitudes from -1 to 1.
        sample_rate: Frames a second.
        step: The step, a whole number; None for the one that is set.
        max_outputs: How many of them are written at most.
        encoding: "wav", the only one.
        description: What TensorBoard shows beside them, as Markdown.

    Returns:
        Whether they are recorded: a bool, or an array of one in a compiled function.

    Raises:
        BadArgumentError: If an argument can't be right, or there is no step.
        BadTypeError: If the data are no real numbers.
    """
    if encoding not in (None, "wav"):
        raise BadArgumentError(
            f'Sound is written in one encoding. Expected: encoding="wav". Received: encoding={shown(encoding)}.'
        )
    wav = tensorboard("plugins.audio.metadata").Encoding.Value("WAV")
    with summary_scope(name, "audio_summary") as (tag, _):
        metadata = metadata_of("audio", description, encoding=wav)
        return record(tag, lambda: _contents.of_audio(data, sample_rate, max_outputs), metadata, step)
