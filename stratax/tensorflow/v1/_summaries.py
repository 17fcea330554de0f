"""Summaries of a `model_fn`: values of the step, which a hook writes (v1 layer)."""

import contextlib
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from stratax.base.recording import composite
from stratax.base.shown import shown
from stratax.base.typing import TensorLike
from stratax.errors import BadArgumentError, BadTypeError
from stratax.summary import audio as audio_v2
from stratax.summary import experimental, forms
from stratax.summary import histogram as histogram_v2
from stratax.summary import image as image_v2
from stratax.summary import scalar as scalar_v2
from stratax.summary import text as text_v2
from stratax.tensorflow.ops.calls.creation import convert_to_tensor
from stratax.tensorflow.v1._current import current_or_none

SUMMARIES = "summaries"
# TensorFlow's pattern for what tags are cleaned of.
_INVALID_CHARACTERS = re.compile(r"[^-/\w\.]")


class ScopeCollector(forms.Collector):
    """Collects the summaries of TensorFlow 2's functions in a model scope's collection."""

    def path(self) -> str:
        scope = current_or_none()
        return "" if scope is None else scope.names.path

    def enter_scope(self, name: str) -> contextlib.AbstractContextManager[Any]:
        scope = current_or_none()
        return contextlib.nullcontext() if scope is None else scope.names.scope(name)

    def collect(self, record: forms.SummaryRecord) -> None:
        _collect(record, None)


@composite
def scalar(
    name: str, tensor: TensorLike, collections: Sequence[str] | None = None, family: str | None = None
) -> Any:
    """Return a summary of a number, as `tf.compat.v1.summary.scalar`.

    In a `model_fn` it is a value of the step, in the collection "summaries", which an Estimator's hook writes. Outside
    of one, with a default writer and a step, it is written by them, as in TensorFlow; else it is what
    `FileWriter.add_summary` takes.

    Args:
        name: The name, made unique in the step.
        tensor: The number.
        collections: The collections that it is added to; default "summaries".
        family: What the tag begins with.

    Returns:
        The summary.

    Raises:
        BadArgumentError: If it is more than one number.
        BadTypeError: If it is no number.
    """
    value = numbers(tensor, "scalar")
    if np.shape(value) != ():
        raise BadArgumentError(
            "A scalar summary holds one number. Expected: a tensor of shape (). Received: a tensor of shape "
            f"{np.shape(value)}. Reduce it first (`tf.reduce_mean(tensor)`), or write a histogram."
        )
    if _is_forwarded():
        return _forward(name, family, lambda tag: scalar_v2(tag, value))
    tag = _tag(name, family)
    return _collect(forms.SummaryRecord(tag, [value], forms.scalar(tag)), collections)


@composite
def histogram(
    name: str, values: TensorLike, collections: Sequence[str] | None = None, family: str | None = None
) -> Any:
    """Return a summary of a distribution, as `tf.compat.v1.summary.histogram`; see :func:`scalar`.

    Args:
        name: The name, made unique in the step.
        values: Numbers, of any shape. NaN and infinities are left out, where TensorFlow raises.
        collections: The collections that it is added to; default "summaries".
        family: What the tag begins with.

    Returns:
        The summary.
    """
    value = numbers(values, "histogram")
    if _is_forwarded():
        return _forward(name, family, lambda tag: histogram_v2(tag, value))
    tag = _tag(name, family)
    return _collect(forms.SummaryRecord(tag, [value], forms.histogram(tag)), collections)


@composite
def image(
    name: str,
    tensor: TensorLike,
    max_outputs: int = 3,
    collections: Sequence[str] | None = None,
    family: str | None = None,
) -> Any:
    """Return a summary of images, as `tf.compat.v1.summary.image`; see :func:`scalar`.

    Args:
        name: The name, made unique in the step.
        tensor: Shape `[count, height, width, channels]` with 1, 3 or 4 channels: uint8, or floats, which are stretched
            over the range of a byte.
        max_outputs: How many of them are written at most.
        collections: The collections that it is added to; default "summaries".
        family: What the tag begins with.

    Returns:
        The summary.

    Raises:
        BadArgumentError: If the shape is another one.
    """
    value = numbers(tensor, "image")
    if np.ndim(value) != 4 or np.shape(value)[3] not in (1, 3, 4):
        raise BadArgumentError(
            "An image summary holds several images. Expected: a tensor of shape [count, height, width, channels] with "
            f"1, 3 or 4 channels. Received: a tensor of shape {np.shape(value)}."
        )
    _check_count(max_outputs)
    if _is_forwarded():
        return _forward(name, family, lambda tag: image_v2(tag, value, max_outputs=max_outputs))
    tag = _tag(name, family)
    # Only these leave the device.
    return _collect(
        forms.SummaryRecord(tag, [value[:max_outputs]], forms.image(tag, max_outputs)), collections
    )


@composite
def audio(
    name: str,
    tensor: TensorLike,
    sample_rate: float,
    max_outputs: int = 3,
    collections: Sequence[str] | None = None,
    family: str | None = None,
) -> Any:
    """Return a summary of sound, as `tf.compat.v1.summary.audio`; see :func:`scalar`.

    Args:
        name: The name, made unique in the step.
        tensor: Clips, shape `[count, frames, channels]` or `[count, frames]`, amplitudes from -1 to 1.
        sample_rate: Frames a second.
        max_outputs: How many of them are written at most.
        collections: The collections that it is added to; default "summaries".
        family: What the tag begins with.

    Returns:
        The summary.

    Raises:
        BadArgumentError: If the shape is another one.
    """
    value = numbers(tensor, "audio")
    if np.ndim(value) not in (2, 3):
        raise BadArgumentError(
            "An audio summary holds several clips. Expected: a tensor of shape [count, frames, channels] or [count, "
            f"frames]. Received: a tensor of shape {np.shape(value)}."
        )
    _check_count(max_outputs)
    if _is_forwarded():
        # TensorFlow 2's function wants a dimension for channels.
        clips = value if np.ndim(value) == 3 else value[..., None]
        return _forward(
            name, family, lambda tag: audio_v2(tag, clips, int(sample_rate), max_outputs=max_outputs)
        )
    tag = _tag(name, family)
    encode = forms.audio(tag, float(sample_rate), max_outputs)
    return _collect(forms.SummaryRecord(tag, [value[:max_outputs]], encode), collections)


@composite
def text(name: str, tensor: TensorLike, collections: Sequence[str] | None = None) -> Any:
    """Return a summary of text, as `tf.compat.v1.summary.text`; see :func:`scalar`.

    Args:
        name: The name, made unique in the step.
        tensor: A string or several.
        collections: The collections that it is added to; default "summaries".

    Returns:
        The summary.

    Raises:
        BadTypeError: If it is no text.
    """
    value = _strings(tensor)
    if _is_forwarded():
        return _forward(name, None, lambda tag: text_v2(tag, value))
    tag = _tag(name, None)
    # Text is known now, and is no result of the step.
    encode = forms.text(tag)
    return _collect(forms.SummaryRecord(tag, [], lambda: encode(value)), collections)


@composite
def tensor_summary(
    name: str,
    tensor: TensorLike,
    summary_description: object = None,
    collections: Sequence[str] | None = None,
    summary_metadata: object = None,
    family: str | None = None,
    display_name: str | None = None,
) -> Any:
    """Return a summary of an array of any kind, as `tf.compat.v1.summary.tensor_summary`; see :func:`scalar`.

    Args:
        name: The name, made unique in the step.
        tensor: Numbers, or strings.
        summary_description: Ignored.
        collections: The collections that it is added to; default "summaries".
        summary_metadata: The `SummaryMetadata` by which TensorBoard knows how to show it.
        family: What the tag begins with.
        display_name: What TensorBoard calls it.

    Returns:
        The summary.
    """
    tag = _tag(name, family)
    encode = forms.tensor(tag, summary_metadata, display_name=display_name)
    is_text = isinstance(tensor, (str, bytes)) or (
        isinstance(tensor, np.ndarray) and tensor.dtype.kind in "OSU"
    )
    if is_text:
        value = _strings(tensor)
        record = forms.SummaryRecord(tag, [], lambda: encode(value))
    else:
        record = forms.SummaryRecord(tag, [numbers(tensor, "tensor")], encode)
    return _collect(record, collections)


@composite
def merge(inputs: Sequence[Any], collections: Sequence[str] | None = None, name: str | None = None) -> Any:
    """Return several summaries as one, as `tf.compat.v1.summary.merge`.

    Args:
        inputs: What :func:`scalar` and its like return.
        collections: The collections that it is added to; default none.
        name: Its name.

    Raises:
        BadTypeError: If one of them is no summary.
    """
    # By default in no collection: the parts of it are.
    return _collect(forms.merge_records(list(inputs), name or "Merge/MergeSummary"), collections or ())


def merge_all(key: str = SUMMARIES, scope: str | None = None, name: str | None = None) -> Any:
    """Return all summaries of the `model_fn` so far as one, as `tf.compat.v1.summary.merge_all`; None for none.

    Args:
        key: The collection.
        scope: What their names begin with.
        name: Its name.
    """
    model = current_or_none()
    found = [] if model is None else model.collections.get(key, scope)
    return merge(found, name=name) if found else None


def initialize(graph: object = None, session: object = None) -> None:
    """Do nothing: writers are there since they were made."""


def all_v2_summary_ops() -> list[Any]:
    """Return no operations: what TensorFlow 2's summaries write leaves the step by itself."""
    return []


def get_summary_description(node_def: object) -> Any:
    """Refuse what reads a graph of TensorFlow.

    Raises:
        BadTypeError: Always.
    """
    raise BadTypeError(
        "get_summary_description reads an operation of a TensorFlow graph, and there is none here. "
        f"Received: node_def={shown(node_def)}. Give the description to TensorFlow 2's `tf.summary.scalar`."
    )


def __getattr__(name: str) -> Any:
    # Messages of TensorBoard's, which is imported when they are used.
    module = {"Summary": "summary_pb2", "SummaryDescription": "summary_pb2"}.get(name, "event_pb2")
    if name not in ("Event", "SessionLog", "Summary", "SummaryDescription", "TaggedRunMetadata"):
        raise AttributeError(f"module {shown(__name__)} has no attribute {shown(name)}", name=name)
    return getattr(forms.tensorboard(f"compat.proto.{module}"), name)


def clean_tag(name: str) -> str:
    """Return a name with only the characters that a graph's names have."""
    return _INVALID_CHARACTERS.sub("_", name).lstrip("/")


def _tag(name: str, family: str | None) -> str:
    base = clean_tag(name) if family is None else f"{clean_tag(family)}/{clean_tag(name)}"
    scope = current_or_none()
    full = base if scope is None else scope.names.unique(base)
    # The family twice, as in TensorFlow, where it is part of the unique name, too.
    return full if family is None else f"{clean_tag(family)}/{full}"


def _collect(record: forms.SummaryRecord, collections: Sequence[str] | None) -> forms.SummaryRecord:
    scope = current_or_none()
    if scope is not None:
        for key in (SUMMARIES,) if collections is None else collections:
            scope.collections.add(key, record)
    return record


def _is_forwarded() -> bool:
    """Return whether TensorFlow would hand the summary to the default writer of TensorFlow 2's functions."""
    return (
        current_or_none() is None and forms.WRITER.get() is not None and experimental.get_step() is not None
    )


def _forward(name: str, family: str | None, write: Any) -> bytes:
    write(clean_tag(name) if family is None else f"{clean_tag(family)}/{clean_tag(name)}")
    # An empty summary, as TensorFlow returns then.
    return b""


def numbers(tensor: TensorLike, kind: str) -> Any:
    """Return a tensor of numbers.

    Raises:
        BadTypeError: If it is none.
    """
    try:
        value = convert_to_tensor(tensor)
    except (TypeError, ValueError) as error:
        raise BadTypeError(
            f"A {kind} summary holds numbers. Received: {shown(tensor)} ({type(tensor).__name__})."
        ) from error
    if isinstance(value, (str, bytes)) or (isinstance(value, np.ndarray) and value.dtype.kind in "OSU"):
        raise BadTypeError(
            f"A {kind} summary holds numbers. Received: {shown(tensor)} ({type(tensor).__name__})."
        )
    return value


def _strings(tensor: TensorLike) -> Any:
    array = np.asarray(tensor, object if isinstance(tensor, bytes) else None)
    flat = [each.encode() if isinstance(each, str) else each for each in array.ravel().tolist()]
    if not all(isinstance(each, bytes) for each in flat):
        raise BadTypeError(
            f"A text summary holds strings. Received: {shown(tensor)} ({type(tensor).__name__}). Format it first "
            "(`str(tensor)`)."
        )
    # NumPy would make strings of fixed length of `bytes`.
    made = np.empty(len(flat), object)
    made[:] = flat
    return made.reshape(array.shape)


def _check_count(max_outputs: object) -> None:
    if not isinstance(max_outputs, int) or max_outputs < 1:
        raise BadArgumentError(
            f"A summary has at least one example. Expected: max_outputs to be 1 or more. "
            f"Received: max_outputs={shown(max_outputs)}."
        )
