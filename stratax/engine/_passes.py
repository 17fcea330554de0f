"""Which pass over its input an epoch of training reads (engine layer).

The order of an epoch is a function of seeds and the epoch's number, so that training that begins with epoch e, in
another process, reads what an undisturbed one reads in epoch e.
"""

import abc
from typing import Any

import numpy as np

from stratax.data import Dataset
from stratax.data.dataset import Passes, count_as, count_epochs_trained, count_of_passes, note_epochs_trained
from stratax.distribute import Strategy


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
