"""Several steps in one dispatch: the same training, callbacks with true indices, few programs."""

import keras
import numpy as np
import pytest
from keras import layers

from stratax.keras import _trainer


def make(steps):
    def build():
        model = keras.Sequential(
            [
                layers.Dense(8, activation="tanh"),
                layers.BatchNormalization(),
                layers.Dropout(0.3, seed=1),
                layers.Dense(1),
            ]
        )
        model.compile("adam", "mse", metrics=["mae"], steps_per_execution=steps)
        return model

    return build


class Indices(keras.callbacks.Callback):
    def __init__(self):
        super().__init__()
        self.begun, self.ended = [], []

    def on_train_batch_begin(self, batch, logs=None):
        self.begun.append(batch)

    def on_train_batch_end(self, batch, logs=None):
        self.ended.append(batch)


EXPECTED = {1: (list(range(7)), list(range(7))), 3: ([0, 3, 6], [2, 5, 6]), 7: ([0], [6]), 30: ([0], [6])}


@pytest.fixture(scope="module")
def single(data):
    return {}


@pytest.mark.parametrize("steps", [1, 3, 7, 30])
def test_seven_batches_train_alike_however_many_are_dispatched_at_once(steps, mirrored, train, single, data):
    x, y = (np.concatenate([a, a])[:56] for a in data)
    indices = Indices()
    model, history = train(mirrored(4), make(steps), x, y, batch_size=8, epochs=2, callbacks=[indices])
    begun, ended = EXPECTED[steps]
    assert (indices.begun, indices.ended) == (begun * 2, ended * 2)
    assert _trainer.trainer_of(model)._loops["train"].program.num_programs <= 2
    if steps == 1:
        single["run"] = model, history
    if "run" not in single:
        single["run"] = train(mirrored(4), make(1), x, y, batch_size=8, epochs=2)
    for ours, theirs in zip(model.get_weights(), single["run"][0].get_weights(), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)
    for name, values in single["run"][1].history.items():
        np.testing.assert_allclose(history.history[name], values, rtol=1e-5)


def test_a_smaller_last_batch_gets_one_more_program_and_a_true_index(mirrored, train, data):
    indices = Indices()
    model, _ = train(mirrored(4), make(3), *data, batch_size=8, epochs=2, callbacks=[indices])
    assert indices.ended == [2, 5, 6] * 2
    assert _trainer.trainer_of(model)._loops["train"].program.num_programs == 2


def test_own_logs_of_a_block_are_those_of_its_last_step(mirrored, train, data):
    class Sees(keras.Sequential):
        def train_step(self, data):
            self.optimizer.apply([0.0 * v for v in self.trainable_variables], self.trainable_variables)
            return {"mean": keras.ops.mean(data[0])}

    def build():
        model = Sees([layers.Dense(1)])
        model.compile("sgd", steps_per_execution=3)
        return model

    x = np.arange(48, dtype="float32")[:, None]
    seen = []
    callback = keras.callbacks.LambdaCallback(
        on_train_batch_end=lambda batch, logs: seen.append(float(logs["mean"]))
    )
    train(mirrored(4), build, x, x, batch_size=8, shuffle=False, callbacks=[callback])
    np.testing.assert_allclose(seen, [x[16:24].mean(), x[40:48].mean()], rtol=1e-5)
