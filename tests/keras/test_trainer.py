"""A model's own step may leave the work to Keras: `super().train_step(data)`, as with TensorFlow."""

import keras
import numpy as np
import pytest
from keras import layers

import stratax as sx

X = np.linspace(-1, 1, 40, dtype="float32").reshape(20, 2)
Y = 2 * X.sum(1, keepdims=True) + 1


class Super(keras.Model):
    def train_step(self, data):
        x, y = data
        logs = super().train_step((x, y * 1.0))
        return {**logs, "twice": 2 * logs["loss"]}

    def test_step(self, data):
        return {**super().test_step(data), "thrice": keras.ops.mean(data[1]) * 0 + 3}

    def predict_step(self, data):
        return -super().predict_step(data)


def make(kind):
    inputs = keras.Input([2])
    outputs = layers.Dense(1, kernel_initializer="ones", kernel_regularizer="l2")(inputs)
    model = kind(inputs, outputs)
    model.compile(keras.optimizers.SGD(0.1), "mse", metrics=["mae"])
    return model


@pytest.mark.parametrize("replicas", [0, 1, 2])
def test_steps_that_call_keras_own_do_what_those_do(replicas):
    expected = make(keras.Model)
    if replicas:
        with sx.distribute.MirroredStrategy([f"cpu:{index}" for index in range(replicas)]).scope():
            model = make(Super)
    else:
        model = make(Super)
    options = {"batch_size": 8, "epochs": 2, "shuffle": False, "verbose": 0}
    history = model.fit(X, Y, validation_data=(X, Y), **options).history
    plain = expected.fit(X, Y, validation_data=(X, Y), **options).history
    for name, values in plain.items():
        np.testing.assert_allclose(history[name], values, rtol=2e-5, err_msg=name)
    np.testing.assert_allclose(history["twice"], 2 * np.asarray(plain["loss"]), rtol=2e-5)
    assert history["val_thrice"] == [3.0, 3.0]
    for ours, theirs in zip(model.get_weights(), expected.get_weights(), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=2e-5, atol=1e-6)
    np.testing.assert_allclose(
        model.predict(X, verbose=0), -expected.predict(X, verbose=0), rtol=2e-5, atol=1e-6
    )


def test_a_step_can_be_called_by_itself():
    model, expected = make(keras.Model), make(keras.Model)
    logs = model.train_step((X, Y))
    wanted = expected.train_on_batch(X, Y, return_dict=True)
    assert {name: pytest.approx(float(value), rel=1e-5) for name, value in logs.items()} == wanted
    np.testing.assert_allclose(model.get_weights()[0], expected.get_weights()[0], rtol=1e-5)
