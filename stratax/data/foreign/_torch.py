"""torch's loaders and datasets (data layer)."""

import sys
from collections.abc import Sequence
from typing import Any

from stratax.data.elements import UNKNOWN_CARDINALITY
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


class TorchAdapter(Adapter):
    """Knows `torch.utils.data.DataLoader`, `Dataset` and `IterableDataset`, and loaders with a state as torchdata's."""

    package = "torch.utils.data"

    def adapt(self, value: object) -> Node | None:
        """Return a node that reads a PyTorch dataset or loader, by its class."""
        torch = sys.modules[self.package]
        if isinstance(value, torch.DataLoader):
            return ForeignStream(_TorchStream("torch DataLoader", value, getattr(value, "batch_size", None)))
        if isinstance(value, torch.IterableDataset):
            return ForeignStream(_TorchStream("torch IterableDataset", value, None))
        return ForeignItems(_TorchItems(value)) if isinstance(value, torch.Dataset) else None


class _TorchStream(PipelineStream):
    def __init__(self, name: str, source: Any, batch_size: int | None) -> None:
        self.name = name
        self.batch_size = batch_size
        self.length = _length(source)
        self._source = source

    def open(self) -> PipelineReader:
        if hasattr(self._source, "state_dict") and hasattr(self._source, "load_state_dict"):
            return StatefulReader(self.name, self._source)
        return IteratorReader(self.name, iter(self._source))


def _length(source: Any) -> int:
    try:
        return len(source)
    except (TypeError, NotImplementedError):
        return UNKNOWN_CARDINALITY


class _TorchItems(Items):
    name = "torch Dataset"

    def __init__(self, dataset: Any) -> None:
        self._dataset = dataset
        self.length = len(dataset)

    def get(self, indices: Sequence[int]) -> list[Any]:
        # PyTorch's own protocol for fetching a batch at once.
        if hasattr(self._dataset, "__getitems__"):
            return list(self._dataset.__getitems__(list(indices)))
        return [self._dataset[index] for index in indices]
