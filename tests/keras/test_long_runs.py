"""Long runs: memory stays flat, and the time spent waiting for input is told."""

import gc
import signal
import threading
import time
import weakref

import jax
import keras
import numpy as np
import psutil
import pytest
from keras import layers

import stratax as sx


@pytest.mark.stress
def test_two_hundred_short_epochs_leave_memory_flat(mirrored, data, tmp_path):
    x, y = data
    with mirrored(4).scope():
        model = keras.Sequential([layers.Dense(8), layers.Dense(1)])
        model.compile("adam", "mse")
    dataset = sx.data.Dataset.from_tensor_slices((x, y)).shuffle(50).batch(16)

    def epoch():
        model.fit(dataset, verbose=0)
        model.evaluate(x, y, batch_size=16, verbose=0)
        model.predict(x, batch_size=16, verbose=0)
        model.save_weights(tmp_path / "w.weights.h5", overwrite=True)

    process = psutil.Process()

    def measure():
        gc.collect()
        return len(jax.live_arrays()), process.memory_info().rss / 2**20, process.num_threads()

    for _ in range(30):
        epoch()
    arrays, memory, threads = measure()
    for _ in range(170):
        epoch()
    arrays_after, memory_after, threads_after = measure()
    assert arrays_after <= arrays
    assert threads_after <= threads + 1
    assert memory_after - memory < 20, f"{memory_after - memory:.1f} MiB more after 170 epochs"


def test_a_model_is_freed_with_its_strategy_alive(mirrored, data):
    def run():
        with mirrored(2).scope():
            model = keras.Sequential([layers.Dense(3), layers.Dense(1)])
            model.compile("adam", "mse")
        model.fit(*data, batch_size=25, verbose=0)
        return weakref.ref(model), weakref.ref(model.optimizer)

    references = run()
    keras.utils.clear_session()
    gc.collect()
    assert [reference() for reference in references] == [None, None]


class Slow(keras.utils.PyDataset):
    """Twenty batches that take a while each."""

    def __init__(self, seconds):
        super().__init__()
        self.seconds = seconds

    def __len__(self):
        return 20

    def __getitem__(self, index):
        time.sleep(self.seconds)
        return np.ones((8, 2), "float32"), np.ones((8, 1), "float32")


@pytest.fixture(scope="module")
def sleepy():
    """A model whose step takes 100 ms: long beside what a busy machine takes to wake a thread."""

    def wait(x):
        time.sleep(0.1)
        return x

    class Sleep(layers.Layer):
        def call(self, x):
            return jax.pure_callback(wait, jax.ShapeDtypeStruct(x.shape, x.dtype), x)

    class Sees(keras.Sequential):
        def train_step(self, data):
            self.optimizer.apply([0.0 * v for v in self.trainable_variables], self.trainable_variables)
            return {"mean": keras.ops.mean(self(data[0]))}

    with sx.distribute.OneDeviceStrategy("/cpu:0").scope():
        model = Sees([keras.Input((2,)), layers.Dense(1), Sleep()])
        model.compile("sgd")
    model.fit(Slow(0.0), verbose=0)
    return model


def test_a_source_a_little_faster_than_the_step_costs_no_time(sleepy):
    assert sleepy.fit(Slow(0.1 * 0.8), verbose=0).input_wait < 0.2


def test_a_source_of_half_the_speed_is_reported(sleepy):
    with pytest.warns(RuntimeWarning, match=r"Training waited for its input \d+% of the time"):
        history = sleepy.fit(Slow(0.2), verbose=0)
    assert history.input_wait > 0.35


def test_ctrl_c_leaves_every_variable_readable(mirrored, data):
    with mirrored(4).scope():
        model = keras.Sequential([layers.Dense(8), layers.Dense(1)])
        model.compile("adam", "mse")
    model.fit(*data, batch_size=16, verbose=0)
    before = int(model.optimizer.iterations.numpy())
    trained = threading.Event()

    def interrupt():
        trained.wait(60)
        time.sleep(0.05)  # Somewhere in a later step.
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

    threading.Thread(target=interrupt).start()
    told = keras.callbacks.LambdaCallback(on_epoch_end=lambda *_: trained.set())
    with pytest.raises(KeyboardInterrupt):
        model.fit(*data, batch_size=16, epochs=100_000, verbose=0, callbacks=[told])
    assert int(model.optimizer.iterations.numpy()) > before
    assert all(np.isfinite(v.numpy()).all() for v in [*model.variables, *model.optimizer.variables])
    assert np.isfinite(model.fit(*data, batch_size=16, verbose=0).history["loss"]).all()
