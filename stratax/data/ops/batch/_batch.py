"""`batch`: the node and the check of its size (data layer)."""

import abc
from typing import Any

import numpy as np

from stratax.data.elements import (
    Block,
    Columns,
    ElementRows,
    Row,
    concatenate_blocks,
    flatten,
    stack_rows,
    unflatten,
)
from stratax.data.ops.batch._cursors import BatchCursor
from stratax.data.plan import Node, OverOne, Passes, PlanRun, as_count, is_one_of_many, select_passes
from stratax.data.position import Cursor


class Grouped(OverOne):
    """What plain and padded batches share: groups of `size` consecutive elements."""

    def __init__(self, child: Node, size: int, *, drop_remainder: bool) -> None:
        super().__init__(child)
        self.size = size
        self.drop_remainder = drop_remainder

    @property
    def length(self) -> int:
        length = self.children[0].length
        if length < 0:
            return length
        return length // self.size if self.drop_remainder else -(-length // self.size)

    @property
    def batch_size(self) -> int | None:
        return self.size

    @property
    def _short(self) -> int:
        """How many elements the last group has if it is short, else 0."""
        length = self.children[0].length
        return 0 if length < 0 or self.drop_remainder else length % self.size

    @property
    def _static_size(self) -> int | None:
        # Of a plan that a function makes, another element's may be of another length.
        is_even = self.is_indexable and not self._short and not is_one_of_many()
        return self.size if self.drop_remainder or is_even else None

    @property
    def group_size(self) -> int:
        """The size that was asked for."""
        return self.size

    def describe(self) -> str:
        return f"{self.label}({self.size})"

    def stream(self, run: PlanRun, passes: int) -> Cursor:
        """Open a pass over group after group."""
        return BatchCursor(
            self.child.open(run, passes), self.size, drop_remainder=self.drop_remainder, join=self.join
        )

    @abc.abstractmethod
    def join(self, pieces: list[Block]) -> Row:
        """Join the components of one group."""


class Batch(Grouped):
    """`size` elements stacked on a new leading axis; over an indexable child one gather makes many batches."""

    label = "Batch"
    # The child's spec, the static size, and what was made of them.
    _made: tuple[Any, int | None, Any] | None = None

    @property
    def spec(self) -> Any:
        """The child's with a leading axis, None if the last batch may be short."""
        child, size = self.children[0].spec, self._static_size
        # Asked for several times when a pass begins; sources give the same object each time.
        if self._made is None or self._made[0] is not child or self._made[1] != size:
            self._made = (child, size, _batch_specs(child, size))
        return self._made[2]

    @property
    def is_uniform(self) -> bool:
        """Whether the last batch is as long as the others."""
        return self.child.is_uniform and not self._short

    def gather(self, indices: np.ndarray, passes: Passes, run: PlanRun) -> Block:
        """Gather all the batches' elements at once, seen as [batches, size, ...]."""
        size = self._size_at(int(indices[0]))
        # Elements of all batches, in order: one gather, and a reshape of what it gives.
        positions = (indices[:, None] * self.size + np.arange(size)).reshape(-1)
        passes = passes if isinstance(passes, int) else np.repeat(passes, size)
        block = self._gather(positions, passes, run)
        if isinstance(block, ElementRows) and block.failure is not None:
            raise block.failure
        # Known without a further call of a function, now that there are elements.
        if self.child.composites:
            starts = range(0, len(positions), size)
            return ElementRows([self.join([block.slice(start, start + size)]) for start in starts])
        leaves = block.columns()
        return Columns([leaf.reshape(len(indices), size, *leaf.shape[1:]) for leaf in leaves], len(indices))

    def _gather(self, positions: np.ndarray, passes: Passes, run: PlanRun) -> Block:
        ids = None if self.child.is_uniform else self.child.shape_ids(positions, passes, run)
        if ids is None or (ids == ids[0]).all():
            return self.child.gather(positions, passes, run)
        # Several shapes, which can be stacked where they are those of ragged rows only.
        return ElementRows(
            [
                self.child.gather(positions[i : i + 1], select_passes(passes, slice(i, i + 1)), run).row(0)
                for i in range(len(positions))
            ]
        )

    def _size_at(self, index: int) -> int:
        short = self._short
        return short if short and index == self.length - 1 else self.size

    def shape_ids(self, indices: np.ndarray, passes: Passes, run: PlanRun) -> np.ndarray | None:
        """Tell the short last batch apart, and batches of differently shaped elements."""
        own = (indices == self.length - 1).astype(np.int64) if self._short else None
        inner = None
        if not self.child.is_uniform:
            inner = self.child.shape_ids(indices * self.size, passes, run)
        if inner is None or own is None:
            return inner if own is None else own
        # The short batch is odd, so that the two kinds of ids can't meet.
        return own + 2 * inner

    def join(self, pieces: list[Block]) -> Row:
        if composites := self.child.composites:
            rows = [piece.row(i) for piece in pieces for i in range(piece.count)]
            return [
                composites[i].join(values)
                if i in composites
                else stack_rows([[value] for value in values])[0]
                for i, values in enumerate(zip(*rows, strict=True))
            ]
        if any(piece.shapes != pieces[0].shapes for piece in pieces):
            return stack_rows([piece.row(i) for piece in pieces for i in range(piece.count)])
        return concatenate_blocks(pieces).columns()


def _batch_specs(spec: Any, size: int | None) -> Any:
    """Return specs with a leading axis."""
    specs, structure = flatten(spec)
    return unflatten(structure, [each.batched(size) for each in specs])


def make_batch(node: Node, batch_size: object, *, drop_remainder: bool) -> Node:
    """Make the node of `Dataset.batch`."""
    return Batch(node, as_count("batch_size", batch_size, 1), drop_remainder=bool(drop_remainder))
