"""One call of `Estimator.evaluate`: metrics over all batches of an input (estimator layer)."""

from collections.abc import Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import keras
import numpy as np

from stratax import errors
from stratax.base.shown import shown
from stratax.core import storage
from stratax.distribute import Strategy, get_replica_context
from stratax.engine import StepInput, StepLoop, StepProgram
from stratax.summary.forms import SummaryRecord
from stratax.tensorflow.estimator._model import FETCHED, EstimatorModel
from stratax.tensorflow.estimator._session import HookSession, SessionHooks
from stratax.tensorflow.estimator.hooks import SessionRunHook, write, writer_of
from stratax.tensorflow.v1 import ModelScope

LOSS_METRIC = "loss"
GLOBAL_STEP = "global_step"
_VALUES = "values"


def evaluate(
    model: EstimatorModel,
    strategy: Strategy,
    given: StepInput,
    steps: int | None,
    hooks: Sequence[SessionRunHook],
    model_dir: str,
    eval_dir: str,
) -> dict[str, Any]:
    """Return the metrics of a model over its input.

    Args:
        model: The model, built, with its variables' values.
        strategy: The strategy.
        given: The input.
        steps: How many steps at most; None for the whole input.
        hooks: The session hooks of the caller.
        model_dir: The folder of the model.
        eval_dir: The folder of the summaries.
    """
    _check_names(model.spec.eval_metric_ops)
    session = HookSession(model, model_dir, strategy.extended.membership.is_chief)
    joints = SessionHooks(
        model,
        [*hooks, *model.spec.evaluation_hooks],
        session,
        make_program=lambda asked: _program(model, asked, _of_batches(model)),
    )
    joints.begin_hooks()
    loop = StepLoop(strategy, joints.program, hooks=[joints], phase="evaluating")
    outputs = loop.run(given, until=steps, passes=1)
    if outputs is None:
        raise errors.DataError("evaluate needs at least one batch. Received: an input without any.")
    found = {name: _number(_result(model, name, outputs)) for name in model.metrics}
    found[GLOBAL_STEP] = model.global_step()
    if session.is_chief:
        _write(found, eval_dir)
    return found


def _check_names(metrics: Mapping[str, Any]) -> None:
    for name in (LOSS_METRIC, GLOBAL_STEP):
        if name in metrics:
            raise errors.BadArgumentError(
                f"Metric with name {shown(name)} is not allowed, as it is the Estimator's own. Received: "
                f"eval_metric_ops with {shown(list(metrics))}. Give it another name."
            )


def _write(found: Mapping[str, Any], eval_dir: str) -> None:
    """Write the metrics that are numbers or arrays as summaries of the step."""
    values = {
        name: value
        for name, value in found.items()
        if name != GLOBAL_STEP
        and (isinstance(value, int | float | np.number | np.ndarray) or type(value) is bytes)
    }
    writer = writer_of(eval_dir)
    if writer is not None:
        write(writer, values, found[GLOBAL_STEP])
        writer.flush()


def _of_batches(model: EstimatorModel) -> list[str]:
    """Return the metrics whose values depend on a batch: what they are in the last step is taken."""
    scope = model.scope
    return [
        name
        for name, metric in (model.spec.eval_metric_ops or {}).items()
        if _is_plain(metric)
        and scope is not None
        and not all(map(scope.values.is_known, jax.tree.leaves(metric[0])))
    ]


def _program(model: EstimatorModel, fetched: frozenset[Any], of_batches: Sequence[str]) -> StepProgram:
    def outputs(scope: ModelScope, spec: Any) -> dict[str, Any]:
        metrics = dict(spec.eval_metric_ops or {})
        updates = [update_of(metric) for metric in metrics.values()]
        found = model.fetch(scope, fetched, [updates, spec.loss])
        total, count = (
            scope.make_variable(f"eval_loss/{name}", (), aggregation="sum", synchronization="on_read")
            for name in ("total", "count")
        )
        # In the other steps every replica counts one; one that computes a remainder stands for all.
        replica = get_replica_context()
        weight = 1 if replica is None else replica.stands_for
        keras.Variable.assign(total, total.value + weight * jnp.reshape(jnp.asarray(spec.loss), ()))
        keras.Variable.assign(count, count.value + weight)
        return {
            _VALUES: {name: jax.tree.map(jnp.asarray, metrics[name][0]) for name in of_batches},
            FETCHED: found,
        }

    return model.program(outputs, of_first=(_VALUES, FETCHED), name="evaluate")


def update_of(metric: Any) -> Any:
    """Return what updates a metric: a Keras metric has been updated by whoever made it."""
    return None if isinstance(metric, keras.metrics.Metric) else metric[1]


def value_of(scope: ModelScope, metric: Any) -> Any:
    """Return the value of a metric within a trace, behind its update."""
    if isinstance(metric, keras.metrics.Metric):
        return metric.result()
    value = metric[0]
    if isinstance(value, keras.Variable):
        return value.value
    if hasattr(value, "result"):
        return value.result()
    later = scope.values.value_later
    return jax.tree.map(lambda leaf: later(leaf) if scope.values.is_known(leaf) else leaf, value)


def _is_plain(metric: Any) -> bool:
    """Return whether a metric's value is a tensor of the step, and not an object that reads its variables."""
    return not isinstance(metric, keras.metrics.Metric) and not hasattr(metric[0], "result")


def _result(model: EstimatorModel, name: str, outputs: Any) -> Any:
    if name == LOSS_METRIC:
        total, count = (model.state.variables[f"eval_loss/{part}"] for part in ("total", "count"))
        sums = storage.read_all([total, count])
        return np.asarray(sums[0]) / np.asarray(sums[1])
    metric = model.spec.eval_metric_ops[name]
    if isinstance(metric, keras.metrics.Metric):
        return metric.result()
    if name in outputs[_VALUES]:
        return jax.tree.map(lambda leaf: leaf[-1], outputs[_VALUES][name])
    value, scope = metric[0], model.scope
    if isinstance(value, keras.Variable):
        return storage.read_all([value])[0]
    # Behind the last batch, as TensorFlow runs it.
    if hasattr(value, "result") or scope is None:
        return value.result()
    return jax.tree.map(scope.values.value_later, value)


def _number(value: object) -> Any:
    """Return a metric's value as NumPy's; a summary, such as one of an image, as the bytes of its message."""
    if isinstance(value, SummaryRecord):
        return value.to_proto().SerializeToString()
    if isinstance(value, tuple):
        return tuple(map(_number, value))
    array = jax.tree.map(np.asarray, value)
    return array[()] if isinstance(array, np.ndarray) and not array.shape else array
