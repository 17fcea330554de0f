"""Training beside other tasks: variables on parameter servers, and a loop in each worker (estimator layer)."""

import contextlib
import logging
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, cast

from stratax.distribute import Strategy
from stratax.distribute.strategies import OneOfMany
from stratax.tensorflow.estimator._beginning import Start
from stratax.tensorflow.estimator._run_config import RunConfig

if TYPE_CHECKING:
    # They need an extra.
    from stratax.distribute.strategies import ParameterServerStrategyV1
    from stratax.parameter_servers.remote import Meeting

# How long the chief waits for the last steps of the workers before it saves the last checkpoint, in seconds.
_LAST_STEPS_SECONDS = 300.0
# How often a worker looks whether the chief wants it to end, in seconds.
_LOOK_SECONDS = 1.0
_logger = logging.getLogger("stratax")


class Side:
    """How one task of a training stands to the others.

    Args:
        start: What the training begins with.
        meeting: Where tasks meet; None for a training whose workers take every step together, or that has none.
        is_chief: Whether this task is the chief.
        gives_values: Whether it gives the variables their first values.
    """

    def __init__(
        self,
        start: Start,
        meeting: "Meeting | None" = None,
        *,
        is_chief: bool = True,
        gives_values: bool = True,
    ) -> None:
        self.start = start
        self.gives_values = gives_values
        self._meeting = meeting
        self._is_chief = is_chief
        self._looked = time.monotonic()

    def begin(self, step: int) -> None:
        """Let the workers begin: the variables have their values.

        Args:
            step: The global step that they are of.
        """
        if self._meeting is not None and self.gives_values:
            self._meeting.open(step)

    def wait_for_others(self) -> None:
        """Wait for the last steps of the workers, in the chief: its last checkpoint holds what they have done."""
        if self._meeting is None or not self._is_chief:
            return
        if not self._meeting.wait_until_alone(_LAST_STEPS_SECONDS):
            _logger.warning(
                "Workers still train after %g seconds. What they do from now on is in no checkpoint.",
                _LAST_STEPS_SECONDS,
            )

    def is_stopped(self) -> bool:
        """Return whether the chief wants this task to end; it looks now and then."""
        now = time.monotonic()
        if self._meeting is None or self._is_chief or now - self._looked < _LOOK_SECONDS:
            return False
        self._looked = now
        return self._meeting.is_stopped

    def note_stop(self) -> None:
        """Have all others end, too: a hook of the chief has asked for it."""
        if self._meeting is not None and self._is_chief:
            self._meeting.stop()


@contextlib.contextmanager
def side_by_side(strategy: Strategy, config: RunConfig, start: Start) -> Iterator[Side]:
    """Train in a block beside the other tasks of a strategy, if there are any that nobody waits for.

    Workers begin when the chief has given the variables their values. A chief that is started again finds them on the
    servers, with all that workers have done meanwhile, and goes on from there.

    Args:
        strategy: The strategy.
        config: Says how long a worker waits for the chief.
        start: What the chief has found in the model's folder.

    Yields:
        How this task stands to the others.

    Raises:
        ClusterTimeoutError: The chief does not begin in time.
    """
    if not isinstance(strategy.extended.membership, OneOfMany):
        yield Side(start)
        return
    meeting = cast("ParameterServerStrategyV1", strategy).meeting()
    is_chief = strategy.extended.membership.is_chief
    try:
        if is_chief:
            step = meeting.step
            if step is None:
                yield Side(start, meeting)
                return
            _logger.info("The parameter servers have the variables already. Training goes on from there.")
        else:
            step = meeting.wait_until_open(config.session_creation_timeout_secs)
        yield Side(Start(step=step), meeting, is_chief=is_chief, gives_values=False)
    finally:
        meeting.leave()
