"""One call of `Estimator.train`: the loop, its hooks and its checkpoints (estimator layer)."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from stratax import errors
from stratax.base.shown import shown
from stratax.distribute import Strategy
from stratax.engine import Hook, RunningLoop, StepInput, StepLoop
from stratax.tensorflow.estimator._beginning import Start, note_end
from stratax.tensorflow.estimator._beside import Side
from stratax.tensorflow.estimator._checkpoints import PREFIX, TrainingCheckpoint
from stratax.tensorflow.estimator._model import GLOBAL_STEP, LOSS, EstimatorModel
from stratax.tensorflow.estimator._run_config import RunConfig
from stratax.tensorflow.estimator._session import HookSession, SessionHooks
from stratax.tensorflow.estimator._staleness import StalenessHook
from stratax.tensorflow.estimator.hooks import (
    CheckpointSaverHook,
    CheckpointSaverListener,
    LoggingTensorHook,
    SessionRunHook,
    StepCounterHook,
    SummarySaverHook,
)

_SUMMARIES = "summaries"


class Training:
    """Runs training steps of a model that has been built.

    Args:
        model: The model.
        strategy: The strategy.
        config: How it runs.
        hooks: The session hooks of the caller.
        listeners: What is told of checkpoints.
        steps_per_dispatch: How many steps one program runs.
        side: How this task stands to others that train the same variables.
    """

    def __init__(
        self,
        model: EstimatorModel,
        strategy: Strategy,
        config: RunConfig,
        *,
        hooks: Sequence[SessionRunHook],
        listeners: Sequence[CheckpointSaverListener] = (),
        steps_per_dispatch: int = 1,
        side: Side | None = None,
    ) -> None:
        self._side = side or Side(Start())
        self._model = model
        self._last: Any = None
        chief = strategy.extended.membership.is_chief
        # Others train the same variables in loops of their own, and only the chief saves them.
        self._has_others = strategy.extended.membership.num_others > 0
        spec = model.spec
        # In TensorFlow's order.
        given = [*(spec.training_chief_hooks if chief else ()), *hooks, *spec.training_hooks]
        session = HookSession(model, config.model_dir or "", chief, self._save)
        saving = _saving(given, config, spec.scaffold, listeners)
        if self._has_others and not chief:
            saving, given = [], [hook for hook in given if not isinstance(hook, CheckpointSaverHook)]
        every = [*given, *_reporting(model, config), *saving]
        if self._has_others and chief and config.save_summary_steps and config.model_dir:
            every.append(StalenessHook(strategy, config.save_summary_steps, config.model_dir))
        self._joints = SessionHooks(model, every, session)
        self._loop = StepLoop(
            strategy,
            self._dispatch,
            steps_per_dispatch=steps_per_dispatch,
            # First: the hooks that save at the end save what the others have done, too.
            hooks=[_Others(self._side, model), self._joints] if self._has_others else [self._joints],
            count=self._common_step if self._has_others else None,
        )
        self._checkpoint = TrainingCheckpoint(model.state, self._loop, config, model.saver)

    def begin(self, start: Start) -> int:
        """Go on from a checkpoint, or begin with the variables as they are; return the global step.

        Args:
            start: Which checkpoint.

        Raises:
            RestoreError: If it is of another model.
        """
        self._joints.begin_hooks()
        if start.checkpoint is not None:
            self._checkpoint.restore(start.checkpoint, goes_on=start.goes_on)
        self._loop.step = self._model.global_step()
        return self._loop.step

    def run(self, given: StepInput, until: int | None) -> None:
        """Train until a global step, or the end of the input.

        Args:
            given: The input.
            until: The global step; None for the end of the input.
        """
        try:
            self._loop.run(given, until=until, passes=self._loop.passes + 1)
        finally:
            self._checkpoint.sync()
        session = self._joints.session
        if session.is_chief:
            note_end(session.model_dir)

    def last_loss(self) -> float:
        """Return the loss of the last step; NaN where none was run."""
        return math.nan if self._last is None else float(np.asarray(self._last)[-1])

    def _dispatch(self, steps: int, element: object) -> Any:
        outputs = self._joints.program(steps, element)
        if self._last is None:
            # Once: reading it waits for the devices.
            self._check_global_step(self._loop.step, steps)
        self._last = outputs[LOSS]
        return outputs

    def _check_global_step(self, before: int, steps: int) -> None:
        """Check that the model counts its steps as the loop does: checkpoints are named and ended by that."""
        moved = self._model.global_step() - before
        if moved < steps or (moved != steps and not self._has_others):
            raise errors.BadArgumentError(
                f"The global step has to grow by 1 in each step of training. Received: {moved} in {steps} steps. Pass "
                "global_step=tf.train.get_global_step() to minimize or apply_gradients, in one place of the model_fn."
            )

    def _common_step(self, own: int) -> int:
        """Return the global step, which others count too."""
        if self._side.is_stopped():
            self._loop.request_stop()
        return max(own, self._model.global_step())

    def _save(self, prefix: str | None) -> str:
        # A checkpoint never holds what a NaN has spoilt.
        self._joints.check_losses()
        return self._checkpoint.save(prefix)


class _Others(Hook):
    """At the end, has the chief of tasks that train side by side wait for the others.

    Args:
        side: How this task stands to the others.
        model: The model.
    """

    def __init__(self, side: Side, model: EstimatorModel) -> None:
        self._side = side
        self._model = model

    def on_stop(self, loop: RunningLoop) -> None:
        self._side.note_stop()

    def end(self, loop: RunningLoop) -> None:
        self._side.wait_for_others()
        loop.step = max(loop.step, self._model.global_step())


def _reporting(model: EstimatorModel, config: RunConfig) -> list[SessionRunHook]:
    """Return the hooks that print and write how it goes, as often as the configuration says."""
    found: list[SessionRunHook] = []
    steps, summary_steps, folder = config.log_step_count_steps, config.save_summary_steps, config.model_dir
    if steps:
        found.append(StepCounterHook(every_n_steps=steps, output_dir=folder))
        tensors = {"loss": model.spec.loss, "step": model.state.variables[GLOBAL_STEP]}
        found.append(LoggingTensorHook(tensors, every_n_iter=steps))
    scaffold = model.spec.scaffold
    if summary_steps and scaffold is not None and scaffold.summary_op is not None:
        found.append(SummarySaverHook(save_steps=summary_steps, output_dir=folder, scaffold=scaffold))
    elif summary_steps:
        of_model = [] if model.scope is None else model.scope.collections.get(_SUMMARIES)
        # TensorFlow adds the loss where no summary of the model has its name.
        loss = [] if any(record.name == LOSS for record in of_model) else [{LOSS: model.spec.loss}]
        found.append(
            SummarySaverHook(save_steps=summary_steps, output_dir=folder, summary_op=[*of_model, *loss])
        )
    return found


def _saving(
    given: Sequence[SessionRunHook],
    config: RunConfig,
    scaffold: object,
    listeners: Sequence[CheckpointSaverListener],
) -> list[SessionRunHook]:
    """Return the hook that saves checkpoints, unless the caller has one, which gets the listeners then."""
    savers = [hook for hook in given if isinstance(hook, CheckpointSaverHook)]
    if savers:
        savers[0].add_listeners(listeners)
        return []
    if not (config.save_checkpoints_secs or config.save_checkpoints_steps):
        if listeners:
            raise errors.BadArgumentError(
                "There should be a CheckpointSaverHook to use saving_listeners: nothing saves checkpoints. Set one of "
                "RunConfig.save_checkpoints_steps and RunConfig.save_checkpoints_secs, or pass the hook in hooks. "
                f"Received: saving_listeners={shown(list(listeners))}."
            )
        return []
    return [
        CheckpointSaverHook(
            config.model_dir or "",
            save_secs=config.save_checkpoints_secs,
            save_steps=config.save_checkpoints_steps,
            checkpoint_basename=PREFIX,
            scaffold=scaffold,
            listeners=listeners,
        )
    ]
