"""`cache`: elements kept in memory after they were made once (data layer)."""

from collections.abc import Callable
from typing import Any

import numpy as np

from stratax.data.elements import (
    Block,
    Columns,
    ElementRows,
    Row,
    as_objects,
    copy_leaf,
    is_composites,
    stack_rows,
)
from stratax.data.ops._prefetch import Prefetch
from stratax.data.ops.batch._batch import Batch
from stratax.data.ops.batch._padded import PaddedBatch
from stratax.data.ops.map._node import Map
from stratax.data.ops.shuffle._node import Shuffle
from stratax.data.plan import Node, OverOne, OwnLock, Passes, PlanRun, walk
from stratax.data.position import Cursor, State
from stratax.data.sources import Random
from stratax.errors import DataError


class _Store:
    """What is known of `length` elements: rows until all are there, then columns if they can be stacked."""

    def __init__(self, length: int) -> None:
        self._rows: list[Row | None] = [None] * length
        self._missing = length
        self._columns: list[np.ndarray] | None = None

    def missing(self, indices: np.ndarray) -> np.ndarray:
        """Return which of `indices` (each once) are not there."""
        if not self._missing:
            return indices[:0]
        # Each once, though a batch may ask for an element twice.
        return np.array([i for i in np.unique(indices) if self._rows[i] is None], dtype=np.int64)

    def put(self, index: int, row: Row) -> None:
        """Keep one element for later passes."""
        self._missing -= self._rows[index] is None
        self._rows[index] = row
        if not self._missing:
            self._stack()

    def _stack(self) -> None:
        try:
            self._columns = stack_rows([row for row in self._rows if row is not None])
        # Elements of several shapes stay rows.
        except DataError:
            return
        # The columns hold the same; both would take twice the memory.
        self._rows = []

    def block(self, indices: np.ndarray) -> Block:
        """Return copies of elements that are there: a function behind may write to what it gets."""
        if self._columns is not None:
            return Columns([_take_rows(leaf, indices) for leaf in self._columns], len(indices))
        return ElementRows([[copy_leaf(leaf) for leaf in self._rows[i] or ()] for i in indices])


def _take_rows(column: np.ndarray, indices: np.ndarray) -> np.ndarray:
    if is_composites(column):
        return as_objects([copy_leaf(column[i]) for i in indices])
    return np.take(column, indices, axis=0)


class Cache(OverOne):
    """Its child's elements, each made at most once.

    Over an indexable child every element is kept when it is first asked for, in whatever order. Over a stream they
    are kept once a whole pass is through. The order of shuffles below stays that of the first pass, as in TensorFlow.
    """

    label = "Cache"

    def __init__(self, child: Node) -> None:
        super().__init__(child)
        self._lock = OwnLock()
        self._stores: dict[Any, _Store] = {}
        self._streamed: dict[Any, list[Row]] = {}
        # Another seed gives other elements at the same positions.
        self._orders = [node.order for node in walk(child) if node.order is not None]

    def over(self, *children: Node) -> Node:
        """Return a node with a cache of its own."""
        return Cache(*children)

    def _key(self, run: PlanRun) -> tuple[int, ...]:
        # A restored iterator has the seeds of its state, and not those of the plan.
        return tuple(run.seeds.get(id(order), order.seed) for order in self._orders)

    def _freeze(self, run: PlanRun) -> PlanRun:
        """Return the run of the first pass, whatever iteration this is."""
        key = ("cache", id(self))
        if key not in run.memo:
            run.memo[key] = inner = run.child(iteration=0)
            run.on_close(inner.close)
        return run.memo[key]

    def gather(self, indices: np.ndarray, passes: Passes, run: PlanRun) -> Block:
        """Return copies of what is kept; ask the child for the rest, once."""
        frozen = self._freeze(run)
        if self.length < 0:
            return self.child.gather(indices, 0, frozen)
        # Held while the child computes: each element is made once, whoever asks first.
        with self._lock:
            key = self._key(run)
            if key not in self._stores:
                # One order at a time: nobody goes back to an earlier one.
                self._stores = {key: _Store(self.length)}
            store = self._stores[key]
            missing = store.missing(indices)
            if len(missing):
                block = self.child.gather(missing, 0, frozen)
                for i, index in enumerate(missing):
                    store.put(int(index), block.row(i))
            return store.block(indices)

    def shape_ids(self, indices: np.ndarray, passes: Passes, run: PlanRun) -> np.ndarray | None:
        """Return the child's shape ids, of its first pass."""
        return None if self.is_uniform else self.child.shape_ids(indices, 0, self._freeze(run))

    def stream(self, run: PlanRun, passes: int) -> Cursor:
        """Open a pass from memory after the first whole pass."""
        return CacheCursor(self, self._freeze(run), self._key(run))

    def read_streamed(self, key: tuple[int, ...]) -> list[Row] | None:
        """Return the elements of a whole pass, if there was one."""
        return self._streamed.get(key)

    def keep(self, key: tuple[int, ...], rows: list[Row]) -> None:
        """Keep the elements of a whole pass."""
        self._streamed = {key: rows}


class CacheCursor(Cursor):
    """Keeps what it reads of the child, until that was read once from its beginning to its end.

    Args:
        node: Keeps the elements.
        run: The run of the first pass.
        key: Tells orders apart.
    """

    def __init__(self, node: Cache, run: PlanRun, key: tuple[int, ...]) -> None:
        self._node = node
        self._run = run
        self._key = key
        self._position = 0
        self._rows = node.read_streamed(key)
        self._child: Cursor | None = None
        self._read_rows: list[Row] | None = []

    def _open(self) -> Cursor:
        if self._child is None:
            self._child = self._node.child.open(self._run, 0)
        return self._child

    def read(self, limit: int) -> Block:
        """Return copies of elements in memory."""
        if self._rows is not None:
            return self._keep(self._rows, limit)
        try:
            block = self._open().read(limit)
        except StopIteration:
            if self._read_rows is not None:
                # Only at the end: a pass that is left half-way keeps nothing.
                self._node.keep(self._key, self._read_rows)
            raise
        except Exception:
            # A pass with a gap is not kept.
            self._position, self._read_rows = self._position + 1, None
            raise
        self._position += block.count
        if self._read_rows is not None:
            self._read_rows.extend([copy_leaf(leaf) for leaf in block.row(i)] for i in range(block.count))
        return block

    def _keep(self, rows: list[Row], limit: int) -> Block:
        found, _ = ElementRows(rows[self._position : self._position + limit]).split(limit)
        if not found.count:
            raise StopIteration
        self._position += found.count
        return ElementRows([[copy_leaf(leaf) for leaf in row] for row in found.rows])

    def skip(self, count: int) -> int:
        """Skip elements, after which this pass keeps nothing."""
        if self._rows is not None:
            passed = min(count, len(self._rows) - self._position)
        else:
            self._read_rows = None if count else self._read_rows
            passed = self._open().skip(count)
        self._position += passed
        return passed

    def get_state(self) -> State:
        """Return the position, and the child's while it is read."""
        child = self._child.get_state() if self._child is not None else None
        return {"position": self._position, "child": child}

    def set_state(self, state: State) -> None:
        """Go there, in the elements kept if they are here."""
        if self._rows is None and state["child"] is not None:
            self._position, self._read_rows = state["position"], None
            self._open().set_state(state["child"])
        else:
            self.skip(state["position"])

    def close(self) -> None:
        if self._child is not None:
            self._child.close()


def below_batches(node: Node, cached: Callable[[Node], Node]) -> Node:
    """Put `cached` below the batches of an indexable plan: elements are kept, in whatever batches they leave."""
    if isinstance(node, Batch) and node.is_indexable:
        return Batch(below_batches(node.child, cached), node.size, drop_remainder=node.drop_remainder)
    if isinstance(node, Prefetch) and node.is_indexable:
        return Prefetch(below_batches(node.child, cached), node.depth)
    return cached(node)


def make_cache(node: Node) -> Node:
    """Make a `cache` in memory; nothing where all is in memory anyway."""
    return below_batches(node, _in_memory)


def _in_memory(node: Node) -> Node:
    # What lies in memory and is only indexed would be kept twice.
    costs_something = any(isinstance(step, Map | Shuffle | Random | Cache) for step in walk(node))
    if node.is_indexable and not costs_something and not isinstance(node, PaddedBatch):
        return node
    return Cache(node)
