"""The names of files as elements: given, or those that fit a pattern (data layer)."""

import os

import numpy as np

from stratax.base.shown import shown
from stratax.base.typing import StrPath
from stratax.data.elements import flatten
from stratax.data.sources._memory import Slices
from stratax.errors import NoMatchingFileError
from stratax.io import as_file_name, glob, is_list

_SINGLE = flatten(0)[1]


class FileNames(Slices):
    """The names of files, as bytes, in the order given.

    Args:
        label: The name of the operation.
        names: The names.
    """

    def __init__(self, label: str, names: list[str]) -> None:
        column = np.empty(len(names), object)
        column[:] = [os.fsencode(name) for name in names]
        super().__init__(label, [column], _SINGLE)


def list_names(label: str, names: list[str]) -> FileNames:
    """Make a node that gives some names, as bytes."""
    return FileNames(label, names)


def matching_files(file_pattern: StrPath) -> FileNames:
    """Make a node with what :func:`glob` gives.

    Raises:
        NoMatchingFileError: Nothing fits.
    """
    found = glob(file_pattern)
    if not found:
        raise NoMatchingFileError(
            f"No files matched pattern: {shown(file_pattern)}. Received: file_pattern={shown(file_pattern)}, in the "
            f"directory {shown(os.getcwd())}. Check the path; a directory's files are named by path + '/*'.",
            filename=None if is_list(file_pattern) else as_file_name(file_pattern),
        )
    return FileNames("ListFiles", found)
