"""When a hook acts: every so many steps or seconds (estimator layer)."""

import time
from typing import Any

from stratax import errors
from stratax.base.shown import shown
from stratax.tensorflow.estimator.hooks._session_run_hook import SessionView


class SecondOrStepTimer:
    """Says when to act: at once, then every so many seconds or steps, as `tf.estimator.SecondOrStepTimer`.

    A dispatch of several steps may pass over the very step: then the timer says so behind it, and counts on from there.

    Args:
        every_secs: The distance in seconds.
        every_steps: The distance in steps, instead.

    Raises:
        BadArgumentError: If not exactly one of them is given, or it is not positive.
        BadTypeError: If it is no number.
    """

    def __init__(self, every_secs: float | None = None, every_steps: int | None = None) -> None:
        check_one("every_secs", every_secs, "every_steps", every_steps)
        check_positive("every_secs", every_secs)
        check_positive("every_steps", every_steps)
        self._every_secs = every_secs
        self._every_steps = every_steps
        self.reset()

    def reset(self) -> None:
        """Forget when it was acted last."""
        self._last_step: int | None = None
        self._last_time: float | None = None

    def should_trigger_for_step(self, step: int) -> bool:
        """Return whether to act at a step: never twice at the same one.

        Args:
            step: The step's number.
        """
        if self._last_step is None or self._last_time is None:
            return True
        if step == self._last_step:
            return False
        if self._every_secs is not None:
            return time.monotonic() >= self._last_time + self._every_secs
        return self._every_steps is not None and step >= self._last_step + self._every_steps

    def update_last_triggered_step(self, step: int) -> tuple[float | None, int | None]:
        """Note that it was acted at a step.

        Args:
            step: The step's number.

        Returns:
            The seconds and the steps since it was acted before; None for both the first time.
        """
        now = time.monotonic()
        passed: tuple[float | None, int | None] = (None, None)
        if self._last_step is not None and self._last_time is not None:
            passed = now - self._last_time, step - self._last_step
        self._last_time, self._last_step = now, step
        return passed

    def last_triggered_step(self) -> int | None:
        """Return the step at which it was acted last; None before the first time."""
        return self._last_step


def steps_to_come(session: SessionView) -> int:
    """Return how many steps the coming dispatch runs; called in `before_run`."""
    return max(session.steps, 1)


def check_one(name: str, value: object, other_name: str, other: object) -> None:
    """Check that exactly one of two arguments is given.

    Raises:
        BadArgumentError: If not.
    """
    if (value is None) == (other is None):
        raise errors.BadArgumentError(
            f"Exactly one of {name} and {other_name} must be given. "
            f"Received: {name}={shown(value)}, {other_name}={shown(other)}."
        )


def check_positive(name: str, value: Any) -> None:
    """Check that an argument is a number above 0, or None.

    Raises:
        BadArgumentError: If it is not above 0.
        BadTypeError: If it is no number.
    """
    if value is None:
        return
    if isinstance(value, str | bytes) or not hasattr(value, "__float__"):
        raise errors.BadTypeError(f"{name} must be a number. Received: {name}={shown(value)}.")
    if value <= 0:
        raise errors.BadArgumentError(f"{name} must be more than 0. Received: {name}={shown(value)}.")
