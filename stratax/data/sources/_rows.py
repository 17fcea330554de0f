"""Elements given as rows (data layer)."""

from typing import Any

import numpy as np

from stratax._typing import PyTree
from stratax.data.elements import Block, Row, Rows
from stratax.data.plan import Node, Passes, Run


class RowsSource(Node):
    """Elements that are at hand as rows: what a window holds."""

    label = "Window"

    def __init__(self, rows: list[Row], spec: PyTree) -> None:
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

    @property
    def is_uniform(self) -> bool:
        """Answer that shapes may differ: they are not checked."""
        return False

    def gather(self, indices: np.ndarray, passes: Passes, run: Run) -> Block:
        """Return copies of the rows."""
        # Copies, since a window may be iterated several times and elements may be changed.
        rows = [self._rows[i] for i in indices]
        return Rows([[leaf.copy() if isinstance(leaf, np.ndarray) else leaf for leaf in row] for row in rows])
