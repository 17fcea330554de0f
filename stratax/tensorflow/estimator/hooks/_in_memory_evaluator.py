"""`InMemoryEvaluatorHook`: evaluates while training (estimator layer)."""

import tempfile
from collections.abc import Callable, Iterable
from typing import Any

from stratax import errors
from stratax import io as files
from stratax.base.shown import shown
from stratax.tensorflow.estimator.hooks._checks import check_hooks
from stratax.tensorflow.estimator.hooks._session_run_hook import (
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
    SessionView,
)
from stratax.tensorflow.estimator.hooks._timer import SecondOrStepTimer


class InMemoryEvaluatorHook(SessionRunHook):
    """Evaluates before a training, every so many steps, and behind it, as TensorFlow's; on one machine.

    The checkpoints of the training stay as they are: the variables are handed over in a temporary folder.

    Args:
        estimator: The Estimator.
        input_fn: The input of the evaluation.
        steps: How many batches it takes; None for all.
        hooks: Hooks of the evaluation.
        name: The evaluation's name.
        every_n_iter: The distance in steps.

    Raises:
        BadArgumentError: If `every_n_iter` is not positive, or there are several workers.
        BadTypeError: If a hook is none.
    """

    def __init__(
        self,
        estimator: Any,
        input_fn: Callable[..., Any],
        steps: int | None = None,
        hooks: Iterable[SessionRunHook] | None = None,
        name: str | None = None,
        every_n_iter: int = 100,
    ) -> None:
        self._timer = SecondOrStepTimer(every_steps=every_n_iter)
        config = estimator.config
        if config.num_ps_replicas > 0 or config.num_worker_replicas > 1:
            raise errors.BadArgumentError(
                "InMemoryEvaluatorHook evaluates on one machine only. "
                f"Received: a cluster with {config.num_worker_replicas} workers and {config.num_ps_replicas} parameter "
                f"servers, {shown(config.cluster_spec)}. Use train_and_evaluate, with an evaluator."
            )
        self._estimator = estimator
        self._input_fn = input_fn
        self._steps = steps
        self._hooks = check_hooks(hooks)
        self._name = name
        self._num_steps = 0

    def begin(self) -> None:
        """Count from the beginning of the run."""
        self._timer.reset()
        self._num_steps = 0

    def after_create_session(self, session: SessionView, coord: object) -> None:
        """Evaluate what the run begins with."""
        self._evaluate(session)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Evaluate, if it is time."""
        self._num_steps += run_context.session.steps
        if self._timer.should_trigger_for_step(self._num_steps):
            self._evaluate(run_context.session)

    def end(self, session: SessionView) -> None:
        """Evaluate what the run ends with."""
        self._evaluate(session)

    def _evaluate(self, session: SessionView) -> None:
        with tempfile.TemporaryDirectory(prefix="stratax-evaluation-") as folder:
            path = session.save(files.join(folder, "model.ckpt"))
            self._estimator.evaluate(
                self._input_fn,
                steps=self._steps,
                hooks=list(self._hooks),
                checkpoint_path=path,
                name=self._name,
            )
        self._timer.update_last_triggered_step(self._num_steps)
