"""Early stopping: hooks that end a training by what evaluations have found (estimator layer)."""

import logging
import operator
from collections.abc import Callable, Iterator
from typing import Any

from stratax import errors
from stratax.base.shown import shown
from stratax.tensorflow.estimator.hooks._eval_metrics import read_eval_metrics
from stratax.tensorflow.estimator.hooks._session_run_hook import (
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
)
from stratax.tensorflow.estimator.hooks._stop_at_step import StopAtStepHook
from stratax.tensorflow.estimator.hooks._timer import SecondOrStepTimer

_logger = logging.getLogger("stratax")


def make_early_stopping_hook(
    estimator: object,
    should_stop_fn: Callable[[], bool],
    run_every_secs: float | None = 60,
    run_every_steps: int | None = None,
) -> SessionRunHook:
    """Return a hook that ends a training where a function says so, as TensorFlow's.

    The chief asks the function; all workers end before the same step. It may be asked by seconds under every strategy.

    Args:
        estimator: The Estimator.
        should_stop_fn: Called without arguments; returns whether to end.
        run_every_secs: The distance of the questions in seconds.
        run_every_steps: The distance in steps, instead; `run_every_secs` has to be None then.

    Raises:
        BadArgumentError: If not exactly one of the distances is given.
        BadTypeError: If `estimator` is no Estimator, or `should_stop_fn` no function.
    """
    _check_estimator(estimator)
    if not callable(should_stop_fn):
        raise errors.BadTypeError(
            f"should_stop_fn must be a function without arguments. Received: should_stop_fn={shown(should_stop_fn)}."
        )
    if run_every_secs is not None and run_every_steps is not None:
        raise errors.BadArgumentError(
            "Only one of run_every_secs and run_every_steps can be given. Received: "
            f"run_every_secs={shown(run_every_secs)}, run_every_steps={shown(run_every_steps)}. "
            "Pass run_every_secs=None with run_every_steps."
        )
    return _StopOnPredicateHook(
        should_stop_fn, SecondOrStepTimer(every_secs=run_every_secs, every_steps=run_every_steps)
    )


def stop_if_higher_hook(
    estimator: object,
    metric_name: str,
    threshold: float,
    eval_dir: str | None = None,
    min_steps: int = 0,
    run_every_secs: float | None = 60,
    run_every_steps: int | None = None,
) -> SessionRunHook:
    """Return a hook that ends a training once a metric is higher than a threshold, as TensorFlow's.

    Args:
        estimator: The Estimator.
        metric_name: The metric's name.
        threshold: The threshold.
        eval_dir: Where evaluations write; default `estimator.eval_dir()`.
        min_steps: Evaluations before this global step don't count.
        run_every_secs: The distance of the looks in seconds.
        run_every_steps: The distance in steps, instead; `run_every_secs` has to be None then.

    Raises:
        BadArgumentError: If not exactly one of the distances is given.
        BadTypeError: If `estimator` is no Estimator.
    """
    metric = _Metric(estimator, metric_name, eval_dir, min_steps)
    should_stop = _threshold_crossed(metric, threshold, operator.gt, "greater than")
    return make_early_stopping_hook(estimator, should_stop, run_every_secs, run_every_steps)


def stop_if_lower_hook(
    estimator: object,
    metric_name: str,
    threshold: float,
    eval_dir: str | None = None,
    min_steps: int = 0,
    run_every_secs: float | None = 60,
    run_every_steps: int | None = None,
) -> SessionRunHook:
    """Return a hook that ends a training once a metric is lower than a threshold; see :func:`stop_if_higher_hook`."""
    metric = _Metric(estimator, metric_name, eval_dir, min_steps)
    should_stop = _threshold_crossed(metric, threshold, operator.lt, "less than")
    return make_early_stopping_hook(estimator, should_stop, run_every_secs, run_every_steps)


def stop_if_no_increase_hook(
    estimator: object,
    metric_name: str,
    max_steps_without_increase: int,
    eval_dir: str | None = None,
    min_steps: int = 0,
    run_every_secs: float | None = 60,
    run_every_steps: int | None = None,
) -> SessionRunHook:
    """Return a hook that ends a training once a metric's best value is too many steps old, as TensorFlow's.

    Args:
        estimator: The Estimator.
        metric_name: The metric's name; the higher, the better.
        max_steps_without_increase: How many steps are too many.
        eval_dir: Where evaluations write; default `estimator.eval_dir()`.
        min_steps: Evaluations before this global step don't count.
        run_every_secs: The distance of the looks in seconds.
        run_every_steps: The distance in steps, instead; `run_every_secs` has to be None then.

    Raises:
        BadArgumentError: If not exactly one of the distances is given.
        BadTypeError: If `estimator` is no Estimator.
    """
    metric = _Metric(estimator, metric_name, eval_dir, min_steps)
    should_stop = _no_improvement(metric, max_steps_without_increase, operator.gt, "increase")
    return make_early_stopping_hook(estimator, should_stop, run_every_secs, run_every_steps)


def stop_if_no_decrease_hook(
    estimator: object,
    metric_name: str,
    max_steps_without_decrease: int,
    eval_dir: str | None = None,
    min_steps: int = 0,
    run_every_secs: float | None = 60,
    run_every_steps: int | None = None,
) -> SessionRunHook:
    """Return a hook like :func:`stop_if_no_increase_hook`, for a metric that is better the lower it is."""
    metric = _Metric(estimator, metric_name, eval_dir, min_steps)
    should_stop = _no_improvement(metric, max_steps_without_decrease, operator.lt, "decrease")
    return make_early_stopping_hook(estimator, should_stop, run_every_secs, run_every_steps)


def make_stop_at_checkpoint_step_hook(
    estimator: object, last_step: int, wait_after_file_check_secs: float = 30
) -> SessionRunHook:
    """Return a hook that ends a training at a global step, as TensorFlow's.

    Args:
        estimator: The Estimator.
        last_step: The global step.
        wait_after_file_check_secs: Ignored: all workers end before the same step, and wait for no checkpoint.
    """
    _check_estimator(estimator)
    return StopAtStepHook(last_step=last_step)


class _StopOnPredicateHook(SessionRunHook):
    def __init__(self, should_stop_fn: Callable[[], bool], timer: SecondOrStepTimer) -> None:
        self._should_stop_fn = should_stop_fn
        self._timer = timer
        self._has_stopped = False

    def begin(self) -> None:
        self._has_stopped = False

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        session = run_context.session
        # Some steps pass until all workers end together; the answer has been given.
        if self._has_stopped or not session.is_chief:
            return
        if not self._timer.should_trigger_for_step(session.global_step):
            return
        self._timer.update_last_triggered_step(session.global_step)
        self._has_stopped = bool(self._should_stop_fn())
        if self._has_stopped:
            _logger.info("Requesting early stopping at global step %d", session.global_step)
            run_context.request_stop()


class _Metric:
    """A metric of the evaluations in a folder."""

    def __init__(self, estimator: Any, name: str, eval_dir: str | None, min_steps: int) -> None:
        _check_estimator(estimator)
        self.name = name
        self._folder = estimator.eval_dir() if eval_dir is None else eval_dir
        self._min_steps = min_steps

    def values(self) -> Iterator[tuple[int, float]]:
        """Return the steps that count and the metric's values.

        Raises:
            BadArgumentError: If there are evaluations, and none has such a metric.
        """
        found = read_eval_metrics(self._folder)
        names = sorted({name for metrics in found.values() for name in metrics})
        if found and self.name not in names:
            raise errors.BadArgumentError(
                f"No evaluation has written the metric that early stopping looks at; there are {', '.join(names)}. "
                f"Received: metric_name={shown(self.name)}, eval_dir={shown(self._folder)}."
            )
        for step, metrics in found.items():
            if step >= self._min_steps and self.name in metrics:
                yield step, metrics[self.name]


def _threshold_crossed(
    metric: _Metric, threshold: float, is_better: Callable[[float, float], bool], words: str
) -> Callable[[], bool]:
    def should_stop() -> bool:
        for step, value in metric.values():
            if is_better(value, threshold):
                _logger.info(
                    'At step %s, metric "%s" has value %s which is %s the configured threshold (%s) for '
                    "early stopping.",
                    step,
                    metric.name,
                    value,
                    words,
                    threshold,
                )
                return True
        return False

    return should_stop


def _no_improvement(
    metric: _Metric, most_steps: int, is_better: Callable[[float, float], bool], word: str
) -> Callable[[], bool]:
    def should_stop() -> bool:
        best: tuple[int, float] | None = None
        for step, value in metric.values():
            if best is None or is_better(value, best[1]):
                best = step, value
            if step - best[0] >= most_steps:
                _logger.info(
                    'No %s in metric "%s" for %s steps, which is greater than or equal to max steps (%s) '
                    "configured for early stopping.",
                    word,
                    metric.name,
                    step - best[0],
                    most_steps,
                )
                return True
        return False

    return should_stop


def _check_estimator(estimator: object) -> None:
    if not all(hasattr(estimator, name) for name in ("config", "eval_dir", "train")):
        raise errors.BadTypeError(f"estimator must be an Estimator. Received: estimator={shown(estimator)}.")
