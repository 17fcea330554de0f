"""The stream of a `map` whose function is a program of several batches: as one for some of them (data layer)."""

import contextlib
from collections import deque
from collections.abc import Sequence

import numpy as np

from stratax.data.elements import Block, ElementRows, Row, parts_of, shapes_of
from stratax.data.ops.map._cursors import AheadCursor, Calls
from stratax.data.position import Cursor
from stratax.data.vectorise import BatchProgram, agrees

# From here on the operations of a batch cost little beside its records.
_ENOUGH_RECORDS = 1024
_ENOUGH_BYTES = 1 << 20


class GroupedCursor(AheadCursor):
    """Computes as many batches together as make about a thousand records, or a MiB.

    The first batch is computed by the function itself, too: where the results differ, the function is called for every
    batch; so it is where the program fails on one of several, and says which record is to blame.

    Args:
        child: The stream of batches.
        calls: Calls the function.
        number: The number of the pass.
        program: What the function does.
    """

    def __init__(self, child: Cursor, calls: Calls, number: int, program: BatchProgram) -> None:
        super().__init__(child)
        self._calls = calls
        self._number = number
        self._candidate: BatchProgram | None = program
        self._trusted: BatchProgram | None = None
        self._ready: deque[Row | Exception] = deque()

    def read(self, limit: int) -> Block:
        rows: list[Row] = []
        while len(rows) < limit:
            if not self._ready and (rows or not self._refill()):
                break
            found = self._ready[0]
            if rows and (isinstance(found, Exception) or shapes_of(found) != shapes_of(rows[0])):
                break
            self._ready.popleft()
            self._num_given += 1
            if isinstance(found, Exception):
                raise found
            rows.append(found)
        if not rows:
            raise StopIteration
        return ElementRows(rows)

    def _refill(self) -> bool:
        """Read some batches and compute their results; return False at the end."""
        position = self._base + self._num_read
        batches, failure = self._read_batches()
        self._ready.extend(self._compute(batches, position))
        if failure is not None:
            # Behind the results of the batches before it.
            self._ready.append(failure)
        return bool(self._ready)

    def _read_batches(self) -> tuple[list[Row], Exception | None]:
        """Return the next batches, enough of them; and what failed behind them."""
        batches: list[Row] = []
        num_records = num_bytes = 0
        # The first batch alone: it is compared with what the function gives.
        enough = 1 if self._trusted is None else _ENOUGH_RECORDS
        while not self._is_ended and num_records < enough and num_bytes < _ENOUGH_BYTES:
            self._positions.mark(self._num_read, self._num_given)
            try:
                batches.append(self._child.read(1).row(0))
            except StopIteration:
                self._is_ended = True
                break
            except Exception as e:
                self._num_read += 1
                self._positions.mark_failure(self._num_read, self._num_given)
                return batches, e
            self._num_read += 1
            records = batches[-1][0]
            num_records += max(1, np.size(records))
            num_bytes += 0 if self._trusted is None else sum(map(len, records))
        return batches, None

    def _compute(self, batches: list[Row], position: int) -> Sequence[Row | Exception]:
        if self._trusted is not None and batches:
            # Where it fails, the function itself tells it better.
            with contextlib.suppress(Exception):
                return self._run(self._trusted, batches)
        results = [self._one(batch, position + i) for i, batch in enumerate(batches)]
        if self._candidate is not None and results and not isinstance(results[0], Exception):
            is_right = self._agrees(self._candidate, batches[0], results[0])
            self._trusted, self._candidate = self._candidate if is_right else None, None
        return results

    def _run(self, program: BatchProgram, batches: list[Row]) -> list[Row]:
        return self._calls.check(program([batch[0] for batch in batches]), program.structure)

    def _agrees(self, program: BatchProgram, batch: Row, expected: Row) -> bool:
        """Return whether the program gives what the function gave, in the same structure."""
        try:
            (found,) = self._run(program, [batch])
        except Exception:
            return False
        return all(
            agrees(leaf[None], [other], exactly=True)
            for leaf, other in zip(parts_of(found), parts_of(expected), strict=True)
        )

    def _one(self, batch: Row, position: int) -> Row | Exception:
        try:
            return self._calls.row(batch, position, self._number)
        except Exception as e:
            return e

    def skip(self, count: int) -> int:
        """Skip elements without computing, but for what is computed already."""
        held = min(count, len(self._ready))
        for _ in range(held):
            self._ready.popleft()
        self._num_given += held
        return held + self._skip_unread(count - held)
