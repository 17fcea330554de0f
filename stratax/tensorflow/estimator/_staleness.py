"""The summary that tells how stale gradients were, of tasks that train side by side (estimator layer)."""

from stratax.distribute import Strategy
from stratax.engine import NewStaleness
from stratax.summary import forms
from stratax.tensorflow.estimator.hooks import (
    SecondOrStepTimer,
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
    writer_of,
)

_TAG = "staleness"


class StalenessHook(SessionRunHook):
    """Writes the distribution of how many steps of others have come between a step's pull and its push.

    Args:
        strategy: A strategy with parameter servers.
        save_steps: The distance in steps.
        output_dir: The folder of the summary.
    """

    def __init__(self, strategy: Strategy, save_steps: int, output_dir: str) -> None:
        self._strategy = strategy
        self._timer = SecondOrStepTimer(every_steps=save_steps)
        self._folder = output_dir
        self._new = NewStaleness()

    def begin(self) -> None:
        """Open the writer."""
        self._timer.reset()
        self._writer = writer_of(self._folder)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Write what is new, if it is time."""
        step = run_context.session.global_step
        if self._timer.should_trigger_for_step(step):
            self._timer.update_last_triggered_step(step)
            if self._writer is not None:
                self._writer.add_summary(forms.histogram(_TAG)(self._new.of(self._strategy)), step)
