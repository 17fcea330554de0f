"""How long workers wait for one another: as long as one evaluates, not longer than a step may take otherwise."""

import re

import pytest

from tests.cluster.processes import run_tasks

pytestmark = pytest.mark.processes

OWN_INPUT = """
import numpy as np, keras
import stratax as sx
strategy = sx.distribute.MultiWorkerMirroredStrategy()
worker = strategy.cluster_resolver.task_id

def limit(seconds):
    sx.cluster.current().set_step_timeout(seconds)

def long_evaluation():
    limit(1.5)  # Only now: on a busy machine anything else may take longer.
    time.sleep(7.5)
    limit(60.0)

def rows():
    for i in range(60):
        time.sleep(0.002)  # Slow enough that a thread reads ahead.
        if worker == 1 and i == STUCK_AT:
            limit(1.5)
            time.sleep(1000)
        yield np.full(4, i + 100 * worker, "float32")

def of_worker(context):
    return sx.data.Dataset.from_generator(rows, output_signature=sx.data.TensorSpec((4,), np.float32)).batch(2)

dataset = strategy.distribute_datasets_from_function(of_worker)

@sx.function
def total(batch):
    return strategy.reduce("SUM", strategy.run(lambda x: x.sum(), args=(batch,)), axis=None)
"""

EVALUATION = (
    "STUCK_AT = None\n"
    + OWN_INPUT
    + """
# Whatever does not say how long it waits gives up before the evaluation is over.
sx.cluster.Cluster.all_gather.__defaults__ = (7.0,)
totals = []
for step, batch in enumerate(dataset):
    totals.append(total(batch))
    if step == 8 and worker == 1:
        with sx.cluster.phase("evaluating"):
            long_evaluation()
report(total=sum(float(each) for each in totals), steps=len(totals))

class Slow(keras.callbacks.Callback):
    def on_test_batch_end(self, batch, logs=None):
        if worker == 0 and batch == 1:
            long_evaluation()

keras.utils.set_random_seed(0)
with strategy.scope():
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
x = np.ones((16, 4), "float32")
history = model.fit(x, x[:, :1], batch_size=4, validation_data=(x, x[:, :1]), callbacks=[Slow()], verbose=0).history
report(losses=[history["loss"], history["val_loss"]])
"""
)


@pytest.mark.stress
def test_an_evaluation_of_five_times_the_deadline_of_a_step_is_no_stall():
    results = run_tasks(2, EVALUATION)
    assert [result.code for result in results] == [0, 0], results[0].err + results[1].err
    first, second = (result.report for result in results)
    assert first == second
    assert first["total"] == 4.0 * sum(2 * i + 100 for i in range(60))
    assert first["steps"] == 30


def test_a_worker_whose_input_is_stuck_is_named_by_the_others():
    program = "STUCK_AT = 40\n" + OWN_INPUT + "for batch in dataset:\n    total(batch)\n"
    survivor, stuck = run_tasks(2, program)
    assert survivor.code == 201, survivor.err
    named = r"/job:worker/task:1 made no progress for the 1.5 s .*\(last step \d+, phase 'input'"
    assert re.search(named, survivor.err), survivor.err
    assert stuck.code == 202, stuck.err
