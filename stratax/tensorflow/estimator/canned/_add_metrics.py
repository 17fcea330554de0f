"""`add_metrics`: more metrics for an estimator that is there (estimator layer)."""

from collections.abc import Callable
from typing import Any

from stratax import errors
from stratax.base.shown import shown
from stratax.tensorflow.estimator import _calls
from stratax.tensorflow.estimator._estimator import Estimator
from stratax.tensorflow.estimator._mode_keys import ModeKeys
from stratax.tensorflow.estimator._spec import EstimatorSpec

_ARGUMENTS = ("features", "labels", "predictions", "config")


def add_metrics(estimator: Estimator, metric_fn: Callable[..., Any]) -> Estimator:
    """Return an estimator like another one whose evaluation gives more metrics, as `tf.estimator.add_metrics`.

    Args:
        estimator: The other one; its checkpoints are this one's.
        metric_fn: A function of those of `features`, `labels`, `predictions` and `config` that it names. Returns
            metrics by name, as `EstimatorSpec` takes them; one whose name there is already replaces it.

    Raises:
        BadArgumentError: If `metric_fn` has other arguments.
        BadTypeError: If an argument has the wrong type.

    Example:
        >>> import stratax.estimator as estimator, stratax.feature_column as fc, stratax.tf as tf
        >>> def error(labels, predictions):
        ...     return {"error": tf.metrics.mean_absolute_error(labels, predictions["predictions"][:, 0])}
        >>> made = estimator.add_metrics(estimator.LinearRegressor([fc.numeric_column("x")]), error)
    """
    if not isinstance(estimator, Estimator):
        raise errors.BadTypeError(f"estimator must be an Estimator. Received: estimator={shown(estimator)}.")
    if not callable(metric_fn):
        raise errors.BadTypeError(f"metric_fn must be a function. Received: metric_fn={shown(metric_fn)}.")
    names = _calls.arguments_of(metric_fn)
    if not set(names) <= set(_ARGUMENTS):
        raise errors.BadArgumentError(
            f"metric_fn has arguments that are not known. Expected: some of {', '.join(_ARGUMENTS)}. Received: "
            f"{', '.join(names)}."
        )

    def model_fn(features: object, labels: object, mode: str, config: object) -> EstimatorSpec:
        spec = estimator.model_fn(features, labels, mode, config)
        if mode != ModeKeys.EVAL:
            return spec
        given = {"features": features, "labels": labels, "predictions": spec.predictions, "config": config}
        added = metric_fn(**{name: given[name] for name in names})
        return spec._replace(eval_metric_ops={**(spec.eval_metric_ops or {}), **added})

    return Estimator(model_fn, estimator.model_dir, estimator.config, warm_start_from=estimator._warm_start)
