"""Operations that only choose and order elements: index arithmetic over indexable nodes (data layer).

Each also works over a stream, where it counts.
"""

import abc
from typing import Any

import numpy as np

from stratax._shown import shown
from stratax.data.elements._block import Block, Columns, Rows
from stratax.data.elements._spec import INFINITE_CARDINALITY, UNKNOWN_CARDINALITY
from stratax.data.elements._structure import Row, flatten, unflatten
from stratax.data.ops._stream_ops import (
    ShardCursor,
    SkipCursor,
    SuccessiveCursor,
    TakeCursor,
    ZipCursor,
)
from stratax.data.ops.shuffle._buffer import ShuffleCursor
from stratax.data.ops.shuffle._permutation import Permutation
from stratax.data.plan._node import (
    Node,
    Order,
    Passes,
    Run,
    feed_of,
    mix_pass,
    same_or_shape_ids,
    select_passes,
)
from stratax.data.position._cursor import Cursor
from stratax.errors import DataError

_MAX_TABLES = 8


class Reindexed(Node):
    """A node whose elements are some of its child's in another order."""

    def __init__(self, child: Node) -> None:
        self.children = (child,)

    @property
    def child(self) -> Node:
        """The node it reads from."""
        return self.children[0]

    @property
    def spec(self) -> Any:
        """As the child's."""
        return self.child.spec

    @abc.abstractmethod
    def resolve(self, indices: np.ndarray, passes: Passes, run: Run) -> tuple[np.ndarray, Passes]:
        """The child's positions, and passes, of this node's positions."""

    def gather(self, indices: np.ndarray, passes: Passes, run: Run) -> Block:
        """The child's elements at the resolved positions."""
        return self.child.gather(*self.resolve(indices, passes, run), run)

    def shape_ids(self, indices: np.ndarray, passes: Passes, run: Run) -> np.ndarray | None:
        """The child's at the resolved positions."""
        if self.is_uniform:
            return None
        return self.child.shape_ids(*self.resolve(indices, passes, run), run)


class Take(Reindexed):
    """At most `count` elements; -1 for all."""

    label = "Take"

    def __init__(self, child: Node, count: int) -> None:
        super().__init__(child)
        self._count = count

    def describe(self) -> str:
        """The operation and its count."""
        return f"Take({self._count})"

    @property
    def length(self) -> int:
        """The smaller of the two."""
        length = self.child.length
        if self._count < 0 or length == UNKNOWN_CARDINALITY:
            return length
        return self._count if length == INFINITE_CARDINALITY else min(length, self._count)

    def resolve(self, indices: np.ndarray, passes: Passes, run: Run) -> tuple[np.ndarray, Passes]:
        """The same positions."""
        return indices, passes

    def stream(self, run: Run, passes: int) -> Cursor:
        """The first ones."""
        child = self.child.open(run, passes)
        return child if self._count < 0 else TakeCursor(child, self._count)


class Skip(Reindexed):
    """Without the first `count` elements; -1 skips all."""

    label = "Skip"

    def __init__(self, child: Node, count: int) -> None:
        super().__init__(child)
        self._count = count

    def describe(self) -> str:
        """The operation and its count."""
        return f"Skip({self._count})"

    @property
    def length(self) -> int:
        """What is left."""
        length = self.child.length
        if self._count < 0:
            return 0
        return length if length < 0 else max(0, length - self._count)

    def resolve(self, indices: np.ndarray, passes: Passes, run: Run) -> tuple[np.ndarray, Passes]:
        """Later positions."""
        return indices + self._count, passes

    def stream(self, run: Run, passes: int) -> Cursor:
        """The later ones."""
        child = self.child.open(run, passes)
        return TakeCursor(child, 0) if self._count < 0 else SkipCursor(child, self._count)


class Shard(Reindexed):
    """Every `num_shards`-th element, from `index` on."""

    label = "Shard"

    def __init__(self, child: Node, num_shards: int, index: int) -> None:
        super().__init__(child)
        self._num_shards = num_shards
        self._index = index

    def describe(self) -> str:
        """The operation and its arguments."""
        return f"Shard({self._num_shards}, {self._index})"

    @property
    def length(self) -> int:
        """The shard's share."""
        length = self.child.length
        return length if length < 0 else max(0, -(-(length - self._index) // self._num_shards))

    def resolve(self, indices: np.ndarray, passes: Passes, run: Run) -> tuple[np.ndarray, Passes]:
        """Positions with a stride."""
        return indices * self._num_shards + self._index, passes

    def stream(self, run: Run, passes: int) -> Cursor:
        """Every n-th."""
        return ShardCursor(feed_of(self.child, run, passes), self._num_shards, self._index)


class Repeat(Reindexed):
    """`count` passes over the child; -1 for no end. Each pass has its own number, which reshuffles below."""

    label = "Repeat"

    def __init__(self, child: Node, count: int) -> None:
        super().__init__(child)
        self.count = count

    @property
    def length(self) -> int:
        """The product."""
        length = self.child.length
        if self.count == 0 or length == 0:
            return 0
        if self.count < 0 or length == INFINITE_CARDINALITY:
            return INFINITE_CARDINALITY
        return length if length < 0 else length * self.count

    def resolve(self, indices: np.ndarray, passes: Passes, run: Run) -> tuple[np.ndarray, Passes]:
        """Positions within a pass, and the passes."""
        length = self.child.length
        if length == INFINITE_CARDINALITY:
            return indices, mix_pass(passes, 0)
        numbers = indices // length
        first = int(numbers[0])
        if (numbers == first).all():
            return indices - first * length, mix_pass(passes, first)
        return indices - numbers * length, mix_pass(passes, numbers)

    def stream(self, run: Run, passes: int) -> Cursor:
        """Pass after pass; without a count an empty one is the last, or nothing would ever come."""

        def open_pass(number: int) -> Cursor:
            return self.child.open(run, int(mix_pass(passes, number)))

        return SuccessiveCursor(open_pass, self.count, ends_if_empty=self.count < 0)


class Shuffle(Reindexed):
    """A random order: of everything over an indexable child, through a buffer over a stream.

    Over an indexable child without an end, blocks of `buffer_size` elements are permuted.
    """

    label = "Shuffle"

    def __init__(self, child: Node, buffer_size: int, order: Order) -> None:
        super().__init__(child)
        self.buffer_size = buffer_size
        self._order = order

    @property
    def order(self) -> Order:
        """Its key."""
        return self._order

    @property
    def length(self) -> int:
        """As the child's."""
        return self.child.length

    def resolve(self, indices: np.ndarray, passes: Passes, run: Run) -> tuple[np.ndarray, Passes]:
        """Permuted positions."""
        if self.child.length == INFINITE_CARDINALITY:
            blocks = indices // self.buffer_size
            numbers = mix_pass(mix_pass(passes, 1), blocks)
            offsets = indices - blocks * self.buffer_size
            permuted = self._permuted(offsets, numbers, self.buffer_size, run)
            return blocks * self.buffer_size + permuted, passes
        return self._permuted(indices, passes, self.child.length, run), passes

    def _permuted(self, indices: np.ndarray, passes: Passes, length: int, run: Run) -> np.ndarray:
        if isinstance(passes, int):
            return self._permutation(length, passes, run)(indices)
        permuted = np.empty_like(indices)
        for number in np.unique(passes):
            chosen = passes == number
            permuted[chosen] = self._permutation(length, int(number), run)(indices[chosen])
        return permuted

    def _permutation(self, length: int, number: int, run: Run) -> Permutation:
        tables: dict[Any, Permutation] = run.memo.setdefault("permutations", {})
        key = (length, *self.order.key(run, number))
        if key not in tables:
            while len(tables) >= _MAX_TABLES:
                del tables[next(iter(tables))]
            tables[key] = Permutation(length, key)
        return tables[key]

    def stream(self, run: Run, passes: int) -> Cursor:
        """Through a buffer."""
        return ShuffleCursor(self.child.open(run, passes), self.buffer_size, self.order.key(run, passes))


class Zip(Node):
    """Elements of several nodes side by side, as long as the shortest.

    Args:
        children: The nodes.
        nest: Structure (tuple, dict...) whose leaves stand for the nodes.
    """

    label = "Zip"

    def __init__(self, children: tuple[Node, ...], nest: Any) -> None:
        self.children = children
        self._nest = nest

    @property
    def spec(self) -> Any:
        """The children's in the nest's structure."""
        return unflatten(self._nest, [child.spec for child in self.children])

    @property
    def length(self) -> int:
        """The shortest."""
        lengths = [child.length for child in self.children]
        if UNKNOWN_CARDINALITY in lengths:
            return UNKNOWN_CARDINALITY
        finite = [length for length in lengths if length != INFINITE_CARDINALITY]
        return min(finite) if finite else INFINITE_CARDINALITY

    @property
    def batch_size(self) -> int | None:
        """The children's, if they agree."""
        sizes = {child.batch_size for child in self.children}
        return sizes.pop() if len(sizes) == 1 else None

    def gather(self, indices: np.ndarray, passes: Passes, run: Run) -> Block:
        """Every child's element at each position."""
        blocks = [child.gather(indices, passes, run) for child in self.children]
        if all(isinstance(block, Columns) for block in blocks):
            return Columns([leaf for block in blocks for leaf in block.columns()], len(indices))
        return _zipped(blocks)

    def shape_ids(self, indices: np.ndarray, passes: Passes, run: Run) -> np.ndarray | None:
        """Equal where every child's are."""
        return same_or_shape_ids(self.children, [indices] * len(self.children), passes, run)

    def stream(self, run: Run, passes: int) -> Cursor:
        """One element of each."""
        return ZipCursor([feed_of(child, run, passes) for child in self.children])


def _zipped(blocks: list[Block]) -> Rows:
    """Side by side, up to the first element that failed in one of them."""
    rows: list[Row] = []
    for i in range(blocks[0].count):
        try:
            rows.append([leaf for block in blocks for leaf in block.row(i)])
        except Exception as e:
            return Rows(rows, failure=e)
    return Rows(rows)


class Concatenate(Node):
    """The elements of one node after those of another."""

    label = "Concatenate"

    def __init__(self, first: Node, second: Node) -> None:
        self.children = (first, second)

    @property
    def spec(self) -> Any:
        """What describes both.

        Raises:
            DataError: Their structures or dtypes differ.
        """
        specs, structure = flatten(self.children[0].spec)
        others, other_structure = flatten(self.children[1].spec)
        fits = structure == other_structure and all(
            a.dtype == b.dtype for a, b in zip(specs, others, strict=True)
        )
        if not fits:
            raise DataError(
                "Concatenated Datasets need elements of the same structure and dtypes. "
                f"Received: element_spec={shown(self.children[0].spec)} and "
                f"element_spec={shown(self.children[1].spec)}. "
                "Bring them to one form with map first."
            )
        return unflatten(structure, [a.merged(b) for a, b in zip(specs, others, strict=True)])

    @property
    def length(self) -> int:
        """The sum."""
        lengths = [child.length for child in self.children]
        if INFINITE_CARDINALITY in lengths:
            return INFINITE_CARDINALITY
        return UNKNOWN_CARDINALITY if UNKNOWN_CARDINALITY in lengths else sum(lengths)

    @property
    def is_uniform(self) -> bool:
        """Whether both are, with the same shapes."""
        return all(child.is_uniform for child in self.children) and self._shapes(0) == self._shapes(1)

    def _shapes(self, which: int) -> list[Any]:
        return [spec.shape for spec in flatten(self.children[which].spec)[0]]

    def _is_second(self, indices: np.ndarray) -> np.ndarray:
        length = self.children[0].length
        return np.zeros(len(indices), bool) if length == INFINITE_CARDINALITY else indices >= length

    def gather(self, indices: np.ndarray, passes: Passes, run: Run) -> Block:
        """One gather from each node that is needed."""
        second = self._is_second(indices)
        if not second.any():
            return self.children[0].gather(indices, passes, run)
        shift = self.children[0].length
        if second.all():
            return self.children[1].gather(indices - shift, passes, run)
        parts = (
            self.children[0].gather(indices[~second], select_passes(passes, ~second), run),
            self.children[1].gather(indices[second] - shift, select_passes(passes, second), run),
        )
        if all(isinstance(part, Columns) for part in parts):
            return _interleaved(parts[0].columns(), parts[1].columns(), second)
        return _merged(parts, second)

    def shape_ids(self, indices: np.ndarray, passes: Passes, run: Run) -> np.ndarray | None:
        """The children's, told apart."""
        if self.is_uniform:
            return None
        second = self._is_second(indices)
        ids = np.zeros(len(indices), np.int64)
        for which, chosen in ((0, ~second), (1, second)):
            if chosen.any():
                positions = indices[chosen] - (self.children[0].length if which else 0)
                own = self.children[which].shape_ids(positions, select_passes(passes, chosen), run)
                ids[chosen] = which + 2 * (0 if own is None else own)
        return ids

    def stream(self, run: Run, passes: int) -> Cursor:
        """One after the other."""

        def open_child(number: int) -> Cursor:
            return self.children[number].open(run, passes)

        return SuccessiveCursor(open_child, len(self.children), ends_if_empty=False)


def _interleaved(first: list[np.ndarray], second: list[np.ndarray], is_second: np.ndarray) -> Columns:
    leaves = []
    for a, b in zip(first, second, strict=True):
        if a.shape[1:] != b.shape[1:]:
            raise DataError(
                "Elements of one batch need components of one shape. "
                f"Received: shapes={shown([a.shape[1:], b.shape[1:]])} from concatenated Datasets. Use padded_batch."
            )
        leaf = np.empty((len(is_second), *a.shape[1:]), a.dtype)
        leaf[~is_second], leaf[is_second] = a, b
        leaves.append(leaf)
    return Columns(leaves, len(is_second))


def _merged(parts: tuple[Block, Block], is_second: np.ndarray) -> Rows:
    taken = [0, 0]
    rows: list[Row] = []
    for which in is_second.astype(int):
        try:
            rows.append(parts[which].row(taken[which]))
        except Exception as e:
            return Rows(rows, failure=e)
        taken[which] += 1
    return Rows(rows)
