"""Keep positions of a cursor that is read ahead: noted ones, and how many elements lie behind each (data layer)."""

import math
import threading
import time
from collections import deque

from stratax.data.position._cursor import Cursor, State
from stratax.errors import DataError

_SHARE = 20
_LEAST_SECONDS = 1e-3
_MOST_NOTED = 128


class Positions:
    """Positions at which a cursor has been, so that what was read ahead of them can be read again.

    A position is noted when the reading since the last one took twenty times as long as noting it: it costs at most
    5%, and going back costs little more than that reading.

    Args:
        child: The cursor.
        least_seconds: How much time passes between two of them at least; None for as little as pays.
    """

    def __init__(self, child: Cursor, least_seconds: float | None = None) -> None:
        self._child = child
        self._least_seconds = _LEAST_SECONDS if least_seconds is None else least_seconds
        # From which number on a position serves, the number of elements before it, and the position.
        self._noted: deque[tuple[int, int, State]] = deque()
        self._due = 0.0
        self._error: DataError | None = None
        # The reading thread notes positions while the consumer's thread asks for one.
        self._lock = threading.Lock()

    def is_due(self) -> bool:
        """Return whether :meth:`mark` would note a position."""
        return time.perf_counter() >= self._due

    def room(self, number: int, count: int) -> int:
        """Return how many elements may be read at once, before the next position has to be noted.

        Args:
            number: How many elements were read.
            count: How many are wanted.
        """
        return count

    def mark(self, number: int, oldest: int) -> None:
        """Note the position, if it is time for it.

        Args:
            number: How many elements were read from the child, which is behind them now.
            oldest: The smallest number that :meth:`recall` may be asked for from now on.
        """
        begin = time.perf_counter()
        if begin >= self._due and self._note_now(number, oldest, number):
            end = time.perf_counter()
            # The next note is due after a multiple of what this one cost, so that costly positions are noted
            # rarely.
            self._due = end + max(self._least_seconds, _SHARE * (end - begin))

    def _note_now(self, number: int, oldest: int, serves_from: int) -> bool:
        try:
            state = self._child.get_state()
        except DataError as e:
            # A source without a position: whoever asks for it will be told. Without its frames, which would keep all
            # that reads from here alive as long as a thread does that notes positions.
            self._error, self._due = e.with_traceback(None), math.inf
            return False
        self._add(serves_from, number, state)
        self._forget(oldest)
        return True

    def mark_failure(self, number: int, oldest: int) -> None:
        """Note the position behind a reading that failed, whatever it costs.

        How much that has used up, a batch for instance, only making the elements again would tell.

        Args:
            number: As for :meth:`mark`, what failed counted as one.
            oldest: As for :meth:`mark`.
        """
        if self._error is None:
            self._note_now(number, oldest, number)

    def note(self, number: int, state: State) -> None:
        """Note a position that is at hand."""
        self._add(number, number, state)

    def _add(self, serves_from: int, number: int, state: State) -> None:
        with self._lock:
            self._noted.append((serves_from, number, state))
            self._thin_out()

    def _thin_out(self) -> None:
        if len(self._noted) > _MOST_NOTED:
            # Every second one goes: the distance doubles and the first, which serves the oldest number,
            # stays.
            self._noted = deque(list(self._noted)[::2])

    def _forget(self, oldest: int) -> None:
        with self._lock:
            # The first one goes only if the second serves the oldest number that can still be asked for.
            while len(self._noted) > 1 and self._noted[1][0] <= oldest:
                self._noted.popleft()

    def recall(self, number: int) -> tuple[int, State]:
        """Return the last noted position at or before `number`, and its number.

        Raises:
            DataError: The child can't tell its position.
        """
        if self._error is not None:
            # A new error each time: a raised one would collect the frames of every caller.
            raise DataError(*self._error.args)
        self._forget(number)
        with self._lock:
            return self._noted[0][1:]

    def behind(self, number: int, num_read: int | None) -> State:
        """Return the position behind the first `number` elements.

        Args:
            number: How many elements lie before it.
            num_read: How many were read from the child; None if it can't be asked now, as another thread reads from it.

        Returns:
            What :meth:`go_to` takes.
        """
        # Nothing was read ahead: the child's own position is exact, with nothing to read again.
        if number == num_read:
            return {"child": self._child.get_state(), "skip": 0}
        return self._count_since_noted(number)

    def _count_since_noted(self, number: int) -> State:
        anchor, state = self.recall(number)
        return {"child": state, "skip": number - anchor}

    def go_to(self, position: State) -> None:
        """Bring a child that was not read yet to a position.

        Raises:
            DataError: There are fewer elements than there were.
        """
        self._child.set_state(position["child"])
        passed = self._child.skip(position["skip"])
        if passed < position["skip"]:
            raise DataError(
                "The data end before the saved position. Expected: the data that were there when it was saved. "
                f"Received: {passed} elements where there were {position['skip']}. Bring the data back, or begin anew."
            )


class RegularPositions(Positions):
    """Positions that are noted before the same elements in every process that reads the same, whatever its clock says.

    Args:
        child: The cursor.
        every: After how many elements one is noted; None: before every reading, where all processes read alike.
    """

    def __init__(self, child: Cursor, every: int | None = None) -> None:
        super().__init__(child)
        self._every = every

    def room(self, number: int, count: int) -> int:
        """Return how many elements may be read at once; no reading goes past one before which a position is due."""
        return count if self._every is None else min(count, self._every - number % self._every)

    def mark(self, number: int, oldest: int) -> None:
        if self._error is None and (self._every is None or number % self._every == 0):
            # Behind exactly so many elements it serves nobody yet: who reads no further ahead has not noted it.
            self._note_now(number, oldest, number + 1 if number else 0)

    def _thin_out(self) -> None:
        """Keep all: how many are kept at a time depends on how far this process reads ahead."""

    def behind(self, number: int, num_read: int | None) -> State:
        # Where the child is by now is this process's own affair: only what was noted is the same in all.
        # Before the first reading nothing is noted, and the child stands where this stands.
        if not number and not num_read and not self._noted:
            return super().behind(0, 0)
        return self._count_since_noted(number)
