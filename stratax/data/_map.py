"""`map`: a user's function over single elements, called for a whole block at once where that is safe (data layer)."""

import math
import threading
from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np

from stratax.data._block import Block, Columns, Rows, shapes_of
from stratax.data._cursor import Cursor
from stratax.data._element_random import element_scope
from stratax.data._map_cursors import MapCursor, ThreadedMapCursor
from stratax.data._node import Node, Order, Passes, Run, feed_of, first_row, select_passes
from stratax.data._origins import Origins
from stratax.data._purity import is_pure
from stratax.data._spec import Nested, TensorSpec
from stratax.data._structure import Row, Structure, as_row, check_same, flatten, spec_of_row, unflatten
from stratax.data._vectorise import Vectorised, WithJAX, WithNumPy, block_agrees, call, on_host, uses_jax
from stratax.errors import DataError

_CHECKED_ROWS = 16
_ROWS_PER_THREAD = 4
_CACHE_BYTES = 1 << 20
_LARGE_BYTES = 1 << 14


class Mapper:
    """Calls a user's function, and knows the best way to.

    The first elements are computed one by one and as a block; where the two disagree, the function is called one by
    one for ever.

    Args:
        function: The user's.
        structure: Structure of the elements it gets.
    """

    def __init__(self, function: Callable[..., Any], structure: Callable[[], Structure]) -> None:
        self._function = function
        self._input_structure = structure
        self._lock = threading.Lock()
        self._candidates: list[tuple[Vectorised, bool]] | None = None
        self._checked = 0
        self._expected: tuple[Structure, tuple[tuple[np.dtype | None, int], ...]] | None = None
        self._shapes: tuple[tuple[int, ...], ...] | None = None
        self.spec: Any = None

    @property
    def function(self) -> Callable[..., Any]:
        """The user's."""
        return self._function

    @property
    def name(self) -> str:
        """How messages call the function."""
        return f"The function {getattr(self._function, '__qualname__', repr(self._function))} given to map"

    @property
    def is_vectorised(self) -> bool:
        """Whether whole blocks are known to come out right."""
        return self._checked > 0 and bool(self._candidates)

    def one(self, row: Row, position: int, origins: Origins) -> Row:
        """The function's result for one element, checked against earlier ones; errors name position and record.

        Called inside `on_host`, which is entered once for many.
        """
        try:
            result = as_row(call(self._function, self._input_structure(), row))
        except Exception as e:
            e.add_note(f"{self.name} failed on element {position} of {self._describe(row)}.")
            origins.tell(e, row)
            raise
        self.check(*result)
        return result[0]

    def _describe(self, row: Row) -> str:
        return f"its input, {spec_of_row(row, self._input_structure())!r}"

    def check(self, row: Row, structure: Structure) -> None:
        """Raises unless a result is like those before it."""
        kinds = tuple(
            (getattr(leaf, "dtype", None), np.ndim(leaf)) for leaf in row if not isinstance(leaf, Nested)
        )
        shapes = shapes_of(row)
        if self._expected == (structure, kinds) and self._shapes == shapes:
            return
        # Threads give their first results at the same time.
        with self._lock:
            if self._expected is None:
                self._expected = (structure, kinds)
                self.spec = spec_of_row(row, structure) if self.spec is None else self.spec
            elif self._expected != (structure, kinds):
                check_same(row, structure, self.spec, self.name)
            self._widen(row, structure)
            self._shapes = shapes

    def _widen(self, row: Row, structure: Structure) -> None:
        """Makes sizes that turned out to differ None in the spec."""
        pairs = zip(flatten(self.spec)[0], flatten(spec_of_row(row, structure))[0], strict=True)
        specs = [a.merged(b) if isinstance(a, TensorSpec) else a for a, b in pairs]
        self.spec = unflatten(structure, specs)

    def spec_for(self, row: Row) -> Any:
        """The spec of the function's result for one element, which is not compared with others."""
        with on_host():
            return spec_of_row(*as_row(call(self._function, self._input_structure(), row)))

    def block(self, columns: Sequence[np.ndarray]) -> list[np.ndarray] | None:
        """The function's results for a block of elements, or None if it has to be called one by one."""
        if any(column.dtype.hasobject for column in columns):
            return None
        with self._lock:
            if self._candidates is None:
                self._candidates = self._ways()
            while self._candidates:
                way, exactly = self._candidates[0]
                result = self._attempt(way, exactly, columns)
                if result is not None:
                    return result
                self._candidates.pop(0)
                self._checked = 0
        return None

    def _ways(self) -> list[tuple[Vectorised, bool]]:
        if not is_pure(self._function):
            return []
        structure = self._input_structure()
        ways: list[tuple[Vectorised, bool]] = [(WithNumPy(self._function, structure), True)]
        if uses_jax():
            ways += [(WithJAX(self._function, structure, compiled), False) for compiled in (False, True)]
        return ways

    def _attempt(
        self, way: Vectorised, exactly: bool, columns: Sequence[np.ndarray]
    ) -> list[np.ndarray] | None:
        """One way on one block; compared with element by element as long as few elements have been."""
        count = max(0, min(_CHECKED_ROWS - self._checked, len(columns[0])))
        rows = []
        if count:
            try:
                copies = [[column[i].copy() for column in columns] for i in range(count)]
                rows = [self._reference(row) for row in copies]
            except Exception:
                # The function fails on an element: it will say so when it is called for that one.
                return None
        try:
            result = way(columns)
        except Exception:
            return None
        if not block_agrees(result, rows, exactly):
            return None
        leaves, structure = result
        if any(len(leaf) != len(columns[0]) for leaf in leaves):
            return None
        self._checked += count
        kinds = tuple((leaf.dtype, leaf.ndim - 1) for leaf in leaves)
        if self._expected is None:
            self._expected = (structure, kinds)
        if self.spec is None:
            self.spec = unflatten(structure, [TensorSpec(leaf.shape[1:], leaf.dtype) for leaf in leaves])
        return leaves if self._expected == (structure, kinds) else None

    def _reference(self, row: Row) -> tuple[Row, Structure]:
        with on_host():
            return as_row(call(self._function, self._input_structure(), row))


class Map(Node):
    """A function of every element.

    Args:
        child: The node.
        function: The user's.
        threads: How many elements may be computed at a time, where the function is called one by one; 1 for no threads.
    """

    label = "Map"

    def __init__(self, child: Node, function: Callable[..., Any], threads: int) -> None:
        self.children = (child,)
        self._threads = threads
        self._mapper = Mapper(function, lambda: child.structure)
        self._order = Order(None, reshuffle=True, lazy=True)
        self._stride, self._offset = 1, 0

    @property
    def child(self) -> Node:
        """The node it reads from."""
        return self.children[0]

    def over(self, *children: Node) -> Node:
        """The same function over another node; what is known of its results is found out anew."""
        node = cast(Map, super().over(*children))
        node._mapper = Mapper(self._mapper.function, lambda: children[0].structure)
        return node

    def sharded(self, child: Node, num_shards: int, index: int) -> Node:
        """The same function over a shard of the elements; it draws for each the same numbers as in the whole."""
        node = cast(Map, self.over(child))
        node._offset = self._offset + self._stride * index
        node._stride = self._stride * num_shards
        return node

    def _position(self, position: int) -> int:
        """Where an element stands in the whole of which this may be a shard."""
        return position * self._stride + self._offset

    @property
    def order(self) -> Order:
        """Seeds what the function draws."""
        return self._order

    @property
    def length(self) -> int:
        """As the child's."""
        return self.child.length

    @property
    def is_vectorised(self) -> bool:
        """Whether the function is known to be called once per block; False before the first block."""
        return self._mapper.is_vectorised

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
            self._mapper.spec = self._sampled_spec()
        return self._mapper.spec

    def _sampled_spec(self) -> Any:
        run = Run()
        try:
            samples = [self._mapper_result(row) for row in self._samples(run)]
        finally:
            run.close()
        specs, structure = flatten(samples[0])
        for other in samples[1:]:
            others, other_structure = flatten(other)
            if other_structure == structure and all(
                isinstance(a, TensorSpec) and a.dtype == b.dtype for a, b in zip(specs, others, strict=True)
            ):
                specs = [a.merged(b) for a, b in zip(specs, others, strict=True)]
        return unflatten(structure, specs)

    def _mapper_result(self, row: Row) -> Any:
        return self._mapper.spec_for(row)

    def _samples(self, run: Run) -> list[Row]:
        length = self.child.length
        if self.child.is_indexable and length != 0:
            ends = {0, length - 1 if length > 0 else 1}
            return [self.child.gather(np.array([i]), 0, run).row(0) for i in sorted(ends)]
        first = first_row(self.child)
        return [first if first is not None else _placeholder(self.child.spec)]

    def gather(self, indices: np.ndarray, passes: Passes, run: Run) -> Block:
        """The function's results, from one call for all if it is vectorised."""
        if self._mapper.is_vectorised and len(indices) > (rows := self._rows_in_cache()):
            return self._in_pieces(indices, passes, run, rows)
        return self._gathered(indices, passes, run)

    def _rows_in_cache(self) -> int:
        """How many results stay in the processor's cache between one operation and the next."""
        specs = [spec for spec in flatten(self._mapper.spec)[0] if isinstance(spec, TensorSpec)]
        size = sum(math.prod(n or 1 for n in spec.shape or ()) * spec.dtype.itemsize for spec in specs)
        return max(1, _CACHE_BYTES // max(1, size))

    def _in_pieces(self, indices: np.ndarray, passes: Passes, run: Run, rows: int) -> Block:
        """A large block: what is computed between gather and result never leaves the cache."""
        leaves: list[np.ndarray] = []
        for start in range(0, len(indices), rows):
            part = slice(start, start + rows)
            block = self._gathered(indices[part], select_passes(passes, part), run)
            if not isinstance(block, Columns):
                return self._gathered(indices, passes, run)
            if not leaves:
                leaves = [np.empty((len(indices), *leaf.shape[1:]), leaf.dtype) for leaf in block.leaves]
            for whole, leaf in zip(leaves, block.leaves, strict=True):
                whole[part] = leaf
        return Columns(leaves, len(indices))

    def _gathered(self, indices: np.ndarray, passes: Passes, run: Run) -> Block:
        block = self.child.gather(indices, passes, run)
        if isinstance(block, Columns):
            leaves = self._mapper.block(block.columns())
            if leaves is not None:
                return Columns(leaves, block.count)
        if self._threads > 1 and block.count > 1:
            return self._in_threads(block, indices, passes, run)
        rows: list[Row] = []
        with on_host():
            for i in range(block.count):
                try:
                    rows.append(self._one(block.row(i), int(indices[i]), pass_at(passes, i), run))
                except Exception as e:
                    return Rows(rows, failure=e)
        return Rows(rows)

    def _one(self, row: Row, position: int, number: int, run: Run) -> Row:
        with element_scope(lambda: (*self._order.key(run, number), self._position(position))):
            return self._mapper.one(row, position, run.origins)

    def _one_in_thread(self, row: Row, position: int, number: int, run: Run) -> Row:
        with on_host():
            return self._one(row, position, number, run)

    def _in_threads(self, block: Block, indices: np.ndarray, passes: Passes, run: Run) -> Block:
        pool = run.pool(self._threads, self)
        columns = self._columns_to_fill(block.count)

        def make(i: int) -> Row | None:
            row = self._one_in_thread(block.row(i), int(indices[i]), pass_at(passes, i), run)
            return None if _put(row, columns, i) else row

        results: list[Row | None] = []
        futures = [pool.submit(make, i) for i in range(block.count)]
        try:
            results.extend(future.result() for future in futures)
        except Exception as e:
            for future in futures:
                future.cancel()
            return Rows(_rows(results, columns), failure=e)
        if columns and not any(results):
            return Columns(columns, block.count)
        return Rows(_rows(results, columns))

    def _columns_to_fill(self, count: int) -> list[np.ndarray]:
        """Where the threads put results of one shape, beside one another; empty if it is not known or does not pay."""
        specs = flatten(self._mapper.spec)[0] if self._mapper.spec is not None else []
        if not all(isinstance(spec, TensorSpec) and _is_plain(spec) for spec in specs):
            return []
        size = sum(math.prod(spec.shape) * spec.dtype.itemsize for spec in specs)
        return [np.empty((count, *spec.shape), spec.dtype) for spec in specs] if size >= _LARGE_BYTES else []

    def shape_ids(self, indices: np.ndarray, passes: Passes, run: Run) -> np.ndarray | None:
        """As the child's: a function of inputs of one shape is expected to give results of one shape."""
        return None if self.child.is_uniform else self.child.shape_ids(indices, passes, run)

    def stream(self, run: Run, passes: int) -> Cursor:
        """One result after another; with threads, a bounded number is under way."""
        calls = _Calls(self._mapper, lambda: self._order.key(run, passes), self._position, run.origins)
        if self._threads > 1 and not self._mapper.is_vectorised:
            child = self.child.open(run, passes)
            window = _ROWS_PER_THREAD * self._threads
            return ThreadedMapCursor(child, calls, lambda: run.pool(self._threads, self), window)
        return MapCursor(feed_of(self.child, run, passes), calls)


def _is_plain(spec: TensorSpec) -> bool:
    return spec.shape is not None and None not in spec.shape and not spec.dtype.hasobject


def _put(row: Row, columns: list[np.ndarray], place: int) -> bool:
    """Copies a row to its place in the columns if it fits: the thread that made it stacks it, too."""
    if not columns or len(row) != len(columns):
        return False
    for leaf, column in zip(row, columns, strict=True):
        if np.shape(leaf) != column.shape[1:] or leaf.dtype != column.dtype:
            return False
    for leaf, column in zip(row, columns, strict=True):
        column[place] = leaf
    return True


def _rows(results: Sequence[Row | None], columns: list[np.ndarray]) -> list[Row]:
    """The rows, those that were put into the columns taken from there."""
    return [
        [column[place] for column in columns] if row is None else row for place, row in enumerate(results)
    ]


class _Calls:
    """How the stream of one pass calls the function."""

    def __init__(
        self,
        mapper: Mapper,
        key: Callable[[], tuple[int, ...]],
        position_of: Callable[[int], int],
        origins: Origins,
    ) -> None:
        self._mapper = mapper
        self._key = key
        self._position_of = position_of
        self._origins = origins

    def block(self, block: Block) -> Columns | None:
        """At once, if that is known to be right."""
        if not isinstance(block, Columns):
            return None
        leaves = self._mapper.block(block.columns())
        return None if leaves is None else Columns(leaves, block.count)

    def rows(self, block: Block, position: int) -> Rows:
        """One by one, up to the first that fails."""
        rows: list[Row] = []
        with on_host():
            for i in range(block.count):
                try:
                    rows.append(self._one(block.row(i), position + i))
                except Exception as e:
                    return Rows(rows, failure=e)
        return Rows(rows)

    def row(self, row: Row, position: int) -> Row:
        """One element."""
        with on_host():
            return self._one(row, position)

    def _one(self, row: Row, position: int) -> Row:
        with element_scope(lambda: (*self._key(), self._position_of(position))):
            return self._mapper.one(row, position, self._origins)


def pass_at(passes: Passes, index: int) -> int:
    """The pass of one of the positions."""
    return passes if isinstance(passes, int) else int(passes[index])


def _placeholder(spec: Any) -> Row:
    """An element of zeros, for a function whose input has no element."""
    specs, _ = flatten(spec)
    for leaf in specs:
        if not isinstance(leaf, TensorSpec) or leaf.shape is None:
            raise DataError(
                f"The element_spec of a map over an empty Dataset can't be found. Received: element_spec={spec!r}."
            )
    return [np.zeros([size or 0 for size in leaf.shape], leaf.dtype)[()] for leaf in specs]
