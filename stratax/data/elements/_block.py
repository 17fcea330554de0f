"""Several elements at once: stacked columns, or rows where they can't be stacked (data layer)."""

import abc
from collections.abc import Sequence
from typing import Any

import numpy as np
import optree

from stratax.base.shown import shown
from stratax.data.elements._composite import NAMESPACE, Composite, is_composites, parts_of
from stratax.data.elements._structure import Row, Structure, unflatten
from stratax.errors import DataError


class Block(abc.ABC):
    """Some consecutive elements of a pipeline.

    Attributes:
        count: How many.
    """

    count: int

    @abc.abstractmethod
    def columns(self) -> list[np.ndarray]:
        """Return one array per component, the elements stacked on its leading axis; raise if they can't be."""

    @abc.abstractmethod
    def row(self, index: int) -> Row:
        """Return the components of one element."""

    @abc.abstractmethod
    def slice(self, start: int, stop: int) -> "Block":
        """Return the elements from `start` to before `stop`."""

    @property
    @abc.abstractmethod
    def shapes(self) -> tuple[tuple[int, ...], ...] | None:
        """The shapes of the first element's components; None if it failed."""


class Columns(Block):
    """Elements that were gathered together: component arrays with a leading axis of `count`."""

    def __init__(self, leaves: Sequence[np.ndarray], count: int) -> None:
        self.leaves = list(leaves)
        self.count = count

    def columns(self) -> list[np.ndarray]:
        return self.leaves

    def row(self, index: int) -> Row:
        """Return views of one element."""
        return [leaf[index] for leaf in self.leaves]

    def slice(self, start: int, stop: int) -> Block:
        """Return views of some elements."""
        return Columns([leaf[start:stop] for leaf in self.leaves], stop - start)

    @property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """Return the shapes, which are the same for all elements."""
        return tuple(leaf.shape[1:] for leaf in self.leaves)


class ElementRows(Block):
    """Elements one by one, as a Python function gave them.

    Args:
        rows: The elements.
        failure: What the function raised on the element after the last row; raised when that one is asked for.
    """

    def __init__(self, rows: Sequence[Row], failure: BaseException | None = None) -> None:
        self.rows = list(rows)
        self.failure = failure
        self.count = len(self.rows) + (failure is not None)

    def columns(self) -> list[np.ndarray]:
        """Return stacked copies of the elements."""
        if self.failure is not None:
            raise self.failure
        return stack_rows(self.rows)

    def split(self, limit: int) -> "tuple[ElementRows, ElementRows | None]":
        """Return the leading elements of one shape, at most `limit`, and the others; a failure stands alone."""
        # A failure alone, or one element: nothing to divide.
        if not self.rows or (self.count == 1 and self.failure is None):
            return self, None
        first, count = shapes_of(self.rows[0]), 1
        # The rest stays in order, with the failure at its end.
        while count < min(limit, len(self.rows)) and shapes_of(self.rows[count]) == first:
            count += 1
        if count == self.count:
            return self, None
        return ElementRows(self.rows[:count]), ElementRows(self.rows[count:], self.failure)

    def row(self, index: int) -> Row:
        if index == len(self.rows) and self.failure is not None:
            raise self.failure
        return self.rows[index]

    def slice(self, start: int, stop: int) -> Block:
        """Return some of the rows, with the failure if it is among them."""
        # The failure stands behind the last row.
        return ElementRows(self.rows[start:stop], self.failure if stop == self.count else None)

    @property
    def shapes(self) -> tuple[tuple[int, ...], ...] | None:
        """Return the shapes of the first row."""
        return shapes_of(self.rows[0]) if self.rows else None


def stack_rows(rows: Sequence[Row]) -> list[np.ndarray]:
    """Stack elements component by component.

    Raises:
        DataError: The shapes of a component differ between the elements.
    """
    return [_stack([row[i] for row in rows], i) for i in range(len(rows[0]))]


def _stack(parts: list[Any], component: int) -> np.ndarray:
    if isinstance(parts[0], Composite):
        return as_objects(parts)
    shapes = {np.shape(part) for part in parts}
    # NumPy's own message would not say which component it is.
    if len(shapes) > 1:
        raise DataError(
            "Elements of one batch need components of one shape. "
            f"Received: component {component} with shapes={shown(sorted(shapes))}. "
            "Use padded_batch or ragged_batch, or make the shapes equal in a map."
        )
    if isinstance(parts[0], bytes):
        return as_objects(parts)
    if not isinstance(parts[0], np.ndarray | np.generic):
        raise DataError(
            f"Datasets can't be stacked into a batch. Received: component {component} of type "
            f"{type(parts[0]).__name__}. Flatten the windows first: ds.flat_map(lambda window: window.batch(n))."
        )
    # A copy: rows may be views of what the function still holds.
    return np.stack(parts)


def is_of_composites(block: Block) -> bool:
    """Return whether elements have components that are made of several arrays."""
    if isinstance(block, Columns):
        return not are_plain(block.leaves)
    return any(isinstance(leaf, Composite) for leaf in block.row(0))


def are_plain(columns: Sequence[Any]) -> bool:
    """Return whether no column of a block holds composites."""
    # A loop, as it is asked for every block: numbers are never objects.
    for column in columns:  # noqa: SIM110
        if column.dtype.hasobject and is_composites(column):
            return False
    return True


def expand(block: Block) -> Block:
    """Return the first element of a block with the arrays that its composites are made of in their places."""
    return ElementRows([parts_of(block.row(0))])


def expand_structure(structure: Structure, row: Row) -> Structure:
    """Return the structure of what :func:`expand` makes of an element."""
    return optree.tree_structure(unflatten(structure, row), namespace=NAMESPACE)


def as_objects(values: Sequence[Any]) -> np.ndarray:
    """Return Python objects, such as byte strings, in an array of their own: object [n]."""
    array = np.empty(len(values), object)
    # One by one, as NumPy would take apart what has a length, such as a SparseTensor.
    if any(isinstance(value, Composite) for value in values[:1]):
        for i, value in enumerate(values):
            array[i] = value
        return array
    # Assigned, as NumPy would make an array of equal lengths two-dimensional.
    array[:] = values
    return array


def shapes_of(row: Row) -> tuple[tuple[int, ...], ...]:
    """Return the shapes of an element's components."""
    # A list inside: for a few leaves it is faster than a generator, and this runs for every element.
    return tuple([leaf.shape if isinstance(leaf, np.ndarray) else () for leaf in row])


def concatenate_blocks(blocks: Sequence[Block]) -> Block:
    """Return one block with the elements of `blocks`, in order."""
    if len(blocks) == 1:
        return blocks[0]
    # Rows may differ in shape, and then have no columns.
    if any(isinstance(block, ElementRows) or block.shapes != blocks[0].shapes for block in blocks):
        return ElementRows([block.row(i) for block in blocks for i in range(block.count)])
    parts = [block.columns() for block in blocks]
    leaves = [np.concatenate([part[i] for part in parts]) for i in range(len(parts[0]))]
    return Columns(leaves, sum(block.count for block in blocks))


def beside(blocks: Sequence[Block]) -> Block:
    """Return one block whose elements have the components of each of `blocks`, which are equally long."""
    if all(isinstance(block, Columns) for block in blocks):
        return Columns([leaf for block in blocks for leaf in block.columns()], blocks[0].count)
    return ElementRows([[leaf for block in blocks for leaf in block.row(i)] for i in range(blocks[0].count)])
