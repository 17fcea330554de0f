"""The stream of `interleave`: Datasets that take turns, in TensorFlow's order (data layer)."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from stratax.data.elements import Block, Columns, Row
from stratax.data.position import Cursor, Feed, Positions, State


@dataclass(frozen=True, slots=True)
class CursorTurns:
    """Who gives how much.

    Attributes:
        cycle_length: How many Datasets take turns.
        block_length: Elements in a turn.
        is_parallel: Whether Datasets are opened before their turn.
    """

    cycle_length: int
    block_length: int
    is_parallel: bool = False


@dataclass(slots=True)
class Inner:
    """A Dataset that takes turns.

    Attributes:
        number: The number of the element that it was made of, of those that the cursor has read.
        feed: Its elements.
        check: Called once when it has given something, to compare it with the others.
    """

    number: int
    feed: Feed
    check: Callable[[], None] | None


class OpenInner(Protocol):
    """Makes a Dataset of an element and opens it."""

    def __call__(self, row: Row, number: int, is_ahead: bool, position: State | None = None) -> Inner:
        """Open it at a position.

        Args:
            row: The element.
            number: Its number.
            is_ahead: Whether it may be read before its turn.
            position: Where it was left.
        """


@dataclass(slots=True)
class _Failed:
    """What making a Dataset raised, until it is its turn."""

    failure: Exception


class InterleaveCursor(Cursor):
    """Takes turns as TensorFlow's `interleave` does: a Dataset that ends is replaced when its place is next visited.

    Args:
        feed: The elements that the Datasets are made of.
        open_inner: Makes and opens a Dataset.
        turns: Who gives how much.
    """

    def __init__(self, feed: Feed, open_inner: OpenInner, turns: CursorTurns) -> None:
        self._feed = feed
        self._positions = Positions(feed)
        self._open_inner = open_inner
        self._block_length = turns.block_length
        self._is_parallel = turns.is_parallel
        self._inners: list[Inner | None] = [None] * turns.cycle_length
        self._turn = 0
        self._given = 0
        self._coming: deque[Inner | _Failed] = deque()
        self._num_read = 0
        self._num_taken = 0
        self._base = 0
        self._is_ended = False

    def read(self, limit: int) -> Block:
        """Read elements of several turns where they are at hand, else of one."""
        while (inner := self._current()) is not None:
            # Each Dataset gives few elements in a turn; whole rounds are put together where no Dataset has to read.
            if limit > 1 and len(self._inners) > 1 and (block := self._turns_at_hand(limit)) is not None:
                return block
            try:
                block = inner.feed.read(min(limit, self._block_length - self._given))
            except StopIteration:
                # The place stays empty until its next turn, as in TensorFlow: another Dataset does not take
                # over at once.
                self._close_inner(inner)
                continue
            except Exception:
                self._count(1)
                raise
            self._count(block.count)
            self._check(inner)
            return block
        raise StopIteration

    @staticmethod
    def _check(inner: Inner) -> None:
        # Once: to know the structure may take a call of the user's function.
        check, inner.check = inner.check, None
        if check is not None:
            check()

    def skip(self, count: int) -> int:
        """Skip in the Datasets whose turns come."""
        passed = 0
        while passed < count:
            try:
                inner = self._current()
            except Exception:
                # A failure takes the place of an element.
                passed += 1
                continue
            if inner is None:
                break
            wanted = min(count - passed, self._block_length - self._given)
            found = inner.feed.skip(wanted)
            passed += found
            self._count(found)
            # It has ended.
            if found < wanted:
                self._close_inner(inner)
        return passed

    def _current(self) -> Inner | None:
        """Return the Dataset whose turn it is; `None` at the end."""
        while not self._is_ended or any(self._inners):
            inner = self._inners[self._turn]
            if inner is not None:
                return inner
            if self._is_ended:
                self._next_turn()
            else:
                self._take_next()
        return None

    def _take_next(self) -> None:
        """Give the place whose turn it is to the next Dataset, if there is one."""
        try:
            self._prepare()
        except StopIteration:
            if not self._coming:
                self._is_ended = True
                return
        inner = self._coming.popleft()
        self._num_taken += 1
        if isinstance(inner, _Failed):
            raise inner.failure
        self._inners[self._turn] = inner

    def _prepare(self) -> None:
        """Have one Dataset ready, or as many as have a place and one more."""
        wanted = 1
        if self._is_parallel:
            # Opened before their turn, as TensorFlow's parallel interleave does: one for each empty place, and one
            # more.
            wanted += sum(inner is None for inner in self._inners)
        while len(self._coming) < wanted:
            if self._positions.is_due():
                self._positions.mark(self._num_read, self._oldest())
            self._coming.append(self._next_inner())

    def _next_inner(self) -> Inner | _Failed:
        number = self._num_read
        try:
            row = self._feed.read(1).row(0)
            self._num_read += 1
            inner = self._open_inner(row, self._base + number, is_ahead=self._is_parallel)
            inner.number = number
            return inner
        except StopIteration:
            raise
        except Exception as e:
            # An element that could not be read, or made no Dataset, counts, too: positions behind a failure stay
            # exact.
            self._num_read = number + 1
            return _Failed(e)

    def _oldest(self) -> int:
        return min((inner.number for inner in self._inners if inner is not None), default=self._num_taken)

    def _close_inner(self, inner: Inner) -> None:
        inner.feed.close()
        self._inners[self._turn] = None
        self._next_turn()

    def _count(self, count: int) -> None:
        self._given += count
        if self._given == self._block_length:
            self._next_turn()

    def _next_turn(self) -> None:
        self._given = 0
        self._turn = (self._turn + 1) % len(self._inners)

    def _turns_at_hand(self, limit: int) -> Block | None:
        """Return up to `limit` elements of the coming turns that need no reading; `None` if that is one or none."""
        positions = [(self._turn + i) % len(self._inners) for i in range(len(self._inners))]
        if self._is_ended:
            positions = [position for position in positions if self._inners[position] is not None]
        # For each element of the block the number of its turn, counted from this one.
        turns = (self._given + np.arange(limit)) // self._block_length
        which = turns % len(positions)
        pieces: list[tuple[np.ndarray, Feed]] = []
        count = limit
        for i, position in enumerate(positions):
            mine = np.flatnonzero(which == i)
            inner = self._inners[position]
            # An empty place gets the next Dataset when it is visited, and one that has given nothing yet is checked
            # first: the block ends before.
            held = 0 if inner is None or inner.check is not None else inner.feed.num_held
            if len(mine) > held:
                # The first element that the Dataset does not have at hand.
                count = min(count, int(mine[held]))
            if inner is not None:
                pieces.append((mine, inner.feed))
        # One element alone is read in the usual way.
        block = _merge(pieces, count) if count > 1 else None
        if block is not None:
            total = self._given + count
            # As if the turns had been taken one by one.
            self._turn = positions[total // self._block_length % len(positions)]
            self._given = total % self._block_length
        return block

    def get_state(self) -> State:
        """Return the turn, and for each Dataset the number of its element and its own position."""
        anchor, child = self._num_read, None
        if any(self._inners) or self._coming:
            # Behind the oldest Dataset that is open: from there all of them can be made again.
            anchor, child = self._positions.recall(self._oldest())
        return {
            "child": self._feed.get_state() if child is None else child,
            "base": self._base + anchor,
            "taken": self._num_taken - anchor,
            "turn": self._turn,
            "given": self._given,
            "ended": self._is_ended,
            "inners": [
                None if inner is None else {"number": inner.number - anchor, "feed": inner.feed.get_state()}
                for inner in self._inners
            ],
        }

    def set_state(self, state: State) -> None:
        """Make the open Datasets again; what they are made of is mostly names, so those between are made, too."""
        self._feed.set_state(state["child"])
        self._positions.note(0, state["child"])
        self._base, self._turn, self._given = state["base"], state["turn"], state["given"]
        open_ones = [
            (inner["number"], position) for position, inner in enumerate(state["inners"]) if inner is not None
        ]
        # In the order in which they were made, since what they are made of is read forward.
        for number, position in sorted(open_ones):
            self._num_read += self._feed.drop(number - self._num_read)
            row = self._feed.read(1).row(0)
            self._num_read += 1
            self._inners[position] = inner = self._open_inner(
                row, self._base + number, True, state["inners"][position]["feed"]
            )
            inner.number = number
        self._num_read += self._feed.drop(state["taken"] - self._num_read)
        self._num_taken = self._num_read
        self._is_ended = state["ended"]

    def close(self) -> None:
        for inner in (*self._inners, *self._coming):
            if isinstance(inner, Inner):
                inner.feed.close()
        self._feed.close()


def _merge(pieces: list[tuple[np.ndarray, Feed]], count: int) -> Block | None:
    """Merge the first `count` elements, each Dataset's at its positions; `None` if they are of different shapes."""
    blocks: list[tuple[np.ndarray, Columns]] = []
    for positions, feed in pieces:
        mine = positions[positions < count]
        if len(mine):
            block = feed.peek(len(mine))
            if not isinstance(block, Columns) or (blocks and not _alike(block, blocks[0][1])):
                # Nothing was taken yet: peeking leaves the feeds where they are.
                return None
            blocks.append((mine, block))
    leaves = [np.empty((count, *leaf.shape[1:]), leaf.dtype) for leaf in blocks[0][1].leaves]
    for mine, block in blocks:
        for whole, leaf in zip(leaves, block.leaves, strict=True):
            whole[mine] = leaf
    for positions, feed in pieces:
        used = int((positions < count).sum())
        if used:
            feed.advance(used)
    return Columns(leaves, count)


def _alike(a: Columns, b: Columns) -> bool:
    return all(
        x.shape[1:] == y.shape[1:] and x.dtype == y.dtype for x, y in zip(a.leaves, b.leaves, strict=True)
    )
