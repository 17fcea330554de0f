"""Passes over the input: which one an epoch of training reads, and one as the steps that programs run (engine layer).

The order of an epoch is a function of seeds and the epoch's number, so that training that begins with epoch e, in
another process, reads what an undisturbed one reads in epoch e.
"""

import abc
from typing import Any

import numpy as np

from stratax.core import OutOfRangeError
from stratax.data import Dataset
from stratax.data.dataset import Passes, count_as, count_epochs_trained, count_of_passes, note_epochs_trained
from stratax.distribute import DistributedIterator, Strategy
from stratax.distribute.input import limit_ahead, take_for_program

# At a time, as this many are held in memory.
_STEPS_PASSED_OVER = 64


class NumberedPasses(abc.ABC):
    """Give the passes that one training run reads, by their numbers."""

    # For how many epochs, counted from the first one, this process has used the input already.
    trained = 0

    @abc.abstractmethod
    def begin(self) -> None:
        """Have the next iteration read the next pass."""

    @abc.abstractmethod
    def skip(self, passes: int) -> None:
        """Go on behind some passes."""

    @abc.abstractmethod
    def note_trained(self, epochs: int) -> None:
        """Note for how many epochs, counted from the first one, the input has been used."""

    @abc.abstractmethod
    def get_state(self) -> dict[str, Any]:
        """Return what identifies the next pass, as JSON can hold it."""

    @abc.abstractmethod
    def set_state(self, state: dict[str, Any] | None, *, again: bool) -> bool:
        """Go on with the pass of a saved state; return False where that is of another kind of input.

        Args:
            state: What :meth:`get_state` returned; None of input whose passes have no numbers.
            again: Whether to go on with the one before it.
        """


class DatasetPasses(NumberedPasses):
    """Passes over a Dataset.

    Args:
        strategy: The strategy.
        dataset: What is iterated: the user's Dataset, or this worker's part of it.
        origin: The user's Dataset, which counts its passes in this process.
    """

    def __init__(self, strategy: Strategy, dataset: Dataset, origin: Dataset) -> None:
        # A worker may have looked at its Dataset by itself, and all have to read parts of one order.
        (counts,) = strategy.extended.membership.agree(
            [np.asarray([count_of_passes(origin), count_epochs_trained(origin)])]
        )
        upcoming, self.trained = map(int, counts)
        self._origin = origin
        self._passes = Passes(dataset, upcoming)

    def begin(self) -> None:
        # First: where the user's Dataset is what is iterated, its count is what the pass is taken from.
        count_as(self._origin, self._passes.upcoming + 1)
        self._passes.begin()

    def skip(self, passes: int) -> None:
        self._passes.upcoming += passes

    def note_trained(self, epochs: int) -> None:
        note_epochs_trained(self._origin, epochs)

    def get_state(self) -> dict[str, Any]:
        return self._passes.get_state()

    def set_state(self, state: dict[str, Any] | None, *, again: bool) -> bool:
        if state is None or "upcoming" not in state:
            return False
        self._passes.set_state(state)
        # The saved next pass is the one after the one that is gone on with.
        self._passes.upcoming -= again
        return True


class StepIterator:
    """One pass over the input, in blocks of steps that one program runs.

    Args:
        iterator: The distributed iterator.

    Attributes:
        pending: How many steps :meth:`available` found.
        steps_taken: How many steps were taken, or passed over, since the pass began.
    """

    def __init__(self, iterator: DistributedIterator) -> None:
        self._iterator = iterator
        self.pending = 0
        self.steps_taken = 0

    def available(self, count: int) -> int:
        """Return how many of the next `count` steps one program can run: those of one shape. 0 at the end."""
        try:
            self.pending = self._iterator.peek_runs(0, count)[0][1]
        except OutOfRangeError:
            # Fewer than asked for are left: as many as have been read are all there are.
            left = self._iterator.steps_ready
            self.pending = self._iterator.peek_runs(0, left)[0][1] if left else 0
        return self.pending

    def take_pending(self) -> tuple[int, Any]:
        """Take the steps that :meth:`available` found: how many, and their batches (stacked if there are several)."""
        count = self.pending
        self.steps_taken += count
        if count == 1:
            return 1, take_for_program(self._iterator)
        # Without padding: a shorter block is a program of its own, for the last block of a pass.
        return count, self._iterator.take_block(count, count)

    def limit_ahead(self, steps: float) -> None:
        """Read no more than so many steps ahead; infinity for no limit."""
        limit_ahead(self._iterator, steps)

    def pass_over(self, steps: int) -> None:
        """Read steps and drop them; fewer at the end."""
        while steps > 0 and (count := self.available(min(steps, _STEPS_PASSED_OVER))):
            self._iterator.pass_over(count)
            self.steps_taken += count
            steps -= count

    def get_state(self) -> dict[str, Any]:
        """Return the position behind the steps that were taken; raise DataError where the input can't be put back."""
        return self._iterator.get_state()

    def set_state(self, state: dict[str, Any], steps_taken: int) -> None:
        """Go to a position, behind so many steps of the pass."""
        self._iterator.set_state(state)
        self.steps_taken = steps_taken

    @property
    def wait_seconds(self) -> float:
        """How long the program has waited for this pass's input, in seconds."""
        return self._iterator.input_wait_seconds

    def first_batch(self) -> Any:
        """Return the shapes and dtypes of the next global batch, as `jax.ShapeDtypeStruct`."""
        return self._iterator.global_structure()

    def close(self) -> None:
        """End the pass and let go of what reads its input ahead."""
        self._iterator.close()
