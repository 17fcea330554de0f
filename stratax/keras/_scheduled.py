"""Training steps of `fit` that workers run, for a strategy with parameter servers (keras layer)."""

import collections
from typing import Any

from stratax import engine
from stratax._shown import shown
from stratax.distribute import Strategy
from stratax.distribute.strategies import StepByStep
from stratax.errors import InternalError

# How many steps are scheduled ahead for each worker: one runs, one waits.
_AHEAD = 2


def trains_on_workers(strategy: Strategy) -> bool:
    """Return whether a strategy's training steps are run by the workers of a cluster that this process coordinates."""
    execution = strategy.extended.execution
    return isinstance(execution, StepByStep) and execution.has_workers


class ScheduledProgram:
    """Has workers run training steps, several at once.

    A dispatch returns before its steps have been run: what it gives are the results of a step that was.

    Args:
        strategy: The strategy.
        program: The steps.
    """

    def __init__(self, strategy: Strategy, program: engine.StepProgram) -> None:
        # Late: it needs an extra.
        from stratax.distribute import ClusterCoordinator, ParameterServerStrategy

        if not isinstance(strategy, ParameterServerStrategy):
            raise InternalError(f"There is no coordinator for {shown(strategy)}.")
        self._coordinator = ClusterCoordinator(strategy)
        self._block = program.block
        self._running: collections.deque[Any] = collections.deque()
        self._last: Any = None

    def __call__(self, steps: int, element: Any) -> Any:
        """Schedule so many steps; see `StepProgram`."""
        for batch in engine.unstacked(steps, element):
            self._running.append(self._coordinator.schedule(self._block, args=(1, batch)))
            # Batches wait in memory, and callbacks want results that are not too old.
            while len(self._running) > _AHEAD * self._coordinator.num_workers or self._last is None:
                self._last = self._running.popleft().get()
        return self._last

    def settle(self) -> None:
        """Wait until all steps have been run."""
        self._coordinator.join()
        self._running.clear()
        self._last = None

    def cancel(self) -> None:
        """Give up the steps that have been scheduled: training has failed, or was interrupted."""
        self._running.clear()
        self._last = None
        self._coordinator.cancel()
