"""`CheckpointSaverHook`: saves checkpoints every so many steps or seconds (estimator layer)."""

import logging
import os
from collections.abc import Iterable
from typing import Any

from stratax import errors
from stratax import io as files
from stratax.base.shown import shown
from stratax.tensorflow.estimator.hooks._checks import check_listeners
from stratax.tensorflow.estimator.hooks._listener import CheckpointSaverListener
from stratax.tensorflow.estimator.hooks._rounds import AgreedRounds
from stratax.tensorflow.estimator.hooks._session_run_hook import (
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
    SessionView,
)
from stratax.tensorflow.estimator.hooks._timer import SecondOrStepTimer

_logger = logging.getLogger("stratax")


class CheckpointSaverHook(SessionRunHook):
    """Saves a checkpoint at the beginning, every so many steps or seconds, and at the end, as TensorFlow's.

    All workers save together. With `save_secs`, the chief's clock decides, and all save behind the same step.

    Args:
        checkpoint_dir: The folder of the checkpoints.
        save_secs: The distance in seconds.
        save_steps: The distance in steps, instead.
        saver: Saves in another way: its `save(session, path, global_step=step)` is called.
        checkpoint_basename: What the names of the checkpoints begin with.
        scaffold: A `Scaffold`; its saver is used, if it has one.
        listeners: Told of each checkpoint, in all workers.
        save_graph_def: Ignored: there is no graph.

    Raises:
        BadArgumentError: If not exactly one of `save_secs` and `save_steps` is given, or both `saver` and `scaffold`.
        BadTypeError: If a listener is none.
    """

    def __init__(
        self,
        checkpoint_dir: str | os.PathLike[str],
        save_secs: float | None = None,
        save_steps: int | None = None,
        saver: Any = None,
        checkpoint_basename: str = "model.ckpt",
        scaffold: Any = None,
        listeners: Iterable[CheckpointSaverListener] | None = None,
        save_graph_def: bool = True,
    ) -> None:
        if saver is not None and scaffold is not None:
            raise errors.BadArgumentError(
                f"saver and scaffold can't both be given. Received: saver={shown(saver)}, scaffold={shown(scaffold)}. "
                "Leave out one."
            )
        self._timer = SecondOrStepTimer(every_secs=save_secs, every_steps=save_steps)
        self._is_by_clock = save_secs is not None
        self._saver = saver
        self._scaffold = scaffold
        self._listeners = check_listeners(listeners)
        self._path = files.join(files.as_file_name(checkpoint_dir), checkpoint_basename)
        self._rounds: AgreedRounds | None = None
        _logger.info("Create CheckpointSaverHook.")

    def add_listeners(self, listeners: Iterable[CheckpointSaverListener]) -> None:
        """Tell these of each checkpoint too.

        Args:
            listeners: The listeners.
        """
        self._listeners = (*self._listeners, *check_listeners(listeners))

    def begin(self) -> None:
        """Tell the listeners."""
        # Anew in each run: hooks of a `model_fn` are made each time it is traced, but all workers run the same ones.
        self._rounds = AgreedRounds() if self._is_by_clock else None
        for listener in self._listeners:
            listener.begin()

    def after_create_session(self, session: SessionView, coord: object) -> None:
        """Save what the run begins with."""
        self._timer.reset()
        self._timer.update_last_triggered_step(session.global_step)
        self._save(session, session.global_step)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Save, if it is time."""
        session = run_context.session
        if self._is_due(session.global_step):
            self._timer.update_last_triggered_step(session.global_step)
            if self._save(session, session.global_step):
                run_context.request_stop()

    def end(self, session: SessionView) -> None:
        """Save what the run ends with, unless that is done."""
        if session.global_step != self._timer.last_triggered_step():
            self._timer.update_last_triggered_step(session.global_step)
            self._save(session, session.global_step)
        for listener in self._listeners:
            listener.end(session, session.global_step)

    def _is_due(self, step: int) -> bool:
        is_due = self._timer.should_trigger_for_step(step)
        return is_due if self._rounds is None else self._rounds.comes_before(step, is_due)

    def _save(self, session: SessionView, step: int) -> bool:
        """Save; return whether a listener wants the training to end."""
        _logger.info("Calling checkpoint listeners before saving checkpoint %d...", step)
        for listener in self._listeners:
            listener.before_save(session, step)
        _logger.info("Saving checkpoints for %d into %s.", step, self._path)
        saver = self._saver if self._scaffold is None else self._scaffold.saver
        # That of the model says what the training saves, besides the position of the input.
        if saver is None or saver is session.saver:
            session.save(self._path)
        else:
            saver.save(session, self._path, global_step=step)
        _logger.info("Calling checkpoint listeners after saving checkpoint %d...", step)
        # Each of them is told, whatever the one before it wants.
        wishes = [(listener, listener.after_save(session, step)) for listener in self._listeners]
        for listener, wants_to_stop in wishes:
            if wants_to_stop:
                _logger.info(
                    "A CheckpointSaverListener requested that training be stopped. listener: %s", listener
                )
        return any(wants_to_stop for _, wants_to_stop in wishes)
