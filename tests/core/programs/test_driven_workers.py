"""Loops over datasets in compiled functions run the same windows in all workers (real processes)."""

import numpy as np
import pytest

from tests.cluster.processes import run_tasks

pytestmark = pytest.mark.processes

PROGRAM = """
import numpy as np, keras
import stratax as sx

strategy = sx.distribute.MultiWorkerMirroredStrategy(
    communication_options=sx.distribute.CommunicationOptions(timeout_seconds=60.0))

def rows(context):
    count = [55, 42][context.input_pipeline_id]
    values = np.arange(count) + 1000.0 * context.input_pipeline_id
    return sx.Dataset.from_tensor_slices(values.astype("float32")).filter(lambda x: x >= 0).batch(3)

dataset = strategy.distribute_datasets_from_function(rows)
with strategy.scope():
    seen = sx.Variable(0.0)
    metric = keras.metrics.Sum()

def replica_step(x):
    metric.update_state(x)
    return keras.ops.sum(x), keras.ops.cast(x.shape[0], "float32")

@sx.function
def epoch(dataset):
    total, steps = 0.0, 0
    for batch in dataset:
        sums, counts = strategy.reduce("SUM", strategy.run(replica_step, args=(batch,)), axis=None)
        seen.assign_add(counts)
        total += sums
        steps += 1
    return total, steps

@sx.function
def some(iterator, n):
    total = 0.0
    for _ in sx.range(n):
        total += strategy.reduce("SUM", strategy.run(keras.ops.sum, args=(next(iterator),)), axis=None)
    return total

totals = [[float(x) for x in epoch(dataset)] for _ in range(2)]
report(totals=totals, seen=float(seen.value), metric=float(metric.result()))
iterator = iter(strategy.distribute_datasets_from_function(lambda context: rows(context).repeat()))
report(long=float(some(iterator, np.int32(100))), next=float(some(iterator, np.int32(1))))
"""


@pytest.mark.programs
def test_two_workers_with_different_amounts_of_data_go_through_them_in_functions():
    first, second = run_tasks(2, PROGRAM, devices=1)
    total = float(np.arange(55).sum() + (np.arange(42) + 1000.0).sum())
    for result in (first, second):
        assert result.code == 0, result.err
        assert [each[0] for each in result.report["totals"]] == [total, total]
        assert result.report["totals"][0][1] == 19
        assert (result.report["seen"], result.report["metric"]) == (2 * 97, 2 * total)
    assert first.report == second.report
