"""Elements given as rows (data layer)."""

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from stratax.base.shown import shown
from stratax.base.typing import PyTree
from stratax.data.elements import (
    Block,
    ElementRows,
    Row,
    TensorSpec,
    as_row,
    check_same,
    copy_leaf,
    flatten,
    spec_of_row,
    unflatten,
)
from stratax.data.plan import Node, Passes, PlanRun, merge_specs
from stratax.errors import BadArgumentError


class RowsSource(Node):
    """Elements that are at hand as rows: what a window holds, or rows of different lengths.

    Args:
        rows: The elements.
        spec: Structure of the specs that describe them.
        label: The name of the operation.
    """

    # Shapes are not checked.
    is_uniform = False

    def __init__(self, rows: list[Row], spec: PyTree, label: str = "Window") -> None:
        self.label = label
        self._rows = rows
        self._spec = spec

    @property
    def spec(self) -> Any:
        """Describe elements as the user has."""
        return self._spec

    @property
    def length(self) -> int:
        """The number of rows of the arrays."""
        return len(self._rows)

    def gather(self, indices: np.ndarray, passes: Passes, run: PlanRun) -> Block:
        """Return copies of the rows."""
        # Copies, since a window may be iterated several times and elements may be changed.
        rows = [self._rows[i] for i in indices]
        return ElementRows([[copy_leaf(leaf) for leaf in row] for row in rows])


def as_rows(elements: Sequence[Any]) -> RowsSource:
    """Make the source node of elements in a list.

    Raises:
        BadArgumentError: There is no element.
        DataError: They differ in structure, dtypes or ranks.
    """
    given = [as_row(element) for element in elements]
    if not given:
        raise BadArgumentError(
            f"Invalid `elements`: the list of elements is empty. Received: elements={shown(elements)}. Pass at least "
            "one element."
        )
    specs = [spec_of_row(*each) for each in given]
    for row, structure in given:
        # Ranks may differ.
        check_same(row, structure, _of_any_rank(specs[0]), "from_list")
    return RowsSource([row for row, _ in given], functools.reduce(merge_specs, specs))


def _of_any_rank(spec: PyTree) -> Any:
    specs, structure = flatten(spec)
    return unflatten(
        structure, [TensorSpec(None, each.dtype) if isinstance(each, TensorSpec) else each for each in specs]
    )
