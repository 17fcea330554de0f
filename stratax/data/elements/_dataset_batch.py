"""`DatasetBatch`: a batch of Datasets, as a component of an element (data layer)."""

from collections.abc import Sequence
from typing import Any, NoReturn, Protocol

import optree

from stratax.base import pytrees
from stratax.base.shown import shown
from stratax.data.elements._composite import NAMESPACE, Composite
from stratax.data.elements._tensor_shape import Shape, TensorShape
from stratax.errors import BadTypeError


class RowSpec(Protocol):
    """What describes each of the Datasets: a `DatasetSpec`."""

    @property
    def element_spec(self) -> Any:
        """Structure of the specs of a Dataset's elements."""

    @property
    def dataset_shape(self) -> Shape | None:
        """How many Datasets it describes."""

    def batched(self, size: int | None) -> Any:
        """Return the spec of a batch of so many."""


class DatasetBatch(Composite):
    """A batch of Datasets, as `batch` makes it of the windows of `window`, for those who take it apart again.

    `unbatch` gives the Datasets one by one, and so does `Dataset.from_tensor_slices`. There is nothing else to do with
    it, as in TensorFlow.

    Args:
        rows: The Datasets, or the batches of them.
        spec: What describes each of them.
    """

    __slots__ = ("_row_spec", "_rows")

    def __init__(self, rows: Sequence[Any], spec: RowSpec) -> None:
        pytrees.tell_jax()
        self._rows = tuple(rows)
        self._row_spec = spec

    @property
    def rows(self) -> tuple[Any, ...]:
        """The Datasets, or the batches of them."""
        return self._rows

    @property
    def spec(self) -> Any:
        """The spec of a batch of so many Datasets."""
        return self._row_spec.batched(len(self._rows))

    @property
    def shape(self) -> TensorShape:
        """How many Datasets it holds, along each of its dimensions."""
        return TensorShape(self.spec.dataset_shape)

    def numpy(self) -> NoReturn:
        """Refuse: Datasets are no numbers.

        Raises:
            BadTypeError: Always.
        """
        raise BadTypeError(
            f"Datasets can't be converted to an array of NumPy. Received: {shown(self)}. Take the elements out of "
            "them first: ds.unbatch().flat_map(lambda window: window)."
        )

    def on_host(self) -> "DatasetBatch":
        """Return it as it is."""
        return self

    def __repr__(self) -> str:
        return f"<DatasetBatch shape={self.shape}, element_spec={self._row_spec.element_spec!r}>"


def _to_parts(batch: DatasetBatch) -> tuple[tuple[Any, ...], RowSpec]:
    return batch._rows, batch._row_spec


def _of_parts(spec: RowSpec, rows: Sequence[Any]) -> DatasetBatch:
    return DatasetBatch(rows, spec)


optree.register_pytree_node(DatasetBatch, _to_parts, _of_parts, namespace=NAMESPACE)
pytrees.register(DatasetBatch, _to_parts, _of_parts)
