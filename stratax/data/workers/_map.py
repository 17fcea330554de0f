"""`map` in worker processes, for Python functions that hold the interpreter's lock (data layer)."""

import functools
import math
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from stratax.base.shown import shown
from stratax.data.elements import (
    AUTOTUNE,
    Block,
    Columns,
    ElementRows,
    Row,
    TensorSpec,
    concatenate_blocks,
    flatten,
)
from stratax.data.ops import AheadCursor, Map, Mapper
from stratax.data.plan import Node, OwnLock, Passes, PlanRun, as_count, check_callable, num_cores, pass_at
from stratax.data.position import Cursor
from stratax.data.records import Origins
from stratax.data.workers._pool import TASK_SECONDS, WorkerPool, pickle_task
from stratax.data.workers._task import TaskPart, WorkerTask
from stratax.errors import BadArgumentError, WorkerError

# One that a process works on, and one that it finds when it has done.
_TASKS_PER_PROCESS = 2
# At most how many elements are read ahead for each process.
_ROWS_AHEAD = 64
# At most how many bytes of results they make in all, unless that keeps processes idle.
_BYTES_AHEAD = 1 << 26


class WorkerMap(Map):
    """A function of every element, called in worker processes.

    Args:
        child: The node.
        function: The user's.
        num_processes: How many processes.
    """

    def __init__(self, child: Node, function: Callable[..., Any], num_processes: int) -> None:
        super().__init__(child, function, threads=1)
        self._num_processes = num_processes
        self._lock = OwnLock()

    @property
    def reads_ahead(self) -> int | None:
        """As many as keep the processes busy between one reading and the next, unless they are large."""
        specs = [] if self._mapper.spec is None else flatten(self._mapper.spec)[0]
        shaped = [spec for spec in specs if isinstance(spec, TensorSpec)]
        size = sum(math.prod(n or 1 for n in spec.shape or ()) * spec.dtype.itemsize for spec in shaped)
        # Fewer than `least` would leave processes idle, whatever the size of the results.
        least, most = self._num_processes * _TASKS_PER_PROCESS, self._num_processes * _ROWS_AHEAD
        return max(least, min(most, _BYTES_AHEAD // max(1, size)))

    def _pool(self, run: PlanRun) -> WorkerPool:
        """Return the processes of one iterator, which its end ends."""
        with self._lock:
            pool: WorkerPool | None = run.memo.get((WorkerMap, id(self)))
            if pool is None:
                payload = pickle_task(self._mapper.function, self.child.structure, self._mapper.name)
                pool = run.memo[WorkerMap, id(self)] = WorkerPool(
                    payload, self._num_processes, self._mapper.name
                )
                run.on_close(pool.close)
            return pool

    def gather(self, indices: np.ndarray, passes: Passes, run: PlanRun) -> Block:
        """Gather the function's results; wait for all of them."""
        block = self.child.gather(indices, passes, run)
        positions = indices.tolist()
        names = [self.name_of(run, pass_at(passes, i), position) for i, position in enumerate(positions)]
        return _make_block(self._pool(run), self._mapper, block, positions, names, run.origins)

    def stream(self, run: PlanRun, passes: int) -> Cursor:
        """Open a pass, in order; a bounded number of elements is under way."""
        child = self.child.open(run, passes)
        name_of = functools.partial(self.name_of, run, passes)
        return WorkerMapCursor(child, lambda: self._pool(run), self._mapper, name_of, run.origins)


def _make_block(
    pool: WorkerPool,
    mapper: Mapper,
    block: Block,
    positions: list[int],
    names: list[tuple[int, ...]],
    origins: Origins,
) -> Block:
    count = max(1, min(pool.rows_per_task, -(-block.count // (_TASKS_PER_PROCESS * pool.num_processes))))
    under_way = []
    for start in range(0, block.count, count):
        part = slice(start, min(start + count, block.count))
        task = WorkerTask(
            block=block.slice(part.start, part.stop), positions=positions[part], names=names[part]
        )
        under_way.append(_UnderWay(pool, task, origins))
    try:
        return _join_blocks([block for task in under_way for block in task.blocks(mapper)])
    finally:
        # After a failure the other tasks are of no use: they are taken back.
        for task_under_way in under_way:
            task_under_way.cancel()


def _join_blocks(blocks: Sequence[Block]) -> Block:
    """Join blocks into one, which ends with the first failure."""
    # The common case: equal shapes are joined column by column, without a look at single elements.
    if all(isinstance(block, Columns) and block.shapes == blocks[0].shapes for block in blocks):
        return concatenate_blocks(blocks)
    rows: list[Row] = []
    for block in blocks:
        failure = _failure_of(block)
        if failure is not None:
            return ElementRows(rows, failure)
        rows += [block.row(i) for i in range(block.count)]
    return ElementRows(rows)


def _failure_of(block: Block) -> BaseException | None:
    return block.failure if isinstance(block, ElementRows) else None


class _UnderWay:
    """A task that a worker has got."""

    def __init__(self, pool: WorkerPool, task: WorkerTask, origins: Origins) -> None:
        self._pool = pool
        self._task = task
        self._origins = origins
        self._future = pool.submit(task)
        self.count = task.block.count

    def is_done(self) -> bool:
        """Return whether :meth:`blocks` would not wait."""
        return self._future.done()

    def blocks(self, mapper: Mapper) -> list[Block]:
        """Wait for the results; elements that failed, or are not like those before them, are failures."""
        result = self._pool.result(self._future, self._task)
        self._note_origins(result.parts)
        return [block for part in result.parts for block in _check(part, mapper)]

    def _note_origins(self, parts: Sequence[TaskPart]) -> None:
        """Say of elements that failed which records they came from: a worker does not know."""
        index, noted = 0, None
        for part in parts:
            failure = _failure_of(part.block)
            if isinstance(failure, Exception) and failure is not noted:
                self._origins.tell(failure, self._task.block.row(index))
                noted = failure
            index += part.block.count

    def cancel(self) -> None:
        """Give up a task whose result is not needed."""
        self._pool.drop(self._future)


class _Failed:
    """An element that could not be read: takes the place of a task."""

    count = 1

    def __init__(self, failure: Exception) -> None:
        self._failure = failure

    def is_done(self) -> bool:
        return True

    def blocks(self, mapper: Mapper) -> list[Block]:
        return [ElementRows([], self._failure)]

    def cancel(self) -> None:
        """Cancel nothing, as nothing is under way."""


def _check(part: TaskPart, mapper: Mapper) -> list[Block]:
    if _failure_of(part.block) is None:
        try:
            mapper.check(part.block.row(0), flatten(part.template)[1])
        except Exception as e:
            return [ElementRows([], e)] * part.block.count
    return [part.block]


class WorkerMapCursor(AheadCursor):
    """Has some tasks under way in worker processes; the results come in order.

    Args:
        child: The stream.
        pool: The processes, asked for at the first reading.
        mapper: Compares results with those before them.
        name_of: What names the element at a position to a random function.
        origins: Where the last records stand in their files.
    """

    def __init__(
        self,
        child: Cursor,
        pool: Callable[[], WorkerPool],
        mapper: Mapper,
        name_of: Callable[[int], tuple[int, ...]],
        origins: Origins,
    ) -> None:
        super().__init__(child)
        self._pool = pool
        self._origins = origins
        self._mapper = mapper
        self._name_of = name_of
        self._under_way: deque[_UnderWay | _Failed] = deque()
        self._ready: deque[Block] = deque()

    def read(self, limit: int) -> Block:
        while not self._ready:
            self._refill()
            if not self._under_way:
                raise StopIteration
            self._ready.extend(self._under_way[0].blocks(self._mapper))
            self._under_way.popleft()
        block = self._ready.popleft()
        if block.count > limit:
            self._ready.appendleft(block.slice(limit, block.count))
            block = block.slice(0, limit)
        self._num_given += block.count
        failure = _failure_of(block)
        if failure is not None:
            raise failure
        return block

    def _refill(self) -> None:
        """Keep the processes busy; read no further where the oldest result is there and they are."""
        pool = self._pool()
        while not self._is_ended and len(self._under_way) < _TASKS_PER_PROCESS * pool.num_processes:
            if len(self._under_way) > pool.num_processes and self._under_way[0].is_done():
                return
            self._submit(pool)

    def _submit(self, pool: WorkerPool) -> None:
        """Have the next elements made: as many as make a task, or as come within the time that one takes."""
        blocks: list[Block] = []
        failure: Exception | None = None
        missing, until = pool.rows_per_task, time.monotonic() + TASK_SECONDS
        while missing > 0 and (not blocks or time.monotonic() < until):
            # Before each reading: behind it, the child's position is that of the next element.
            self._positions.mark(self._num_read + sum(block.count for block in blocks), self._num_given)
            try:
                blocks.append(self._child.read(missing))
            except StopIteration:
                self._is_ended = True
                break
            except Exception as e:
                failure = e
                break
            missing -= blocks[-1].count
        if blocks:
            self._under_way.append(_UnderWay(pool, self._task(_join_blocks(blocks)), self._origins))
        if failure is not None:
            self._under_way.append(_Failed(failure))
            self._num_read += 1
            self._positions.mark_failure(self._num_read, self._num_given)

    def _task(self, block: Block) -> WorkerTask:
        first = self._base + self._num_read
        self._num_read += block.count
        positions = range(first, first + block.count)
        return WorkerTask(block=block, positions=positions, names=[self._name_of(i) for i in positions])

    def skip(self, count: int) -> int:
        """Skip elements without calling the function, but for what is under way."""
        passed = 0
        while passed < count and (self._ready or self._under_way):
            passed += self._skip_held(count - passed)
        return passed + self._skip_unread(count - passed)

    def _skip_held(self, count: int) -> int:
        if not self._ready and self._under_way[0].count <= count:
            task = self._under_way.popleft()
            task.cancel()
            self._num_given += task.count
            return task.count
        try:
            return self.read(count).count
        except WorkerError:
            raise
        except Exception:
            return 1

    def close(self) -> None:
        """Forget what is under way; the processes end with the iterator."""
        for task in self._under_way:
            task.cancel()
        super().close()


def make_worker_map(
    node: Node, function: Callable[..., Any], num_parallel_calls: object, num_processes: object
) -> Node:
    """Make a `map` in worker processes."""
    check_callable("map_func", function, node)
    number = as_count("num_processes", num_processes, AUTOTUNE)
    if number == 0 or num_parallel_calls is not None:
        raise BadArgumentError(
            "num_processes is positive or AUTOTUNE, and takes the place of num_parallel_calls. "
            f"Received: num_processes={shown(num_processes)}, num_parallel_calls={shown(num_parallel_calls)}. "
            "Leave one out."
        )
    return WorkerMap(node, function, num_cores() if number == AUTOTUNE else number)
