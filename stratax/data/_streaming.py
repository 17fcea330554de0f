"""Operations whose number of elements only iterating tells: filter, flat_map; and windows (data layer)."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from stratax.data._block import Block, Rows
from stratax.data._node import Node, Passes, Run
from stratax.data._spec import UNKNOWN_CARDINALITY, DatasetSpec, Nested
from stratax.data._structure import Row, flatten, unflatten
from stratax.data._vectorise import call, on_host
from stratax.errors import BadTypeError, DataError


class Filter(Node):
    """The elements for which a predicate holds."""

    label = "Filter"

    def __init__(self, child: Node, predicate: Callable[..., Any]) -> None:
        self.children = (child,)
        self._predicate = predicate

    @property
    def spec(self) -> Any:
        """As the child's."""
        return self.children[0].spec

    @property
    def length(self) -> int:
        """Not known, except of nothing."""
        return 0 if self.children[0].length == 0 else UNKNOWN_CARDINALITY

    @property
    def is_indexable(self) -> bool:
        """Only iterates."""
        return False

    def rows(self, run: Run, passes: int = 0) -> Iterator[Row]:
        """Those that pass."""
        structure = self.children[0].structure
        for number, row in enumerate(self.children[0].rows(run, passes)):
            copies = [leaf.copy() if isinstance(leaf, np.ndarray) else leaf for leaf in row]
            try:
                with on_host():
                    verdict = np.asarray(call(self._predicate, structure, copies))
            except Exception as e:
                e.add_note(
                    f"The predicate {_name(self._predicate)} given to filter failed on element {number}."
                )
                raise
            if verdict.shape or verdict.dtype != np.bool_:
                raise DataError(
                    "The predicate given to filter has to return one bool. Received: "
                    f"{_name(self._predicate)} gave dtype={verdict.dtype}, shape={verdict.shape} on element {number}. "
                    "Return a comparison, such as x > 0."
                )
            if verdict:
                yield row


class FlatMap(Node):
    """The elements of the Datasets that a function makes of each element, one Dataset after another.

    Args:
        child: The node.
        function: Gives a Dataset for an element.
        open_node: Gives the plan of a Dataset (this module does not know the class).
    """

    label = "FlatMap"

    def __init__(self, child: Node, function: Callable[..., Any], open_node: Callable[[Any], Node]) -> None:
        self.children = (child,)
        self._function = function
        self._open = open_node
        self._spec: Any = None

    @property
    def spec(self) -> Any:
        """That of the first inner Dataset; calls the function if it was not called before."""
        if self._spec is None:
            run = Run()
            try:
                first = next(self.children[0].rows(run), None)
            finally:
                run.close()
            if first is None:
                raise DataError(
                    "The element_spec of a flat_map over an empty Dataset can't be found. "
                    f"Received: element_spec={self.children[0].spec!r}."
                )
            self._spec = self._inner(first, 0).spec
        return self._spec

    @property
    def length(self) -> int:
        """Not known, except of nothing."""
        return 0 if self.children[0].length == 0 else UNKNOWN_CARDINALITY

    @property
    def is_indexable(self) -> bool:
        """Only iterates."""
        return False

    @property
    def batch_size(self) -> int | None:
        """Not known."""
        return None

    def _inner(self, row: Row, number: int) -> Node:
        try:
            with on_host():
                result = call(self._function, self.children[0].structure, row)
        except Exception as e:
            e.add_note(f"The function {_name(self._function)} given to flat_map failed on element {number}.")
            raise
        if not isinstance(result, Nested):
            raise BadTypeError(
                "The function given to flat_map has to return a Dataset. "
                f"Received: {_name(self._function)} returned {type(result).__name__} for element {number}. "
                "Wrap the result: Dataset.from_tensor_slices(result)."
            )
        return self._open(result)

    def rows(self, run: Run, passes: int = 0) -> Iterator[Row]:
        """Inner Dataset after inner Dataset."""
        structure = None
        for number, row in enumerate(self.children[0].rows(run, passes)):
            inner = self._inner(row, number)
            if structure is None:
                structure = inner.structure
            elif inner.structure != structure:
                raise DataError(
                    f"The function {_name(self._function)} given to flat_map returned Datasets of different "
                    f"structure. Expected, as before: {structure}. Received: {inner.spec!r} for element {number}."
                )
            yield from inner.rows(run, passes)


def _name(function: Callable[..., Any]) -> str:
    return str(getattr(function, "__qualname__", repr(function)))


class RowsSource(Node):
    """Elements that are at hand as rows: what a window holds."""

    label = "Window"

    def __init__(self, rows: list[Row], spec: Any) -> None:
        self._rows = rows
        self._spec = spec

    @property
    def spec(self) -> Any:
        """As given."""
        return self._spec

    @property
    def length(self) -> int:
        """How many rows."""
        return len(self._rows)

    @property
    def is_uniform(self) -> bool:
        """Not checked."""
        return False

    def gather(self, indices: np.ndarray, passes: Passes, run: Run) -> Block:
        """Copies of the rows."""
        rows = [self._rows[i] for i in indices]
        return Rows([[leaf.copy() if isinstance(leaf, np.ndarray) else leaf for leaf in row] for row in rows])


class Window(Node):
    """Overlapping or apart groups of elements, each component of a group a Dataset.

    Args:
        child: The node.
        size: Elements of a window (before the stride).
        shift: Elements between the starts of two windows.
        stride: Distance of a window's elements.
        drop_remainder: Whether windows at the end that are short are left out.
        wrap: Makes a Dataset of a node.
    """

    label = "Window"

    def __init__(
        self,
        child: Node,
        size: int,
        shift: int,
        stride: int,
        drop_remainder: bool,
        wrap: Callable[[Node], Nested],
    ) -> None:
        self.children = (child,)
        self._size, self._shift, self._stride = size, shift, stride
        self._drop_remainder = drop_remainder
        self._wrap = wrap

    @property
    def spec(self) -> Any:
        """A DatasetSpec for every component."""
        specs, structure = flatten(self.children[0].spec)
        return unflatten(structure, [DatasetSpec(spec) for spec in specs])

    @property
    def is_indexable(self) -> bool:
        """Only iterates."""
        return False

    @property
    def batch_size(self) -> int | None:
        """Not batches."""
        return None

    @property
    def length(self) -> int:
        """Number of windows."""
        length = self.children[0].length
        if length < 0:
            return length
        if not self._drop_remainder:
            return -(-length // self._shift)
        reach = (self._size - 1) * self._stride + 1
        return 0 if length < reach else (length - reach) // self._shift + 1

    def rows(self, run: Run, passes: int = 0) -> Iterator[Row]:
        """Window after window."""
        specs, _ = flatten(self.children[0].spec)
        reach = (self._size - 1) * self._stride + 1
        held: list[Row] = []
        to_skip = 0
        rows = self.children[0].rows(run, passes)
        for row in rows:
            if to_skip:
                to_skip -= 1
                continue
            held.append(row)
            if len(held) == reach:
                yield self._window(held, specs)
                to_skip = max(0, self._shift - reach)
                held = held[self._shift :]
        while held and not self._drop_remainder:
            yield self._window(held, specs)
            held = held[self._shift :]

    def _window(self, held: list[Row], specs: list[Any]) -> Row:
        chosen = held[:: self._stride]
        return [self._wrap(RowsSource([[row[i]] for row in chosen], spec)) for i, spec in enumerate(specs)]
