"""`map`: a user's function over single elements, called for a whole block at once where that is safe (data layer)."""

import contextlib
import functools
import math
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError
from typing import Any, cast

import numpy as np

from stratax.base.shown import shown
from stratax.base.typing import PyTree
from stratax.data.elements import (
    Block,
    Columns,
    CompositeSpec,
    DatasetSpec,
    ElementRows,
    Row,
    TensorSpec,
    flatten,
)
from stratax.data.ops.map._cursors import Calls, MapCursor, ThreadedMapCursor
from stratax.data.ops.map._grouped_cursor import GroupedCursor
from stratax.data.ops.map._mapper import Mapper
from stratax.data.plan import (
    Drawing,
    Lookahead,
    Node,
    Passes,
    PlanRun,
    check_callable,
    find_first,
    is_one_of_many,
    merge_specs,
    pass_at,
    select_passes,
    threads_of,
)
from stratax.data.position import Cursor
from stratax.errors import DataError

# Elements under way for each thread, so that a slow one does not stop the others.
_ROWS_PER_THREAD = 4
# A part of the second-level cache of common processors.
_CACHE_BYTES = 1 << 20
# Results from this size on are worth stacking by the threads that make them.
_LARGE_BYTES = 1 << 14


class Map(Drawing):
    """A function of every element.

    Args:
        child: The node.
        function: The user's.
        threads: How many elements may be computed at a time, where the function is called one by one; 1 for no threads.
    """

    label = "Map"

    def __init__(self, child: Node, function: Callable[..., Any], threads: int) -> None:
        super().__init__(child)
        self._threads = threads
        self._mapper = Mapper(function, lambda: child.structure)

    def over(self, *children: Node) -> Node:
        """Apply the same function to another node; what is known of its results is found out anew."""
        node = cast(Map, super().over(*children))
        # Another child's elements may be of another structure.
        node._mapper = Mapper(self._mapper.function, lambda: children[0].structure)
        return node

    @property
    def is_vectorised(self) -> bool:
        """Whether the function is known to be called once per block; False before the first block."""
        return self._mapper.is_vectorised

    @property
    def has_known_spec(self) -> bool:
        """Whether the function has been called for a block, and the child's spec is known."""
        return self._mapper.is_vectorised and super().has_known_spec

    @property
    def is_uniform(self) -> bool:
        """As the child, if the function is vectorised; else not known."""
        return self._mapper.is_vectorised and self.child.is_uniform

    @property
    def reads_ahead(self) -> int | None:
        """As many as the threads can use where the function is called one by one."""
        if self._mapper.is_vectorised:
            return None
        return self._threads * _ROWS_PER_THREAD if self._threads > 1 else 1

    @property
    def batch_size(self) -> int | None:
        """The child's, if the function keeps the leading axis."""
        size = self.child.batch_size
        if size is None:
            return None
        shapes = [spec.shape for spec in flatten(self.spec)[0]]
        return (
            size if all(shape is None or (shape and shape[0] in (None, size)) for shape in shapes) else None
        )

    @property
    def spec(self) -> Any:
        """What the function gives; calls it on the first element (and the last) if it was not called before."""
        if self._mapper.spec is None:
            self._mapper.spec = self._sample_spec()
        return self._mapper.spec

    def _sample_spec(self) -> Any:
        samples = self._specs_at_ends() or find_first(self.child, self._specs_of_first)
        if samples is None:
            return self._mapper.spec_for(_placeholder(self.child.spec))
        return functools.reduce(merge_specs, samples)

    def _specs_at_ends(self) -> list[Any]:
        """Return specs of results for the first and the last element, where at hand and the function does not fail."""
        length = self.child.length
        if not self.child.is_indexable or length == 0:
            return []
        run, specs = PlanRun(), []
        try:
            # The last element may have another shape, such as a short batch.
            for i in sorted({0, length - 1 if length > 0 else 1}):
                with contextlib.suppress(Exception):
                    row = self.child.gather(np.array([i]), 0, run).row(0)
                    specs += self._specs_of_first(row) if is_one_of_many() else [self._mapper.spec_for(row)]
        finally:
            run.close()
        return specs

    def _specs_of_first(self, row: Row) -> list[Any]:
        """Return specs of the result for an element, and for ones of other sizes where there may be such."""
        specs = [self._mapper.spec_for(row)]
        # The last batch has another size; of images every size may be another one.
        for axes in (1, None):
            resized = _resize(row, self.child.spec, axes)
            if resized is not None:
                with contextlib.suppress(Exception):
                    specs.append(self._mapper.spec_for(resized))
        return specs

    def gather(self, indices: np.ndarray, passes: Passes, run: PlanRun) -> Block:
        """Return the function's results, from one call for all if it is vectorised."""
        if self._mapper.is_vectorised and len(indices) > (rows := self._rows_in_cache()):
            return self._in_pieces(indices, passes, run, rows)
        return self._gather(indices, passes, run)

    def _rows_in_cache(self) -> int:
        """Return how many results stay in the processor's cache between one operation and the next."""
        specs = [spec for spec in flatten(self._mapper.spec)[0] if isinstance(spec, TensorSpec)]
        size = sum(math.prod(n or 1 for n in spec.shape or ()) * spec.dtype.itemsize for spec in specs)
        return max(1, _CACHE_BYTES // max(1, size))

    def _in_pieces(self, indices: np.ndarray, passes: Passes, run: PlanRun, rows: int) -> Block:
        """Compute a large block in pieces: what is computed between gather and result never leaves the cache."""
        leaves: list[np.ndarray] = []
        for start in range(0, len(indices), rows):
            part = slice(start, start + rows)
            block = self._gather(indices[part], select_passes(passes, part), run)
            # A piece that can't be stacked: all of it is computed again, one by one.
            if not isinstance(block, Columns):
                return self._gather(indices, passes, run)
            if not leaves:
                leaves = [np.empty((len(indices), *leaf.shape[1:]), leaf.dtype) for leaf in block.leaves]
            for whole, leaf in zip(leaves, block.leaves, strict=True):
                whole[part] = leaf
        return Columns(leaves, len(indices))

    def _gather(self, indices: np.ndarray, passes: Passes, run: PlanRun) -> Block:
        calls = self._calls(run)
        block = self.child.gather(indices, passes, run)
        found = calls.block(block)
        if found is not None:
            return found
        if self._threads > 1 and block.count > 1:
            return self._in_threads(block, indices, passes, run)
        return calls.rows(block, indices.tolist(), passes)

    def _calls(self, run: PlanRun) -> Calls:
        return Calls(self._mapper, functools.partial(self.name_of, run), run.origins)

    def _in_threads(self, block: Block, indices: np.ndarray, passes: Passes, run: PlanRun) -> Block:
        pool, calls = run.pool(self._threads, self), self._calls(run)
        columns = self._columns_to_fill(block.count)

        def make(i: int) -> Row | None:
            # Calls that wait in the pool end with the iterator.
            if run.is_closed:
                raise CancelledError
            places = [column[i, ...] for column in columns]
            row = calls.row(block.row(i), int(indices[i]), pass_at(passes, i), places)
            return None if _put(row, columns, places) else row

        results: list[Row | None] = []
        # One for each element: threads that take elements by themselves wait much longer on a busy machine.
        futures = [pool.submit(make, i) for i in range(block.count)]
        try:
            # In order, so that what is raised is the first element's error.
            results.extend(future.result() for future in futures)
        except Exception as e:
            for future in futures:
                future.cancel()
            return ElementRows(_rows(results, columns), failure=e)
        if columns and not any(results):
            return Columns(columns, block.count)
        return ElementRows(_rows(results, columns))

    def _columns_to_fill(self, count: int) -> list[np.ndarray]:
        """Return where the threads put results of one shape, side by side; empty if unknown or not worth it."""
        specs = flatten(self._mapper.spec)[0] if self._mapper.spec is not None else []
        if not all(isinstance(spec, TensorSpec) and _is_plain(spec) for spec in specs):
            return []
        size = sum(math.prod(spec.shape) * spec.dtype.itemsize for spec in specs)
        return [np.empty((count, *spec.shape), spec.dtype) for spec in specs] if size >= _LARGE_BYTES else []

    def shape_ids(self, indices: np.ndarray, passes: Passes, run: PlanRun) -> np.ndarray | None:
        """Return the child's: a function of inputs of one shape is expected to give results of one shape."""
        return None if self.child.is_uniform else self.child.shape_ids(indices, passes, run)

    def stream(self, run: PlanRun, passes: int) -> Cursor:
        """Open a pass; with threads, some calls are under way, and Examples come several batches at a time."""
        calls = self._calls(run)
        if self._mapper.batch_program is not None:
            return GroupedCursor(self.child.open(run, passes), calls, passes, self._mapper.batch_program)
        if self._threads > 1 and not self._mapper.is_vectorised:
            child = self.child.open(run, passes)
            window = _ROWS_PER_THREAD * self._threads
            return ThreadedMapCursor(child, calls, passes, lambda: run.pool(self._threads, self), window)
        return MapCursor(self.child.open(run, passes), Lookahead(self.child), calls, passes)


def _is_plain(spec: TensorSpec) -> bool:
    return spec.shape is not None and None not in spec.shape and not spec.dtype.hasobject


def _put(row: Row, columns: list[np.ndarray], places: list[np.ndarray]) -> bool:
    """Copy a row to its places in the columns if it fits: the thread that made it stacks it, too."""
    if not columns or len(row) != len(columns):
        return False
    for leaf, column in zip(row, columns, strict=True):
        if np.shape(leaf) != column.shape[1:] or leaf.dtype != column.dtype:
            return False
    # In a second loop: nothing is written of a row that does not fit.
    for leaf, place in zip(row, places, strict=True):
        # It may have been computed there.
        if leaf is not place:
            place[...] = leaf
    return True


def _rows(results: Sequence[Row | None], columns: list[np.ndarray]) -> list[Row]:
    """Return the rows, those that were put into the columns taken from there."""
    return [
        [column[place] for column in columns] if row is None else row for place, row in enumerate(results)
    ]


def _resize(row: Row, spec: PyTree, axes: int | None) -> Row | None:
    """Return an element with size 1 along open axes, or 2 where it is 1 already; None if there is none.

    Args:
        row: The element.
        spec: What is known of it.
        axes: How many axes of each component; None for all, if any has several.
    """
    known = flatten(spec)[0]
    found = [_find_open(leaf, each) for leaf, each in zip(row, known, strict=True)]
    if not any(found) or (axes is None and max(map(len, found)) < 2):
        return None
    return [_with_other_sizes(leaf, each[:axes]) for leaf, each in zip(row, found, strict=True)]


def _find_open(leaf: Any, spec: Any) -> list[int]:
    """Return the axes of an array whose sizes may be others."""
    if not isinstance(leaf, np.ndarray) or not isinstance(spec, TensorSpec):
        return []
    sizes = (None,) * min(leaf.ndim, 1) if spec.shape is None else spec.shape
    return [axis for axis, size in enumerate(sizes) if size is None and leaf.shape[axis]]


def _with_other_sizes(leaf: Any, axes: Sequence[int]) -> Any:
    for axis in axes:
        leaf = np.take(leaf, [0], axis) if leaf.shape[axis] > 1 else np.repeat(leaf, 2, axis)
    return leaf


def _placeholder(spec: PyTree) -> Row:
    """Return an element of zeros, for a function whose input has no element."""
    specs, _ = flatten(spec)
    for leaf in specs:
        if isinstance(leaf, DatasetSpec) or leaf.shape is None:
            raise DataError(
                f"The element_spec of a map over an empty Dataset can't be found. Received: element_spec={shown(spec)}."
            )
    return [
        leaf.empty()
        if isinstance(leaf, CompositeSpec)
        else np.zeros([size or 0 for size in leaf.shape], leaf.dtype)[()]
        for leaf in specs
    ]


def make_map(node: Node, function: Callable[..., Any], num_parallel_calls: object) -> Node:
    """Make a `map` in the threads of this process."""
    check_callable("map_func", function, node)
    return Map(node, function, threads_of(num_parallel_calls))
