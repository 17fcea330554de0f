"""What the functions of a file share: variables, tables, other functions, assets (saved_models layer)."""

import os
import pathlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from stratax.base.shown import shown
from stratax.errors import DataLossError
from stratax.tensorflow.checkpoints.values import Bundle
from stratax.tensorflow.saved_models._resources_operations import Table, VariableHandle
from stratax.tensorflow.saved_models.graph import FileGraph, FileNode
from stratax.tensorflow.saved_models.operations import Value

_VARIABLES = os.path.join("variables", "variables")


class State:
    """What the functions of a file share.

    Attributes:
        variables: The variables of graphs, by name.
        trainable: The names of those that are trained.
        functions: The library of functions, by name.

    Args:
        functions: The functions.
        folder: The SavedModel's folder; None of a graph alone.
    """

    def __init__(self, functions: Mapping[str, FileGraph], folder: str | None = None) -> None:
        self.functions = functions
        self.folder = folder
        self.variables: dict[str, VariableHandle] = {}
        self.trainable: set[str] = set()
        self._tables: dict[str, Table] = {}
        self._bundle: Bundle | None = None

    @property
    def bundle(self) -> Bundle:
        """The values of the variables.

        Raises:
            DataLossError: The files are damaged or missing.
        """
        if self._bundle is None:
            if self.folder is None:
                raise DataLossError("A graph alone has no values of variables.")
            self._bundle = Bundle(pathlib.Path(self.folder, _VARIABLES))
        return self._bundle

    def function(self, name: str) -> FileGraph:
        """Return a function.

        Raises:
            DataLossError: There is none of that name.
        """
        if name not in self.functions:
            raise DataLossError(f"The file is damaged: it has no function {shown(name)}.")
        return self.functions[name]

    def variable(self, node: FileNode, *, is_reference: bool = False) -> VariableHandle:
        """Return where the variable of a node is."""
        name = node.text("shared_name") or node.name
        if name not in self.variables:
            self.variables[name] = VariableHandle(
                name,
                node.get("dtype"),
                is_reference=is_reference,
                is_trainable=bool({name, node.name} & self.trainable),
            )
        return self.variables[name]

    def table(self, node: FileNode) -> Table:
        """Return the table of a node."""
        name = node.text("shared_name") or node.name
        if name not in self._tables:
            self._tables[name] = Table(node["key_dtype"], node["value_dtype"])
        return self._tables[name]

    def asset(self, path: Any) -> str:
        """Return the path of a file that operations read.

        Raises:
            DataLossError: It is none of the folder's.
        """
        text = os.fsdecode(path) if isinstance(path, bytes) else str(path)
        found = os.path.realpath(text)
        root = None if self.folder is None else os.path.realpath(self.folder)
        if root is None or os.path.commonpath([root, found]) != root:
            raise DataLossError(
                f"A graph of the file reads {shown(text)}, which is none of its own assets. Expected: a file below "
                f"{shown(root or 'a SavedModel')}."
            )
        return found

    def restore(self, names: Value, slices: Value, dtypes: Sequence[Any]) -> tuple[Any, ...]:
        """Return arrays of the file's variables.

        Args:
            names: Their names.
            slices: For each, which part of it; empty for all.
            dtypes: Their dtypes.
        """
        del dtypes
        found = []
        for name, part in zip(_texts(names), _texts(slices), strict=True):
            if name not in self.bundle.shapes:
                raise DataLossError(f"The variables of the file have no {shown(name)}.")
            value = self.bundle.read(name)
            found.append(_part(value, part) if part else value)
        return tuple(found)


def _texts(values: Value) -> list[str]:
    return [each.decode() if isinstance(each, bytes) else str(each) for each in np.reshape(values, -1)]


def _part(value: np.ndarray, text: str) -> np.ndarray:
    """Return a slice of a variable, as TensorFlow writes it: the whole shape, then `start,length` or `-` for each."""
    places = text.split()[-1].split(":")
    ranges = []
    for place in places:
        start, _, length = place.partition(",")
        ranges.append(slice(None) if place == "-" else slice(int(start), int(start) + int(length)))
    return value[tuple(ranges)]
