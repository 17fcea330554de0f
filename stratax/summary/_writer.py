"""Summaries for TensorBoard, written by its own event writer (summary layer)."""

import contextlib
import importlib
import io
import time
import types
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import keras
import numpy as np

from stratax import errors


class Writer:
    """Writes events into one folder; follows `tf.summary.SummaryWriter`.

    Args:
        folder: Where the event file is made.

    Raises:
        MissingPackageError: If TensorBoard is not installed.
    """

    def __init__(self, folder: str, summary: "Summary") -> None:
        self._events = _tensorboard("summary.writer.event_file_writer").EventFileWriter(folder)
        self._summary = summary

    @contextlib.contextmanager
    def as_default(self, step: Any = None) -> Iterator[None]:
        """Make this the writer that summaries go to, for a block."""
        with self._summary.writing_to(self):
            yield

    def write(self, summary: object, step: object) -> None:
        """Write one summary protobuf."""
        event = _tensorboard("compat.proto.event_pb2").Event(
            wall_time=time.time(), step=int(np.asarray(step)), summary=summary
        )
        self._events.add_event(event)

    def flush(self) -> None:
        """Write what is still in memory."""
        self._events.flush()

    def close(self) -> None:
        """Write what is buffered and close the file."""
        self._events.close()


class Summary:
    """What Keras' callback asks of `tensorflow.summary`. Without a default writer nothing is written, as there.

    Example:
        >>> import tempfile
        >>> from stratax.summary import Summary
        >>> summary = Summary()
        >>> writer = summary.create_file_writer(tempfile.mkdtemp())
        >>> with writer.as_default():
        ...     summary.scalar("loss", 0.5, step=1)
        >>> writer.close()
    """

    def __init__(self) -> None:
        self._writers: list[Writer] = []
        self._wanted: list[Callable[[], bool]] = []

    def create_file_writer(self, folder: str) -> Writer:
        """Make a writer into `folder`."""
        return Writer(folder, self)

    @contextlib.contextmanager
    def writing_to(self, writer: Writer) -> Iterator[None]:
        """Make `writer` the default one for a block."""
        self._writers.append(writer)
        try:
            yield
        finally:
            self._writers.pop()

    @contextlib.contextmanager
    def record_if(self, condition: Callable[[], bool]) -> Iterator[None]:
        """Write summaries of a block only where `condition()`."""
        self._wanted.append(condition)
        try:
            yield
        finally:
            self._wanted.pop()

    def scalar(self, name: str, data: object, step: object) -> None:
        """Write one number of a step."""
        if self._is_on():
            make = _tensorboard("plugins.scalar.summary_v2").scalar_pb
            self._writers[-1].write(make(name, np.asarray(data)), step)

    def histogram(self, name: str, data: object, step: object) -> None:
        """Write the distribution of an array's values."""
        if self._is_on():
            make = _tensorboard("plugins.histogram.summary_v2").histogram_pb
            self._writers[-1].write(make(name, keras.ops.convert_to_numpy(data)), step)

    def image(self, name: str, data: np.ndarray, step: object) -> None:
        """Write pictures, shape `(count, height, width, channels)`, values from 0 to 1."""
        if not self._is_on():
            return
        pixels = np.clip(np.asarray(data, "float32") * 255.0, 0, 255).astype("uint8")
        # TensorBoard's format: width, height, then one PNG per image.
        content = [str(pixels.shape[2]).encode(), str(pixels.shape[1]).encode(), *map(_png, pixels)]
        metadata = _tensorboard("plugins.image.metadata").create_summary_metadata(None, None)
        self._writers[-1].write(_tensor_summary(name, content, metadata), step)

    def model(self, name: str, model: keras.Model, step: object) -> None:
        """Write a model's configuration, which TensorBoard draws as a graph."""
        if not self._is_on():
            return
        metadata = _tensorboard("compat.proto.summary_pb2").SummaryMetadata()
        # The name under which TensorBoard's graph plugin looks for a Keras model.
        metadata.plugin_data.plugin_name = "graph_keras_model"
        metadata.plugin_data.content = b"1"
        self._writers[-1].write(_tensor_summary(name, model.to_json().encode(), metadata), step)

    def trace_on(self, *, graph: bool, profiler: bool) -> None:
        """Do nothing: JAX' profiler, which the callback starts besides, has no graph to record."""

    def trace_export(self, *, name: str, step: object) -> None:
        """Do nothing; see :meth:`trace_on`."""

    def _is_on(self) -> bool:
        return bool(self._writers) and all(wanted() for wanted in self._wanted)


def _tensor_summary(tag: str, content: bytes | Sequence[bytes], metadata: object) -> Any:
    proto = _tensorboard("compat.proto.summary_pb2").Summary()
    tensor = _tensorboard("util.tensor_util").make_tensor_proto(content)
    proto.value.add(tag=tag, metadata=metadata, tensor=tensor)
    return proto


def _png(pixels: np.ndarray) -> bytes:
    from PIL import Image  # TensorBoard depends on it.

    file = io.BytesIO()
    Image.fromarray(pixels[..., 0] if pixels.shape[-1] == 1 else pixels).save(file, "PNG")
    return file.getvalue()


def _tensorboard(module: str) -> types.ModuleType:
    try:
        # Imported when something is written: TensorBoard is optional.
        return importlib.import_module(f"tensorboard.{module}")
    except ImportError as error:
        raise errors.MissingPackageError(
            "Summaries for TensorBoard need the package tensorboard, which is not installed. Run "
            "`pip install 'stratax[tensorboard]'`."
        ) from error
