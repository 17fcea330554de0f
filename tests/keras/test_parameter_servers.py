"""`fit` under parameter servers: in this process, and by workers, with one device's numbers."""

import keras
import numpy as np
import pytest
from tensorboard.backend.event_processing import event_accumulator
from tensorboard.util import tensor_util

import stratax as sx
from tests.distribute.coordination.clusters import in_process
from tests.distribute.parameter_servers import one_device, strategy_on
from tests.stressed import but


def data():
    random = np.random.default_rng(0)
    x = random.normal(size=(50, 10)).astype("float32")
    return x, (x[:, :1] * 2 + 1).astype("float32")


def fitted(strategy, x=None, y=None, callbacks=(), **kwargs):
    """A model after `fit`, and its history."""
    keras.utils.set_random_seed(1)
    with strategy.scope():
        layers = [keras.layers.Dense(8, "relu"), keras.layers.BatchNormalization(), keras.layers.Dense(1)]
        model = keras.Sequential([keras.Input((10,)), *layers])
        model.compile(keras.optimizers.Adam(0.02), "mse", metrics=["mae"], **kwargs)
    if x is None:
        x = sx.data.Dataset.from_tensor_slices(data()).batch(8)
    history = model.fit(x, y, epochs=2, validation_data=data(), callbacks=list(callbacks), verbose=0)
    return model, history.history


def compare(found, expected):
    (model, history), (other, other_history) = found, expected
    assert history.keys() == other_history.keys()
    for name, values in history.items():
        np.testing.assert_allclose(values, other_history[name], rtol=1e-5, atol=1e-6)
    for left, right in zip(model.weights, other.weights, strict=True):
        np.testing.assert_allclose(left.numpy(), right.numpy(), rtol=1e-5, atol=1e-6)
    x, y = data()
    np.testing.assert_allclose(model.predict(x, verbose=0), other.predict(x, verbose=0), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(
        model.evaluate(x, y, verbose=0), other.evaluate(x, y, verbose=0), rtol=1e-5, atol=1e-6
    )


@pytest.fixture(scope="module")
def expected():
    return fitted(one_device())


@pytest.mark.exact
@pytest.mark.parametrize("steps_per_execution", but(lambda steps: steps == 3, [1, 3]))
def test_without_workers_this_process_trains(expected, steps_per_execution):
    with strategy_on(2) as strategy:
        compare(fitted(strategy, steps_per_execution=steps_per_execution), expected)


@pytest.mark.exact
@pytest.mark.parametrize("steps_per_execution", but(lambda steps: steps == 1, [1, 3]))
def test_one_worker_gives_one_devices_numbers(expected, steps_per_execution):
    with in_process(servers=1, workers=1) as coordinator:
        compare(fitted(coordinator.strategy, steps_per_execution=steps_per_execution), expected)


def test_workers_compute_every_batch_once_and_callbacks_see_each():
    class Counting(keras.callbacks.Callback):
        batches = 0

        def on_train_batch_end(self, batch, logs=None):
            assert logs["loss"] > 0
            self.batches += 1

    counting = Counting()
    with in_process(servers=1, workers=2) as coordinator:
        model, history = fitted(coordinator.strategy, *data(), callbacks=[counting])
        # 50 examples: of NumPy arrays Keras makes batches of 32.
        assert counting.batches == 4
        assert int(model.optimizer.iterations.numpy()) == 4
        assert history["loss"][-1] < history["loss"][0]


def test_an_error_in_a_step_comes_out_of_fit_and_the_next_one_trains():
    class Broken(keras.losses.Loss):
        is_broken = True

        def call(self, y_true, y_pred):
            if self.is_broken:
                raise ValueError("broken on purpose")
            return (y_true - y_pred) ** 2

    loss = Broken()
    with in_process(servers=1, workers=1) as coordinator:
        with coordinator.strategy.scope():
            model = keras.Sequential([keras.Input((10,)), keras.layers.Dense(1)])
            model.compile("sgd", loss)
        with pytest.raises(ValueError, match="broken on purpose"):
            model.fit(*data(), verbose=0)
        loss.is_broken = False
        assert model.fit(*data(), verbose=0).history["loss"][0] > 0


def test_tensorboard_shows_how_stale_gradients_were(tmp_path):
    with in_process(servers=1, workers=2, max_staleness=1) as coordinator:
        callback = keras.callbacks.TensorBoard(tmp_path)
        fitted(coordinator.strategy, *data(), callbacks=[callback])
        assert set(coordinator.strategy.staleness()) <= {0, 1}
    events = event_accumulator.EventAccumulator(str(tmp_path / "train"), size_guidance={"tensors": 0})
    events.Reload()
    found = events.Tensors("epoch_staleness")
    assert [event.step for event in found] == [0, 1]
    # The counts of the histogram, in the third column: the four steps of each epoch.
    assert [tensor_util.make_ndarray(event.tensor_proto)[:, 2].sum() for event in found] == [4, 4]
