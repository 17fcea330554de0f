"""Grain's pipelines: `MapDataset` at any position, `IterDataset` and `DataLoader` with their own state (data layer)."""

import sys
from collections.abc import Sequence
from typing import Any

from stratax.base.typing import PyTree
from stratax.data.elements import INFINITE_CARDINALITY
from stratax.data.foreign._adapter import Adapter, Items, IteratorReader, PipelineStream, json_state
from stratax.data.foreign._nodes import ForeignItems, ForeignStream
from stratax.data.plan import Node
from stratax.errors import DataError


class GrainAdapter(Adapter):
    """Knows `grain.MapDataset`, `grain.IterDataset` and `grain.DataLoader`."""

    package = "grain"

    def adapt(self, value: object) -> Node | None:
        """Return a node that reads a Grain dataset, by its class."""
        grain = sys.modules["grain"]
        if isinstance(value, grain.MapDataset):
            return ForeignItems(_MapItems(value))
        if isinstance(value, grain.IterDataset):
            return ForeignStream(_IterStream(value))
        return ForeignStream(_LoaderStream(value)) if isinstance(value, grain.DataLoader) else None


class _MapItems(Items):
    name = "grain.MapDataset"

    def __init__(self, dataset: Any) -> None:
        self._dataset = dataset
        # Grain's `repeat()` without a number has this length.
        self.length = INFINITE_CARDINALITY if len(dataset) >= sys.maxsize else len(dataset)

    def get(self, indices: Sequence[int]) -> list[Any]:
        values = [self._dataset[index] for index in indices]
        # None stands for an element that a filter of Grain left out, which would shift all positions.
        if any(value is None for value in values):
            missing = next(index for index, value in zip(indices, values, strict=True) if value is None)
            raise DataError(
                "A filtered grain.MapDataset has positions without an element, so it is none of a known length. "
                f"Received: None at position {missing}. Pass dataset.to_iter_dataset()."
            )
        return values


class _IterReader(IteratorReader):
    def get_state(self) -> Any:
        return json_state(self._name, self._iterator.get_state())  # type: ignore[attr-defined]

    def set_state(self, state: PyTree) -> None:
        self._iterator.set_state(state)  # type: ignore[attr-defined]


class _IterStream(PipelineStream):
    name = "grain.IterDataset"

    def __init__(self, dataset: Any) -> None:
        self._dataset = dataset

    def open(self) -> _IterReader:
        return _IterReader(self.name, iter(self._dataset))


class _LoaderReader(IteratorReader):
    """Its state is JSON in bytes."""

    def get_state(self) -> Any:
        return self._iterator.get_state().decode()  # type: ignore[attr-defined]

    def set_state(self, state: PyTree) -> None:
        self._iterator.set_state(state.encode())  # type: ignore[attr-defined]


class _LoaderStream(PipelineStream):
    name = "grain.DataLoader"

    def __init__(self, loader: Any) -> None:
        self._loader = loader

    def open(self) -> _LoaderReader:
        return _LoaderReader(self.name, iter(self._loader))
