"""What holds values of a model that has no strategy, when Keras' own loop gives their arrays away."""

import keras
import numpy as np
import pytest
from keras import layers

import stratax as sx  # noqa: F401  # Installs the hooks.

X = np.ones((8, 3), "float32")
Y = np.ones((8, 2), "float32")

CALLS = {
    "fit": lambda model, **settings: model.fit(X, Y, verbose=0, **settings),
    "evaluate": lambda model: model.evaluate(X, Y, verbose=0),
    "predict": lambda model: model.predict(X, verbose=0),
    "train_on_batch": lambda model: model.train_on_batch(X, Y),
    "test_on_batch": lambda model: model.test_on_batch(X, Y),
    "predict_on_batch": lambda model: model.predict_on_batch(X),
}


def make():
    model = keras.Sequential([keras.Input([3]), layers.Dense(2, bias_initializer="ones")])
    model.compile(keras.optimizers.Adam(0.1), "mse")
    return model


@pytest.mark.parametrize("name", CALLS)
def test_variables_that_were_assigned_from_one_another_and_values_that_were_kept_stay_whole(name):
    model, other = make(), make()
    for own, theirs in zip(model.weights, other.weights, strict=True):
        own.assign(theirs)
    kept = [variable.value for variable in model.weights]
    before = [np.array(value) for value in kept]
    CALLS[name](model)
    for value, theirs, expected in zip(kept, other.weights, before, strict=True):
        np.testing.assert_array_equal(value, expected)
        np.testing.assert_array_equal(theirs.value, expected)
    CALLS[name](other)


def test_values_that_a_callback_keeps_stay_whole_in_the_next_epoch():
    kept = []

    class Keep(keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            kept.append(self.model.weights[0].value)

    CALLS["fit"](make(), epochs=3, callbacks=[Keep()])
    assert len({float(value.sum()) for value in kept}) == 3


def test_arrays_that_only_the_loop_holds_are_not_copied(monkeypatch):
    copied = []
    model = make()
    array = type(model.weights[0].value)
    copy = array.copy
    monkeypatch.setattr(array, "copy", lambda self: copied.append(self) or copy(self))
    for name in ("fit", "train_on_batch", "evaluate", "test_on_batch", "predict", "predict_on_batch"):
        CALLS[name](model)
        del copied[:]
    CALLS["fit"](model, epochs=3, validation_data=(X, Y))
    for name in CALLS:
        CALLS[name](model)
    assert copied == []


def test_a_first_step_that_fails_leaves_variables_their_values():
    model = make()
    before = model.get_weights()
    with pytest.raises((TypeError, ValueError), match="(?i)incompatible shapes"):
        model.fit(X, np.ones([8, 5], "float32"), verbose=0)
    for value, expected in zip(model.get_weights(), before, strict=True):
        np.testing.assert_array_equal(value, expected)
    CALLS["fit"](model)
