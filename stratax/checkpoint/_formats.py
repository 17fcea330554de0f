"""Checkpoints that other programs wrote, in formats that are registered here (checkpoint layer)."""

import abc
import pathlib
from typing import Protocol

import numpy as np

from stratax.base import providers


class Arrays(Protocol):
    """The arrays of a checkpoint, whoever wrote it.

    Attributes:
        path: The checkpoint's path.
        shapes: The arrays' shapes, by key.
        dtypes: Their dtypes.
        names: The names that the variables had in their program, where the checkpoint says them.
    """

    path: str

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]: ...

    @property
    def dtypes(self) -> dict[str, np.dtype]: ...

    @property
    def names(self) -> dict[str, str]: ...

    def read(self, key: str) -> np.ndarray:
        """Return an array, which is there."""


class CheckpointFormat(abc.ABC):
    """A kind of checkpoints that can be read, and is never written."""

    @abc.abstractmethod
    def has(self, path: pathlib.Path) -> bool:
        """Return whether there is a checkpoint of this kind at a path."""

    @abc.abstractmethod
    def list_folder(self, folder: pathlib.Path) -> list[pathlib.Path]:
        """Return the checkpoints of this kind in a folder, oldest first."""

    @abc.abstractmethod
    def read_time(self, path: pathlib.Path) -> float:
        """Return when a checkpoint was written, in seconds since 1970; 0 if it is gone."""

    @abc.abstractmethod
    def open(self, path: pathlib.Path) -> Arrays:
        """Return the arrays of a checkpoint.

        Raises:
            DataLossError: If a file of it is damaged or missing.
            FileAccessError: If it may not be read.
        """


_formats: list[CheckpointFormat] = []


def register_format(kind: CheckpointFormat) -> None:
    """Have checkpoints of a kind be found and read beside Stratax' own."""
    _formats.append(kind)


def formats() -> list[CheckpointFormat]:
    """Return the registered kinds."""
    providers.providers("checkpoint formats")
    return _formats
