"""What the nodes of a plan share while one iterator runs (data layer)."""

import contextlib
import threading
from collections.abc import Callable
from concurrent.futures import CancelledError
from typing import TYPE_CHECKING, Any

import numpy as np

from stratax.base.threads import Threads
from stratax.errors import DataError

if TYPE_CHECKING:
    from stratax.data.records import Origins

# Which pass of the `repeat`s above an element belongs to: one number for all of them, or one each (uint64).
Passes = int | np.ndarray


class PlanRun:
    """What the nodes of a plan share while one iterator runs over it.

    Args:
        iteration: How many times the Dataset was iterated before; part of the key of every reshuffled order.
        seeds: Seeds that take the place of the nodes' own, by the identity of their :class:`Order`.
        max_threads: Upper limit of the threads in all its pools, `None` for none.

    Attributes:
        num_ignored: How many elements `ignore_errors` has left out.
        placeless: Why no position can be saved, from each source that was opened and has none.
    """

    def __init__(
        self, iteration: int = 0, seeds: dict[int, int] | None = None, max_threads: int | None = None
    ) -> None:
        self.iteration = iteration
        self.seeds = dict(seeds or {})
        self.memo: dict[Any, Any] = {}
        self.num_ignored = 0
        self.placeless: list[DataError] = []
        self._origins: list[Origins] = []
        self._max_threads = max_threads
        self._pools: dict[int, Threads] = {}
        self._num_threads = 0
        # Reentrant: a thread that holds it may be the one that finds the iterator forgotten, and closes.
        self._lock = threading.RLock()
        self._is_closed = False
        self._closers: list[Callable[[bool], Any]] = []

    def child(self, iteration: int) -> "PlanRun":
        """Make a run over a part of the plan that keeps an iteration of its own."""
        run = PlanRun(iteration, self.seeds, self._max_threads)
        # Shared lists: what the part finds out must be visible to the whole.
        run.placeless = self.placeless
        run._origins = self._origins
        return run

    @property
    def origins(self) -> "Origins":
        """Where the last records stand in their files."""
        # When it is asked for first: most plans read no records. Of two threads that do so the second one's is dropped.
        if not self._origins:
            from stratax.data.records import Origins

            self._origins.append(Origins())
        return self._origins[0]

    @property
    def is_closed(self) -> bool:
        """Whether the iterator was closed: nobody waits for what is still being made."""
        return self._is_closed

    def pool(self, threads: int, owner: object) -> Threads:
        """Return threads for one step of the plan, started at its first use.

        Args:
            threads: How many.
            owner: The step. Where the upper limit leaves no thread for it, it shares those of another.
        """
        with self._lock:
            if self._is_closed:
                # A background thread that has not noticed yet; nobody waits for what it makes.
                raise CancelledError
            if id(owner) not in self._pools:
                self._pools[id(owner)] = self._new_pool(threads)
            return self._pools[id(owner)]

    def _new_pool(self, threads: int) -> Threads:
        if self._max_threads is not None:
            threads = min(threads, self._max_threads - self._num_threads)
            # No threads are left: the step shares those of the step that got its own last.
            if threads < 1 and self._pools:
                return next(reversed(self._pools.values()))
        self._num_threads += max(1, threads)
        return Threads(max(1, threads), "stratax-map")

    def on_close(self, closer: Callable[[bool], Any]) -> None:
        """Have `closer(wait)` called when the iterator is closed; raise CancelledError if it is."""
        with self._lock:
            if self._is_closed:
                raise CancelledError
            self._closers.append(closer)

    def forget(self, closer: Callable[[bool], Any]) -> None:
        """Remove a closer that :meth:`on_close` added."""
        with self._lock, contextlib.suppress(ValueError):
            self._closers.remove(closer)

    def close(self, wait: bool = True) -> None:
        """End every thread that was started for this iterator; wait for it unless told otherwise."""
        with self._lock:
            self._is_closed = True
        # Outside of the lock, newest first: a closer waits for a thread, which may need the lock to end.
        while self._closers:
            self._closers.pop()(wait)
        while self._pools:
            self._pools.popitem()[1].shutdown(wait=wait, cancel_futures=True)
