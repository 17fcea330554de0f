"""A loss that becomes NaN is warned of once, with the epoch, and where batches' logs are read with the step."""

import warnings

import keras
import numpy as np
import pytest

import stratax as sx
from stratax.keras import _callback_list

X = np.ones([8, 2], "float32")
Y = np.ones([8, 1], "float32")
BAD = np.where(np.arange(8)[:, None] == 5, np.nan, Y)


@pytest.fixture
def model():
    with sx.distribute.MirroredStrategy(["cpu:0", "cpu:1"]).scope():
        model = keras.Sequential([keras.layers.Input([2]), keras.layers.Dense(1)])
        model.compile("sgd", "mse")
    return model


def warnings_of(model, targets, **options):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, targets, batch_size=2, shuffle=False, **options)
    return [str(each.message) for each in caught if "NaN" in str(each.message)]


def test_an_epochs_loss_that_is_nan_is_warned_of_once(model):
    assert warnings_of(model, Y, epochs=2, verbose=0) == []
    (message,) = warnings_of(model, BAD, epochs=5, initial_epoch=2, verbose=0)
    assert message.startswith("The loss became NaN in epoch 3, and training goes on.")
    assert "learning rate" in message
    assert "keras.callbacks.TerminateOnNaN()" in message


def test_where_batches_are_looked_at_it_names_the_step(model):
    (message,) = warnings_of(
        model,
        BAD,
        epochs=2,
        verbose=2,
        callbacks=[keras.callbacks.LambdaCallback(on_train_batch_end=lambda batch, logs: None)],
    )
    assert "at step 3 of epoch 1" in message


def test_who_ends_training_at_nan_knows(model):
    assert warnings_of(model, BAD, verbose=0, callbacks=[keras.callbacks.TerminateOnNaN()]) == []


def test_batches_logs_are_fetched_no_more_than_before(model):
    made = _callback_list.callback_list(
        [], model=model, strategy=sx.distribute.get_strategy(), first=keras.callbacks.Callback(), epochs=1
    )
    assert made.on_train_batch_end is _callback_list._ignore
