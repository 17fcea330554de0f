"""`StopAtStepHook`: ends a run at a step (estimator layer)."""

from stratax.tensorflow.estimator.hooks._session_run_hook import (
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
    SessionView,
)
from stratax.tensorflow.estimator.hooks._timer import check_one


class StopAtStepHook(SessionRunHook):
    """Ends a run behind so many steps, or at a global step, as TensorFlow's.

    Behind a dispatch of several steps it may be later than that; `max_steps` of :meth:`Estimator.train` is exact.

    Args:
        num_steps: How many steps, counted from the beginning of each run.
        last_step: The global step to end at, instead.

    Raises:
        BadArgumentError: If not exactly one of them is given.
    """

    def __init__(self, num_steps: int | None = None, last_step: int | None = None) -> None:
        check_one("num_steps", num_steps, "last_step", last_step)
        self._num_steps = num_steps
        self._last_step = last_step

    def after_create_session(self, session: SessionView, coord: object) -> None:
        """Count from the step that the run begins with."""
        if self._num_steps is not None:
            self._last_step = session.global_step + self._num_steps

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """End the run, if the step is reached."""
        if self._last_step is not None and run_context.session.global_step >= self._last_step:
            run_context.request_stop()
