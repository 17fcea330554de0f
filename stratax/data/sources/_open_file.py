"""One open file of records: gives them out of the pieces in which they are read (data layer)."""

import numpy as np

from stratax.base.shown import shown
from stratax.data.elements import Block, Columns
from stratax.data.position import Background, State
from stratax.data.records import Origins, Piece, RecordFormat
from stratax.errors import DataError, DataLossError

_MAX_WAIT = 600.0


class OpenFile:
    """The records of one file, at some position.

    Args:
        name: The file.
        form: How to read it.
        origins: Notes where the records stand.
        reads_ahead: Whether a thread reads the next piece while this one is used.
    """

    def __init__(self, name: str, form: RecordFormat, origins: Origins, *, reads_ahead: bool = False) -> None:
        self._name = name
        self._form = form
        self._origins = origins
        self._stream = form.open(name)
        # One piece ahead: it is read while the last one is used, and memory stays bounded for many files.
        self._queue: Background[Piece] | None = Background(1, _one_piece) if reads_ahead else None
        self._piece = Piece.empty(self._stream.place)
        self._at = 0
        self._is_lost = False

    @property
    def at_hand(self) -> int:
        """How many records :meth:`take` can give."""
        stop = min((i for i in self._piece.failures if i >= self._at), default=len(self._piece.records))
        return max(0, stop - self._at)

    def take(self, count: int) -> list[bytes]:
        """Take the next records, at most as many as are at hand."""
        start, self._at = self._at, self._at + count
        return self._piece.records[start : self._at]

    def fill(self) -> None:
        """Have a record at hand; raise what is wrong with the next one, or StopIteration at the end."""
        while self._at >= self._piece.count:
            self._piece = self._read()
            self._origins.note_piece(self._name, self._form, self._piece)
            self._at = 0
        failure = self._piece.failures.get(self._at)
        # Behind the last record may stand what ended the file, a damaged part for example.
        if failure is None and self._at == len(self._piece.records):
            failure = self._piece.last
        if failure is not None:
            self._at += 1
            raise failure

    def read(self, limit: int) -> Block:
        """Read the next 1 to `limit` records; raise as :meth:`fill` does."""
        self.fill()
        return as_block(self.take(min(limit, self.at_hand)))

    def _read(self) -> Piece:
        queue = self._queue
        if queue is None:
            return self._read_piece()
        if not queue.has_begun:
            # From now on the stream is the thread's.
            queue.begin(lambda _: self._read_piece(), self._stream.close, name="stratax-read", wanted=1)
        # A file system that has gone away may block for ever; an error says which file it was.
        if not queue.wait(_MAX_WAIT):
            raise DataError(
                f"Reading a file did not go on for {_MAX_WAIT:.0f} s. Received: filename={shown(self._name)}. "
                "See whether the disk or the network that it is on still answers."
            )
        return queue.take()

    def _read_piece(self) -> Piece:
        try:
            return self._stream.read()
        except MemoryError as e:
            # How much of the content is lost is not known, so the file ends here.
            offset, record = self._stream.place
            self._stream.close()
            failure = DataLossError(
                f"A record does not fit into memory. Received: filename={shown(self._name)}, record={record}, "
                f"offset={offset}. Make room, or set a limit: max_record_bytes, max_line_bytes.",
                filename=self._name,
                record=record,
                offset=offset,
            )
            failure.__cause__ = e
            return Piece.empty((offset, record), failure)

    def skip(self, count: int) -> int:
        """Pass over records, failures included; fewer than `count` at the end of the file."""
        passed = self._skip_held(count)
        # The stream is the thread's: its pieces can only be taken and dropped.
        while passed < count and self._queue is not None and self._queue.has_begun:
            try:
                self._piece, self._at = self._read(), 0
            except StopIteration:
                return passed
            passed += self._skip_held(count - passed)
        if passed < count:
            # Without a thread the stream itself can pass over records without making them.
            passed += self._stream.skip(count - passed)
            self._piece, self._at = Piece.empty(self._stream.place), 0
            self._is_lost = self._stream.has_ended
        return passed

    def _skip_held(self, count: int) -> int:
        passed = min(count, self._piece.count - self._at)
        self._at += passed
        return passed

    def get_state(self) -> State:
        """Return offset and number of the next record, and whether what follows is lost."""
        offset, record = self._piece.place(self._at)
        is_lost = self._is_lost or self._at > len(self._piece.records)
        return {"offset": offset, "record": record, "lost": is_lost}

    def set_state(self, state: State) -> None:
        """Go to a position; called on a file that was not read."""
        self._stream.seek(state["offset"], state["record"])
        self._piece = Piece.empty(self._stream.place)
        self._is_lost = state["lost"]
        if self._is_lost:
            self._stream.close()

    def close(self, *, wait: bool = True) -> None:
        """Close the file, after what is being read ahead.

        Args:
            wait: Whether to wait for that.
        """
        if self._queue is not None:
            self._queue.stop(wait)
        if self._queue is None or not self._queue.has_begun:
            self._stream.close()


def _one_piece(_: Piece) -> int:
    return 1


def as_block(records: list[bytes]) -> Columns:
    """Return byte strings as elements."""
    # Filled afterwards: `np.array` of byte strings would make a fixed-width array and drop trailing zeros.
    column = np.empty(len(records), object)
    column[:] = records
    return Columns([column], len(records))
