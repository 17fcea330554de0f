"""Hugging Face's datasets (data layer)."""

import copy
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from stratax.data.elements import as_column
from stratax.data.foreign._adapter import (
    Adapter,
    Items,
    IteratorReader,
    PipelineReader,
    PipelineStream,
    StatefulReader,
)
from stratax.data.foreign._nodes import ForeignItems, ForeignStream
from stratax.data.plan import Node


class HuggingFaceAdapter(Adapter):
    """Knows `datasets.Dataset` and `datasets.IterableDataset`."""

    package = "datasets"

    def adapt(self, value: object) -> Node | None:
        """Return a node that reads a Hugging Face dataset, by its class."""
        package = sys.modules[self.package]
        known = getattr(package, "Dataset", None), getattr(package, "IterableDataset", None)
        # Another package of this name, or one that is still being imported.
        if None in known:
            return None
        if isinstance(value, known[0]):  # type: ignore[arg-type]
            return ForeignItems(_TableItems(value))
        return ForeignStream(_IterableStream(value)) if isinstance(value, known[1]) else None  # type: ignore[arg-type]


class _TableItems(Items):
    """Columns are gathered by Arrow, unless the user chose a format or a column has to be decoded (images)."""

    name = "Hugging Face Dataset"

    def __init__(self, dataset: Any) -> None:
        is_plain = dataset.format["type"] is None and not any(map(_is_decoded, dataset.features.values()))
        self._table = dataset.with_format("arrow") if is_plain else None
        self._dataset = dataset
        self.length = len(dataset)

    def columns(self, indices: Sequence[int]) -> dict[str, Any] | None:
        if self._table is None:
            return None
        table = self._table[list(indices)]
        return {name: as_column(name, table[name]) for name in table.column_names}

    def get(self, indices: Sequence[int]) -> list[Any]:
        columns = self.columns(indices)
        if columns is None:
            return [self._dataset[index] for index in indices]
        return [{name: column[i] for name, column in columns.items()} for i in range(len(indices))]


def _is_decoded(feature: object) -> bool:
    """Return whether a column holds something else than what stands in the table, at any depth."""
    if isinstance(feature, Mapping):
        return any(map(_is_decoded, feature.values()))
    if isinstance(feature, list | tuple):
        return any(map(_is_decoded, feature))
    inner = getattr(feature, "feature", None)
    return hasattr(feature, "decode_example") or (inner is not None and _is_decoded(inner))


class _IterableStream(PipelineStream):
    name = "Hugging Face IterableDataset"

    def __init__(self, dataset: Any) -> None:
        self._dataset = dataset

    def open(self) -> PipelineReader:
        if _has_buffer(self._dataset):
            return IteratorReader(f"{self.name} with a shuffle buffer", iter(self._dataset))
        # Its state is kept in the object itself, and every pass needs one of its own.
        return StatefulReader(self.name, copy.deepcopy(self._dataset))


def _has_buffer(dataset: object) -> bool:
    """Return whether elements wait in a shuffle buffer, which the library's state leaves out."""
    step = getattr(dataset, "_ex_iterable", None)
    while step is not None:
        if "BufferShuffled" in type(step).__name__:
            return True
        step = getattr(step, "ex_iterable", None)
    return False
