"""Checkpoints that TensorFlow wrote: where they are, and their arrays, which TensorFlow reads (checkpoint layer).

Such a checkpoint is not a folder but some files with a common beginning of their names: `model.ckpt-10.index` and
`model.ckpt-10.data-00000-of-00001`. The file `checkpoint` beside them says which is the last.
"""

import ast
import functools
import importlib
import logging
import os
import pathlib
import re
import types
from typing import Any

import numpy as np

from stratax import errors
from stratax._shown import shown

_logger = logging.getLogger("stratax")

_STATE = "checkpoint"
# A line of a `CheckpointState` message as text.
_LINE = re.compile(r'^\s*(all_)?model_checkpoint_paths?:\s*"((?:[^"\\]|\\.)*)"', re.MULTILINE)
# What an object-based checkpoint says of its objects, among them the variables' own names.
_OBJECT_GRAPH = "_CHECKPOINTABLE_OBJECT_GRAPH"


def is_written_by_tensorflow(prefix: pathlib.Path) -> bool:
    """Return whether TensorFlow wrote a checkpoint of this path."""
    return prefix.with_name(f"{prefix.name}.index").is_file()


def listed(folder: pathlib.Path) -> list[pathlib.Path]:
    """Return TensorFlow's checkpoints of a folder that its file `checkpoint` names and that are there, oldest first."""
    try:
        text = (folder / _STATE).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return []
    last, found = None, []
    for is_of_all, quoted in _LINE.findall(text):
        path = folder / os.fsdecode(ast.literal_eval(f'b"{quoted}"'))
        if is_of_all:
            found.append(path)
        else:
            last = path
    # The last one is that which the file says, wherever it stands in the list.
    paths = [path for path in found if path != last] + ([] if last is None else [last])
    if last is not None and not is_written_by_tensorflow(last):
        _logger.warning(
            "The file %s names a checkpoint that is not there: %s. It is passed over.", folder / _STATE, last
        )
    return [path for path in paths if is_written_by_tensorflow(path)]


def written_at(path: pathlib.Path) -> float:
    """Return when TensorFlow has written a checkpoint, in seconds since 1970; 0 if it is gone."""
    try:
        return path.with_name(f"{path.name}.index").stat().st_mtime
    except OSError:
        return 0.0


class Bundle:
    """The arrays of one of TensorFlow's checkpoints.

    Args:
        prefix: Its path.

    Attributes:
        path: Its path.

    Raises:
        MissingPackageError: If TensorFlow is not installed.
        DataLossError: If TensorFlow can't read it.
    """

    def __init__(self, prefix: pathlib.Path) -> None:
        self.path = os.fspath(prefix)
        self._tensorflow = _imported(self.path)
        self._reader = self._read(lambda: self._tensorflow.train.load_checkpoint(self.path))

    @functools.cached_property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The arrays' shapes."""
        found = self._reader.get_variable_to_shape_map()
        return {key: tuple(shape) for key, shape in sorted(found.items()) if key != _OBJECT_GRAPH}

    @functools.cached_property
    def dtypes(self) -> dict[str, np.dtype]:
        """The arrays' dtypes, by key."""
        found = self._reader.get_variable_to_dtype_map()
        return {key: np.dtype(found[key].as_numpy_dtype) for key in self.shapes}

    @functools.cached_property
    def names(self) -> dict[str, str]:
        """The names that variables had in their program, by key; of an object-based checkpoint only."""
        if not self._reader.has_tensor(_OBJECT_GRAPH):
            return {}
        messages = importlib.import_module("tensorflow.core.protobuf.trackable_object_graph_pb2")
        graph: Any = messages.TrackableObjectGraph()
        graph.ParseFromString(self._read(lambda: self._reader.get_tensor(_OBJECT_GRAPH)))
        attributes = (attribute for node in graph.nodes for attribute in node.attributes)
        return {each.checkpoint_key: each.full_name for each in attributes if each.full_name}

    def read(self, key: str) -> np.ndarray:
        """Return the array of a key."""
        return np.asarray(self._read(lambda: self._reader.get_tensor(key)))

    def _read(self, read: Any) -> Any:
        try:
            return read()
        except (RuntimeError, ValueError, self._tensorflow.errors.OpError) as error:
            raise errors.DataLossError(
                "TensorFlow can't read this checkpoint: a file of it is missing or damaged. Received: "
                f"path={shown(self.path)}, of which it says: {str(error).partition(chr(10))[0][:300]}. Copy all files "
                "that begin with this path again.",
                filename=self.path,
            ) from error


def _imported(path: str) -> types.ModuleType:
    try:
        return importlib.import_module("tensorflow")
    except ImportError as error:
        raise errors.MissingPackageError(
            f"{shown(path)} is a checkpoint that TensorFlow wrote, and reading it needs the package tensorflow, which "
            "is not installed. Run `pip install 'stratax[tensorflow]'`."
        ) from error
