"""`ProfilerHook`: records what the devices do in a dispatch (estimator layer)."""

import logging
import os

import jax

from stratax import io as files
from stratax import summary
from stratax.tensorflow.estimator.hooks._session_run_hook import (
    SessionRunArgs,
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
    SessionView,
)
from stratax.tensorflow.estimator.hooks._timer import SecondOrStepTimer, steps_to_come

_logger = logging.getLogger("stratax")


class ProfilerHook(SessionRunHook):
    """Writes a profile of a dispatch every so many steps or seconds, on the chief.

    JAX' profiler writes it; TensorBoard's profile page opens it. TensorFlow's hook writes `timeline-<step>.json`
    instead.

    Args:
        save_steps: The distance in steps.
        save_secs: The distance in seconds, instead.
        output_dir: The folder; profiles stand in `plugins/profile` in it.
        show_dataflow: Ignored.
        show_memory: Ignored.

    Raises:
        BadArgumentError: If not exactly one of `save_steps` and `save_secs` is given.
    """

    def __init__(
        self,
        save_steps: int | None = None,
        save_secs: float | None = None,
        output_dir: str | os.PathLike[str] = "",
        show_dataflow: bool = True,
        show_memory: bool = False,
    ) -> None:
        self._timer = SecondOrStepTimer(every_secs=save_secs, every_steps=save_steps)
        self._folder = files.as_file_name(output_dir) or os.curdir
        self._is_recording = False

    def after_create_session(self, session: SessionView, coord: object) -> None:
        """Count from the step that the run begins with."""
        self._timer.reset()
        self._timer.update_last_triggered_step(session.global_step)
        # A run that an error ended has not called `end`.
        self._forget()

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        """Begin to record, if it is time."""
        session = run_context.session
        coming = session.global_step + steps_to_come(session)
        if session.is_chief and self._timer.should_trigger_for_step(coming):
            # What was dispatched before is no part of it.
            _wait_for_devices()
            summary.trace_on(graph=False, profiler=True)
            self._is_recording = True
        return None

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Write what was recorded."""
        if not self._is_recording:
            return
        step = run_context.session.global_step
        self._timer.update_last_triggered_step(step)
        _wait_for_devices()
        _logger.info("Saving profile for %d into '%s'.", step, self._folder)
        self._is_recording = False
        summary.trace_export("profile", profiler_outdir=self._folder)

    def end(self, session: SessionView) -> None:
        """Forget what a dispatch has begun to record that found no more input."""
        self._forget()

    def _forget(self) -> None:
        if self._is_recording:
            self._is_recording = False
            summary.trace_off()


def _wait_for_devices() -> None:
    for array in jax.live_arrays():
        # Variables' old arrays were handed to the program.
        if not array.is_deleted():
            array.block_until_ready()
