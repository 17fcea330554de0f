"""Summaries of several workers, as real processes: the chief writes them."""

import pytest

from tests.cluster.processes import run_tasks

pytestmark = pytest.mark.processes

PROGRAM = """
import os, pathlib, jax.numpy as jnp, numpy as np
import stratax as sx
from stratax import summary
folder = sys.argv[1]
# Before the cluster is connected: TF_CONFIG tells who will be the chief.
writer = summary.create_file_writer(folder)
strategy = sx.distribute.MultiWorkerMirroredStrategy()
index = strategy.extended.membership.share.index
with strategy.scope():
    step = sx.Variable(0, dtype="int32", aggregation="only_first_replica")

def in_replica():
    step.assign_add(1)
    context = sx.distribute.get_replica_context()
    value = jnp.float32(context.replica_id_in_sync_group)
    summary.scalar("replica", value, step=step)
    return value

@sx.function
def train(count):
    for _ in sx.range(count):
        values = strategy.run(in_replica)
        summary.scalar("sum", strategy.reduce("sum", values, axis=None), step=step)
        summary.histogram("all", step * 1.0, step=step)

with writer.as_default():
    # The workers decide differently: nothing may hang.
    with summary.record_if(lambda: index == 0):
        train(5)
    train(2)
    summary.scalar("eager", index, step=step)
    with summary.create_file_writer(folder).as_default():
        summary.scalar("second", index, step=step)
summary.flush(writer)
writer.close()
report(index=index, step=int(step.value))
"""


@pytest.mark.programs
def test_the_chief_writes_and_the_others_do_not(tmp_path, read):
    results = run_tasks(2, PROGRAM, str(tmp_path), devices=2)
    for result in results:
        assert result.code == 0, result.err
        assert result.report["step"] == 7
    assert len(list(tmp_path.iterdir())) == 2
    found = read(tmp_path)
    assert found["replica"] == [(i, 0.0) for i in range(1, 8)]
    assert found["sum"] == [(i, 6.0) for i in range(1, 8)]
    assert [step for step, _ in found["all"]] == list(range(1, 8))
    assert (found["eager"], found["second"]) == ([(7, 0.0)], [(7, 0.0)])
