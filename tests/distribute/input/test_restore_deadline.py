"""A restore waits for the other workers as long as a step may take, and says what for."""

import pytest

from tests.cluster.processes import run_tasks

pytestmark = pytest.mark.processes

STUCK = """
import sys, tempfile
import stratax as sx
from stratax.errors import ClusterTimeoutError
strategy = sx.distribute.MultiWorkerMirroredStrategy()
worker = strategy.cluster_resolver.task_id
options = sx.data.Options()
options.experimental_distribute.auto_shard_policy = sx.data.AutoShardPolicy.DATA
dataset = sx.data.Dataset.range(200).filter(lambda x: x % 3 != 0).batch(8).with_options(options)
iterator = iter(strategy.experimental_distribute_dataset(dataset))
for _ in range(3):
    next(iterator)
checkpoint = sx.train.Checkpoint(iterator=iterator)
path = checkpoint.save(sys.argv[1] + "/ckpt")
checkpoint.restore(path)
report(rows=[sorted(sum((v.tolist() for v in strategy.experimental_local_results(next(iterator))), []))])

set_state = iterator.set_state
def stuck(state):
    if worker == 1:
        time.sleep(1000)  # As where files do not answer.
    set_state(state)
iterator.set_state = stuck
sx.cluster.current().set_step_timeout(1.0)
while sx.cluster.current().step_timeout != 1.0:  # Every task learns of it.
    time.sleep(0.01)
began = time.monotonic()
try:
    checkpoint.restore(path)
except ClusterTimeoutError as error:
    report(error=str(error), tasks=error.tasks, seconds=time.monotonic() - began)
    os._exit(0)
"""


def test_a_worker_that_does_not_come_to_the_end_of_a_restore_is_named(tmp_path):
    chief, _ = run_tasks(2, STUCK, str(tmp_path))
    assert chief.report["tasks"] == ["/job:worker/task:1"]
    assert "has not come to the end of restoring a checkpoint" in chief.report["error"]
    assert (
        "'all_gather/checkpoint/restore/done' was not reached by all tasks within 1 s"
        in chief.report["error"]
    )
    assert chief.report["rows"] == [[37, 40, 43, 46]]
