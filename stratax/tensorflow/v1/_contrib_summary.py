"""`tf.contrib.summary`: writers and summaries for functions on the host, as in host calls (v1 layer)."""

import contextlib
import threading
from typing import Any

import numpy as np

from stratax import io as files
from stratax.base.typing import TensorLike
from stratax.errors import BadArgumentError
from stratax.io import FileName
from stratax.summary import SummaryWriter, create_noop_writer, experimental, forms, record_if
from stratax.summary import create_file_writer as create_file_writer_v2
from stratax.summary import should_record_summaries as should_record_summaries_v2
from stratax.tensorflow.v1 import _summaries
from stratax.tensorflow.v1._current import current_or_none


class _Shared:
    """Writers by name: a function that makes its writer in every call writes one file, as in TensorFlow."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.writers: dict[str, SummaryWriter] = {}


_SHARED = _Shared()


def create_file_writer(
    logdir: FileName | None,
    max_queue: int | None = None,
    flush_millis: int | None = None,
    filename_suffix: str | None = None,
    name: str | None = None,
) -> SummaryWriter:
    """Return the writer of summaries of a name, as `tf.contrib.summary.create_file_writer`.

    Args:
        logdir: The folder or URL; None for a writer that writes nothing.
        max_queue: After so many summaries the file is flushed; default 10.
        flush_millis: What is in memory only is never older than this; default two minutes.
        filename_suffix: The end of the file's name; default ".v2".
        name: The name; default that of the folder. If there is an open writer of the name, it is returned, and the
            other arguments have no effect.

    Raises:
        BadArgumentError: If an argument can't be right.
        FileAccessError: If the file can't be made.
        MissingPackageError: If TensorBoard is not installed.
    """
    if logdir is None:
        return create_noop_writer()
    # What TensorFlow calls the writer of a folder.
    key = name or f"logdir:{files.as_file_name(logdir)}"
    with _SHARED.lock:
        writer = _SHARED.writers.get(key)
        if writer is None or writer.is_closed:
            writer = create_file_writer_v2(logdir, max_queue, flush_millis, filename_suffix)
            _SHARED.writers[key] = writer
        return writer


def always_record_summaries() -> contextlib.AbstractContextManager[None]:
    """Return a block in which summaries are recorded; without one, those of this module are not."""
    return record_if(True)


def never_record_summaries() -> contextlib.AbstractContextManager[None]:
    """Return a block in which no summaries are recorded."""
    return record_if(False)


def record_summaries_every_n_global_steps(
    n: int, global_step: TensorLike | None = None
) -> contextlib.AbstractContextManager[None]:
    """Return a block in which summaries are recorded at every n-th step.

    Args:
        n: How many steps lie between.
        global_step: The step, a variable, array or number; None for the global step.

    Raises:
        BadArgumentError: If there is no step.
    """
    step = _step(global_step)
    return record_if(lambda: np.bool_(step % n == 0) if isinstance(step, int) else step % n == 0)


def should_record_summaries() -> Any:
    """Return whether summaries of this module are recorded: False where nothing was said."""
    return False if forms.CONDITION.get() is None else should_record_summaries_v2()


def generic(
    name: str, tensor: TensorLike, metadata: object = None, family: str | None = None, step: object = None
) -> Any:
    """Write an array as it is, if summaries are recorded.

    Args:
        name: The name.
        tensor: Numbers.
        metadata: The `SummaryMetadata` by which TensorBoard knows how to show it.
        family: What the tag begins with.
        step: The step; None for the global step.

    Returns:
        Whether it is recorded.
    """
    return _record(name, family, step, [tensor], lambda tag: forms.tensor(tag, metadata))


def scalar(name: str, tensor: TensorLike, family: str | None = None, step: object = None) -> Any:
    """Write a number, if summaries are recorded; see :func:`generic`."""
    if np.shape(tensor) != ():
        raise BadArgumentError(
            f"A scalar summary holds one number. Expected: a tensor of shape (). Received: shape {np.shape(tensor)}."
        )
    return _record(name, family, step, [tensor], forms.scalar)


def histogram(name: str, tensor: TensorLike, family: str | None = None, step: object = None) -> Any:
    """Write a distribution, if summaries are recorded; see :func:`generic`."""
    return _record(name, family, step, [tensor], forms.histogram)


def image(
    name: str,
    tensor: TensorLike,
    bad_color: object = None,
    max_images: int = 3,
    family: str | None = None,
    step: object = None,
) -> Any:
    """Write images, if summaries are recorded; see :func:`generic`.

    Args:
        name: The name.
        tensor: Shape `[count, height, width, channels]`: uint8, or floats, which are stretched over the range of a
            byte.
        bad_color: The color of pixels that are no numbers, uint8; default red.
        max_images: How many of them are written at most.
        family: What the tag begins with.
        step: The step; None for the global step.

    Returns:
        Whether they are recorded.
    """
    return _record(name, family, step, [tensor], lambda tag: forms.image(tag, max_images, bad_color))


def audio(
    name: str,
    tensor: TensorLike,
    sample_rate: float,
    max_outputs: int,
    family: str | None = None,
    step: object = None,
) -> Any:
    """Write sound, if summaries are recorded; see :func:`generic`.

    Args:
        name: The name.
        tensor: Clips, shape `[count, frames, channels]`.
        sample_rate: Frames a second.
        max_outputs: How many of them are written at most.
        family: What the tag begins with.
        step: The step; None for the global step.

    Returns:
        Whether they are recorded.
    """
    return _record(
        name, family, step, [tensor], lambda tag: forms.audio(tag, float(sample_rate), max_outputs)
    )


def all_summary_ops() -> list[Any]:
    """Return no operations: what is recorded is written without being run."""
    return []


def summary_writer_initializer_op() -> list[Any]:
    """Return no operations: writers are there since they were made."""
    return []


def initialize(graph: object = None, session: object = None) -> None:
    """Do nothing: writers are there since they were made."""


def _record(name: str, family: str | None, step: Any, arrays: list[Any], form: Any) -> Any:
    if forms.WRITER.get() is None or forms.CONDITION.get() is None:
        return False
    base = _summaries.clean_tag(name)
    # The family twice, as in TensorFlow: as a part of the name, and in front of it.
    tag = base if family is None else f"{_summaries.clean_tag(family)}/{_summaries.clean_tag(family)}/{base}"
    values = [_summaries.numbers(array, "contrib") for array in arrays]
    return forms.record_message(tag, lambda: forms.Content(tuple(values), form(tag)), _step(step))


def _step(step: Any) -> Any:
    if step is not None:
        return step
    scope = current_or_none()
    if scope is not None:
        # As in TensorFlow: made, if there is none yet.
        return scope.global_step()
    found = experimental.get_step()
    if found is None:
        raise BadArgumentError(
            "There is no global step outside of a model_fn. Expected: the argument for the step, or "
            "`tf.summary.experimental.set_step`. Received: None."
        )
    return found
