"""One call of `Estimator.train`: the loop, its hooks and its checkpoints (estimator layer)."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from stratax.distribute import Strategy
from stratax.engine import StepInput, StepLoop, is_chief
from stratax.estimator._checkpoints import TrainingCheckpoint
from stratax.estimator._model import LOSS, Model
from stratax.estimator._run_config import RunConfig
from stratax.estimator._session import Session, SessionHooks
from stratax.estimator.hooks import SessionRunHook


class Training:
    """Runs training steps of a model that has been built.

    Args:
        model: The model.
        strategy: The strategy.
        config: How it runs.
        hooks: The session hooks of the caller.
        steps_per_dispatch: How many steps one program runs.
    """

    def __init__(
        self,
        model: Model,
        strategy: Strategy,
        config: RunConfig,
        *,
        hooks: Sequence[SessionRunHook],
        steps_per_dispatch: int = 1,
    ) -> None:
        self._model = model
        self._last: Any = None
        chief = is_chief(strategy)
        spec = model.spec
        of_model = [*spec.training_hooks, *(spec.training_chief_hooks if chief else ())]
        self._session = Session(config.model_dir or "", chief, self._save)
        self._joints = SessionHooks(model, [*hooks, *of_model], self._session)
        self._loop = StepLoop(
            strategy, self._dispatch, steps_per_dispatch=steps_per_dispatch, hooks=[self._joints]
        )
        self._checkpoint = TrainingCheckpoint(model.state, self._loop, config)
        self._saved_step: int | None = None

    def begin(self, checkpoint: str | None) -> None:
        """Go on from a checkpoint; without one, save the model as it begins.

        Args:
            checkpoint: Its path, or None.

        Raises:
            RestoreError: If it is of another model.
        """
        self._joints.begin_hooks()
        if checkpoint is not None:
            self._checkpoint.restore(checkpoint)
        self._loop.step = self._model.global_step()
        if checkpoint is None:
            self._save(None)
        else:
            self._saved_step = self._loop.step

    def run(self, given: StepInput, until: int | None) -> None:
        """Train until a global step, or the end of the input.

        Args:
            given: The input.
            until: The global step; None for the end of the input.
        """
        self._loop.run(given, until=until, passes=self._loop.passes + 1)
        # A training that has come to its end is not gone on with: the next one reads its input from the beginning.
        self._checkpoint.end_of_input()
        if self._saved_step != self._loop.step:
            self._save(None)
        self._checkpoint.sync()

    def last_loss(self) -> float:
        """Return the loss of the last step; NaN where none was run."""
        return math.nan if self._last is None else float(np.asarray(self._last)[-1])

    def _dispatch(self, steps: int, element: Any) -> Any:
        outputs = self._joints.program(steps, element)
        self._last = outputs[LOSS]
        return outputs

    def _save(self, prefix: str | None) -> str:
        # A checkpoint never holds what a NaN has spoilt.
        self._joints.check_losses()
        path = self._checkpoint.save(prefix)
        if prefix is None:
            self._saved_step = self._loop.step
        return path
