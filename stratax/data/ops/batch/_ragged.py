"""`ragged_batch` and `sparse_batch`: elements of different shapes in one batch, as they are (data layer)."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from stratax._shown import shown
from stratax._typing import DTypeLike
from stratax.data.elements import (
    RaggedTensor,
    Row,
    SparseTensor,
    TensorSpec,
    as_dtype,
    as_shape,
    flatten,
    splits_of_lengths,
    stack_rows,
    unflatten,
)
from stratax.data.ops.batch._padded import OneByOne
from stratax.data.plan import Node, as_count
from stratax.errors import DataError


class RaggedBatch(OneByOne):
    """`size` elements, in which components of different sizes become RaggedTensors.

    Args:
        child: The node.
        size: Elements of a batch.
        drop_remainder: Whether a short last batch is left out.
        splits_dtype: Of where rows begin.
    """

    label = "RaggedBatch"

    def __init__(self, child: Node, size: int, splits_dtype: np.dtype, *, drop_remainder: bool) -> None:
        super().__init__(child, size, drop_remainder=drop_remainder)
        self._splits_dtype = splits_dtype

    @property
    def batch_size(self) -> int | None:
        """Answer that batches can't be divided by their leading axis."""
        return None

    @property
    def spec(self) -> Any:
        """The child's with a leading axis; of components whose sizes differ that of values and of where rows begin."""
        specs, structure = flatten(self.child.spec)
        made = [self._batched(spec, rank) for spec, rank in zip(specs, self._ranks(), strict=True)]
        return unflatten(structure, made)

    def _batched(self, spec: TensorSpec, rank: int) -> Any:
        if not rank or spec.shape is None:
            return spec.batched(self._static_size)
        inner: Any = TensorSpec((None, *spec.shape[rank:]), spec.dtype)
        for _ in range(rank):
            inner = RaggedTensor(inner, TensorSpec((None,), self._splits_dtype))
        return inner

    def _ranks(self) -> list[int]:
        """Return for each component up to which axis its sizes differ."""
        found = []
        for spec in flatten(self.child.spec)[0]:
            if not isinstance(spec, TensorSpec) or spec.shape is None:
                raise DataError(
                    "ragged_batch takes components of a known rank. "
                    f"Received: element_spec={shown(self.child.spec)}. Give them one in a map."
                )
            found.append(max((axis + 1 for axis, size in enumerate(spec.shape) if size is None), default=0))
        return found

    def joined_rows(self, rows: list[Row]) -> Row:
        leaves: Row = []
        for i, rank in enumerate(self._ranks()):
            parts = [row[i] for row in rows]
            leaves += flatten(self._rows(parts, rank))[0] if rank else stack_rows([[part] for part in parts])
        return leaves

    def _rows(self, parts: Sequence[np.ndarray], rank: int) -> RaggedTensor:
        lengths = np.array([len(part) for part in parts], self._splits_dtype)
        values: Any
        if rank == 1:
            values = np.concatenate(parts)
        else:
            values = self._rows([row for part in parts for row in part], rank - 1)
        return RaggedTensor(values, splits_of_lengths(lengths))


class SparseBatch(OneByOne):
    """`size` elements of one component as a SparseTensor.

    Args:
        child: The node.
        size: Elements of a batch.
        row_shape: The dense shape of an element.
    """

    label = "SparseBatch"

    def __init__(self, child: Node, size: int, row_shape: tuple[int, ...]) -> None:
        super().__init__(child, size, drop_remainder=False)
        self._row_shape = row_shape

    @property
    def batch_size(self) -> int | None:
        """Answer that batches can't be divided by their leading axis."""
        return None

    @property
    def spec(self) -> Any:
        """A SparseTensor of the child's dtype.

        Raises:
            DataError: Elements have several components.
        """
        spec, rank = self.child.spec, len(self._row_shape) + 1
        if not isinstance(spec, TensorSpec):
            raise DataError(
                f"sparse_batch takes elements of one component. Received: element_spec={shown(spec)}. Map them to one."
            )
        indices, shape = TensorSpec((None, rank), np.int64), TensorSpec((rank,), np.int64)
        return SparseTensor(indices, TensorSpec((None,), spec.dtype), shape)  # type: ignore[arg-type]

    def joined_rows(self, rows: list[Row]) -> Row:
        parts = [np.asarray(row[0]) for row in rows]
        for part in parts:
            fits = part.ndim == len(self._row_shape) and all(
                have <= most for have, most in zip(part.shape, self._row_shape, strict=True)
            )
            if not fits:
                raise DataError(
                    f"sparse_batch takes elements of at most row_shape={self._row_shape}. "
                    f"Received: an element of shape {part.shape}. Use a larger row_shape."
                )
        places = [np.argwhere(np.ones(part.shape, bool)) for part in parts]
        numbered = [np.insert(place, 0, i, axis=1) for i, place in enumerate(places)]
        shape = np.array([len(parts), *self._row_shape], np.int64)
        return [np.concatenate(numbered), np.concatenate([part.reshape(-1) for part in parts]), shape]


def make_ragged_batch(
    node: Node, batch_size: object, splits_dtype: DTypeLike, *, drop_remainder: bool
) -> Node:
    """Make the node of `Dataset.ragged_batch`."""
    size = as_count("batch_size", batch_size, 1)
    return RaggedBatch(node, size, as_dtype(splits_dtype), drop_remainder=bool(drop_remainder))


def make_sparse_batch(node: Node, batch_size: object, row_shape: Any) -> Node:
    """Make the node of `Dataset.sparse_batch`."""
    shape = as_shape(row_shape)
    if shape is None or None in shape:
        raise DataError(f"row_shape is a known shape. Received: row_shape={shown(row_shape)}.")
    return SparseBatch(node, as_count("batch_size", batch_size, 1), tuple(size or 0 for size in shape))
