"""Checkpoints that TensorFlow wrote: where they are, and their arrays (checkpoint layer).

Such a checkpoint is not a folder but some files with a common beginning of their names: `model.ckpt-10.index` and
`model.ckpt-10.data-00000-of-00001`, or in the older format a file `model.ckpt-10`. The file `checkpoint` beside them
says which is the last.
"""

import ast
import functools
import logging
import os
import pathlib
import re
from collections.abc import Callable
from typing import TypeVar

import numpy as np

from stratax import errors
from stratax.base.shown import shown
from stratax.tensorflow.checkpoints import _bundles

_logger = logging.getLogger("stratax")

_STATE = "checkpoint"
# A line of a `CheckpointState` message as text.
_LINE = re.compile(r'^\s*(all_)?model_checkpoint_paths?:\s*"((?:[^"\\]|\\.)*)"', re.MULTILINE)
_T = TypeVar("_T")


def is_written_by_tensorflow(prefix: pathlib.Path) -> bool:
    """Return whether TensorFlow wrote a checkpoint of this path."""
    return _bundles.is_version_2(prefix) or bool(_bundles.version_1_files(prefix))


def list_checkpoints(folder: pathlib.Path) -> list[pathlib.Path]:
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


def find_write_time(path: pathlib.Path) -> float:
    """Return when TensorFlow has written a checkpoint, in seconds since 1970; 0 if it is gone."""
    files = [path.with_name(f"{path.name}.index")]
    if not files[0].is_file():
        files = _bundles.version_1_files(path)
    try:
        return max((file.stat().st_mtime for file in files), default=0.0)
    except OSError:
        return 0.0


class Bundle:
    """The arrays of one of TensorFlow's checkpoints.

    Args:
        prefix: Its path.

    Attributes:
        path: Its path.

    Raises:
        DataLossError: If a file of it is damaged or missing.
        FileAccessError: If it may not be read.
    """

    def __init__(self, prefix: pathlib.Path) -> None:
        self.path = os.fspath(prefix)
        make = _bundles.BundleFiles if _bundles.is_version_2(prefix) else _bundles.SliceFiles
        self._files: _bundles.Files = self._read(lambda: make(prefix))

    @functools.cached_property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The arrays' shapes."""
        found = self._files.entries
        return {key: found[key].shape for key in sorted(found) if key != _bundles.OBJECT_GRAPH}

    @functools.cached_property
    def dtypes(self) -> dict[str, np.dtype]:
        """The arrays' dtypes, by key."""
        return {key: self._files.entries[key].dtype for key in self.shapes}

    @functools.cached_property
    def nodes(self) -> list[_bundles.BundleObject]:
        """The objects of an object-based checkpoint, the root first."""
        return self._read(lambda: _bundles.nodes(self._files))

    @functools.cached_property
    def names(self) -> dict[str, str]:
        """The names that variables had in their program, by key; of an object-based checkpoint only."""
        attributes = (attribute for node in self.nodes for attribute in node.attributes)
        return {key: name for _, name, key in attributes if name}

    def read(self, key: str) -> np.ndarray:
        """Return the array of a key."""
        return self._read(lambda: self._files.read(key))

    def _read(self, read: Callable[[], _T]) -> _T:
        try:
            return read()
        except PermissionError as error:
            raise errors.FileAccessError(
                f"A checkpoint of TensorFlow may not be read. Received: path={shown(os.fspath(error.filename))}. Give "
                "this user the right to read it."
            ) from error
        except (OSError, _bundles.DamagedError) as error:
            raise errors.DataLossError(
                "A checkpoint of TensorFlow can't be read: a file of it is missing or damaged. Received: "
                f"path={shown(self.path)}, where {str(error)[:300]}. Copy all files that begin with this path again.",
                filename=self.path,
            ) from error
