"""Batches: stacking, padding, and taking apart again (data layer)."""

import abc
from typing import Any

import numpy as np

from stratax._shown import shown
from stratax.data.elements._block import Block, Columns, concatenate_blocks, stack_rows
from stratax.data.elements._spec import DatasetSpec, Shape, TensorSpec
from stratax.data.elements._structure import Row, flatten, leaf_names, unflatten
from stratax.data.ops.batch._cursors import BatchCursor, UnbatchCursor
from stratax.data.plan._node import Node, Passes, Run, feed_of, select_passes
from stratax.data.plan._one_of_many import is_one_of_many
from stratax.data.position._cursor import Cursor
from stratax.errors import DataError


class _Grouped(Node):
    """What plain and padded batches share: groups of `size` consecutive elements."""

    def __init__(self, child: Node, size: int, drop_remainder: bool) -> None:
        self.children = (child,)
        self.size = size
        self.drop_remainder = drop_remainder

    @property
    def child(self) -> Node:
        """The node whose elements are grouped."""
        return self.children[0]

    @property
    def length(self) -> int:
        """How many groups."""
        length = self.child.length
        if length < 0:
            return length
        return length // self.size if self.drop_remainder else -(-length // self.size)

    @property
    def batch_size(self) -> int | None:
        """Elements of a full group."""
        return self.size

    @property
    def _short(self) -> int:
        """How many elements the last group has if it is short, else 0."""
        length = self.child.length
        return 0 if length < 0 or self.drop_remainder else length % self.size

    @property
    def _static_size(self) -> int | None:
        # Of a plan that a function makes, another element's may be of another length.
        is_even = self.is_indexable and not self._short and not is_one_of_many()
        return self.size if self.drop_remainder or is_even else None

    @property
    def group_size(self) -> int:
        """As many as asked for."""
        return self.size

    def describe(self) -> str:
        """The operation and its size."""
        return f"{self.label}({self.size})"

    def stream(self, run: Run, passes: int) -> Cursor:
        """Group after group."""
        return BatchCursor(self.child.open(run, passes), self.size, self.drop_remainder, self.joined)

    @abc.abstractmethod
    def joined(self, pieces: list[Block]) -> Row:
        """The components of one group."""


class Batch(_Grouped):
    """`size` elements stacked on a new leading axis; over an indexable child one gather makes many batches."""

    label = "Batch"

    @property
    def spec(self) -> Any:
        """The child's with a leading axis, None if the last batch may be short."""
        specs, structure = flatten(self.child.spec)
        for spec in specs:
            if isinstance(spec, DatasetSpec):
                raise DataError(
                    f"Datasets can't be stacked into a batch. Received: element_spec={shown(self.child.spec)}. "
                    "Flatten the "
                    "windows first: ds.flat_map(lambda window: window.batch(n))."
                )
        return unflatten(structure, [spec.batched(self._static_size) for spec in specs])

    @property
    def is_uniform(self) -> bool:
        """Whether the last batch is as long as the others."""
        return self.child.is_uniform and not self._short

    def gather(self, indices: np.ndarray, passes: Passes, run: Run) -> Block:
        """One gather of all the batches' elements, seen as [batches, size, ...]."""
        size = self._size_at(int(indices[0]))
        positions = (indices[:, None] * self.size + np.arange(size)).reshape(-1)
        passes = passes if isinstance(passes, int) else np.repeat(passes, size)
        leaves = self._gathered(positions, passes, run)
        return Columns([leaf.reshape(len(indices), size, *leaf.shape[1:]) for leaf in leaves], len(indices))

    def _gathered(self, positions: np.ndarray, passes: Passes, run: Run) -> list[np.ndarray]:
        ids = None if self.child.is_uniform else self.child.shape_ids(positions, passes, run)
        if ids is None or (ids == ids[0]).all():
            return self.child.gather(positions, passes, run).columns()
        singles = [
            self.child.gather(positions[i : i + 1], select_passes(passes, slice(i, i + 1)), run).row(0)
            for i in range(len(positions))
        ]
        return stack_rows(singles)

    def _size_at(self, index: int) -> int:
        return self._short if self._short and index == self.length - 1 else self.size

    def shape_ids(self, indices: np.ndarray, passes: Passes, run: Run) -> np.ndarray | None:
        """Tells the short last batch apart, and batches of differently shaped elements."""
        own = (indices == self.length - 1).astype(np.int64) if self._short else None
        inner = None
        if not self.child.is_uniform:
            inner = self.child.shape_ids(indices * self.size, passes, run)
        if inner is None or own is None:
            return inner if own is None else own
        return own + 2 * inner

    def joined(self, pieces: list[Block]) -> Row:
        """Stacked."""
        if any(piece.shapes != pieces[0].shapes for piece in pieces):
            return stack_rows([piece.row(i) for piece in pieces for i in range(piece.count)])
        return concatenate_blocks(pieces).columns()


class PaddedBatch(_Grouped):
    """`size` elements, padded to a common shape, on a new leading axis.

    Args:
        child: The node.
        size: Elements of a batch.
        drop_remainder: Whether a short last batch is left out.
        shapes: For every component the shape to pad to, None for "the longest in the batch".
        values: For every component what to pad with.
    """

    label = "PaddedBatch"

    def __init__(
        self, child: Node, size: int, drop_remainder: bool, shapes: list[Shape | None], values: list[Any]
    ) -> None:
        super().__init__(child, size, drop_remainder)
        self._shapes = shapes
        self._values = values

    @property
    def spec(self) -> Any:
        """The padded shapes with a leading axis."""
        specs, structure = flatten(self.child.spec)
        padded = [
            TensorSpec(spec.shape if shape is None else shape, spec.dtype).batched(self._static_size)
            for spec, shape in zip(specs, self._shapes, strict=True)
        ]
        return unflatten(structure, padded)

    @property
    def is_uniform(self) -> bool:
        """Not known before looking."""
        return False

    def gather(self, indices: np.ndarray, passes: Passes, run: Run) -> Block:
        """One batch (every batch may have a shape of its own)."""
        start = int(indices[0]) * self.size
        stop = start + self.size
        if self.child.length >= 0:
            stop = min(stop, self.child.length)
        one_pass = passes if isinstance(passes, int) else int(passes[0])
        rows = [
            self.child.gather(np.array([position]), one_pass, run).row(0) for position in range(start, stop)
        ]
        return Columns([leaf[None] for leaf in self._padded(rows)], 1)

    def shape_ids(self, indices: np.ndarray, passes: Passes, run: Run) -> np.ndarray | None:
        """Each on its own."""
        return np.arange(len(indices))

    def joined(self, pieces: list[Block]) -> Row:
        """Padded and stacked."""
        return self._padded([piece.row(i) for piece in pieces for i in range(piece.count)])

    def _padded(self, rows: list[Row]) -> Row:
        names = leaf_names(self.child.structure)
        return [self._pad([row[i] for row in rows], i, name) for i, name in enumerate(names)]

    def _pad(self, parts: list[Any], component: int, name: str) -> np.ndarray:
        shape = self._target([np.shape(part) for part in parts], self._shapes[component], name)
        if not shape:
            return stack_rows([[part] for part in parts])[0]
        out = np.full((len(parts), *shape), self._values[component], dtype=parts[0].dtype)
        for place, part in zip(out, parts, strict=True):
            place[tuple(slice(size) for size in np.shape(part))] = part
        return out

    @staticmethod
    def _target(shapes: list[tuple[int, ...]], wanted: Shape | None, name: str) -> tuple[int, ...]:
        wanted = wanted if wanted is not None else (None,) * len(shapes[0])
        if any(len(shape) != len(wanted) for shape in shapes):
            raise DataError(
                f"padded_batch pads sizes, not ranks. Expected: {name} of rank {len(wanted)}. "
                f"Received: shapes={shown(sorted(set(shapes)))}. Give every element the same rank in a map."
            )
        longest = tuple(max(sizes) for sizes in zip(*shapes, strict=True))
        target = tuple(a if b is None else b for a, b in zip(longest, wanted, strict=True))
        if any(a > b for a, b in zip(longest, target, strict=True)):
            raise DataError(
                f"padded_batch can't cut an element. Expected: {name} of shape at most {target}. "
                f"Received: sizes up to {longest}. Use a larger padded_shapes, or None for the longest in the batch."
            )
        return target


class Unbatch(Node):
    """The slices of each element along its first axis."""

    label = "Unbatch"

    def __init__(self, child: Node) -> None:
        self.children = (child,)

    @property
    def spec(self) -> Any:
        """The child's without the leading axis."""
        specs, structure = flatten(self.children[0].spec)
        return unflatten(structure, [self._inner(spec) for spec in specs])

    @staticmethod
    def _inner(spec: Any) -> TensorSpec:
        if not isinstance(spec, TensorSpec) or spec.shape == ():
            raise DataError(
                "unbatch takes elements apart along their first axis, so every component needs one. "
                f"Received: a component {shown(spec)}. Batch first."
            )
        return TensorSpec(None if spec.shape is None else spec.shape[1:], spec.dtype)

    @property
    def length(self) -> int:
        """Known where every element has the same known number of slices."""
        length = self.children[0].length
        sizes = {spec.shape for spec in flatten(self.children[0].spec)[0]}
        leading = {shape[0] if shape else None for shape in sizes}
        size = leading.pop() if len(leading) == 1 else None
        if length == 0 or (length > 0 and size is not None and self.children[0].is_uniform):
            return length * (size or 0)
        return length if length == -1 else -2

    @property
    def is_indexable(self) -> bool:
        """Only iterates."""
        return False

    @property
    def batch_size(self) -> int | None:
        """Not known."""
        return None

    def stream(self, run: Run, passes: int) -> Cursor:
        """Slice after slice."""
        return UnbatchCursor(feed_of(self.children[0], run, passes))
