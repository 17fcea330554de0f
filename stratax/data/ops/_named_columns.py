"""The components of elements under names (data layer)."""

from collections.abc import Sequence
from typing import Any

from stratax.data.elements import Block, Columns, flatten
from stratax.data.plan import Node, OverOne, PlanRun
from stratax.data.position import Cursor, CursorOver


class NamedColumns(OverOne):
    """Tuples as dicts, or as pairs of a dict and one component beside it.

    Args:
        child: A node whose elements are tuples of arrays.
        names: The name of each component.
        apart: The name of the one that stands beside the others; None for none.
    """

    label = "NamedColumns"
    is_indexable = False

    def __init__(self, child: Node, names: Sequence[str], apart: str | None) -> None:
        super().__init__(child)
        self._names = names
        self._apart = apart

    def _name(self, components: Sequence[Any]) -> Any:
        named = dict(zip(self._names, components, strict=True))
        return named if self._apart is None else (named, named.pop(self._apart))

    @property
    def spec(self) -> Any:
        """The child's spec, under names."""
        return self._name(self.child.spec)

    def describe(self) -> str:
        return f"{self.label}({','.join(self._names)})"

    def stream(self, run: PlanRun, passes: int) -> Cursor:
        # Flattening numbers in the place of components shows where each one goes.
        order = flatten(self._name(range(len(self._names))))[0]
        return _Reordered(self.child.open(run, passes), order)


class _Reordered(CursorOver):
    """Components in another order."""

    def __init__(self, child: Cursor, order: Sequence[int]) -> None:
        super().__init__(child)
        self._order = order

    def read(self, limit: int) -> Block:
        block = self._child.read(limit)
        columns = block.columns()
        return Columns([columns[i] for i in self._order], block.count)

    def skip(self, count: int) -> int:
        return self._child.skip(count)
