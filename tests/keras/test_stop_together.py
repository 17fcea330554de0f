"""A callback that stops one worker stops all of them, at the same batch (in real processes)."""

import keras
import numpy as np
import pytest

from stratax.distribute import Strategy
from stratax.distribute.strategies import Alone, InStep
from stratax.distribute.strategies._extended import on_devices
from stratax.keras import _stop_together
from tests.cluster.processes import run_tasks

pytestmark = pytest.mark.processes

PROGRAM = """
import numpy as np, keras, random
import stratax as sx
options = sx.distribute.CommunicationOptions(timeout_seconds=20.0)
strategy = sx.distribute.MultiWorkerMirroredStrategy(communication_options=options)
worker = strategy.extended.membership.share.index
x = np.random.default_rng(0).normal(size=(400, 4)).astype("float32")
y = x[:, :1]

class Stopper(keras.callbacks.Callback):
    '''Stops one worker, and counts what all do.'''

    def __init__(self, where, at, who):
        super().__init__()
        self.where, self.at, self.who, self.steps = where, at, who, 0

    def ask(self, where, attribute="stop_training"):
        if worker == self.who and self.where == where and self.steps >= self.at:
            setattr(self.model, attribute, True)

    def on_train_batch_begin(self, batch, logs=None):
        self.ask("begin")

    def on_train_batch_end(self, batch, logs=None):
        self.steps += 1
        self.ask("batch")

    def on_epoch_end(self, epoch, logs=None):
        self.ask("epoch")

    def on_test_batch_end(self, batch, logs=None):
        self.steps += 1
        self.ask("test", "stop_evaluating")

    def on_predict_batch_end(self, batch, logs=None):
        self.steps += 1
        self.ask("predict", "stop_predicting")

def model(steps=1):
    keras.utils.set_random_seed(3)
    with strategy.scope():
        made = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3, activation="relu"), keras.layers.Dense(1)])
        made.compile("adam", "mse", steps_per_execution=steps)
    return made

def fit(each, stopper, epochs=3, **options):
    history = each.fit(x, y, batch_size=8, epochs=epochs, verbose=0, callbacks=[stopper], **options)
    return [stopper.steps, len(history.epoch), float(sum(np.abs(w).sum() for w in each.get_weights()))]

each = model()
for who in range(strategy.num_workers):
    for where, at in (("batch", 5), ("begin", 60), ("epoch", 50), ("batch", 50), ("batch", 10**6)):
        report(**{f"{where} {at} {who}": fit(each, Stopper(where, at, who))})
report(**{"fused 3": fit(model(3), Stopper("batch", 3, 1))})
report(**{"fused validated": fit(model(4), Stopper("batch", 4, 0), validation_data=(x[:30], y[:30]))})
for name, run in (("test", lambda c: each.evaluate(x, y, batch_size=4, verbose=0, callbacks=[c])),
                  ("predict", lambda c: each.predict(x, batch_size=4, verbose=0, callbacks=[c]).shape[0])):
    stopper = Stopper(name, 4, 1)
    report(**{name: [run(stopper), stopper.steps]})
stopping = keras.callbacks.EarlyStopping("loss", patience=0, min_delta=10.0)
report(early=len(each.fit(x, y, batch_size=8, epochs=5, verbose=0, callbacks=[stopping]).epoch))
"""


@pytest.fixture(scope="module")
def reports():
    results = run_tasks(2, PROGRAM)
    assert [result.code for result in results] == [0, 0], results[0].err + results[1].err
    return [result.report for result in results]


@pytest.mark.programs
def test_all_workers_stop_at_the_same_batch_with_the_same_weights(reports):
    assert reports[0] == reports[1]


@pytest.mark.programs
@pytest.mark.parametrize("who", [0, 1])
def test_a_stop_takes_effect_a_few_batches_later_and_in_the_next_epoch_at_the_latest(reports, who):
    stopped = {name: values[:2] for name, values in reports[0].items() if name.endswith(f" {who}")}
    assert 5 <= stopped[f"batch 5 {who}"][0] <= 50  # At once, if none has begun another.
    assert 60 < stopped[f"begin 60 {who}"][0] <= 100
    assert stopped[f"epoch 50 {who}"] == [50, 1]
    assert stopped[f"batch 50 {who}"] == [50, 1]
    assert stopped[f"batch 1000000 {who}"] == [150, 3]


@pytest.mark.programs
def test_blocks_of_steps_validation_evaluate_and_predict_stop_together_too(reports):
    report = reports[0]
    assert report["fused 3"][0] <= 17
    assert report["fused validated"][1] >= 1
    assert report["test"][1] <= 100
    assert report["predict"][0] == 4 * report["predict"][1]
    assert report["early"] == 2


def test_a_list_of_callbacks_that_is_used_twice_is_not_watched_twice(mirrored):
    class Two(Alone, InStep):
        loops = 0

        def loop(self):
            self.loops += 1
            return super().loop()

        def exchange(self, name, value, stop=None):
            return [value, value]

        def next_name(self, purpose):
            return purpose

        def gather_whole(self, array):
            return np.asarray(array)

        def specs_of_all(self, specs):
            return specs

    class InStepWithNobody(Strategy):
        def __init__(self, membership):
            super().__init__(on_devices(self, mirrored(1).devices, membership=membership))

    two = Two()
    strategy = InStepWithNobody(two)
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
    callbacks = keras.callbacks.CallbackList([keras.callbacks.Callback()], model=model)
    for _ in range(2):
        _stop_together.install(callbacks, model, strategy)
    callbacks.on_train_begin()
    callbacks.on_train_end()
    assert two.loops == 1
