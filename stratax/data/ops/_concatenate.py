"""`concatenate`: the node (data layer)."""

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from stratax.base.shown import shown
from stratax.base.typing import PyTree
from stratax.data.elements import (
    INFINITE_CARDINALITY,
    UNKNOWN_CARDINALITY,
    Block,
    Columns,
    ElementRows,
    Row,
    flatten,
)
from stratax.data.ops._successive import SuccessiveCursor
from stratax.data.plan import Node, Passes, PlanRun, merge_specs, select_passes
from stratax.data.position import Cursor
from stratax.errors import BadTypeError, DataError


class Concatenate(Node):
    """The elements of one node after those of another."""

    label = "Concatenate"

    def __init__(self, first: Node, second: Node) -> None:
        self.children = (first, second)

    @property
    def spec(self) -> Any:
        """What describes both.

        Raises:
            BadTypeError: Their structures or dtypes differ.
        """
        return common_spec("Concatenated Datasets", self.children)

    @property
    def length(self) -> int:
        lengths = [child.length for child in self.children]
        if INFINITE_CARDINALITY in lengths:
            return INFINITE_CARDINALITY
        # Infinite comes first: behind an endless part it does not matter how long the other one is.
        return UNKNOWN_CARDINALITY if UNKNOWN_CARDINALITY in lengths else sum(lengths)

    @property
    def is_uniform(self) -> bool:
        """Whether both are, with the same shapes."""
        return all(child.is_uniform for child in self.children) and self._shapes(0) == self._shapes(1)

    def _shapes(self, which: int) -> list[Any]:
        return [spec.shape for spec in flatten(self.children[which].spec)[0]]

    def _is_second(self, indices: np.ndarray) -> np.ndarray:
        length = self.children[0].length
        return np.zeros(len(indices), bool) if length == INFINITE_CARDINALITY else indices >= length

    def gather(self, indices: np.ndarray, passes: Passes, run: PlanRun) -> Block:
        """Make one gather from each node that is needed."""
        second = self._is_second(indices)
        # Nearly all blocks lie on one side, which needs no copy.
        if not second.any():
            return self.children[0].gather(indices, passes, run)
        shift = self.children[0].length
        if second.all():
            return self.children[1].gather(indices - shift, passes, run)
        parts = (
            self.children[0].gather(indices[~second], select_passes(passes, ~second), run),
            self.children[1].gather(indices[second] - shift, select_passes(passes, second), run),
        )
        if all(isinstance(part, Columns) for part in parts):
            return _interleave(parts[0].columns(), parts[1].columns(), second)
        return _merge(parts, second)

    def shape_ids(self, indices: np.ndarray, passes: Passes, run: PlanRun) -> np.ndarray | None:
        """Return the children's shape ids, kept distinct."""
        if self.is_uniform:
            return None
        second = self._is_second(indices)
        ids = np.zeros(len(indices), np.int64)
        for which, chosen in ((0, ~second), (1, second)):
            if chosen.any():
                positions = indices[chosen] - (self.children[0].length if which else 0)
                own = self.children[which].shape_ids(positions, select_passes(passes, chosen), run)
                # Even ids for the first and odd ones for the second, so that they can't meet.
                ids[chosen] = which + 2 * (0 if own is None else own)
        return ids

    def stream(self, run: PlanRun, passes: int) -> Cursor:

        def open_child(number: int) -> Cursor:
            return self.children[number].open(run, passes)

        return SuccessiveCursor(open_child, len(self.children))


def common_spec(what: str, nodes: Sequence[Node]) -> Any:
    """Return what describes the elements of several nodes.

    Args:
        what: What they are, for the message.
        nodes: The nodes.

    Raises:
        BadTypeError: Their structures or dtypes differ.
    """
    return functools.reduce(functools.partial(_merge_specs, what), [node.spec for node in nodes])


def _merge_specs(what: str, mine: PyTree, other: PyTree) -> Any:
    specs, structure = flatten(mine)
    others, other_structure = flatten(other)
    fits = structure == other_structure and all(a.is_like(b) for a, b in zip(specs, others, strict=True))
    if not fits:
        raise BadTypeError(
            f"{what} need elements of the same structure and dtypes. "
            f"Received: element_spec={shown(mine)} and element_spec={shown(other)}. "
            "Bring them to one form with map first."
        )
    return merge_specs(mine, other)


def _interleave(first: list[np.ndarray], second: list[np.ndarray], is_second: np.ndarray) -> Columns:
    leaves = []
    for a, b in zip(first, second, strict=True):
        # Uniform sources whose elements differ in shape cannot form one block.
        if a.shape[1:] != b.shape[1:]:
            raise DataError(
                "Elements of one batch need components of one shape. "
                f"Received: shapes={shown([a.shape[1:], b.shape[1:]])} from concatenated Datasets. Use padded_batch."
            )
        leaf = np.empty((len(is_second), *a.shape[1:]), a.dtype)
        # Back into the order that was asked for.
        leaf[~is_second], leaf[is_second] = a, b
        leaves.append(leaf)
    return Columns(leaves, len(is_second))


def _merge(parts: tuple[Block, Block], is_second: np.ndarray) -> ElementRows:
    taken = [0, 0]
    rows: list[Row] = []
    for which in is_second.astype(int):
        try:
            rows.append(parts[which].row(taken[which]))
        except Exception as e:
            return ElementRows(rows, failure=e)
        taken[which] += 1
    return ElementRows(rows)
