"""`GlobalStepWaiterHook`: waits for other workers' steps (estimator layer)."""

import logging
import time

from stratax import errors
from stratax.tensorflow.estimator.hooks._session_run_hook import (
    SessionRunArgs,
    SessionRunContext,
    SessionRunHook,
)
from stratax.tensorflow.estimator.hooks._timer import check_positive

_logger = logging.getLogger("stratax")

_POLL_SECONDS = 0.5
# How many steps lie between two lines about the waiting.
_LOG_STEPS = 1000


class GlobalStepWaiterHook(SessionRunHook):
    """Begins only once the global step has come to a number, as TensorFlow's.

    That is for workers that train without waiting for one another. Where all workers take each step together, nobody
    else makes steps, and the wait ends with an error.

    Args:
        wait_until_step: The global step to wait for.
        timeout_secs: How long to wait without any step being made, in seconds.
    """

    def __init__(self, wait_until_step: int, *, timeout_secs: float = 600.0) -> None:
        check_positive("timeout_secs", timeout_secs)
        self._wait_until_step = wait_until_step
        self._timeout = timeout_secs
        self._has_begun = False

    def begin(self) -> None:
        """Wait anew in each run."""
        self._has_begun = False

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        """Wait, before the first step.

        Raises:
            ClusterTimeoutError: If no step is made for too long.
        """
        if not self._has_begun and self._wait_until_step > 0:
            self._wait(run_context)
        self._has_begun = True
        return None

    def _wait(self, run_context: SessionRunContext) -> None:
        _logger.info("Waiting for global step %d before starting training.", self._wait_until_step)
        seen, since, told = run_context.session.global_step, time.monotonic(), 0
        while seen < self._wait_until_step:
            if seen - told > _LOG_STEPS:
                told = seen
                _logger.info(
                    "Waiting for global step %d before starting training. Current step is %d.",
                    self._wait_until_step,
                    seen,
                )
            time.sleep(_POLL_SECONDS)
            step = run_context.session.global_step
            if step != seen:
                seen, since = step, time.monotonic()
            elif time.monotonic() - since >= self._timeout:
                raise errors.ClusterTimeoutError(
                    f"GlobalStepWaiterHook waits for global step {self._wait_until_step}, and no step was made for "
                    f"{self._timeout:g} s; the global step is {seen}. Workers that take their steps together can't "
                    "wait for one another's: leave out the hook."
                )
