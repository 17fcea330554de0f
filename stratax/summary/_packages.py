"""The parts of the package tensorboard that summaries are made and written with (summary layer)."""

import importlib
import types
from collections.abc import Callable
from typing import Any

from stratax import errors
from stratax.data.records import compute_masked_crc


def tensorboard(module: str) -> types.ModuleType:
    """Return a module of TensorBoard, which is imported when the first summary needs it.

    Args:
        module: Its name behind `tensorboard.`.

    Raises:
        MissingPackageError: If TensorBoard is not installed.
    """
    try:
        return importlib.import_module(f"tensorboard.{module}")
    except ImportError as error:
        raise errors.MissingPackageError(
            "Summaries for TensorBoard need the package tensorboard, which is not installed. Run "
            "`pip install 'stratax-train[tensorboard]'`."
        ) from error


def event_file_writer() -> Any:
    """Return TensorBoard's `EventFileWriter`."""
    # TensorBoard 2.21 computes checksums byte by byte in Python: 20 ms for an image of 100 KB, in which no other thread
    # runs Python. These are the same numbers.
    records: Any = tensorboard("summary.writer.record_writer")
    records.masked_crc32c = compute_masked_crc
    return tensorboard("summary.writer.event_file_writer").EventFileWriter


def new_summary() -> Any:
    """Return an empty `Summary` message."""
    return tensorboard("compat.proto.summary_pb2").Summary()


def new_event(**fields: object) -> Any:
    """Return an `Event` message."""
    return tensorboard("compat.proto.event_pb2").Event(**fields)


def metadata_of(plugin: str, description: str | None, **fields: object) -> Callable[[], Any]:
    """Return what makes the `SummaryMetadata` by which TensorBoard knows which plugin shows a summary.

    It needs TensorBoard, and is called once a summary is written.

    Args:
        plugin: The plugin's name: "scalars", "histograms", "images", "text" or "audio".
        description: What TensorBoard shows beside the summary, as Markdown; None for nothing.
        **fields: What the plugin keeps besides.
    """

    def make_metadata() -> Any:
        module = tensorboard(f"plugins.{_MODULES[plugin]}.metadata")
        return module.create_summary_metadata(display_name=None, description=description, **fields)

    return make_metadata


_MODULES = {
    "scalars": "scalar",
    "histograms": "histogram",
    "images": "image",
    "text": "text",
    "audio": "audio",
}
