"""Callbacks are told of batches where one of them listens, and cost nothing after a batch where none does."""

import keras
import numpy as np
import pytest

import stratax as sx
from stratax.keras import _callback_list


class Listener(keras.callbacks.Callback):
    def __init__(self):
        super().__init__()
        self.batches = []

    def on_train_batch_end(self, batch, logs=None):
        self.batches.append((batch, sorted(logs)))


class BeginListener(keras.callbacks.Callback):
    def __init__(self, name):
        super().__init__()
        self.batches = []
        # On the object, as `LambdaCallback` has it.
        setattr(self, name, lambda batch, logs=None: self.batches.append((batch, logs)))


class OldListener(keras.callbacks.Callback):
    def __init__(self):
        super().__init__()
        self.batches = []

    def on_batch_end(self, batch, logs=None):
        self.batches.append(batch)


@pytest.fixture
def model():
    with sx.distribute.OneDeviceStrategy("/cpu:0").scope():
        model = keras.Sequential([keras.layers.Input((2,)), keras.layers.Dense(1)])
        model.compile(optimizer="sgd", loss="mse")
    return model


def _fit(model, *callbacks):
    x = np.ones((8, 2), np.float32)
    return model.fit(x, x[:, :1], batch_size=4, epochs=2, verbose=0, callbacks=list(callbacks))


def test_a_callback_that_looks_at_batches_is_called_for_each(model):
    listener = Listener()
    _fit(model, listener)
    assert listener.batches == [(0, ["loss"]), (1, ["loss"])] * 2


@pytest.mark.parametrize("name", ["on_train_batch_begin", "on_batch_begin"])
def test_a_callback_that_looks_at_the_beginning_of_batches_is_called_for_each(model, name):
    listener = BeginListener(name)
    _fit(model, listener)
    assert listener.batches == [(0, {}), (1, {})] * 2


def test_a_callback_that_looks_at_the_beginning_of_tested_batches_is_called_for_each(model):
    listener = BeginListener("on_test_batch_begin")
    x = np.ones((8, 2), np.float32)
    model.evaluate(x, x[:, :1], batch_size=4, verbose=0, callbacks=[listener])
    model.fit(x, x[:, :1], batch_size=4, verbose=0, callbacks=[listener], validation_data=(x, x[:, :1]))
    assert [batch for batch, _ in listener.batches] == [0, 1] * 2


def test_a_callback_with_the_old_name_of_the_hook_is_called_too(model):
    listener = OldListener()
    _fit(model, listener)
    assert listener.batches == [0, 1] * 2


def test_logs_become_no_numbers_after_a_batch_that_nobody_looks_at(model, monkeypatch):
    converted = []
    pythonify = keras.src.utils.python_utils.pythonify_logs
    monkeypatch.setattr(
        keras.src.utils.python_utils, "pythonify_logs", lambda logs: converted.append(logs) or pythonify(logs)
    )
    history = _fit(model)
    without = sum(bool(logs) for logs in converted)
    assert len(history.history["loss"]) == 2
    converted.clear()
    _fit(model, Listener())
    assert sum(bool(logs) for logs in converted) == without + 4


def test_a_list_of_keras_stays_what_it_is(model, mirrored):
    own = Listener()
    given = keras.callbacks.CallbackList([own], model=model)
    made = _callback_list.callback_list(given, model=model, strategy=mirrored(1), is_training=True)
    assert made is given
    first, last = made.callbacks
    assert type(first).__name__ == "WarnOfNaN"
    assert first.model is model
    assert last is own


def test_one_callback_needs_no_list(model, mirrored):
    listener = Listener()
    made = _callback_list.callback_list(listener, model=model, strategy=mirrored(1), add_history=True)
    assert made.callbacks[0] is listener
    assert isinstance(made.callbacks[1], keras.callbacks.History)


class Unready:
    """A value of a program that is still running when Ctrl-C comes, or that fails."""

    def __init__(self, error):
        self.error = error

    def block_until_ready(self):
        raise self.error

    __array__ = __float__ = block_until_ready


@pytest.mark.parametrize("error", [KeyboardInterrupt(), RuntimeError("the program failed")])
def test_what_ends_the_wait_for_logs_is_not_lost(error):
    callbacks = keras.callbacks.CallbackList([])
    with pytest.raises(type(error)):
        callbacks.on_epoch_end(0, {"loss": Unready(error)})
