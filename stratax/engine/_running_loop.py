"""What hooks see of the loop that calls them; for annotations alone (engine layer)."""

from collections.abc import Callable
from typing import Any, Protocol

from stratax.distribute import Strategy


class RunningLoop(Protocol):
    """A `StepLoop`, as its hooks see it.

    Attributes:
        strategy: The strategy.
        program: Runs steps.
        step: The global step.
        passes: How many passes over the input have come to their end.
        was_stopped: Whether the last run ended because a worker asked for it.
    """

    strategy: Strategy
    program: Callable[[int, Any], Any]
    step: int
    passes: int
    was_stopped: bool

    def request_stop(self) -> None:
        """Ask all workers to end the loop, a few steps later at most; does nothing where it is not running."""

    def get_state(self) -> dict[str, Any]:
        """Return the global step and this worker's position in the input, as JSON can hold it."""

    def set_state(self, state: dict[str, Any]) -> None:
        """Go on from a saved state."""
