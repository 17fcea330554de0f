"""`StepCounterHook`: how many steps are made a second (estimator layer)."""

import logging
import os

from stratax import io as files
from stratax.tensorflow.estimator.hooks._session_run_hook import (
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
)
from stratax.tensorflow.estimator.hooks._timer import SecondOrStepTimer, check_one
from stratax.tensorflow.estimator.hooks._writers import check_writer, write, writer_of

_logger = logging.getLogger("stratax")

_TAG = "global_step/sec"
_MOST_WARNINGS = 5


class StepCounterHook(SessionRunHook):
    """Prints and writes how many steps are made a second, as TensorFlow's.

    The devices may still be at work on the last steps; over many steps that makes no difference.

    Args:
        every_n_steps: The distance in steps.
        every_n_secs: The distance in seconds, instead.
        output_dir: The folder of the summary; None for none.
        summary_writer: The `FileWriter` that writes it, instead.

    Raises:
        BadArgumentError: If not exactly one of the distances is given.
        BadTypeError: If `summary_writer` is no `FileWriter`.
    """

    def __init__(
        self,
        every_n_steps: int | None = 100,
        every_n_secs: float | None = None,
        output_dir: str | os.PathLike[str] | None = None,
        summary_writer: object = None,
    ) -> None:
        check_one("every_n_steps", every_n_steps, "every_n_secs", every_n_secs)
        self._timer = SecondOrStepTimer(every_steps=every_n_steps, every_secs=every_n_secs)
        self._folder = None if output_dir is None else files.as_file_name(output_dir)
        self._writer = check_writer(summary_writer)
        self._last_step: int | None = None
        self._num_warnings = 0

    def begin(self) -> None:
        """Open the writer, on the chief."""
        # Between two runs time passes in which no steps are made.
        self._timer.reset()
        self._last_step = None
        if self._writer is None and self._folder:
            self._writer = writer_of(self._folder)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Tell the speed, if it is time."""
        session = run_context.session
        step = session.global_step
        if self._timer.should_trigger_for_step(step):
            seconds, steps = self._timer.update_last_triggered_step(step)
            if seconds is not None and steps is not None:
                self._tell(steps / max(seconds, 1e-9), step, is_chief=session.is_chief)
        if step == self._last_step and self._num_warnings < _MOST_WARNINGS:
            self._num_warnings += 1
            _logger.warning(
                "It seems that the global step has not been increased; it is still %d. Pass "
                "global_step=tf.compat.v1.train.get_global_step() to Optimizer.minimize or apply_gradients.",
                step,
            )
        self._last_step = step

    def _tell(self, speed: float, step: int, *, is_chief: bool) -> None:
        if self._writer is not None and is_chief:
            write(self._writer, {_TAG: speed}, step)
        _logger.info("%s: %g", _TAG, speed)
