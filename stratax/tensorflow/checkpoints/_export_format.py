"""Exports among the checkpoints that are read: their weights by name (checkpoint layer).

A training begins with them, as TensorFlow's begins with the checkpoint in a SavedModel. They are asked for by the
export's folder, or by the paths that this checkpoint has there.
"""

import functools
import os
import pathlib

import numpy as np

from stratax.checkpoint.formats import Arrays, CheckpointFormat

# Where TensorFlow's SavedModels have their checkpoint.
_FOLDER = _FILE = "variables"


class _Weights:
    """The weights of an export.

    Args:
        path: Its folder.
    """

    def __init__(self, path: pathlib.Path) -> None:
        self.path = os.fspath(path)
        # An export has the names alone.
        self.names: dict[str, str] = {}

    @functools.cached_property
    def _values(self) -> dict[str, np.ndarray]:
        from stratax.export.parts import Folder

        return dict(Folder(self.path).weights())

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        return {name: tuple(value.shape) for name, value in self._values.items()}

    @property
    def dtypes(self) -> dict[str, np.dtype]:
        return {name: np.dtype(value.dtype) for name, value in self._values.items()}

    def read(self, key: str) -> np.ndarray:
        return np.asarray(self._values[key])


class ExportFormat(CheckpointFormat):
    """Finds an export where a checkpoint is asked for."""

    def has(self, path: pathlib.Path) -> bool:
        return _find(path) is not None

    def list_folder(self, folder: pathlib.Path) -> list[pathlib.Path]:
        # Exports are no checkpoints that a training goes on from.
        return []

    def read_time(self, path: pathlib.Path) -> float:
        return 0.0

    def open(self, path: pathlib.Path) -> Arrays:
        return _Weights(_find(path) or path)


def _find(path: pathlib.Path) -> pathlib.Path | None:
    """Return the folder of the export that a path is of."""
    folder = path.parent if path.name == _FILE and path.parent.name == _FOLDER else path
    folder = folder.parent if folder.name == _FOLDER else folder
    # The file that makes a folder an export, without loading what reads it.
    return folder if (folder / "export.json").is_file() else None
