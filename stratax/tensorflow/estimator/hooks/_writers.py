"""How hooks write summaries (estimator layer)."""

import contextlib
import functools
import logging
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from stratax import errors
from stratax.base.shown import shown
from stratax.base.surroundings import Slot
from stratax.summary import forms
from stratax.summary.files import FileWriter, open_shared

_logger = logging.getLogger("stratax")


# Those that hooks have opened in the outermost block of `closing_writers`; None outside of one.
_OPENED: Slot[dict[int, FileWriter] | None] = Slot("writers of hooks", None)


@contextlib.contextmanager
def closing_writers() -> Iterator[None]:
    """Close the writers that hooks open in a block, at its end, also behind an error; blocks within it do nothing.

    Nothing keeps a thread and an open file then. Writers that were open before belong to the program, and stay open.
    """
    if _OPENED.get() is not None:
        yield
        return
    writers: dict[int, FileWriter] = {}
    with contextlib.ExitStack() as stack:
        try:
            with _OPENED.holding(writers):
                yield
        finally:
            for writer in writers.values():
                # All of them, whatever the first one raises.
                stack.callback(writer.close)


def writer_of(folder: str) -> FileWriter | None:
    """Return the writer into a folder that the whole process shares; where it is not the chief, it writes nothing.

    TensorBoard follows one file of a folder: of two that grow at the same time it would lose values.

    Args:
        folder: The folder or URL.

    Returns:
        The writer; None where TensorBoard is not installed, which is said once: a model is trained without summaries.
    """
    try:
        writer, is_new = open_shared(folder)
    except errors.MissingPackageError:
        _warn_of_no_summaries()
        return None
    opened = _OPENED.get()
    if is_new and opened is not None:
        opened[id(writer)] = writer
    return writer


@functools.cache
def _warn_of_no_summaries() -> None:
    _logger.warning(
        "No summaries are written, as the package tensorboard is not installed. Run `pip install "
        "'stratax-train[tensorboard]'` for them; all else works without it."
    )


def check_writer(writer: object) -> Any:
    """Return a writer that a hook was given.

    Raises:
        BadTypeError: If it does not write as a `FileWriter` does.
    """
    if writer is None or callable(getattr(writer, "add_summary", None)):
        return writer
    raise errors.BadTypeError(
        "summary_writer must be a tf.compat.v1.summary.FileWriter. "
        f"Received: summary_writer={shown(writer)}. Pass output_dir, the folder, instead."
    )


def write(writer: Any, found: Any, step: int) -> None:
    """Write what a step has given.

    Args:
        writer: A `FileWriter`.
        found: Numbers, arrays and bytes of summaries by tag, or a summary.
        step: The step.
    """
    writer.add_summary(_message(found) if isinstance(found, Mapping) else found, step)


def _message(values: Mapping[str, Any]) -> Any:
    kind = forms.tensorboard("compat.proto.summary_pb2").Summary
    message = kind()
    for tag, value in values.items():
        if isinstance(value, bytes):
            # A summary itself, whose parts TensorFlow numbers.
            for number, part in enumerate(kind.FromString(value).value):
                message.value.add().CopyFrom(part)
                message.value[-1].tag = f"{tag}/{number}"
        else:
            message.value.add(tag=tag, **_content(tag, value))
    return message


def _content(tag: str, value: Any) -> dict[str, Any]:
    if isinstance(value, np.ndarray) and value.shape:
        # As TensorFlow's Estimator writes a metric; TensorBoard shows none of them.
        return {"node_name": tag, "tensor": forms.tensor_message(value)}
    return {"simple_value": float(value)}
