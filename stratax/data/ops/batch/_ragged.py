"""`ragged_batch` and `sparse_batch`: elements of different shapes in one batch, as they are (data layer)."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from stratax.base.shown import shown
from stratax.base.typing import DTypeLike
from stratax.data.elements import (
    Block,
    CompositeSpec,
    DatasetSpec,
    RaggedTensor,
    RaggedTensorSpec,
    Row,
    SparseTensor,
    SparseTensorSpec,
    TensorSpec,
    as_dtype,
    as_shape,
    flatten,
    splits_of_lengths,
    stack_rows,
    unflatten,
)
from stratax.data.ops.batch._padded import OneByOne
from stratax.data.plan import Node, Passes, PlanRun, as_count
from stratax.data.position import Cursor
from stratax.errors import BadTypeError, DataError

# Few, as each is computed for its shape alone.
_NUM_LOOKED_AT = 4


class RaggedBatch(OneByOne):
    """`size` elements, in which components of different sizes become RaggedTensors.

    Args:
        child: The node.
        size: Elements of a batch.
        drop_remainder: Whether a short last batch is left out.
        splits_dtype: Of where rows begin.
    """

    label = "RaggedBatch"
    # They can't be divided by their leading axis.
    batch_size = None

    def __init__(self, child: Node, size: int, splits_dtype: np.dtype, *, drop_remainder: bool) -> None:
        super().__init__(child, size, drop_remainder=drop_remainder)
        self._splits_dtype = splits_dtype
        self._has_looked = child.has_known_spec

    @property
    def spec(self) -> Any:
        """The child's with a leading axis; components whose sizes differ are ragged."""
        if not self._has_looked:
            self._has_looked = True
            self._look()
        structure = flatten(self.child.spec)[1]
        return unflatten(structure, [spec.batched(self._static_size) for spec in self._specs()])

    def _specs(self) -> list[Any]:
        """Return the specs of the components, as ragged ones of those whose sizes differ."""
        return [self._make_ragged_spec(spec) for spec in flatten(self.child.spec)[0]]

    def _look(self) -> None:
        """Have the child see a few elements: its spec is what those have in common that it has seen."""
        run = PlanRun()
        try:
            cursor = self.child.open(run)
            for _ in range(_NUM_LOOKED_AT):
                cursor.read(1)
        except Exception:  # At the end, or of an element that fails: whoever reads it is told.
            return
        finally:
            run.close()

    def _make_ragged_spec(self, spec: Any) -> Any:
        if isinstance(spec, CompositeSpec | DatasetSpec):
            return spec
        if spec.shape is None:
            raise DataError(
                "ragged_batch takes components of a known rank. "
                f"Received: element_spec={shown(self.child.spec)}. Give them one in a map."
            )
        rank = max((axis for axis, size in enumerate(spec.shape) if size is None), default=None)
        return spec if rank is None else RaggedTensorSpec(spec.shape, spec.dtype, rank, self._splits_dtype)

    def gather(self, indices: np.ndarray, passes: Passes, run: PlanRun) -> Block:
        # Before there are elements: of those that are all alike so far nobody could tell that later ones differ.
        self._specs()
        return super().gather(indices, passes, run)

    def stream(self, run: PlanRun, passes: int) -> Cursor:
        self._specs()
        return super().stream(run, passes)

    def join_rows(self, rows: list[Row]) -> Row:
        columns = enumerate(zip(*rows, strict=True))
        return [self._join(spec, i, parts) for spec, (i, parts) in zip(self._specs(), columns, strict=True)]

    def _join(self, spec: Any, component: int, parts: Sequence[Any]) -> Any:
        if component in self.child.composites:
            return spec.join(parts)
        if isinstance(spec, RaggedTensorSpec):
            return self._rows(parts, spec.ragged_rank)
        return stack_rows([[part] for part in parts])[0]

    def _rows(self, parts: Sequence[np.ndarray], rank: int) -> RaggedTensor:
        lengths = np.array([len(part) for part in parts], self._splits_dtype)
        values: Any
        if not rank:
            values = np.concatenate(parts)
        else:
            values = self._rows([row for part in parts for row in part], rank - 1)
        return RaggedTensor(values, splits_of_lengths(lengths))


class SparseBatch(OneByOne):
    """`size` elements of one component as a SparseTensor.

    Args:
        child: The node.
        size: Elements of a batch.
        row_shape: The dense shape of an element, None for sizes that are those of the largest in the batch.
    """

    label = "SparseBatch"
    # They can't be divided by their leading axis.
    batch_size = None

    def __init__(self, child: Node, size: int, row_shape: tuple[int | None, ...]) -> None:
        super().__init__(child, size, drop_remainder=False)
        self._row_shape = row_shape

    @property
    def spec(self) -> Any:
        """A SparseTensor of the child's dtype.

        Raises:
            BadTypeError: Elements have several components, or one that is no array.
        """
        spec = self.child.spec
        if not isinstance(spec, TensorSpec):
            raise BadTypeError(
                f"sparse_batch takes elements of one component, an array. Received: element_spec={shown(spec)}. "
                "Map them to one."
            )
        return SparseTensorSpec((None, *self._row_shape), spec.dtype)

    def join_rows(self, rows: list[Row]) -> Row:
        parts = [np.asarray(row[0]) for row in rows]
        for part in parts:
            fits = part.ndim == len(self._row_shape) and all(
                most is None or have <= most for have, most in zip(part.shape, self._row_shape, strict=True)
            )
            if not fits:
                raise DataError(
                    f"sparse_batch takes elements of at most row_shape={self._row_shape}. "
                    f"Received: an element of shape {part.shape}. Use a larger row_shape."
                )
        places = [np.argwhere(np.ones(part.shape, bool)) for part in parts]
        numbered = [np.insert(place, 0, i, axis=1) for i, place in enumerate(places)]
        longest = np.max([part.shape for part in parts], axis=0, initial=0)
        sizes = [have if most is None else most for have, most in zip(longest, self._row_shape, strict=True)]
        values = np.concatenate([part.reshape(-1) for part in parts])
        return [SparseTensor(np.concatenate(numbered), values, np.array([len(parts), *sizes], np.int64))]


def make_ragged_batch(
    node: Node, batch_size: object, splits_dtype: DTypeLike, *, drop_remainder: bool
) -> Node:
    """Make the node of `Dataset.ragged_batch`."""
    size = as_count("batch_size", batch_size, 1)
    return RaggedBatch(node, size, as_dtype(splits_dtype), drop_remainder=bool(drop_remainder))


def make_sparse_batch(node: Node, batch_size: object, row_shape: object) -> Node:
    """Make the node of `Dataset.sparse_batch`."""
    shape = as_shape(row_shape)
    if shape is None:
        raise DataError(f"row_shape has a known rank. Received: row_shape={shown(row_shape)}.")
    made = SparseBatch(node, as_count("batch_size", batch_size, 1), shape)
    if node.has_known_spec:
        # Raised here, as by TensorFlow, and not by the first element.
        _ = made.spec
    return made
