"""Streams of the operations that only choose and order elements (data layer)."""

from collections.abc import Callable, Sequence

from stratax.data.elements._block import Block, beside, concatenate_blocks
from stratax.data.position._cursor import Cursor, CursorOver, State
from stratax.data.position._feed import Feed


class TakeCursor(CursorOver):
    """The first `count` elements."""

    def __init__(self, child: Cursor, count: int) -> None:
        super().__init__(child)
        self._left = count

    def read(self, limit: int) -> Block:
        """Not more than are left."""
        if not self._left:
            raise StopIteration
        try:
            block = self._child.read(min(limit, self._left))
        except StopIteration:
            raise
        except Exception:
            self._left -= 1
            raise
        self._left -= block.count
        return block

    def skip(self, count: int) -> int:
        """Skips in the child."""
        passed = self._child.skip(min(count, self._left))
        self._left -= passed
        return passed

    def get_state(self) -> State:
        """How many are left."""
        return {"left": self._left, "child": self._child.get_state()}

    def set_state(self, state: State) -> None:
        """Goes there."""
        self._left = state["left"]
        self._child.set_state(state["child"])


class SkipCursor(CursorOver):
    """The elements after the first `count`."""

    def __init__(self, child: Cursor, count: int) -> None:
        super().__init__(child)
        self._ahead = count

    def _begin(self) -> None:
        if self._ahead:
            self._child.skip(self._ahead)
            self._ahead = 0

    def read(self, limit: int) -> Block:
        """Those that come later."""
        self._begin()
        return self._child.read(limit)

    def skip(self, count: int) -> int:
        """Skips in the child."""
        self._begin()
        return self._child.skip(count)

    def get_state(self) -> State:
        """The child's, and what is still to be skipped."""
        return {"ahead": self._ahead, "child": self._child.get_state()}

    def set_state(self, state: State) -> None:
        """Goes there."""
        self._ahead = state["ahead"]
        self._child.set_state(state["child"])


class ShardCursor(CursorOver):
    """Every `num_shards`-th element from `index` on; the others are skipped."""

    def __init__(self, feed: Feed, num_shards: int, index: int) -> None:
        super().__init__(feed)
        self._feed = feed
        self._stride = num_shards
        self._gap = index

    def _go(self) -> bool:
        """Passes over the other shards' elements; whether there may be one of this shard."""
        if self._gap:
            self._gap -= self._feed.skip(self._gap)
        return not self._gap

    def read(self, limit: int) -> Block:
        """One after another, up to an element of another shape or one that fails."""
        pieces: list[Block] = []
        while len(pieces) < limit and self._go():
            try:
                block = self._feed.peek(1)
            except StopIteration:
                break
            except Exception:
                if pieces:
                    break
                self._passed()
                raise
            if pieces and block.shapes != pieces[0].shapes:
                break
            pieces.append(block)
            self._passed()
        if not pieces:
            raise StopIteration
        return concatenate_blocks(pieces)

    def _passed(self) -> None:
        self._feed.advance(1)
        self._gap = self._stride - 1

    def skip(self, count: int) -> int:
        """Skips whole strides."""
        passed = 0
        while passed < count and self._go() and self._feed.skip(1):
            self._gap = self._stride - 1
            passed += 1
        return passed

    def get_state(self) -> State:
        """The child's, and how many other elements come before the next."""
        return {"gap": self._gap, "feed": self._feed.get_state()}

    def set_state(self, state: State) -> None:
        """Goes there."""
        self._gap = state["gap"]
        self._feed.set_state(state["feed"])


class SuccessiveCursor(Cursor):
    """One stream after another.

    Args:
        open_stream: Opens a stream by its number, which counts from 0.
        count: How many streams, -1 for no end.
        ends_if_empty: Whether a stream without elements is the last.
    """

    def __init__(self, open_stream: Callable[[int], Cursor], count: int, ends_if_empty: bool) -> None:
        self._open = open_stream
        self._count = count
        self._ends_if_empty = ends_if_empty
        self._number = 0
        self._is_empty = True
        self._child: Cursor | None = None

    def _current(self) -> Cursor:
        if self._count >= 0 and self._number >= self._count:
            raise StopIteration
        if self._child is None:
            self._child = self._open(self._number)
        return self._child

    def _go_on(self) -> None:
        if self._is_empty and self._ends_if_empty:
            raise StopIteration
        self.close()
        self._child = None
        self._number += 1
        self._is_empty = True

    def read(self, limit: int) -> Block:
        """From this stream, or the next."""
        while True:
            child = self._current()
            try:
                block = child.read(limit)
            except StopIteration:
                self._go_on()
                continue
            except Exception:
                self._is_empty = False
                raise
            self._is_empty = False
            return block

    def skip(self, count: int) -> int:
        """Over the ends of streams."""
        passed = 0
        try:
            while passed < count:
                found = self._current().skip(count - passed)
                self._is_empty = self._is_empty and not found
                passed += found
                if passed < count:
                    self._go_on()
        except StopIteration:
            pass
        return passed

    def get_state(self) -> State:
        """Which stream, and the place in it."""
        child = self._child.get_state() if self._child is not None else None
        return {"number": self._number, "empty": self._is_empty, "child": child}

    def set_state(self, state: State) -> None:
        """Goes there."""
        self._number, self._is_empty = state["number"], state["empty"]
        if state["child"] is not None:
            self._current().set_state(state["child"])

    def close(self) -> None:
        """Closes this stream."""
        if self._child is not None:
            self._child.close()


class ZipCursor(Cursor):
    """Elements side by side. Where one fails, those beside it are passed over with it."""

    def __init__(self, feeds: Sequence[Feed]) -> None:
        self._feeds = feeds

    def read(self, limit: int) -> Block:
        """As many as all have at hand."""
        blocks: list[Block] = []
        try:
            for feed in self._feeds:
                blocks.append(feed.peek(limit))
        except StopIteration:
            raise
        except Exception:
            self.skip(1)
            raise
        count = min(block.count for block in blocks)
        for feed in self._feeds:
            feed.advance(count)
        return beside([block.slice(0, count) if block.count > count else block for block in blocks])

    def skip(self, count: int) -> int:
        """In all of them."""
        return min(feed.skip(count) for feed in self._feeds)

    def get_state(self) -> State:
        """All their places."""
        return {"feeds": [feed.get_state() for feed in self._feeds]}

    def set_state(self, state: State) -> None:
        """Goes there."""
        for feed, place in zip(self._feeds, state["feeds"], strict=True):
            feed.set_state(place)

    def close(self) -> None:
        """Closes all of them."""
        for feed in self._feeds:
            feed.close()
