"""Pipelines of libraries that are known, told by what they are (data layer)."""

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from stratax.data.dataset import Dataset
from stratax.data.plan import Node

if TYPE_CHECKING:
    from stratax.data.foreign._adapter import Adapter


def _grain() -> "Adapter":
    from stratax.data.foreign._grain import GrainAdapter

    return GrainAdapter()


def _hugging_face() -> "Adapter":
    from stratax.data.foreign._hugging_face import HuggingFaceAdapter

    return HuggingFaceAdapter()


def _tensorflow() -> "Adapter":
    from stratax.data.foreign._tensorflow import TensorFlowAdapter

    return TensorFlowAdapter()


def _torch() -> "Adapter":
    from stratax.data.foreign._torch import TorchAdapter

    return TorchAdapter()


# By the module that is loaded wherever an object of the library exists, what makes its adapter.
_ADAPTERS: dict[str, Callable[[], "Adapter"]] = {
    "grain": _grain,
    "datasets": _hugging_face,
    "tensorflow": _tensorflow,
    "torch.utils.data": _torch,
}


def adopt(source: object) -> Any:
    """Return a Dataset if `source` is a pipeline of a library that is known; else `source` itself."""
    if isinstance(source, Dataset):
        return source
    node = _node_of(source)
    return source if node is None else Dataset(node)


def _node_of(source: object) -> Node | None:
    for package, adapter in _ADAPTERS.items():
        # An object of a library can only exist if the library was imported, so none is imported for this.
        if package in sys.modules:
            node = adapter().adapt(source)
            if node is not None:
                return node
    return None
