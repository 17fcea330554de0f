"""The nodes of a plan and what they share while one iterator runs (data layer).

A plan is a tree of nodes. An *indexable* node knows how many elements it has and gathers any of them by position,
many in one call; a *streaming* node only iterates. An order is a pure function of (seed, iteration, pass, position),
so the position of an iterator is one number.
"""

import abc
import copy
from collections.abc import Sequence
from functools import cached_property
from typing import Any, cast

import numpy as np

from stratax.data.elements import (
    INFINITE_CARDINALITY,
    Block,
    CompositeSpec,
    DatasetSpec,
    ElementName,
    ElementRows,
    Structure,
    flatten,
)
from stratax.data.plan._order import Order
from stratax.data.plan._run import Passes, PlanRun
from stratax.data.position import Cursor, State

# 2**64 over the golden ratio: odd, so multiplying by it loses nothing, and it spreads small numbers over all
# bits.
_MIX = 0x9E3779B97F4A7C15
_MASK = (1 << 64) - 1

# What a node finds out of its children, once.
FOUND_OF_CHILDREN = ("_flat_spec", "structure", "composites", "is_indexable", "_made")


class Node(abc.ABC):
    """One step of a plan. Nodes never change; a new step is a new node over old ones.

    Attributes:
        label: The operation's name, for messages and `repr`.
        children: The nodes it reads from.
        repeats_over_empty: Whether an endless `repeat` of it goes on behind a pass without elements.
    """

    label: str
    children: tuple["Node", ...] = ()
    repeats_over_empty = False

    @property
    @abc.abstractmethod
    def spec(self) -> Any:
        """Structure of the specs of its elements; may call a user's function once."""

    @property
    @abc.abstractmethod
    def length(self) -> int:
        """Number of elements, or INFINITE_CARDINALITY, or UNKNOWN_CARDINALITY."""

    @cached_property
    def _flat_spec(self) -> tuple[list[Any], Structure]:
        return flatten(self.spec)

    @cached_property
    def structure(self) -> Structure:
        """The structure of the node's elements."""
        return self._flat_spec[1]

    @cached_property
    def composites(self) -> dict[int, CompositeSpec | DatasetSpec]:
        """The specs of the components that are no plain arrays, by their number; asked for behind the first element."""
        specs = enumerate(self._flat_spec[0])
        return {i: spec for i, spec in specs if isinstance(spec, CompositeSpec | DatasetSpec)}

    @cached_property
    def is_indexable(self) -> bool:
        """Whether :meth:`gather` works."""
        return all(child.is_indexable for child in self.children)

    @property
    def is_in_memory(self) -> bool:
        """Whether its elements are copies of arrays in memory: of their strings, references."""
        return bool(self.children) and all(child.is_in_memory for child in self.children)

    @property
    def has_known_spec(self) -> bool:
        """Whether :attr:`spec` is known without calling a function of the user's."""
        return all(child.has_known_spec for child in self.children)

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

    def gather(self, indices: np.ndarray, passes: Passes, run: PlanRun) -> Block:
        """Return the elements at some positions, which all have the same :meth:`shape_ids`.

        Args:
            indices: Positions, int64 [n], n >= 1, in any order, each within the length.
            passes: The passes they belong to.
            run: What the iterator shares.

        Returns:
            Fresh host arrays that the caller may change.
        """
        raise NotImplementedError(f"{self.label} can only be iterated")

    def shape_ids(self, indices: np.ndarray, passes: Passes, run: PlanRun) -> np.ndarray | None:
        """Return a number for each position, equal where the shapes are equal; `None` if all of them are."""
        return None

    def open(self, run: PlanRun, passes: int = 0) -> Cursor:
        """Open one pass over the elements, from the first one on."""
        return IndexCursor(self, run, passes) if self.is_indexable else self.stream(run, passes)

    def stream(self, run: PlanRun, passes: int) -> Cursor:
        """Return what :meth:`open` gives where the node can only be iterated."""
        raise NotImplementedError(f"{self.label} has no stream")

    @property
    def order(self) -> Order | None:
        """Its source of randomness, if it has one."""
        return None

    def over(self, *children: "Node") -> "Node":
        """Return the same step over other nodes, with the same randomness."""
        node = copy.copy(self)
        node.children = children
        for name in FOUND_OF_CHILDREN:
            vars(node).pop(name, None)
        return node

    def describe(self) -> str:
        """Return the operation with what fixes the meaning of a position, for a saved state."""
        return self.label

    @property
    def reads_ahead(self) -> int | None:
        """How many elements may be computed before they are asked for; `None` if it does not matter here."""
        return None


class OverOne(Node):
    """A step over one node; its elements are like that one's, and as many, where it does not say otherwise.

    Args:
        child: The node that it reads from.
    """

    def __init__(self, child: Node) -> None:
        self.children = (child,)

    @property
    def child(self) -> Node:
        """The node that this one reads from."""
        return self.children[0]

    @property
    def spec(self) -> Any:
        return self.children[0].spec

    @property
    def length(self) -> int:
        return self.children[0].length


class Drawing(OverOne):
    """A step with a function that may draw random numbers; they belong to an element's position in the whole data.

    Args:
        child: The node whose elements the function gets.
    """

    def __init__(self, child: Node) -> None:
        super().__init__(child)
        # Lazy: a function that draws nothing must not take a number from the program's random stream.
        self._order = Order(None, reshuffle=True, lazy=True)
        self._stride, self._offset = 1, 0

    @property
    def is_in_memory(self) -> bool:
        # Who knows what the function gives.
        return False

    @property
    def order(self) -> Order:
        """The order that seeds what the function draws."""
        return self._order

    def shard(self, child: Node, num_shards: int, index: int) -> Node:
        """Apply the same function to a shard of the elements; it draws for each the same numbers as in the whole."""
        node = cast(Drawing, self.over(child))
        # Shards of shards: positions of the inner one are mapped through those of the outer one.
        node._offset = self._offset + self._stride * index
        node._stride = self._stride * num_shards
        return node

    def name_of(self, run: PlanRun, number: int, position: int) -> tuple[int, ...]:
        """Return what names an element to a random function: the order in a pass, and its position in the whole."""
        place = position * self._stride + self._offset
        return ElementName.of(self._order.key(run, number), number, place, self._order.outer)


def walk(node: Node) -> list[Node]:
    """Return the nodes of a plan, each once, sources last."""
    found: dict[int, Node] = {}
    pending = [node]
    while pending:
        current = pending.pop()
        if id(current) not in found:
            found[id(current)] = current
            pending.extend(current.children)
    return list(found.values())


def mix_pass(passes: Passes, number: Passes) -> Passes:
    """Mix the pass of a `repeat` with the passes of the ones above it: a 64-bit number, `number` where those are 0."""
    if isinstance(passes, int) and isinstance(number, int):
        return (passes * _MIX + number) & _MASK
    # NumPy wraps around without the mask, to the same number as above.
    outer = np.asarray(passes, np.uint64)
    with np.errstate(over="ignore"):
        return outer * np.uint64(_MIX) + np.asarray(number, np.uint64)


def select_passes(passes: Passes, chosen: np.ndarray | slice) -> Passes:
    """Return the passes of some of the positions."""
    return passes if isinstance(passes, int) else passes[chosen]


def pass_at(passes: Passes, index: int) -> int:
    """Return the pass of one of the positions."""
    return passes if isinstance(passes, int) else int(passes[index])


class IndexCursor(Cursor):
    """Reads an indexable node from a position on.

    Args:
        node: The node.
        run: What the iterator shares.
        passes: The pass this reading belongs to.
        position: Position of the first element to read.
    """

    def __init__(self, node: Node, run: PlanRun, passes: int = 0, position: int = 0) -> None:
        self._node = node
        self._run = run
        self._passes = passes
        self.position = position
        self._pending: ElementRows | None = None
        self._careful = 0

    def read(self, limit: int) -> Block:
        """Read the next 1 to `limit` elements of one shape; raise StopIteration at the end."""
        block = self._pending or self._gather(limit)
        self._pending = None
        if isinstance(block, ElementRows):
            block, self._pending = block.split(limit)
            if not block.rows and block.failure is not None:
                self.position += 1
                raise block.failure
        self.position += block.count
        return block

    def _gather(self, limit: int) -> Block:
        # Behind a failed block its elements are made one by one, up to where the block would have ended.
        limit = 1 if self.position < self._careful else limit
        stop = self.position + limit
        if self._node.length != INFINITE_CARDINALITY:
            stop = min(stop, self._node.length)
        if stop <= self.position:
            raise StopIteration
        indices = np.arange(self.position, stop, dtype=np.int64)
        if limit > 1 and not self._node.is_uniform:
            # A block holds elements of one shape; the next reading begins with the first of another.
            indices = indices[: self._same_shape(indices)]
        try:
            return self._node.gather(indices, self._passes, self._run)
        except Exception:
            if len(indices) > 1:
                # One of them failed: those before it are delivered first.
                self._careful = self.position + len(indices)
                return self._gather(1)
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
        length = self._node.length
        passed = count if length == INFINITE_CARDINALITY else max(0, min(count, length - self.position))
        self.position += passed
        self._pending = None
        return passed

    def get_state(self) -> State:
        """Return the position behind the last element."""
        return {"position": self.position}

    def set_state(self, state: State) -> None:
        self.position = state["position"]


def same_or_shape_ids(
    nodes: Sequence[Node], indices: Sequence[np.ndarray], passes: Passes, run: PlanRun
) -> np.ndarray | None:
    """Return the shape ids of positions whose elements are made of one element of every node."""
    combined: np.ndarray | None = None
    for node, positions in zip(nodes, indices, strict=True):
        ids = node.shape_ids(positions, passes, run)
        if ids is not None:
            # As a polynomial in a prime: different tuples of ids give different numbers but for rare
            # collisions.
            combined = ids if combined is None else combined * np.int64(1_000_003) + ids
    return combined
