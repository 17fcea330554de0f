"""What lies between a cursor and the one it reads from: blocks held back, and places to go back to (data layer)."""

import math
import threading
import time
from collections import deque
from collections.abc import Callable

from stratax.data.elements import Block, Row
from stratax.data.position._cursor import Cursor, CursorOver, State
from stratax.errors import DataError

_SHARE = 20
_LEAST_SECONDS = 1e-3
_MOST_ANCHORS = 128


class Trail:
    """Places where a cursor has been, so that what was read ahead of them can be read again.

    A place is noted when the reading since the last one took twenty times as long as noting it: it costs at most 5%,
    and going back costs little more than that reading.

    Args:
        child: The cursor.
    """

    def __init__(self, child: Cursor) -> None:
        self._child = child
        self._anchors: deque[tuple[int, State]] = deque()
        self._due = 0.0
        self._error: DataError | None = None
        self._lock = threading.Lock()

    def is_due(self) -> bool:
        """Whether :meth:`mark` would note a place."""
        return time.perf_counter() >= self._due

    def mark(self, number: int, oldest: int) -> None:
        """Notes the place, if it is time for it.

        Args:
            number: How many elements were read from the child, which is behind them now.
            oldest: The smallest number that :meth:`recall` may be asked for from now on.
        """
        begin = time.perf_counter()
        if begin < self._due:
            return
        try:
            state = self._child.get_state()
        except DataError as e:
            # A source without a place: whoever asks for it will be told.
            self._error, self._due = e, math.inf
            return
        end = time.perf_counter()
        self._due = end + max(_LEAST_SECONDS, _SHARE * (end - begin))
        self.note(number, state)
        self._forget(oldest)

    def mark_failure(self, number: int, oldest: int) -> None:
        """Notes the place behind a reading that failed, whatever it costs.

        How much that has used up, a batch for instance, only making the elements again would tell.

        Args:
            number: As for :meth:`mark`, what failed counted as one.
            oldest: As for :meth:`mark`.
        """
        if self._error is None:
            self._due = 0.0
            self.mark(number, oldest)

    def note(self, number: int, state: State) -> None:
        """Notes a place that is at hand."""
        with self._lock:
            self._anchors.append((number, state))
            if len(self._anchors) > _MOST_ANCHORS:
                self._anchors = deque(list(self._anchors)[::2])

    def _forget(self, oldest: int) -> None:
        with self._lock:
            while len(self._anchors) > 1 and self._anchors[1][0] <= oldest:
                self._anchors.popleft()

    def recall(self, number: int) -> tuple[int, State]:
        """The last noted place at or before `number`, and its number.

        Raises:
            DataError: The child can't tell its place.
        """
        if self._error is not None:
            raise self._error
        self._forget(number)
        with self._lock:
            return self._anchors[0]

    def place(self, number: int, num_read: int | None) -> State:
        """The place behind the first `number` elements.

        Args:
            number: How many elements lie before it.
            num_read: How many were read from the child; None if it can't be asked now, as another thread reads from it.

        Returns:
            What :meth:`go_to` takes.
        """
        if number == num_read:
            return {"child": self._child.get_state(), "skip": 0}
        anchor, state = self.recall(number)
        return {"child": state, "skip": number - anchor}

    def go_to(self, place: State) -> None:
        """Brings a child that was not read yet to a place.

        Raises:
            DataError: There are fewer elements than there were.
        """
        self._child.set_state(place["child"])
        passed = self._child.skip(place["skip"])
        if passed < place["skip"]:
            raise DataError(
                "The data end before the saved place. Expected: the data that were there when it was saved. Received: "
                f"{passed} elements where there were {place['skip']}. Bring the data back, or begin anew."
            )


class Feed(CursorOver):
    """Reads a cursor in blocks and hands the elements on; its place is behind what was handed on.

    Args:
        child: The cursor.
        ahead: How many elements may be read at once though fewer are asked for.
    """

    def __init__(self, child: Cursor, ahead: Callable[[], int]) -> None:
        super().__init__(child)
        self._ahead = ahead
        self._trail = Trail(child)
        self._num_read = 0
        self._num_passed = 0
        self._block: Block | None = None
        self._offset = 0
        self._failure: Exception | None = None
        # What :meth:`look` has read behind the block: blocks, failures, and None for a failure that was told already.
        self._later: deque[Block | Exception | None] = deque()

    @property
    def num_passed(self) -> int:
        """How many elements were handed on or passed over, failures included."""
        return self._num_passed

    @property
    def num_held(self) -> int:
        """How many elements are at hand."""
        return 0 if self._block is None else self._block.count - self._offset

    def peek(self, limit: int) -> Block:
        """The next 1 to `limit` elements of one shape; they stay the next ones until :meth:`advance`.

        Raises what the child raised in their place, until that is passed with `advance(1)`; StopIteration at the end.
        """
        if self._failure is not None:
            raise self._failure
        block = self._block
        if block is None:
            block = self._block = self._fetch(limit)
        if not self._offset and block.count <= limit:
            return block
        return block.slice(self._offset, min(block.count, self._offset + limit))

    def look(self, skip: int, limit: int) -> Block:
        """1 to `limit` elements of one shape behind the next `skip`; all stay where they are.

        What the child raises in the place of an element is raised, each time until :meth:`tell`; as the very next it is
        passed over. StopIteration means that there are at most `skip` elements.
        """
        try:
            block = self.peek(limit)
        except StopIteration:
            raise
        except Exception:
            self.advance(1)
            raise
        if skip == 0:
            return block
        if self._block is not None and skip < self.num_held:
            block, start = self._block, self._offset + skip
        else:
            block, start = self._look_behind(skip - self.num_held, limit)
        return block.slice(start, min(block.count, start + limit))

    def _look_behind(self, skip: int, limit: int) -> tuple[Block, int]:
        """The block behind the current one in which the element after `skip` is, and where."""
        for block in self._later:
            if isinstance(block, Exception):
                raise block
            if block is not None and skip < block.count:
                return block, skip
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
        """Has a failure that :meth:`look` raised not be raised again when it is its turn."""
        self._later = deque(None if held is failure else held for held in self._later)

    def _fetch(self, limit: int) -> Block:
        while self._later:
            block = self._later.popleft()
            if isinstance(block, Exception):
                self._failure = block
                raise block
            if block is not None:
                self._offset = 0
                return block
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
        self._trail.mark(self._num_read, self._num_passed)
        try:
            block = self._child.read(max(limit, self._ahead()))
        except StopIteration:
            raise
        except Exception:
            self._num_read += 1
            self._trail.mark_failure(self._num_read, self._num_passed)
            raise
        self._num_read += block.count
        return block

    def advance(self, count: int) -> None:
        """Passes over elements that are at hand, or over the failure that is."""
        self._num_passed += count
        if self._failure is not None:
            self._failure = None
            return
        self._offset += count
        if self._block is not None and self._offset == self._block.count:
            self._block = None

    def read(self, limit: int) -> Block:
        """As a cursor's."""
        try:
            block = self.peek(limit)
        except StopIteration:
            raise
        except Exception:
            self.advance(1)
            raise
        self.advance(block.count)
        return block

    def row(self) -> Row:
        """The next element, handed on."""
        if self._block is None:
            return self.read(1).row(0)
        try:
            return self._block.row(self._offset)
        finally:
            self.advance(1)

    def skip(self, count: int) -> int:
        """As a cursor's."""
        if self._later:
            return self.drop(count)
        held = min(count, self.num_held)
        if held:
            self.advance(held)
        elif self._failure is not None and count:
            self.advance(1)
            held = 1
        passed = self._child.skip(count - held) if count > held else 0
        self._num_read += passed
        self._num_passed += passed
        return held + passed

    def get_state(self) -> State:
        """The place behind what was handed on."""
        return self._trail.place(self._num_passed, self._num_read)

    def set_state(self, state: State) -> None:
        """Go to a position that `get_state` returned."""
        self._trail.go_to(state)


def one() -> int:
    """For a Feed that reads no more than it is asked for."""
    return 1
