"""tf.data's pipelines (data layer)."""

import sys
from typing import Any

from stratax.base.shown import shown
from stratax.base.typing import PyTree
from stratax.data.elements import TensorSpec, flatten, unflatten
from stratax.data.foreign._adapter import Adapter, IteratorReader, PipelineStream
from stratax.data.foreign._nodes import ForeignStream
from stratax.data.plan import Node
from stratax.errors import DataError


class TensorFlowAdapter(Adapter):
    """Knows `tf.data.Dataset`."""

    package = "tensorflow"

    def adapt(self, value: object) -> Node | None:
        """Return a node that reads a `tf.data.Dataset`, by its class."""
        data = getattr(sys.modules[self.package], "data", None)
        return ForeignStream(_TensorFlowStream(value)) if data and isinstance(value, data.Dataset) else None


class _TensorFlowStream(PipelineStream):
    name = "tf.data.Dataset"

    def __init__(self, dataset: Any) -> None:
        self._dataset = dataset
        self.length = int(dataset.cardinality())
        leaves, structure = flatten(dataset.element_spec)
        self.spec = unflatten(structure, [_spec_of(leaf) for leaf in leaves])

    def open(self) -> IteratorReader:
        return IteratorReader(self.name, iter(self._dataset))


def _spec_of(spec: PyTree) -> TensorSpec:
    if type(spec).__name__ != "TensorSpec":
        raise DataError(
            "Of a tf.data.Dataset only dense tensors can be taken over. "
            f"Received: a component with the spec {shown(spec)}. Make it dense in a map: x.to_tensor(), "
            "tf.sparse.to_dense(x)."
        )
    shape = None if spec.shape.rank is None else spec.shape.as_list()
    return TensorSpec(shape, spec.dtype.as_numpy_dtype)
