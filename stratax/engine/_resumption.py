"""How training that was interrupted goes on in its input (engine layer)."""

import dataclasses
import warnings
from collections.abc import Callable
from typing import Any, Protocol

from stratax import errors
from stratax.base.callers import stack_level
from stratax.checkpoint import random_state, set_random_state
from stratax.engine._passes import NumberedPasses, StepIterator


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Resumption:
    """Where training continues, and what is restored once its input is open.

    Attributes:
        position: What :meth:`InputPosition.get_state` returned.
        epoch: The epoch.
        steps: How many of its steps are done.
        logs: What the last of them logged.
        restore: Restores what beginning an epoch has changed.
    """

    position: dict[str, Any]
    epoch: int
    steps: int
    logs: dict[str, Any]
    restore: Callable[[], None]


class PassedInput(Protocol):
    """Input in passes, such as a `StepInput`.

    Attributes:
        passes: The numbers of the passes, or None.
        random_before_pass: The global random state before the pass that is open, if its order comes from that.
    """

    passes: NumberedPasses | None
    random_before_pass: dict[str, Any] | None

    @property
    def current(self) -> StepIterator | None:
        """The pass that is open."""

    def open(self) -> StepIterator:
        """Open a pass over the input."""


class InputPosition:
    """Where a training run is in its input, for a backup.

    Args:
        steps: The input.
    """

    def __init__(self, steps: PassedInput) -> None:
        self._input = steps
        self._has_warned = False

    def get_state(self, *, within_pass: bool) -> dict[str, Any]:
        """Return the position, as JSON can hold it.

        Args:
            within_pass: Whether the pass that is open goes on; else the next step begins another.
        """
        steps = self._input
        state: dict[str, Any] = {
            "passes": None if steps.passes is None else steps.passes.get_state(),
            "random": steps.random_before_pass,
            "steps": 0,
            "iterator": None,
        }
        iterator = steps.current
        if within_pass and iterator is not None:
            # Kept even with a position: the number of the step decides about schedules and logs.
            state["steps"] = iterator.steps_taken
            try:
                state["iterator"] = iterator.get_state()
            # Input without positions, such as a generator: the number of steps has to do.
            except errors.DataError as error:
                self._warn(error)
        return state

    def _warn(self, error: errors.DataError) -> None:
        if not self._has_warned:
            self._has_warned = True
            warnings.warn(
                "The backup holds how many batches of this input were used, and not the position in it. Training that "
                "is resumed reads as many anew and passes over them, which is right where the input gives the same "
                f"batches in every run. ({error})",
                RuntimeWarning,
                stacklevel=stack_level(),
            )


def open_resumed(steps: PassedInput, resumption: Resumption) -> StepIterator:
    """Open a pass behind the steps that were taken of it.

    Args:
        steps: The input.
        resumption: How it goes on.
    """
    position = resumption.position
    if position["iterator"] is None and position["random"] is not None:
        # What the input shuffles with comes from the global generators.
        set_random_state(position["random"])
    iterator = steps.open()
    if position["iterator"] is not None:
        iterator.set_state(position["iterator"], position["steps"])
    else:
        # Without a position: as many batches as were used are read and dropped.
        iterator.pass_over(position["steps"])
    return iterator


def random_before(steps: PassedInput) -> dict[str, Any] | None:
    """Return the global random state before a pass whose order comes from it, as JSON can hold it."""
    # A Dataset's order depends on its seeds alone, other input's on the global generators.
    return random_state() if steps.passes is None else None
