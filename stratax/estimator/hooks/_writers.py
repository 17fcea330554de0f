"""How hooks write summaries (estimator layer)."""

from collections.abc import Mapping
from typing import Any

from stratax import errors
from stratax._shown import shown
from stratax.summary import forms
from stratax.summary.files import FileWriter, FileWriterCache


def writer_of(folder: str) -> FileWriter:
    """Return the writer into a folder that the whole process shares; where it is not the chief, it writes nothing.

    TensorBoard follows one file of a folder: of two that grow at the same time it would lose values.

    Args:
        folder: The folder or URL.
    """
    writer = FileWriterCache.get(folder)
    # A program may have closed it behind another run.
    writer.reopen()
    return writer


def check_writer(writer: Any) -> Any:
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
        found: Numbers by tag, or a summary.
        step: The step.
    """
    writer.add_summary(_message(found) if isinstance(found, Mapping) else found, step)


def _message(values: Mapping[str, Any]) -> Any:
    kind = forms.tensorboard("compat.proto.summary_pb2").Summary
    return kind(value=[kind.Value(tag=tag, simple_value=float(value)) for tag, value in values.items()])
