"""Streams of `map`: one element or block after another, or some at a time on threads (data layer)."""

from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any

import numpy as np

from stratax.base.threads import Threads
from stratax.data.elements import Block, Columns, ElementRows, Row, Structure, element_scope, shapes_of
from stratax.data.ops.map._mapper import Mapper
from stratax.data.plan import Passes
from stratax.data.position import Buffering, Cursor, CursorOver, Positions, State
from stratax.data.records import Origins
from stratax.data.vectorise import on_host


class Calls:
    """How one iterator calls the function of a `map`.

    Args:
        mapper: The function.
        name_of: What names an element to a random function, by the number of the pass and its position.
        origins: Where the last records stand in their files.
    """

    def __init__(
        self, mapper: Mapper, name_of: Callable[[int, int], tuple[int, ...]], origins: Origins
    ) -> None:
        self._mapper = mapper
        self._name_of = name_of
        self._origins = origins

    def block(self, block: Block) -> Columns | None:
        """Return the results for a whole block, or None if the function has to be called one by one."""
        if not isinstance(block, Columns):
            return None
        leaves = self._mapper.block(block.columns())
        return None if leaves is None else Columns(leaves, block.count)

    def rows(self, block: Block, positions: Sequence[int], passes: Passes) -> ElementRows:
        """Compute the results one by one, up to the first failure."""
        rows: list[Row] = []
        # Entered once for all elements of the block.
        with on_host():
            for i, position in enumerate(positions):
                number = passes if isinstance(passes, int) else int(passes[i])
                try:
                    rows.append(self._one(block.row(i), position, number))
                except Exception as e:
                    return ElementRows(rows, failure=e)
        return ElementRows(rows)

    def check(self, rows: list[Row], structure: Structure) -> list[Row]:
        """Check results that were made otherwise; raise unless they are like those before."""
        for row in rows:
            self._mapper.check(row, structure)
        return rows

    def row(self, row: Row, position: int, number: int, into: Sequence[np.ndarray] = ()) -> Row:
        """Compute the result for one element; where the function's last operation can, into an array that is given."""
        with on_host():
            return self._one(row, position, number, into)

    def _one(self, row: Row, position: int, number: int, into: Sequence[np.ndarray] = ()) -> Row:
        with element_scope(lambda: self._name_of(number, position)):
            return self._mapper.one(row, position, self._origins, into)


class MapCursor(Buffering):
    """Calls the function for what it is asked for.

    Args:
        child: The stream.
        ahead: How many of its elements may be read at once though fewer are asked for.
        calls: Calls the function.
        number: The number of the pass.
    """

    def __init__(self, child: Cursor, ahead: Callable[[], int], calls: Calls, number: int) -> None:
        super().__init__(child, ahead)
        self._calls = calls
        self._number = number
        self._base = 0
        # Results of one shape at a time; the rest waits here, made already.
        self._ready: ElementRows | None = None

    def read(self, limit: int) -> Block:
        if self._ready is None:
            found = self._make(limit)
            if isinstance(found, Columns):
                self._advance(found.count)
                return found
            self._ready = found
        block, self._ready = self._ready.split(limit)
        self._advance(block.count)
        if not block.rows and block.failure is not None:
            raise block.failure
        return block

    def _make(self, limit: int) -> Columns | ElementRows:
        block = self._peek_once(limit)
        first = self._base + self._num_passed
        return self._calls.block(block) or self._calls.rows(
            block, range(first, first + block.count), self._number
        )

    def skip(self, count: int) -> int:
        """Pass over elements without calling the function."""
        # What was made and is skipped is dropped; the child's position is that of what was given.
        self._ready = None
        return self._skip(count)

    def get_state(self) -> State:
        """Return the child's position, and how many elements came before."""
        return {"position": self._base + self._num_passed, "feed": super().get_state()}

    def set_state(self, state: State) -> None:
        """Go to a position that `get_state` returned."""
        self._base = state["position"]
        super().set_state(state["feed"])


class AheadCursor(CursorOver):
    """Reads on while results are made; its position is behind the last result that was given.

    Args:
        child: The stream.
    """

    def __init__(self, child: Cursor) -> None:
        super().__init__(child)
        self._positions = Positions(child)
        self._base = 0
        self._num_read = 0
        self._num_given = 0
        self._is_ended = False

    def _skip_unread(self, count: int) -> int:
        """Skip in the child, where nothing is under way."""
        passed = self._child.skip(count)
        self._num_read += passed
        self._num_given += passed
        return passed

    def get_state(self) -> State:
        """Return the child's position behind the last result, and how many elements came before."""
        return {
            "position": self._base + self._num_given,
            "feed": self._positions.behind(self._num_given, self._num_read),
        }

    def set_state(self, state: State) -> None:
        """Go to a position that `get_state` returned."""
        self._base = state["position"]
        self._positions.go_to(state["feed"])


class ThreadedMapCursor(AheadCursor):
    """Has some calls under way on threads; the results come in order.

    Args:
        child: The stream.
        calls: Calls the function.
        number: The number of the pass.
        pool: The threads, asked for at the first reading.
        window: How many elements may be under way or wait.
    """

    def __init__(
        self, child: Cursor, calls: Calls, number: int, pool: Callable[[], Threads], window: int
    ) -> None:
        super().__init__(child)
        self._calls = calls
        self._number = number
        self._pool = pool
        self._window = window
        self._under_way: deque[Future[Row]] = deque()

    def read(self, limit: int) -> Block:
        rows: list[Row] = []
        while len(rows) < limit:
            self._refill()
            if not self._under_way:
                break
            try:
                row = self._under_way[0].result()
            except Exception:
                # The elements before it are given first; it is found again by the next call.
                if rows:
                    break
                self._pop()
                raise
            if rows and shapes_of(row) != shapes_of(rows[0]):
                break
            self._pop()
            rows.append(row)
        if not rows:
            raise StopIteration
        return ElementRows(rows)

    def _pop(self) -> None:
        self._under_way.popleft()
        self._num_given += 1

    def _refill(self) -> None:
        """Read on when half of the window is free."""
        # Half: reading in larger blocks costs less, and the threads never run dry.
        while not self._is_ended and 2 * len(self._under_way) <= self._window:
            self._positions.mark(self._num_read, self._num_given)
            try:
                block = self._child.read(self._window - len(self._under_way))
            except StopIteration:
                self._is_ended = True
            except Exception as e:
                self._submit_failure(e)
            else:
                self._submit(block)

    def _submit(self, block: Block) -> None:
        pool = self._pool()
        for i in range(block.count):
            position = self._base + self._num_read
            self._under_way.append(pool.submit(self._calls.row, block.row(i), position, self._number))
            self._num_read += 1

    def _submit_failure(self, failure: Exception) -> None:
        future: Future[Any] = Future()
        # In line with the results, so that it is raised in its turn.
        future.set_exception(failure)
        self._under_way.append(future)
        self._num_read += 1
        self._positions.mark_failure(self._num_read, self._num_given)

    def skip(self, count: int) -> int:
        """Skip elements without calling the function, but for those calls that are under way."""
        held = min(count, len(self._under_way))
        for _ in range(held):
            # One that has begun can't be stopped, and its result is dropped.
            self._under_way[0].cancel()
            self._pop()
        return held + self._skip_unread(count - held)

    def close(self) -> None:
        """Cancel what is under way."""
        for future in self._under_way:
            future.cancel()
        super().close()
