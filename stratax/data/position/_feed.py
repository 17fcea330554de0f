"""Cursors that hold elements back until they are used, and can look at coming ones (data layer)."""

from collections import deque
from collections.abc import Callable
from typing import Any

from stratax.data.elements import Block, Row
from stratax.data.position._cursor import Cursor, CursorOver, State
from stratax.data.position._positions import Positions


class Buffering(CursorOver):
    """Reads another cursor in blocks and uses their elements one after another.

    A subclass says what it makes of them. Its position is behind the elements that were used, however many were read.

    Args:
        child: The cursor.
        ahead: Gives how many elements may be read at once though fewer are asked for.
        positions: Where the child has been; None for positions that are noted as it pays.
    """

    def __init__(self, child: Cursor, ahead: Callable[[], int], positions: Positions | None = None) -> None:
        super().__init__(child)
        self._ahead = ahead
        self._positions = positions or Positions(child)
        self._num_read = 0
        self._num_passed = 0
        self._block: Block | None = None
        self._offset = 0
        self._failure: Exception | None = None
        # What :meth:`_look` has read behind the block: blocks, failures, and None for a failure that was told already.
        self._later: deque[Block | Exception | None] = deque()

    @property
    def _num_held(self) -> int:
        """How many elements of one block are at hand."""
        return 0 if self._block is None else self._block.count - self._offset

    def _peek(self, limit: int) -> Block:
        """Return the next 1 to `limit` elements of one shape; they stay the next ones until :meth:`_advance`.

        Raises what the child raised in their place, until that is passed with `_advance(1)`; StopIteration at the end.
        """
        if self._failure is not None:
            raise self._failure
        block = self._block
        if block is None:
            block = self._block = self._fetch(limit)
        if not self._offset and block.count <= limit:
            return block
        return block.slice(self._offset, min(block.count, self._offset + limit))

    def _peek_once(self, limit: int) -> Block:
        """Return what :meth:`_peek` does; pass over a failure in its place, so that it is raised once."""
        try:
            return self._peek(limit)
        except StopIteration:
            raise
        except Exception:
            self._advance(1)
            raise

    def _fetch(self, limit: int) -> Block:
        while self._later:
            block = self._later.popleft()
            if isinstance(block, Exception):
                self._failure = block
                raise block
            if block is not None:
                self._offset = 0
                return block
            # A failure that was reported already still has its position in the order.
            self._num_passed += 1
        try:
            block = self._read_child(limit)
        except StopIteration:
            raise
        except Exception as e:
            self._failure = e
            raise
        self._offset = 0
        return block

    def _read_child(self, limit: int) -> Block:
        positions, number = self._positions, self._num_read
        # Before the reading: a position is only known between two blocks of the child.
        positions.mark(number, self._num_passed)
        try:
            block = self._child.read(positions.room(number, max(limit, self._ahead())))
        except StopIteration:
            raise
        except Exception:
            # The failed element counts as read, so that the numbers of the following ones stay right.
            self._num_read += 1
            positions.mark_failure(self._num_read, self._num_passed)
            raise
        self._num_read += block.count
        return block

    def _advance(self, count: int) -> None:
        """Pass over elements that are at hand, or over the failure that is."""
        self._num_passed += count
        # A failure stands for one element, and is always passed over on its own.
        if self._failure is not None:
            self._failure = None
            return
        self._offset += count
        if self._block is not None and self._offset == self._block.count:
            self._block = None

    def _skip(self, count: int) -> int:
        """Pass over elements, without making those that were not read."""
        # What was looked at is made already and has to be passed over one by one.
        if self._later:
            return self.drop(count)
        # First what is at hand, then what the child can pass over without making it.
        held = min(count, self._num_held)
        if held:
            self._advance(held)
        elif self._failure is not None and count:
            self._advance(1)
            held = 1
        passed = self._child.skip(count - held) if count > held else 0
        self._num_read += passed
        self._num_passed += passed
        return held + passed

    def get_state(self) -> State:
        """Return the position behind the elements that were used."""
        return self._positions.behind(self._num_passed, self._num_read)

    def set_state(self, state: State) -> None:
        """Go to a position that `get_state` returned."""
        self._positions.go_to(state)


class Feed(Buffering):
    """Hands on the elements that it holds back: others look at coming ones before they take them."""

    @property
    def num_passed(self) -> int:
        """How many elements were handed on or passed over, failures included."""
        return self._num_passed

    @property
    def num_held(self) -> int:
        """How many elements of one block are at hand."""
        return self._num_held

    @property
    def num_ready(self) -> int:
        """How many elements were read and not handed on."""
        return self._num_held + sum(block.count for block in self._later if isinstance(block, Block))

    def peek(self, limit: int) -> Block:
        """Return the next 1 to `limit` elements of one shape; they stay the next ones until :meth:`advance`.

        Raises what the child raised in their place, until that is passed with `advance(1)`; StopIteration at the end.
        """
        return self._peek(limit)

    def advance(self, count: int) -> None:
        """Pass over elements that are at hand, or over the failure that is."""
        self._advance(count)

    def look(self, skip: int, limit: int) -> tuple[Block, int, int]:
        """Find 1 to `limit` elements of one shape behind the next `skip`; all stay where they are.

        What the child raises in the place of an element is raised, each time until :meth:`tell`; as the very next it is
        passed over. StopIteration means that there are at most `skip` elements.

        Returns:
            The block that they are in, and where in it they begin and end.
        """
        if self._block is None:
            self._peek_once(limit)
        block: Block | None = self._block
        held = 0 if block is None else block.count - self._offset
        if block is not None and skip < held:
            start = self._offset + skip
        else:
            block, start = self._look_behind(skip - held, limit)
        return block, start, min(block.count, start + limit)

    def _look_behind(self, skip: int, limit: int) -> tuple[Block, int]:
        """Return the block behind the current one in which the element after `skip` is, and where."""
        for block in self._later:
            if isinstance(block, Exception):
                raise block
            if block is not None and skip < block.count:
                return block, skip
            # A reported failure (None) is no element: it takes no position among the coming ones.
            skip -= 0 if block is None else block.count
        while True:
            try:
                block = self._read_child(skip + limit)
            except StopIteration:
                raise
            except Exception as e:
                self._later.append(e)
                raise
            self._later.append(block)
            if skip < block.count:
                return block, skip
            skip -= block.count

    def tell(self, failure: Exception) -> None:
        """Have a failure that :meth:`look` raised not be raised again when it is its turn."""
        self._later = deque(None if held is failure else held for held in self._later)

    def read(self, limit: int) -> Block:
        block = self._peek_once(limit)
        self._advance(block.count)
        return block

    def take(self) -> tuple[Block, int]:
        """Hand the next element on.

        Returns:
            The block that it is in, and its number there.
        """
        if self._block is None:
            self._peek_once(1)
        # As `_advance`, in place: who takes elements one by one feels every call.
        block: Any = self._block
        at = self._offset
        self._num_passed += 1
        self._offset = at + 1
        if at + 1 == block.count:
            self._block = None
        return block, at

    def row(self) -> Row:
        """Hand the next element on, as the leaves of one."""
        block = self._block
        if block is None:
            return self.read(1).row(0)
        # In place, too.
        at = self._offset
        self._num_passed += 1
        self._offset = at + 1
        if at + 1 == block.count:
            self._block = None
        return block.row(at)

    def skip(self, count: int) -> int:
        return self._skip(count)


def one() -> int:
    """Let a feed read no more at once than it is asked for."""
    return 1
