"""`SummarySaverHook`: writes the summaries of a step now and then (estimator layer)."""

import os
from typing import Any

import jax

from stratax import cluster, errors
from stratax import io as files
from stratax.base.shown import shown
from stratax.tensorflow.estimator.hooks._session_run_hook import (
    SessionRunArgs,
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
    SessionView,
)
from stratax.tensorflow.estimator.hooks._timer import SecondOrStepTimer, steps_to_come
from stratax.tensorflow.estimator.hooks._writers import check_writer, write, writer_of


class SummarySaverHook(SessionRunHook):
    """Writes the summaries of the first step, and every so many steps or seconds, on the chief, as TensorFlow's.

    Of a dispatch of several steps, the last one's values are written, with its step.

    Args:
        save_steps: The distance in steps.
        save_secs: The distance in seconds, instead.
        output_dir: The folder.
        summary_writer: The `FileWriter` that writes, instead.
        scaffold: A `Scaffold`, whose `summary_op` is written.
        summary_op: What is written instead: a dict of scalar tensors by tag, a summary, or a list of them.

    Raises:
        BadArgumentError: If not exactly one of `save_steps` and `save_secs` is given, and of `scaffold` and
            `summary_op`.
        BadTypeError: If `summary_writer` is no `FileWriter`.
    """

    def __init__(
        self,
        save_steps: int | None = None,
        save_secs: float | None = None,
        output_dir: str | os.PathLike[str] | None = None,
        summary_writer: Any = None,
        scaffold: Any = None,
        summary_op: Any = None,
    ) -> None:
        if (scaffold is None) == (summary_op is None):
            raise errors.BadArgumentError(
                "Exactly one of scaffold and summary_op must be given. "
                f"Received: scaffold={shown(scaffold)}, summary_op={shown(summary_op)}."
            )
        self._timer = SecondOrStepTimer(every_secs=save_secs, every_steps=save_steps)
        self._is_by_clock = save_secs is not None
        self._folder = None if output_dir is None else files.as_file_name(output_dir)
        self._writer = check_writer(summary_writer)
        self._scaffold = scaffold
        self._summary_op = summary_op
        self._form: Any = None
        self._is_due = False

    def begin(self) -> None:
        """Open the writer, on the chief."""
        self._timer.reset()
        if self._writer is None and self._folder:
            self._writer = writer_of(self._folder)

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        """Ask for the summaries where they will be written."""
        summaries, session = self._summaries(), run_context.session
        coming = session.global_step + steps_to_come(session)
        self._is_due = bool(summaries) and self._timer.should_trigger_for_step(coming)
        # What is fetched is part of the program, which has to be the same in all workers: neither a worker's clock nor
        # whether it has a writer says so.
        is_asked = self._is_due or (self._is_by_clock and cluster.current() is not None)
        # The arrays themselves: a hook gets a summary as bytes, and the writer makes these on its own thread.
        arrays, self._form = jax.tree.flatten(summaries)
        return SessionRunArgs(arrays) if is_asked and summaries else None

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Write what was asked for."""
        if not self._is_due:
            return
        session = run_context.session
        self._timer.update_last_triggered_step(session.global_step)
        if self._writer is None or not session.is_chief:
            return
        for found in jax.tree.unflatten(self._form, run_values.results):
            write(self._writer, found, session.global_step)

    def end(self, session: SessionView) -> None:
        """Have all of it on the disk."""
        if self._writer is not None:
            self._writer.flush()

    def _summaries(self) -> list[Any]:
        found = self._summary_op if self._scaffold is None else self._scaffold.summary_op
        if found is None:
            return []
        return list(found) if isinstance(found, list | tuple) else [found]
