"""Two workers save checkpoints, fetch and stop at the same steps, whatever their clocks say (in real processes)."""

import pytest

from tests.cluster.processes import run_tasks

pytestmark = [pytest.mark.processes, pytest.mark.programs]

PROGRAM = """
import logging, time, types
import keras, numpy as np
import stratax as sx, stratax.tf as tf
from stratax.tensorflow import estimator as es
from stratax.tensorflow.estimator.hooks import _timer
from stratax.tensorflow.v1 import train

options = sx.distribute.CommunicationOptions(timeout_seconds=20.0)
strategy = sx.distribute.MultiWorkerMirroredStrategy(communication_options=options)
worker = strategy.extended.membership.share.index
# The other worker's clock runs ten times as fast.
_timer.time = types.SimpleNamespace(monotonic=lambda: time.monotonic() * (1 + 9 * worker))

def input_fn():
    x = np.ones([8, 3], np.float32)
    return sx.data.Dataset.from_tensors((x, x.sum(1, keepdims=True))).repeat()

def model_fn(features, labels, mode):
    loss = tf.reduce_mean((keras.layers.Dense(1)(features) - labels) ** 2)
    train_op = train.GradientDescentOptimizer(0.01).minimize(loss, global_step=train.get_or_create_global_step())
    hooks = [es.LoggingTensorHook({"loss": loss}, every_n_secs=0.2)]
    return es.EstimatorSpec(mode, loss=loss, train_op=train_op, training_hooks=hooks)

class Listener(es.CheckpointSaverListener):
    def __init__(self):
        self.saved = []

    def after_save(self, session, global_step_value):
        self.saved.append(global_step_value)

class Slow(es.SessionRunHook):
    def after_run(self, run_context, run_values):
        time.sleep(0.01)

lines = []
class Lines(logging.Handler):
    def emit(self, record):
        if record.getMessage().startswith("loss = "):
            lines.append(record.getMessage())
logging.getLogger("stratax").addHandler(Lines())
logging.getLogger("stratax").setLevel(logging.INFO)

for steps in (1, 3):
    class Made(es.Estimator):
        def _steps_per_dispatch(self):
            return steps

    folder = FOLDER + f"/{steps}"
    made = Made(model_fn, folder, es.RunConfig(tf_random_seed=1, train_distribute=strategy))
    listener, asked = Listener(), []

    def should_stop():
        asked.append(time.monotonic())
        return len(asked) == 20

    hooks = [
        es.CheckpointSaverHook(folder, save_secs=0.2, listeners=[listener]),
        es.make_early_stopping_hook(made, should_stop, run_every_secs=0.05),
        Slow(),
    ]
    made.train(input_fn, hooks=hooks, max_steps=5000)
    report(**{str(steps): {"saved": listener.saved, "asked": len(asked), "lines": len(lines)}})
"""


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    folder = tmp_path_factory.mktemp("workers")
    results = run_tasks(2, f"FOLDER = {str(folder)!r}\n{PROGRAM}")
    assert [result.code for result in results] == [0, 0], results[0].err + results[1].err
    return [result.report for result in results]


@pytest.mark.parametrize("steps", ["1", "3"])
def test_workers_save_and_stop_at_the_same_steps(reports, steps):
    chief, other = (report[steps] for report in reports)
    assert chief["saved"] == other["saved"]
    # At the beginning, some by the clock, and at the end.
    assert len(chief["saved"]) > 3
    assert chief["saved"][-1] < 5000
    assert (chief["asked"], other["asked"]) == (20, 0)


def test_each_worker_prints_by_its_own_clock(reports):
    chief, other = (report["3"]["lines"] for report in reports)
    assert 3 < chief < other
