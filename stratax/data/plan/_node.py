"""The nodes of a plan and what they share while one iterator runs (data layer).

A plan is a tree of nodes. An *indexable* node knows how many elements it has and gathers any of them by position,
many in one call; a *streaming* node only iterates. An order is a pure function of (seed, iteration, pass, position),
so the place an iterator has reached is one number.
"""

import abc
import contextlib
import copy
import math
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor
from functools import cached_property
from typing import Any, TypeVar, cast

import numpy as np

from stratax.data.elements._block import Block, Rows
from stratax.data.elements._random import SeedToDraw
from stratax.data.elements._spec import INFINITE_CARDINALITY, TensorSpec
from stratax.data.elements._structure import Row, Structure, flatten
from stratax.data.position._cursor import Cursor, State
from stratax.data.position._feed import Feed
from stratax.data.records._origins import Origins
from stratax.errors import DataError

Passes = int | np.ndarray
"""Which pass of the `repeat`s above an element belongs to: one number for all of them, or one each (uint64)."""

_MIX = 0x9E3779B97F4A7C15
_MASK = (1 << 64) - 1
_READ_AHEAD_BYTES = 1 << 18
_READ_AHEAD_ROWS = 256
_STRING_BYTES = 1 << 10
_ASK_AGAIN = 32
_TRIES = 8
_Found = TypeVar("_Found")


class Run:
    """What the nodes of a plan share while one iterator runs over it.

    Args:
        iteration: How many times the Dataset was iterated before; part of the key of every reshuffled order.
        seeds: Seeds that take the place of the nodes' own, by the identity of their :class:`Order`.
        max_threads: Upper limit of the threads in all its pools, `None` for none.

    Attributes:
        num_ignored: How many elements `ignore_errors` has left out.
        placeless: Why no place can be saved, from each source that was opened and has none.
        origins: Where the last records stand in their files.
    """

    def __init__(
        self, iteration: int = 0, seeds: dict[int, int] | None = None, max_threads: int | None = None
    ) -> None:
        self.iteration = iteration
        self.seeds = dict(seeds or {})
        self.memo: dict[Any, Any] = {}
        self.num_ignored = 0
        self.placeless: list[DataError] = []
        self.origins = Origins()
        self._max_threads = max_threads
        self._pools: dict[int, ThreadPoolExecutor] = {}
        self._num_threads = 0
        # Reentrant: a thread that holds it may be the one that finds the iterator forgotten, and closes.
        self._lock = threading.RLock()
        self._is_closed = False
        self._closers: list[Callable[[bool], None]] = []

    def child(self, iteration: int) -> "Run":
        """A run over a part of the plan that keeps an iteration of its own."""
        run = Run(iteration, self.seeds, self._max_threads)
        run.placeless = self.placeless
        run.origins = self.origins
        return run

    def pool(self, threads: int, owner: object) -> ThreadPoolExecutor:
        """Threads for one step of the plan, started at its first use.

        Args:
            threads: How many.
            owner: The step. Where the upper limit leaves no thread for it, it shares those of another.
        """
        with self._lock:
            if self._is_closed:
                # A background thread that has not noticed yet; nobody waits for what it makes.
                raise CancelledError
            if id(owner) not in self._pools:
                self._pools[id(owner)] = self._new_pool(threads)
            return self._pools[id(owner)]

    def _new_pool(self, threads: int) -> ThreadPoolExecutor:
        if self._max_threads is not None:
            threads = min(threads, self._max_threads - self._num_threads)
            if threads < 1 and self._pools:
                return next(reversed(self._pools.values()))
        self._num_threads += max(1, threads)
        return ThreadPoolExecutor(max(1, threads), thread_name_prefix="stratax-map")

    def on_close(self, closer: Callable[[bool], None]) -> None:
        """Has `closer(wait)` called when the iterator is closed; raises CancelledError if it is."""
        with self._lock:
            if self._is_closed:
                raise CancelledError
            self._closers.append(closer)

    def forget(self, closer: Callable[[bool], None]) -> None:
        """Undoes :meth:`on_close`."""
        with self._lock, contextlib.suppress(ValueError):
            self._closers.remove(closer)

    def close(self, wait: bool = True) -> None:
        """Ends every thread that was started for this iterator; waits for it unless told otherwise."""
        with self._lock:
            self._is_closed = True
        while self._closers:
            self._closers.pop()(wait)
        while self._pools:
            self._pools.popitem()[1].shutdown(wait=wait, cancel_futures=True)


class Order:
    """What identifies a source of randomness of a plan (a `shuffle`), however the plan is rewritten.

    Args:
        seed: The user's seed; a random one is drawn if it is None: from the element whose function makes the plan,
            or else from Python's `random`, so that `keras.utils.set_random_seed` and `random.seed` fix it.
        reshuffle: Whether each iteration and each pass of a `repeat` gets another order.
        lazy: Whether the seed is drawn only when it is needed, which for most functions is never.
    """

    def __init__(self, seed: int | None, reshuffle: bool, lazy: bool = False) -> None:
        self._lock = threading.Lock()
        self._later = SeedToDraw()
        self._seed = self._later.draw() if seed is None and not lazy else seed
        self.reshuffle = reshuffle

    @property
    def seed(self) -> int:
        """The seed, drawn now if need be."""
        with self._lock:
            if self._seed is None:
                self._seed = self._later.draw()
            return self._seed

    def saved_seed(self, run: Run, number: int = 0) -> int:
        """The seed in force, for a saved state; `number` tells the orders of a plan apart."""
        if id(self) in run.seeds:
            return run.seeds[id(self)]
        with self._lock:
            if self._seed is None:
                self._seed = self._later.peek(number)
            return self._seed

    def key(self, run: Run, number: int) -> tuple[int, ...]:
        """The key of the order in one pass."""
        seed = run.seeds.get(id(self))
        seed = self.seed if seed is None else seed
        return (seed, run.iteration, number) if self.reshuffle else (seed,)


class Node(abc.ABC):
    """One step of a plan. Nodes never change; a new step is a new node over old ones.

    Attributes:
        label: The operation's name, for messages and `repr`.
        children: The nodes it reads from.
    """

    label: str
    children: tuple["Node", ...] = ()

    @property
    @abc.abstractmethod
    def spec(self) -> Any:
        """Structure of the specs of its elements; may call a user's function once."""

    @property
    @abc.abstractmethod
    def length(self) -> int:
        """Number of elements, or INFINITE_CARDINALITY, or UNKNOWN_CARDINALITY."""

    @cached_property
    def structure(self) -> Structure:
        """The structure of its elements."""
        return flatten(self.spec)[1]

    @property
    def is_indexable(self) -> bool:
        """Whether :meth:`gather` works."""
        return all(child.is_indexable for child in self.children)

    @property
    def is_uniform(self) -> bool:
        """Whether all elements are known to have the same shapes."""
        return all(child.is_uniform for child in self.children)

    @property
    def batch_size(self) -> int | None:
        """Size of the leading axis where elements are batches of a known size (the last may be shorter)."""
        return self.children[0].batch_size if len(self.children) == 1 else None

    @property
    def group_size(self) -> int:
        """How many of its child's elements one of its own is made of."""
        return 1

    def gather(self, indices: np.ndarray, passes: Passes, run: Run) -> Block:
        """The elements at some positions, which all have the same :meth:`shape_ids`.

        Args:
            indices: Positions, int64 [n], n >= 1, in any order, each within the length.
            passes: The passes they belong to.
            run: What the iterator shares.

        Returns:
            Fresh host arrays that the caller may change.
        """
        raise NotImplementedError(f"{self.label} can only be iterated")

    def shape_ids(self, indices: np.ndarray, passes: Passes, run: Run) -> np.ndarray | None:
        """A number for each position, equal where the shapes are equal; `None` if all of them are."""
        return None

    def open(self, run: Run, passes: int = 0) -> Cursor:
        """One pass over its elements, from the first one on."""
        return IndexCursor(self, run, passes) if self.is_indexable else self.stream(run, passes)

    def stream(self, run: Run, passes: int) -> Cursor:
        """What :meth:`open` gives where the node can only be iterated."""
        raise NotImplementedError(f"{self.label} has no stream")

    @property
    def order(self) -> Order | None:
        """Its source of randomness, if it has one."""
        return None

    def over(self, *children: "Node") -> "Node":
        """The same step over other nodes, with the same randomness."""
        node = copy.copy(self)
        node.children = children
        vars(node).pop("structure", None)
        return node

    def describe(self) -> str:
        """The operation with what fixes the meaning of a position, for a saved state."""
        return self.label

    @property
    def reads_ahead(self) -> int | None:
        """How many elements may be computed before they are asked for; `None` if it does not matter here."""
        return None


class Drawing(Node):
    """A step with a function that may draw random numbers; they belong to an element's place in the whole data.

    Args:
        child: The node whose elements the function gets.
    """

    def __init__(self, child: Node) -> None:
        self.children = (child,)
        self._order = Order(None, reshuffle=True, lazy=True)
        self._stride, self._offset = 1, 0

    @property
    def child(self) -> Node:
        """The node it reads from."""
        return self.children[0]

    @property
    def order(self) -> Order:
        """Seeds what the function draws."""
        return self._order

    def sharded(self, child: Node, num_shards: int, index: int) -> Node:
        """The same function over a shard of the elements; it draws for each the same numbers as in the whole."""
        node = cast(Drawing, self.over(child))
        node._offset = self._offset + self._stride * index
        node._stride = self._stride * num_shards
        return node

    def name_of(self, run: Run, number: int, position: int) -> tuple[int, ...]:
        """What names an element to a random function: the order in a pass, and its place in the whole."""
        return (*self._order.key(run, number), position * self._stride + self._offset)


def walk(node: Node) -> Iterator[Node]:
    """The nodes of a plan, each once, sources last."""
    seen: set[int] = set()
    pending = [node]
    while pending:
        current = pending.pop()
        if id(current) not in seen:
            seen.add(id(current))
            yield current
            pending.extend(current.children)


def mix_pass(passes: Passes, number: Passes) -> Passes:
    """The pass of a `repeat` inside the passes of the ones above it: a 64-bit mixture, `number` where those are 0."""
    if isinstance(passes, int) and isinstance(number, int):
        return (passes * _MIX + number) & _MASK
    outer = np.asarray(passes, np.uint64)
    with np.errstate(over="ignore"):
        return outer * np.uint64(_MIX) + np.asarray(number, np.uint64)


def select_passes(passes: Passes, chosen: np.ndarray | slice) -> Passes:
    """The passes of some of the positions."""
    return passes if isinstance(passes, int) else passes[chosen]


def pass_at(passes: Passes, index: int) -> int:
    """The pass of one of the positions."""
    return passes if isinstance(passes, int) else int(passes[index])


def read_ahead(node: Node) -> int:
    """How many elements of `node` to gather in one go when they are asked for one by one."""
    limits = list(_limits(node))
    if limits:
        return min(limits)
    try:
        leaves = flatten(node.spec)[0]
    except DataError:
        # What is wrong with the elements will be said when one is made.
        return 1
    size = max(1, sum(_bytes_of(leaf) for leaf in leaves))
    return max(1, min(_READ_AHEAD_BYTES // size, _READ_AHEAD_ROWS))


def _limits(node: Node) -> Iterator[int]:
    """How many elements of `node` each step that minds lets be made ahead; those of a batch count."""
    pending, seen = [(node, 1)], set()
    while pending:
        step, per_element = pending.pop()
        if id(step) not in seen:
            seen.add(id(step))
            if step.reads_ahead is not None:
                yield max(1, step.reads_ahead // per_element)
            pending.extend((child, per_element * step.group_size) for child in step.children)


def _bytes_of(spec: Any) -> int:
    if not isinstance(spec, TensorSpec) or spec.shape is None or None in spec.shape:
        return _READ_AHEAD_BYTES
    itemsize = _STRING_BYTES if spec.dtype.hasobject else spec.dtype.itemsize
    return math.prod([size or 0 for size in spec.shape]) * itemsize


def feed_of(node: Node, run: Run, passes: int = 0) -> Feed:
    """An opened node whose elements are read some ahead where that is unobservable."""
    return Feed(node.open(run, passes), Lookahead(node))


class Lookahead:
    """How many elements of a node to read at once; asked again while its functions may turn out to be pure."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._size = 0
        self._asked = 0

    def __call__(self) -> int:
        if self._size <= 1 and self._asked < _ASK_AGAIN:
            self._asked += 1
            self._size = read_ahead(self._node)
        return self._size


def first_found(node: Node, find: Callable[[Row], _Found]) -> _Found | None:
    """What `find` gives for a node's first element, in an iteration of its own; `None` if there is no element.

    Of elements that can't be made, or fail in `find`, some are passed over; if all do, the first failure is raised.
    """
    run = Run()
    failure: Exception | None = None
    try:
        cursor = node.open(run)
        for _ in range(_TRIES):
            try:
                return find(cursor.read(1).row(0))
            except StopIteration:
                break
            except Exception as e:
                failure = failure or e
    finally:
        run.close()
    if failure is not None:
        raise failure
    return None


class IndexCursor(Cursor):
    """Reads an indexable node from a position on.

    Args:
        node: The node.
        run: What the iterator shares.
        passes: The pass this reading belongs to.
        position: Position of the first element to read.
    """

    def __init__(self, node: Node, run: Run, passes: int = 0, position: int = 0) -> None:
        self._node = node
        self._run = run
        self._passes = passes
        self.position = position
        self._pending: Rows | None = None
        self._careful = 0

    def read(self, limit: int) -> Block:
        """The next 1 to `limit` elements of one shape; raises StopIteration at the end."""
        block = self._pending or self._gathered(limit)
        self._pending = None
        if isinstance(block, Rows):
            block, self._pending = block.split(limit)
            if not block.rows and block.failure is not None:
                self.position += 1
                raise block.failure
        self.position += block.count
        return block

    def _gathered(self, limit: int) -> Block:
        limit = 1 if self.position < self._careful else limit
        stop = self.position + limit
        if self._node.length != INFINITE_CARDINALITY:
            stop = min(stop, self._node.length)
        if stop <= self.position:
            raise StopIteration
        indices = np.arange(self.position, stop, dtype=np.int64)
        if limit > 1 and not self._node.is_uniform:
            indices = indices[: self._same_shape(indices)]
        try:
            return self._node.gather(indices, self._passes, self._run)
        except Exception:
            if len(indices) > 1:
                # One of them failed: those before it are delivered first.
                self._careful = self.position + len(indices)
                return self._gathered(1)
            # The next reading goes on behind the element that failed, as TensorFlow's does.
            self.position += 1
            raise

    def _same_shape(self, indices: np.ndarray) -> int:
        ids = self._node.shape_ids(indices, self._passes, self._run)
        if ids is None:
            return len(indices)
        other = np.flatnonzero(ids != ids[0])
        return int(other[0]) if len(other) else len(indices)

    def skip(self, count: int) -> int:
        """Adds to the position."""
        length = self._node.length
        passed = count if length == INFINITE_CARDINALITY else max(0, min(count, length - self.position))
        self.position += passed
        self._pending = None
        return passed

    def get_state(self) -> State:
        """The position."""
        return {"position": self.position}

    def set_state(self, state: State) -> None:
        """Goes to the position."""
        self.position = state["position"]


def same_or_shape_ids(
    nodes: Sequence[Node], indices: Sequence[np.ndarray], passes: Passes, run: Run
) -> np.ndarray | None:
    """The shape ids of positions whose elements are made of one element of every node."""
    combined: np.ndarray | None = None
    for node, positions in zip(nodes, indices, strict=True):
        ids = node.shape_ids(positions, passes, run)
        if ids is not None:
            combined = ids if combined is None else combined * np.int64(1_000_003) + ids
    return combined
