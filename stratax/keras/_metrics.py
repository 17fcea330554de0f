"""Metrics that a step reads while it runs: the results are those of all replicas' examples (keras layer)."""

import contextlib
import functools
from collections.abc import Callable, Iterator
from typing import Any

import jax.numpy as jnp
import keras

from stratax.distribute.replicas import sum_over_replicas, syncing_replicas


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
