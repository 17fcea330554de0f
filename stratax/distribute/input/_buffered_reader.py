"""Steps that can be looked at before they are taken, and that are read ahead where that pays (distribute layer)."""

import collections
import contextlib
import dataclasses
import functools
import math
import queue
import threading
import time
import warnings
import weakref
from typing import Any

import jax
import numpy as np

from stratax import errors
from stratax.distribute.input._readers import (
    PLACE_SECONDS,
    STEPS_AT_ONCE,
    Block,
    Kind,
    Place,
    Reader,
    Waiting,
    known_place,
    noted_place,
)

_SLOW_SECONDS = 0.0005
_POLL_SECONDS = 0.1
_CLOSE_SECONDS = 5.0


class BufferedReader:
    """A reader whose coming steps can be looked at before they are taken, and that reads ahead if that pays.

    Args:
        reader: The pass.
        ahead: How many blocks are read ahead, in a thread, once the source has turned out to be slow.
        waiting: The block in which the program waits.
    """

    def __init__(self, reader: Reader, ahead: int, waiting: Waiting) -> None:
        self._reader = reader
        self._waiting = waiting
        self._placing = _placing(reader)
        self._place: Place | errors.DataError | None = None
        self._since = 0
        self._ahead = ahead
        self._blocks: collections.deque[Block] = collections.deque()
        self._count = 0
        self._fetches = 0
        self._thread: _ReadAhead | None = None
        self._taken = 0
        self._limit = _Limit()
        self._closed = False
        self.wait_seconds = 0.0

    def runs(self, skip: int, count: int) -> list[tuple[Any, int]]:
        """See `Stream.peek_runs`."""
        if skip == 0 and self._blocks and self._blocks[0].count >= count:
            return [(_structure(self._blocks[0].key()), count)]
        self._fill(skip + count, hint=count)
        runs: list[tuple[Any, int]] = []
        for block in self._blocks:
            begin = min(skip, block.count)
            skip -= begin
            length = min(block.count - begin, count)
            count -= length
            if length:
                _extend(runs, _structure(block.key()), length)
        return runs

    def place(self) -> Place:
        """The place behind the steps that were taken: one noted before, and how many steps were taken since."""
        place = self._reader.place() if self._place is None else known_place(self._place)
        return {"place": place, "steps": self._since}

    def limit_ahead(self, steps: float) -> None:
        """Read no more than so many steps ahead of those that were taken, unless they are asked for.

        Args:
            steps: How many; infinity for no limit.
        """
        self._limit.set(self._taken + steps)

    @property
    def ready(self) -> int:
        """How many steps have been read and not taken."""
        return self._count

    def global_structure(self) -> Any:
        """The structure of the next step with the replicas' parts put together again."""
        block = self._blocks[0]
        skip = 2 if block.kind is Kind.SPREAD else 1
        lead = block.leaves[0].shape[1] * block.processes if block.kind is Kind.SPREAD else 1
        leaves = [
            jax.ShapeDtypeStruct((lead * leaf.shape[skip], *leaf.shape[skip + 1 :]), leaf.dtype)
            for leaf in block.leaves
        ]
        return jax.tree.unflatten(block.treedef, leaves)

    def take_one(self) -> Block:
        """Takes one step, without a leading dimension that counts steps."""
        self._fill(1, hint=1)
        block = self._blocks[0]
        self._drop(1)
        return dataclasses.replace(block, leaves=[leaf[0] for leaf in block.leaves], count=1)

    def runs_up_to(self, skip: int, count: int) -> list[tuple[Any, int]]:
        """See `Stream.peek_up_to`."""
        try:
            return self.runs(skip, count)
        except errors.OutOfRangeError:
            left = min(count, self._count - skip)
            return self.runs(skip, left) if left > 0 else []

    def take(self, count: int, capacity: int) -> Block:
        """Takes `count` steps of one structure, padded to `capacity`."""
        block = self.block(0, count, capacity)
        self.drop(count)
        return block

    def block(self, skip: int, count: int, capacity: int) -> Block:
        """`count` steps of one structure behind the next `skip`, padded to `capacity`; they stay."""
        self._fill(skip + count, hint=count)
        parts: list[Block] = []
        for block in self._blocks:
            begin = min(skip, block.count)
            skip -= begin
            length = min(count, block.count - begin)
            count -= length
            if length:
                parts.append(block if length == block.count else block.part(begin, begin + length))
        taken = sum(part.count for part in parts)
        padding = [
            np.broadcast_to(leaf[-1:], (capacity - taken, *leaf.shape[1:])) for leaf in parts[-1].leaves
        ]
        if len(parts) == 1 and taken == capacity:
            return parts[0]
        columns = zip(*[part.leaves for part in parts], padding, strict=True)
        return dataclasses.replace(
            parts[0], leaves=[np.concatenate(column) for column in columns], count=capacity
        )

    def drop(self, steps: int) -> None:
        """Passes over steps."""
        while steps:
            self._fill(1, hint=min(steps, STEPS_AT_ONCE))
            length = min(steps, self._blocks[0].count)
            self._drop(length)
            steps -= length

    def close(self) -> None:
        """Stops the thread, if there is one, and closes the source; what was read ahead is dropped."""
        self._closed = True
        self._blocks.clear()
        self._count = 0
        if self._thread is not None:
            self._thread.close()  # It closes the source itself: nobody else may while it reads.
        else:
            self._reader.close()

    def _drop(self, length: int) -> None:
        block = self._blocks.popleft()
        self._count -= length
        if block.before is not None:
            self._place, self._since = block.before, 0
        self._since += length
        self._taken += length
        if length < block.count:
            self._blocks.appendleft(block.part(length, block.count))

    def _fill(self, count: int, hint: int) -> None:
        if self._closed:
            raise errors.DataError(
                "An iterator of a distributed dataset was used after close(). Make a new one with `iter(dataset)`."
            )
        self._limit.raise_to(self._taken + count)
        while self._count < count:
            started = time.perf_counter()
            try:
                block = self._next_block(max(hint, count - self._count))
            except StopIteration:
                raise errors.OutOfRangeError(
                    f"The input ran out: {count} more elements were asked for and {self._count} are left. Nothing was "
                    "run. Add `.repeat()` to the dataset, or take fewer steps."
                ) from None
            self.wait_seconds += time.perf_counter() - started
            if self._place is None:
                self._place = block.before
            self._blocks.append(block)
            self._count += block.count

    def _next_block(self, count: int) -> Block:
        if self._thread is not None:
            return self._thread.next_block(count)
        started = time.perf_counter()
        with self._waiting(False):
            block = self._placing.next_block(count)
        # The first fetches pay for opening the source, so they say nothing about the others.
        self._fetches += 1
        if self._fetches > 2 and time.perf_counter() - started > _SLOW_SECONDS:
            read = self._taken + self._count + block.count
            self._thread = _ReadAhead(self._placing, count, self._ahead, self._waiting, self._limit, read)
            # Not the thread's own method: with it would stay the error that ended the pass, with all its frames.
            weakref.finalize(self, _stop_reading, self._thread.stopped, self._placing)
        return block


def _placing(reader: Reader) -> "_Placing":
    if reader.notes_places:
        return _Placing(reader)
    every = reader.steps_between_places
    return _PlacingByClock(reader) if every is None else _PlacingBySteps(reader, every)


class _Placing:
    """A reader whose blocks say, now and then, where it was before them; this one's do so by themselves."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    def next_block(self, count: int) -> Block:
        """The reader's next block."""
        return self._reader.next_block(count)

    def _noted_block(self, count: int) -> Block:
        before = noted_place(self._reader)
        return dataclasses.replace(self._reader.next_block(count), before=before)

    @property
    def waits_for_others(self) -> bool:
        """Whether the reader does."""
        return self._reader.waits_for_others

    def close(self) -> None:
        """Closes the reader."""
        self._reader.close()

    def interrupt(self) -> None:
        """Ends a wait of the reader in another thread."""
        self._reader.interrupt()


class _PlacingByClock(_Placing):
    """Notes a place when some time has passed: of one process, whose places are compared with nobody's."""

    def __init__(self, reader: Reader) -> None:
        super().__init__(reader)
        self._noted = -math.inf

    def next_block(self, count: int) -> Block:
        now = time.perf_counter()
        if now - self._noted < PLACE_SECONDS:
            return self._reader.next_block(count)
        self._noted = now
        return self._noted_block(count)


class _PlacingBySteps(_Placing):
    """Notes a place before every so many steps, counted from where the pass began: the same ones in all workers."""

    def __init__(self, reader: Reader, every: int) -> None:
        super().__init__(reader)
        self._every = every
        self._since = 0

    def next_block(self, count: int) -> Block:
        # No block goes on past a step before which a place is due: how long blocks are differs between workers.
        count = min(count, self._every - self._since)
        block = self._noted_block(count) if self._since == 0 else self._reader.next_block(count)
        self._since = (self._since + block.count) % self._every
        return block


class _Limit:
    """Up to which step of a pass a thread may read; there is none at first."""

    def __init__(self) -> None:
        self._steps = math.inf
        self._changed = threading.Condition()

    def set(self, steps: float) -> None:
        """Let the thread read the first `steps` steps of the pass."""
        with self._changed:
            self._steps = steps
            self._changed.notify_all()

    def raise_to(self, steps: float) -> None:
        """Let the thread read at least so many."""
        if self._steps < steps:
            self.set(steps)

    def room(self, read: int, count: int, stopped: threading.Event) -> int:
        """Wait until a step may be read behind `read` steps.

        Returns:
            How many may be, at most `count`; 0 if the thread is to stop.
        """
        with self._changed:
            while self._steps <= read and not stopped.is_set():
                self._changed.wait(_POLL_SECONDS)
            return 0 if stopped.is_set() else int(min(count, self._steps - read))


class _ReadAhead:
    """Reads blocks in a thread, at most `size` ahead, and not beyond a limit."""

    def __init__(
        self, reader: _Placing, count: int, size: int, waiting: Waiting, limit: _Limit, read: int
    ) -> None:
        self._reader = reader
        self._waiting = waiting
        self._queue: queue.Queue[Block | BaseException] = queue.Queue(maxsize=size)
        self.stopped = threading.Event()
        self._ended: BaseException | None = None
        self._thread = threading.Thread(
            target=_read_ahead,
            args=(reader, count, self._queue, self.stopped, limit, read),
            name="stratax-input",
            daemon=True,
        )
        self._thread.start()

    def next_block(self, count: int) -> Block:
        """The next block; its size was settled when the thread was started."""
        if self._ended is not None:
            raise self._ended
        item = self._get()
        if isinstance(item, BaseException):
            self._ended = item
            raise item
        return item

    def stop(self) -> None:
        """Tells the thread to stop after the block it is reading, and to close the source."""
        _stop_reading(self.stopped, self._reader)

    def close(self) -> None:
        """Stops the thread and waits for it, but not for ever: a source may be stuck."""
        self.stop()
        self._thread.join(_CLOSE_SECONDS)
        if self._thread.is_alive():
            warnings.warn(
                f"The input of an iterator that was closed did not end within {_CLOSE_SECONDS:.0f} s; its thread "
                "stays until the source gives its next element.",
                RuntimeWarning,
                stacklevel=4,
            )

    def _get(self) -> Block | BaseException:
        while True:
            for_others = self._reader.waits_for_others
            with self._waiting(for_others):
                while self._reader.waits_for_others == for_others:
                    with contextlib.suppress(queue.Empty):
                        return self._queue.get(timeout=_POLL_SECONDS)
                    if not self._thread.is_alive() and self._queue.empty():
                        return errors.DataError("The thread that reads input ended without saying why.")


def _stop_reading(stopped: threading.Event, reader: _Placing) -> None:
    stopped.set()
    reader.interrupt()


def _read_ahead(
    reader: _Placing, count: int, blocks: Any, stop: threading.Event, limit: _Limit, read: int
) -> None:
    ended = False
    while not ended and (wanted := limit.room(read, count, stop)):
        item: Block | BaseException
        try:
            item = reader.next_block(wanted)
            read += item.count
        except BaseException as error:  # Everything goes to the thread that takes the blocks.
            item, ended = error, True
        while not stop.is_set():
            try:
                blocks.put(item, timeout=_POLL_SECONDS)
                break
            except queue.Full:
                continue
    reader.close()


@functools.lru_cache(maxsize=256)
def _structure(key: Any) -> Any:
    kind, treedef, types = key
    leaves = [jax.ShapeDtypeStruct(shape, jax.dtypes.canonicalize_dtype(dtype)) for shape, dtype in types]
    return Block(leaves, treedef, 0, kind).wrap(leaves)


def _extend(runs: list[tuple[Any, int]], structure: Any, length: int) -> None:
    if runs and runs[-1][0] is structure:
        runs[-1] = (structure, runs[-1][1] + length)
    else:
        runs.append((structure, length))
