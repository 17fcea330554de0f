"""The worker processes of one iterator over a `map` (data layer).

What goes to a worker and comes back passes through pipes, but for large results (see `_worker_memory`).
"""

import dataclasses
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, wait
from typing import Any

import cloudpickle
from loky.process_executor import BrokenProcessPool, ShutdownExecutorError

from stratax.base.shown import shown
from stratax.base.tensors import has_tensors
from stratax.data.elements import Columns, Structure, unflatten
from stratax.data.workers._interrupts import workers_without_interrupts
from stratax.data.workers._memory import SMALLEST_BYTES, WorkerMemory, can_share
from stratax.data.workers._processes import reason_of_death, start_executor
from stratax.data.workers._task import Result, TaskPart, WorkerTask, is_ready, make, set_up
from stratax.errors import BadTypeError, WorkerError

# How long the first worker may take to start.
START_SECONDS = 120.0
# How long a task that is waited for may give nothing.
STALL_SECONDS = 900.0
# How often a wait looks whether the processes have started and still give something.
POLL_SECONDS = 1.0
# How long a task is meant to take: long beside its sending.
TASK_SECONDS = 0.02
# At most how many bytes of results a task is meant to make.
_TASK_BYTES = 1 << 23
_MOST_ROWS = 256


def pickle_task(function: Callable[..., Any], structure: Structure, name: str) -> bytes:
    """Pickle what a worker has to know, by cloudpickle.

    Raises:
        BadTypeError: The function holds something that can't be pickled.
    """
    template = unflatten(structure, range(structure.num_leaves))
    try:
        return bytes(cloudpickle.dumps((function, template, name, has_tensors())))
    except Exception as e:
        raise BadTypeError(
            f"{name} can't be sent to worker processes: {e}. Expected: a function whose variables can be pickled. "
            f"Received: map_func={shown(function)}. Open files and make locks in the function, or leave "
            "num_processes out."
        ) from e


class WorkerPool:
    """Some worker processes, started by the first task.

    Args:
        payload: What :func:`pickle_task` gave.
        num_processes: How many.
        name: How messages call the function.
    """

    def __init__(self, payload: bytes, num_processes: int, name: str) -> None:
        self._name = name
        self.num_processes = num_processes
        self._executor = start_executor(num_processes, set_up, payload)
        self._ready: Future[int] | None = None
        self._started = 0.0
        self._seconds: deque[float] = deque(maxlen=16)
        self._bytes = 0
        self._free: list[WorkerMemory] = []
        self._lent: dict[Future[Result], WorkerMemory] = {}
        self._num_memories = 0
        self._lock = threading.RLock()

    @property
    def rows_per_task(self) -> int:
        """How many elements make a task that takes long beside its sending; 1 while that is unknown."""
        if not self._seconds:
            return 1
        mean = sum(self._seconds) / len(self._seconds)
        in_time = TASK_SECONDS / max(mean, 1e-6)
        return int(max(1, min(in_time, _MOST_ROWS, _TASK_BYTES // max(1, self._bytes))))

    def submit(self, task: WorkerTask) -> "Future[Result]":
        """Have a worker make the elements of `task`."""
        try:
            if self._ready is None:
                self._started = time.monotonic()
                with workers_without_interrupts():
                    # The first task answers at once, which tells a slow start from a slow function.
                    self._ready = self._executor.submit(is_ready)
            memory = self._memory(task.block.count)
            location = None if memory is None else memory.location
            future = self._executor.submit(make, dataclasses.replace(task, location=location))
        except (BrokenProcessPool, ShutdownExecutorError) as e:
            raise self._death(task, e) from e
        if memory is not None:
            self._lent[future] = memory
        return future

    def _memory(self, count: int) -> WorkerMemory | None:
        """Return room for so many results, if they are large and how large is known."""
        needed = self._bytes * count
        if needed < SMALLEST_BYTES or not can_share():
            return None
        with self._lock:
            for memory in self._free:
                if needed <= memory.location.size:
                    self._free.remove(memory)
                    return memory
            # Nothing large enough is free.
            if self._free:
                # Too small: the results have grown.
                self._free.pop().close()
            self._num_memories += 1
            # The next power of two: results that grow a little still fit.
            return WorkerMemory(1 << (needed - 1).bit_length(), self._num_memories)

    def drop(self, future: "Future[Result]") -> None:
        """Drop a task whose result is not needed any more; it is not done if no worker has it yet."""
        future.cancel()
        # Not free yet: see the callback below.
        memory = self._lent.pop(future, None)
        if memory is not None:
            # A worker may be writing.
            future.add_done_callback(lambda _: self._free.append(memory))

    def result(self, future: "Future[Result]", task: WorkerTask) -> Result:
        """Return what became of a task; wait for it.

        Raises:
            WorkerError: A process died, none started in time, or nothing happens any more.
        """
        since = time.monotonic()
        # Polled, since a process that never starts would let a plain wait last for ever.
        while not wait([future], POLL_SECONDS).done:
            self._check_start()
            if time.monotonic() - since > STALL_SECONDS:
                raise WorkerError(
                    f"{self._name} gave nothing for {STALL_SECONDS:.0f} s in a worker process. Expected: results. "
                    f"Received: none for {_elements(task)}. See what the function waits for."
                )
        try:
            result = future.result()
        except (BrokenProcessPool, ShutdownExecutorError) as e:
            raise self._death(task, e) from e
        result = self._fetch(future, result)
        self._learn(task, result)
        return result

    def _fetch(self, future: "Future[Result]", result: Result) -> Result:
        memory = self._lent.pop(future, None)
        if memory is None:
            return result
        parts = [
            TaskPart(block=Columns(memory.fetch(part.block.leaves), part.block.count), template=part.template)
            if isinstance(part.block, Columns)
            else part
            for part in result.parts
        ]
        self._free.append(memory)
        return dataclasses.replace(result, parts=parts)

    def _check_start(self) -> None:
        has_started = self._ready is None or self._ready.done()
        if not has_started and time.monotonic() - self._started > START_SECONDS:
            raise WorkerError(
                f"No worker process started. Expected: one within {START_SECONDS:.0f} s. Received: none of "
                f"num_processes={shown(self.num_processes)}. See whether the machine has memory left, and what a new "
                "Python process imports."
            )

    def _learn(self, task: WorkerTask, result: Result) -> None:
        # A moving mean over the last tasks: functions become faster after their first calls.
        self._seconds.append(result.seconds / task.block.count)
        sizes = [
            leaf.nbytes
            for part in result.parts
            if isinstance(part.block, Columns)
            for leaf in part.block.leaves
        ]
        self._bytes = sum(sizes) // task.block.count

    def _death(self, task: WorkerTask, error: Exception) -> WorkerError:
        return WorkerError(
            f"A worker process of map died ({reason_of_death(error)}). Expected: it runs until the iterator is "
            f"closed. Received: {_elements(task)} of {self._name} were not made. It may have run out of memory, been "
            "ended from outside, or crashed in a library that the function uses."
        )

    def close(self, wait: bool = True) -> None:
        """End the processes, whatever they do."""
        # Killed, since a user's function may never return.
        self._executor.shutdown(wait=wait, kill_workers=True)
        with self._lock:
            # Not closed here: a worker that is being killed may still be writing.
            self._free.clear()
            self._lent.clear()


def _elements(task: WorkerTask) -> str:
    first, last = task.positions[0], task.positions[-1]
    return f"element {first}" if first == last else f"elements {first} to {last}"
