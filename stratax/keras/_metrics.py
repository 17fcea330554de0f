"""Metrics' results: those that a step reads are of all replicas' examples, others need no program (keras layer)."""

import contextlib
import functools
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import keras
import numpy as np

from stratax.base.surroundings import Slot
from stratax.distribute.replicas import sum_over_replicas, syncing_replicas
from stratax.seams import keras as seam

# Whether results that are means are divided by NumPy, where that gives the same and need not be traced. Three small
# programs divide them in Keras, which are compiled for every set of devices. Whoever asks for a model's results makes
# numbers of them at once, so nothing is lost by waiting for what is divided.
DIVIDED_ON_HOST: Slot[bool] = Slot("means of metrics", False)


@contextlib.contextmanager
def global_results(model: keras.Model) -> Iterator[None]:
    """Mark a block, traced for one replica, in which `result()` of each of the model's metrics is of all replicas.

    An overridden step returns `{m.name: m.result() for m in self.metrics}`; a replica's own variables hold its part.
    """
    # One replica's variables hold everything.
    if syncing_replicas() is None:
        yield
        return
    metrics = model.metrics
    for metric in metrics:
        # Around Keras' own bookkeeping of attributes.
        metric.__dict__["result"] = functools.partial(_global_result, metric, metric.result)
    try:
        yield
    finally:
        for metric in metrics:
            del metric.__dict__["result"]


def _global_result(metric: keras.Metric, result: Callable[[], Any]) -> Any:
    variables = [variable for variable in metric.variables if variable.aggregation == "sum"]
    totals = [sum_over_replicas(jnp.asarray(variable.value)) for variable in variables]
    # The result is computed of sums over all replicas, and the variables keep the replica's part.
    with keras.StatelessScope(state_mapping=list(zip(variables, totals, strict=True))):
        return result()


def install() -> None:
    """Have Keras' mean ask where it is divided."""
    seam.install("stratax.keras", {"keras.src.metrics.reduction_metrics:Mean.result": _mean_hook})


def _mean_hook(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def result(self: Any) -> Any:
        if not DIVIDED_ON_HOST.get() or seam.in_stateless_scope():
            return original(self)
        mean = _divide(self.total.value, self.count.value)
        return original(self) if mean is None else mean

    return result


def _divide(total: object, count: object) -> jax.Array | None:
    """Divide as `keras.ops.divide_no_nan` does, to the last bit; None of what is not in this process' memory."""
    for value in (total, count):
        if isinstance(value, jax.core.Tracer) or not isinstance(value, jax.Array):
            return None
        is_here = value.is_fully_replicated and next(iter(value.devices())).platform == "cpu"
        if value.dtype != np.float32 or not is_here:
            return None
    number = np.asarray(count)
    with np.errstate(all="ignore"):
        mean = np.asarray(total) / np.where(number == 0, np.float32(1), number)
    # `jnp.asarray` would compile a program for it.
    return jax.device_put(np.where(number == 0, np.float32(0), mean))
