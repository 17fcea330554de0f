"""Training steps of `fit` that workers run, for a strategy with parameter servers (parameter_servers layer)."""

import collections
import warnings
from typing import Any, Protocol, runtime_checkable

from stratax import engine
from stratax.base.callers import stack_level
from stratax.base.shown import shown
from stratax.core import OutOfRangeError
from stratax.distribute import Strategy
from stratax.distribute.strategies import ScheduledSteps
from stratax.errors import DataError, InternalError

# How many steps are scheduled ahead for each worker: one runs, one waits.
_AHEAD = 2


def coordinator_of(strategy: Strategy) -> Any:
    """Return the `ClusterCoordinator` of a strategy whose training steps are run by workers."""
    # Late: it needs an extra.
    from stratax.distribute import ClusterCoordinator, ParameterServerStrategy

    if not isinstance(strategy, ParameterServerStrategy):
        raise InternalError(f"There is no coordinator for {shown(strategy)}.")
    return ClusterCoordinator(strategy)


@runtime_checkable
class OfWorkers(Protocol):
    """In the place of a batch: each step takes the next one of the worker that runs it.

    Attributes:
        iterator: An iterator of each worker.
        has_ended: Set once a worker has no more batches.
    """

    iterator: Any
    has_ended: bool


class ScheduledProgram(ScheduledSteps):
    """Has workers run training steps, several at once.

    A dispatch returns before its steps have been run: what it gives are the results of a step that was.

    Args:
        strategy: The strategy.
        program: The steps.
    """

    def __init__(self, strategy: Strategy, program: engine.StepProgram) -> None:
        self._coordinator = coordinator_of(strategy)
        self._block = program.block
        self._block_of_next = _OfNext(program.block)
        self._running: collections.deque[Any] = collections.deque()
        self._last: Any = None
        self._source: OfWorkers | None = None

    def __call__(self, steps: int, element: object) -> Any:
        """Schedule so many steps; see `StepProgram`. Their batches may be `OfWorkers`."""
        if not isinstance(element, OfWorkers):
            for batch in engine.unstack_batches(steps, element):
                self._schedule(self._block, (1, batch))
            return self._last
        self._source = element
        try:
            for _ in range(steps):
                self._schedule(self._block_of_next, (element.iterator,))
        except OutOfRangeError:
            self._run_out(element)
        if self._last is None:
            raise DataError(
                "A worker's dataset has ended before the first step. Expected: a DatasetCreator whose dataset has "
                "steps_per_epoch batches. Received: none. Use .repeat() in its function."
            )
        return self._last

    def _schedule(self, block: object, args: tuple[Any, ...]) -> None:
        self._running.append(self._coordinator.schedule(block, args=args))
        # Batches wait in memory, and callbacks want results that are not too old.
        while len(self._running) > _AHEAD * self._coordinator.num_workers or self._last is None:
            self._last = self._running.popleft().get()

    def _run_out(self, source: OfWorkers) -> None:
        """Note that a worker has no more batches; what others have begun is waited for."""
        source.has_ended = True
        self._running.clear()
        self._coordinator.cancel()

    def settle(self) -> None:
        """Wait until all steps have been run."""
        source, self._source = self._source, None
        try:
            self._coordinator.join()
        except OutOfRangeError:
            if source is None:
                raise
            self._run_out(source)
            warnings.warn(
                "A worker's dataset ran out of data, and the last steps of the epoch were not made. Use .repeat() in "
                "the function of the DatasetCreator.",
                UserWarning,
                stacklevel=stack_level(),
            )
        self._running.clear()
        self._last = None

    def cancel(self) -> None:
        """Give up the steps that have been scheduled: training has failed, or was interrupted."""
        self._running.clear()
        self._last = None
        self._source = None
        self._coordinator.cancel()


class _OfNext:
    """A step that takes its batch of an iterator; no closure, as what those hold is compared on every call."""

    def __init__(self, block: Any) -> None:
        self._block = block
        self.__name__ = self.__qualname__ = block.__name__

    def __call__(self, iterator: Any) -> Any:
        return self._block(1, next(iterator))
