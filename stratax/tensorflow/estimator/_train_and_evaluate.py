"""`train_and_evaluate`: a training and evaluations of its checkpoints, alone or in a cluster (estimator layer)."""

import json
import logging
import os
import pathlib
import secrets
import time
from typing import Any

from stratax import errors
from stratax.base import tracebacks
from stratax.base.shown import shown
from stratax.checkpoint import checkpoint_exists, checkpoints_iterator
from stratax.cluster.launching import end_by_itself
from stratax.io import make_folder, write_file
from stratax.tensorflow.estimator import _checkpoints
from stratax.tensorflow.estimator._estimator import Estimator
from stratax.tensorflow.estimator._train_eval_spec import EvalSpec, TrainSpec
from stratax.tensorflow.estimator.hooks import (
    CheckpointSaverListener,
    SessionView,
    closing_writers,
    find_write_times,
)

_logger = logging.getLogger("stratax")

# In the model's folder while no training runs that has begun: an evaluator ends when it is there.
_ENDED = "training_ended"
# In an evaluation's folder: the last checkpoint behind which all exporters were called.
_EXPORTED = "exported.json"
# How often an evaluator looks whether training has ended.
_POLL_SECONDS = 2.0
# That an earlier training has ended counts only when the chief, which removes that, has had so long to begin.
_BEGIN_SECONDS = 60.0
_EVALUATOR, _CHIEFS, _WORKERS, _SERVERS = "evaluator", ("chief", "master"), ("worker",), "ps"


@tracebacks.shortened
def train_and_evaluate(
    estimator: Estimator, train_spec: TrainSpec, eval_spec: EvalSpec
) -> tuple[dict[str, Any] | None, list[Any]] | None:
    """Train a model and evaluate its checkpoints, as `tf.estimator.train_and_evaluate`.

    On one machine, an evaluation follows each checkpoint that is saved, `throttle_secs` apart at least, and the end of
    the training. In a cluster (`TF_CONFIG`), chief and workers train together and the evaluator evaluates each
    checkpoint that it finds once, until training has ended. Where the cluster has parameter servers, each worker trains
    in a loop of its own until the common global step reaches `max_steps`, which the last steps of other workers may
    exceed; the servers' tasks serve until the chief's program has ended, and end with code 0.

    Args:
        estimator: The estimator.
        train_spec: How to train.
        eval_spec: How to evaluate.

    Returns:
        The metrics of the last evaluation and what the exporters returned; None in a cluster.

    Raises:
        BadTypeError: If an argument has the wrong type.
        ClusterError: If the task's type has no part in it.
        ClusterTimeoutError: In an evaluator, if no checkpoint comes for `session_creation_timeout_secs` of the config.
    """
    for name, value, kind in (
        ("estimator", estimator, Estimator),
        ("train_spec", train_spec, TrainSpec),
        ("eval_spec", eval_spec, EvalSpec),
    ):
        if not isinstance(value, kind):
            raise errors.BadTypeError(
                f"`{name}` must have type `{kind.__name__}`. Received: {name}={shown(value)}."
            )
    # One file of summaries for all evaluations.
    with closing_writers():
        return _run(estimator, train_spec, eval_spec)


def _run(
    estimator: Estimator, train_spec: TrainSpec, eval_spec: EvalSpec
) -> tuple[dict[str, Any] | None, list[Any]] | None:
    config = estimator.config
    if not config.cluster_spec.as_dict() and config.task_type != _EVALUATOR:
        return _on_one_machine(estimator, train_spec, eval_spec)
    if config.task_type == _EVALUATOR:
        _Evaluator(estimator, train_spec, eval_spec).run()
    elif config.task_type in (*_CHIEFS, *_WORKERS):
        _train(estimator, train_spec, [])
    elif config.task_type == _SERVERS:
        # Late: it needs an extra.
        from stratax.distribute import Server

        # The process ends in it, when the chief's program has ended.
        Server(config.cluster_spec, _SERVERS, config.task_id).join()
    else:
        raise errors.ClusterError(
            f"A task of type {shown(config.task_type)} has no part in train_and_evaluate. Expected: chief, worker, ps "
            "or evaluator."
        )
    return None


def _on_one_machine(
    estimator: Estimator, train_spec: TrainSpec, eval_spec: EvalSpec
) -> tuple[dict[str, Any] | None, list[Any]]:
    evaluation = _Evaluation(estimator, train_spec, eval_spec)
    _train(estimator, train_spec, [_AfterSaving(evaluation)])
    # The listener has evaluated the last checkpoint unless it came too soon.
    evaluation.run_if_new()
    return evaluation.metrics, evaluation.exported


def _train(estimator: Estimator, train_spec: TrainSpec, listeners: list[CheckpointSaverListener]) -> None:
    is_chief = estimator.config.is_chief
    ended = pathlib.Path(estimator.model_dir, _ENDED)
    if is_chief:
        ended.unlink(missing_ok=True)
    estimator.train(
        train_spec.input_fn,
        hooks=train_spec.hooks,
        max_steps=train_spec.max_steps,
        saving_listeners=[*train_spec.saving_listeners, *listeners],
    )
    if is_chief:
        # Not where it failed: it will be started again, and the evaluator waits for it.
        make_folder(estimator.model_dir)
        # Each time something else: an evaluator tells it from what an earlier training has left. Whole, as it reads it
        # at any time.
        write_file(str(ended), secrets.token_hex(8).encode())


def _read_end(model_dir: str) -> str | None:
    """Return what says that the training of a folder has ended; None while it has not."""
    try:
        return pathlib.Path(model_dir, _ENDED).read_text()
    except FileNotFoundError:
        return None


class _Evaluation:
    """Evaluates checkpoints, each once, and exports after each.

    Args:
        estimator: The estimator.
        train_spec: How it is trained.
        eval_spec: How it is evaluated.

    Attributes:
        metrics: What the last evaluation gave.
        throttle_seconds: How far apart evaluations are at least.
        exported: What the exporters returned behind it.
    """

    def __init__(self, estimator: Estimator, train_spec: TrainSpec, eval_spec: EvalSpec) -> None:
        self.metrics: dict[str, Any] | None = None
        self.exported: list[Any] = []
        self._estimator = estimator
        self._max_steps = train_spec.max_steps
        self._spec = eval_spec
        self.throttle_seconds: float = eval_spec.throttle_secs
        self._done: str | None = None

    def run_if_new(self) -> None:
        """Evaluate the last checkpoint, if that was not done."""
        path = self._estimator.latest_checkpoint()
        if path is not None and path != self._done:
            self.run(path)

    def run_once(self, path: str) -> int | None:
        """Evaluate a checkpoint, unless that was done; return its global step, or None if it was removed meanwhile."""
        is_first = self._done is None
        try:
            if path == self._done or (is_first and self._was_run(path)):
                self._done = path
                return _checkpoints.step_of(path)
            return self.run(path)
        except errors.StrataxError:
            if checkpoint_exists(path):
                raise
            _logger.warning("The checkpoint %s was removed before it was evaluated; the next one is.", path)
            return None

    def _was_run(self, path: str) -> bool:
        """Return whether a checkpoint has been evaluated, by another process perhaps that was killed since."""
        saved_at = _checkpoints.find_save_time(path)
        if saved_at is None:
            return False
        folder = self._estimator.eval_dir(self._spec.name)
        # Of the step alone one can't tell: a model may have been trained anew in its folder.
        evaluated = find_write_times(folder).get(_checkpoints.step_of(path), 0.0) > saved_at
        return evaluated and (not self._spec.exporters or _read_exported(folder) == [path, saved_at])

    def run(self, path: str) -> int:
        """Evaluate a checkpoint; return its global step."""
        self._done = path
        self.metrics = self._estimator.evaluate(
            self._spec.input_fn,
            steps=self._spec.steps,
            hooks=self._spec.hooks,
            checkpoint_path=path,
            name=self._spec.name,
        )
        step: int = self.metrics["global_step"]
        is_last = self._max_steps is not None and step >= self._max_steps
        self.exported = [
            exporter.export(
                estimator=self._estimator,
                export_path=os.path.join(self._estimator.model_dir, "export", exporter.name),
                checkpoint_path=path,
                eval_result=self.metrics,
                is_the_final_export=is_last,
            )
            for exporter in self._spec.exporters
        ]
        if self._spec.exporters:
            _note_exported(self._estimator.eval_dir(self._spec.name), path)
        return step


def _note_exported(folder: str, path: str) -> None:
    content = json.dumps([path, _checkpoints.find_save_time(path)]).encode()
    os.makedirs(folder, exist_ok=True)
    write_file(os.path.join(folder, _EXPORTED), content)


def _read_exported(folder: str) -> object:
    try:
        return json.loads(pathlib.Path(folder, _EXPORTED).read_bytes())
    # Nothing was noted, or it is damaged: then it is done again.
    except (OSError, ValueError):
        return None


class _AfterSaving(CheckpointSaverListener):
    """Evaluates behind checkpoints that a training saves, some time apart."""

    def __init__(self, evaluation: _Evaluation) -> None:
        self._evaluation = evaluation
        self._last: float | None = None
        self._is_first = True

    def after_save(self, session: SessionView, global_step_value: int) -> None:
        """Evaluate, if the last time was long enough ago."""
        # As in TensorFlow: what a training begins with is not evaluated.
        if self._is_first:
            self._is_first = False
            self._last = time.monotonic()
            return
        throttle = self._evaluation.throttle_seconds
        if self._last is not None and time.monotonic() - self._last < throttle:
            _logger.info("Skip the current checkpoint eval due to throttle secs (%s secs).", throttle)
            return
        self._last = time.monotonic()
        self._evaluation.run_if_new()


class _Evaluator:
    """The evaluator of a cluster: evaluates checkpoints as they come, until training has ended."""

    def __init__(self, estimator: Estimator, train_spec: TrainSpec, eval_spec: EvalSpec) -> None:
        self._estimator = estimator
        self._evaluation = _Evaluation(estimator, train_spec, eval_spec)
        self._max_steps = train_spec.max_steps
        self._spec = eval_spec
        self._limit = estimator.config.session_creation_timeout_secs
        # What an earlier training in this folder has left, if it did.
        self._earlier_end = _read_end(estimator.model_dir)
        self._began = self._heard = time.monotonic()

    def run(self) -> None:
        """Evaluate until training has ended."""
        # The last evaluation comes behind the training.
        end_by_itself()
        _logger.info("Waiting %s secs before starting eval.", self._spec.start_delay_secs)
        time.sleep(self._spec.start_delay_secs)
        self._heard = time.monotonic()
        checkpoints = checkpoints_iterator(
            self._estimator.model_dir,
            min_interval_secs=self._spec.throttle_secs,
            timeout=_POLL_SECONDS,
            timeout_fn=self._is_over,
        )
        for path in checkpoints:
            step = self._evaluation.run_once(path)
            self._heard = time.monotonic()
            if step is not None and self._max_steps is not None and step >= self._max_steps:
                _logger.info(
                    "Exiting evaluation, global_step=%d >= train max_steps=%d.", step, self._max_steps
                )
                return
        # A checkpoint may have come between the last look and the end.
        last = self._estimator.latest_checkpoint()
        if last is not None:
            self._evaluation.run_once(last)

    def _is_over(self) -> bool:
        """Return whether nothing comes any more; raises where nothing has come for too long."""
        end, now = _read_end(self._estimator.model_dir), time.monotonic()
        if end is not None and (end != self._earlier_end or now - self._began > _BEGIN_SECONDS):
            return True
        waited = time.monotonic() - self._heard
        if self._limit is not None and waited > self._limit:
            raise errors.ClusterTimeoutError(
                f"The evaluator has waited {waited:.0f} seconds for a checkpoint in "
                f"{shown(self._estimator.model_dir)}. Expected: one from the chief within "
                "session_creation_timeout_secs of the RunConfig. Look for its errors, or raise the limit."
            )
        return False
