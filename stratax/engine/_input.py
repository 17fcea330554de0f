"""Input of a run of training, evaluation or prediction: its passes, and where it goes on (engine layer)."""

import time
import warnings
from typing import Any

from stratax import errors
from stratax.base.callers import stack_level
from stratax.base.shown import shown
from stratax.core import OutOfRangeError
from stratax.data import Dataset
from stratax.distribute import DistributedDataset, Strategy
from stratax.engine._passes import DatasetPasses, NumberedPasses, StepIterator
from stratax.engine._resumption import Resumption, open_resumed, random_before

# The share of the time spent waiting for input from which on the input is what bounds the speed.
_INPUT_BOUND = 0.25
# Short runs wait mostly for their first batch.
_WORTH_A_WARNING_SECONDS = 0.5


class StepInput:
    """Input of a strategy in passes of steps, which are numbered where the input allows it and can be gone on with.

    An *epoch* is a pass, or, where it has a number of steps, that many steps of passes that span epochs.

    Args:
        strategy: The strategy.
        dataset: The distributed dataset.
        steps_in_pass: How many steps a pass has, or None if unknown.

    Attributes:
        passes: The numbers of the passes, from when :meth:`begin_training` was called, or None.
        resumption: How an interrupted training goes on, until it does.
        notes_random: Whether to note the global random state before a pass whose order comes from it.
        random_before_pass: What was noted.
        logs_before: What the last step logged before an interruption.
    """

    def __init__(
        self, strategy: Strategy, dataset: DistributedDataset, steps_in_pass: int | None = None
    ) -> None:
        self.strategy = strategy
        self.dataset = dataset
        self.steps_in_pass = steps_in_pass
        self._next: StepIterator | None = None
        self._opened: list[StepIterator] = []
        self._waited = 0.0
        self._started = time.perf_counter()
        self.passes: NumberedPasses | None = None
        self.resumption: Resumption | None = None
        self.notes_random = False
        self.random_before_pass: dict[str, Any] | None = None
        self.logs_before: dict[str, Any] = {}
        self._epoch = 0
        self._taken_before = 0
        self._steps_per_epoch: int | None = None
        self._steps_to_pass_over: list[int] = []

    @classmethod
    def of_dataset(cls, strategy: Strategy, dataset: object) -> "StepInput":
        """Make the input of a Dataset of global batches, or of a dataset that the strategy has distributed.

        Args:
            strategy: The strategy.
            dataset: A `stratax.data.Dataset`, an iterable of batches of arrays, or a `DistributedDataset`.

        Raises:
            StrategyError: Another strategy has distributed the dataset.
        """
        if isinstance(dataset, DistributedDataset):
            check_strategy(dataset, strategy)
            distributed, origin = dataset, None
        else:
            distributed, origin = strategy.experimental_distribute_dataset(dataset), dataset
        steps = int(distributed.cardinality())
        # Below zero the number of steps is unknown or infinite.
        made = cls(strategy, distributed, steps if steps >= 0 else None)
        source = distributed.source
        if isinstance(source, Dataset):
            made.passes = DatasetPasses(strategy, source, origin if isinstance(origin, Dataset) else source)
        return made

    def open(self) -> StepIterator:
        """Begin a pass; the one that :meth:`first_structure` looked into, if it has not begun."""
        # The pass that was looked into has read its first batch: a generator would lose it.
        iterator, self._next = self._next or self._new_pass(), None
        # Only one pass reads ahead at a time.
        self._close_passes()
        self._opened.append(iterator)
        return iterator

    def _new_pass(self) -> StepIterator:
        # Before the pass is opened, which may draw its order at once.
        if self.notes_random:
            self.random_before_pass = random_before(self)
        if self.passes is not None:
            self.passes.begin()
        return StepIterator(iter(self.dataset))

    @property
    def current(self) -> StepIterator | None:
        """The pass that was opened last."""
        return self._opened[-1] if self._opened else None

    @property
    def has_looked_ahead(self) -> bool:
        """Whether a pass was looked into that has not begun yet."""
        return self._next is not None

    def first_structure(self) -> Any:
        """Return the shapes and dtypes of the next pass's first global batch, as `jax.ShapeDtypeStruct`.

        Raises:
            DataError: The input has no batches.
        """
        try:
            return self._look_ahead()
        except (OutOfRangeError, StopIteration):
            raise errors.DataError(
                f"The input has no batches. Expected: at least one. Received: {shown(self.dataset)}."
            ) from None

    def open_ahead(self) -> None:
        """Open the next pass, of which nothing is read yet."""
        if self._next is None:
            self._next = self._new_pass()

    def _look_ahead(self) -> Any:
        self.open_ahead()
        return self._next.first_batch()  # type: ignore[union-attr]

    def begin_training(
        self, passes: NumberedPasses | None, initial_epoch: int, steps_per_epoch: int | None
    ) -> None:
        """Have the passes be those of the epochs from `initial_epoch` on.

        Epochs before it that this process has not trained on this input were trained by another: they are skipped.

        Args:
            passes: The numbers of the passes, or None where they have none.
            initial_epoch: The first epoch of the training.
            steps_per_epoch: How many steps each has; None: a pass.
        """
        self.passes = passes
        self._epoch, self._steps_per_epoch = initial_epoch, steps_per_epoch
        if self.passes is not None:
            self._skip(max(0, initial_epoch - self.passes.trained))

    def _skip(self, epochs: int) -> None:
        """Have the next epoch begin as if so many had been trained before it."""
        steps = self._steps_per_epoch
        if self.passes is None or epochs < 1:
            return
        if steps is None:
            self.passes.skip(epochs)
        elif self.steps_in_pass is None:
            # The length of a pass is unknown: every epoch is read up to its number of steps.
            self._steps_to_pass_over += [steps] * epochs
        else:
            passes, taken = _windows(epochs, steps, self.steps_in_pass)
            self.passes.skip(passes)
            self._steps_to_pass_over = [taken] if taken else []

    def skip_to(self, epoch: int) -> None:
        """Go on with an epoch of which nothing but its number is known."""
        if self.passes is not None and self._next is not None:
            # It was looked into to build the model, and is not the first pass then.
            self._next.close()
            self._next = None
            # Its number was used up by the look.
            self.passes.skip(-1)
        self._skip(epoch - self._epoch)
        self._epoch = epoch

    def resume(self, resumption: Resumption) -> None:
        """Have training go on from a saved position."""
        position, self.resumption = resumption.position, resumption
        # The pass that is gone on with is opened as the one before the saved next one.
        again = position["steps"] > 0
        if self.passes is not None and not self.passes.set_state(position["passes"], again=again):
            self.skip_to(resumption.epoch)
            return
        self._epoch, self._steps_to_pass_over = resumption.epoch, []
        if self.passes is not None and self._next is not None:
            # A generator is kept: it can't be begun anew, and is at its beginning.
            self._next.close()
            self._next = None

    @property
    def passes_span_epochs(self) -> bool:
        """Whether an epoch is a number of steps, and continues the pass of the epoch before it."""
        return self._steps_per_epoch is not None

    @property
    def steps_done(self) -> int:
        """How many steps of the epoch are done."""
        return 0 if self.current is None else self.current.steps_taken - self._taken_before

    def begin_epoch(self, iterator: StepIterator | None) -> tuple["StepIterator", int]:
        """Return the pass that an epoch of training begins or goes on with, and how many of its steps are done.

        Args:
            iterator: The pass that the epoch before has left, or None.
        """
        if self.passes is not None:
            self._epoch += 1
            self.passes.note_trained(self._epoch)
        # Passes that were trained by another process, where only reading tells how long they are.
        steps, self._steps_to_pass_over = self._steps_to_pass_over, []
        for count in steps:
            iterator = self._going_on(iterator)
            iterator.pass_over(count)
        resumption, self.resumption = self.resumption, None
        done = 0 if resumption is None else resumption.steps
        # At the beginning of a pass there is no position within one.
        if resumption is not None and resumption.position["steps"]:
            iterator = open_resumed(self, resumption)
        if iterator is None or not done:
            iterator = self._going_on(iterator)
        if resumption is not None:
            # Last: opening the input and passing over steps may draw random numbers.
            resumption.restore()
            self.logs_before = resumption.logs
        self._taken_before = iterator.steps_taken - done
        return iterator, done

    def _going_on(self, iterator: StepIterator | None) -> StepIterator:
        return self.open() if iterator is None or not iterator.available(1) else iterator

    def wait_share(self) -> float:
        """Return the share of the time since this input was made that was spent waiting for input, 0 to 1."""
        return self.wait_seconds() / max(time.perf_counter() - self._started, 1e-9)

    def warn_if_waiting(self, share: float) -> None:
        """Warn where a large part of the time was spent waiting for input.

        Args:
            share: What :meth:`wait_share` has given.
        """
        if share > _INPUT_BOUND and self.wait_seconds() > _WORTH_A_WARNING_SECONDS:
            warnings.warn(
                f"Training waited for its input {share:.0%} of the time. Make the pipeline faster "
                "(`map(num_parallel_calls=...)`, `cache()`, `prefetch()`), or the devices have nothing to do.",
                RuntimeWarning,
                stacklevel=stack_level(),
            )

    def wait_seconds(self) -> float:
        """Return how long the program has waited for input, in seconds."""
        waited = self._waited
        for iterator in self._opened:
            waited += iterator.wait_seconds
        return waited

    def _close_passes(self) -> None:
        for iterator in self._opened:
            # Kept, as a closed pass forgets.
            self._waited += iterator.wait_seconds
            iterator.close()
        self._opened.clear()

    def __enter__(self) -> "StepInput":
        return self

    def __exit__(self, *_: object) -> None:
        for iterator in [*self._opened, *([self._next] if self._next else [])]:
            iterator.close()


def _windows(epochs: int, steps_per_epoch: int, steps_in_pass: int) -> tuple[int, int]:
    """Return how many whole passes some epochs of so many steps take, and how many steps of the next one."""
    passes = taken = 0
    for _ in range(epochs):
        taken = min(taken + steps_per_epoch, steps_in_pass)
        if taken == steps_in_pass:
            # An epoch that finds too few steps ends with the pass.
            passes, taken = passes + 1, 0
    return passes, taken


def check_strategy(dataset: DistributedDataset, strategy: Strategy) -> None:
    """Raise an error where another strategy has distributed a dataset.

    Raises:
        StrategyError: It has.
    """
    if dataset.strategy is not strategy:
        raise errors.StrategyError(
            "A dataset that was distributed by one strategy was given to a model of another. Received: a "
            f"dataset of {shown(dataset.strategy)} for a model of {shown(strategy)}. Distribute it with the "
            "model's strategy."
        )
