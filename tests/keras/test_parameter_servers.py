"""`fit` under parameter servers: in this process, and by workers, with one device's numbers."""

import keras
import numpy as np
import pytest
from tensorboard.backend.event_processing import event_accumulator
from tensorboard.util import tensor_util

import stratax as sx
from stratax import errors
from stratax.keras import DatasetCreator
from tests.distribute.parameter_servers import one_device, strategy_on
from tests.parameter_servers.coordination.clusters import in_process
from tests.stressed import but


def data():
    random = np.random.default_rng(0)
    x = random.normal(size=(50, 10)).astype("float32")
    return x, (x[:, :1] * 2 + 1).astype("float32")


def fitted(strategy, x=None, y=None, callbacks=(), steps_per_epoch=None, class_weight=None, **kwargs):
    """A model after `fit`, and its history."""
    keras.utils.set_random_seed(1)
    with strategy.scope():
        layers = [keras.layers.Dense(8, "relu"), keras.layers.BatchNormalization(), keras.layers.Dense(1)]
        model = keras.Sequential([keras.Input((10,)), *layers])
        model.compile(keras.optimizers.Adam(0.02), "mse", metrics=["mae"], **kwargs)
    if x is None:
        x = sx.data.Dataset.from_tensor_slices(data()).batch(8)
    history = model.fit(
        x,
        y,
        epochs=2,
        validation_data=data(),
        callbacks=list(callbacks),
        verbose=0,
        steps_per_epoch=steps_per_epoch,
        class_weight=class_weight,
    )
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


@pytest.mark.parametrize("steps_per_execution", but(lambda steps: steps == 3, [1, 3]))
def test_without_workers_this_process_trains(expected, steps_per_execution):
    with strategy_on(2) as strategy:
        compare(fitted(strategy, steps_per_execution=steps_per_execution), expected)


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


def creator(num_batches=None):
    """What workers make their datasets of."""

    def dataset_fn(context):
        assert (context.num_input_pipelines, context.input_pipeline_id) == (1, 0)
        dataset = sx.data.Dataset.from_tensor_slices(data()).batch(8)
        return dataset.repeat() if num_batches is None else dataset.take(num_batches)

    return DatasetCreator(dataset_fn)


@pytest.mark.parametrize("steps_per_execution", but(lambda steps: steps == 1, [1, 3]))
def test_a_worker_that_reads_its_own_batches_gives_one_devices_numbers(steps_per_execution):
    kwargs = {"steps_per_epoch": 9, "steps_per_execution": steps_per_execution}
    expected = fitted(one_device(), creator(), **kwargs)
    with in_process(servers=1, workers=1) as coordinator:
        compare(fitted(coordinator.strategy, creator(), **kwargs), expected)


def test_several_workers_read_their_own_batches():
    with in_process(servers=1, workers=2) as coordinator:
        model, history = fitted(coordinator.strategy, creator(), steps_per_epoch=10)
        assert int(model.optimizer.iterations.numpy()) == 20
        assert history["loss"][-1] < history["loss"][0]


def test_datasets_that_end_early_end_the_epoch_and_begin_anew_in_the_next():
    with in_process(servers=1, workers=1) as coordinator:
        with pytest.warns(UserWarning, match="ran out of data"):
            model, _ = fitted(coordinator.strategy, creator(3), steps_per_epoch=10)
        assert int(model.optimizer.iterations.numpy()) == 6
        # Seen only when the steps that were scheduled last are waited for.
        with pytest.warns(UserWarning, match="ran out of data, and the last steps"):
            model, _ = fitted(coordinator.strategy, creator(3), steps_per_epoch=4)
        assert int(model.optimizer.iterations.numpy()) == 6
        with pytest.raises(errors.DataError, match="has no batches.*a DatasetCreator has made"):
            fitted(coordinator.strategy, creator(0), steps_per_epoch=4)


def test_an_error_in_the_function_that_makes_datasets_comes_out_of_fit():
    def dataset_fn(context):
        raise OSError("no such file on this worker")

    with in_process(servers=1, workers=1) as coordinator:
        with pytest.raises(Exception, match="no such file on this worker"):
            fitted(coordinator.strategy, DatasetCreator(dataset_fn), steps_per_epoch=4)
        with pytest.raises(errors.BadArgumentError, match="class_weight can't be used with a DatasetCreator"):
            fitted(coordinator.strategy, creator(), steps_per_epoch=4, class_weight={0: 1.0})


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
