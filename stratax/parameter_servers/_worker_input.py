"""Batches that workers read for themselves, under a strategy with parameter servers (parameter_servers layer).

The chief schedules steps and sees none of the batches: each step takes the next one of the worker that runs it.
"""

import functools
from typing import Any

from stratax import errors
from stratax.base.shown import shown
from stratax.distribute import Strategy
from stratax.engine import StepIterator
from stratax.keras import DatasetCreator
from stratax.keras.input import StepAdapter
from stratax.parameter_servers._scheduled import coordinator_of


class WorkerInput(StepAdapter):
    """What a `DatasetCreator` gives: a dataset of each worker.

    Args:
        strategy: A strategy whose training steps are run by workers.
        creator: Makes the datasets.
        class_weight: None, as the batches are not here.

    Raises:
        BadArgumentError: If there is a class weight.
    """

    def __init__(self, strategy: Strategy, creator: DatasetCreator, class_weight: object) -> None:
        if class_weight is not None:
            raise errors.BadArgumentError(
                "class_weight can't be used with a DatasetCreator. Expected: sample weights as the third component of "
                f"its dataset's elements. Received: class_weight={shown(class_weight)}."
            )
        super().__init__(strategy, _OnWorkers(), None)  # type: ignore[arg-type]
        self._coordinator = coordinator_of(strategy)
        make = functools.partial(
            strategy.distribute_datasets_from_function, creator.dataset_fn, creator.input_options
        )
        self._datasets = self._coordinator.create_per_worker_dataset(make)

    def number_passes(self, model: object) -> None:
        """Return None: workers that come and go have no common numbers of passes."""
        del model

    def _new_pass(self) -> "WorkerSteps":
        return WorkerSteps(self._coordinator, iter(self._datasets))


class WorkerSteps(StepIterator):
    """Steps of which each takes the next batch of the worker that runs it.

    Args:
        coordinator: Has workers run them.
        iterator: An iterator of each worker.

    Attributes:
        iterator: The same.
        has_ended: Whether a worker has had no more batches.
    """

    def __init__(self, coordinator: Any, iterator: Any) -> None:
        self._coordinator = coordinator
        self.iterator = iterator
        self.pending = 0
        self.steps_taken = 0
        self.has_ended = False

    def available(self, count: int) -> int:
        self.pending = 0 if self.has_ended else count
        return self.pending

    def take_pending(self) -> tuple[int, "WorkerSteps"]:
        self.steps_taken += self.pending
        return self.pending, self

    def limit_ahead(self, steps: float) -> None:
        del steps

    def pass_over(self, steps: int) -> None:
        """Count steps that were made before: workers begin their datasets anew."""
        self.steps_taken += steps

    def get_state(self) -> dict[str, Any]:
        return {}

    def set_state(self, state: dict[str, Any], steps_taken: int) -> None:
        del state
        self.steps_taken = steps_taken

    @property
    def wait_seconds(self) -> float:
        return 0.0

    def first_batch(self) -> Any:
        return self._coordinator.element_of(self.iterator).get()

    def close(self) -> None:
        pass


class _OnWorkers:
    """In the place of a dataset."""

    def __repr__(self) -> str:
        return "<the datasets that a DatasetCreator has made in workers>"
