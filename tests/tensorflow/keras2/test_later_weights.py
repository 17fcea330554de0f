"""Weights that are loaded before a model has variables are there once it has."""

import keras
import numpy as np
import pytest

import stratax.tf as tf
from stratax import errors

X = np.ones((2, 4), np.float32)


class Net(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.first, self.last = tf.keras.layers.Dense(3, "tanh"), tf.keras.layers.Dense(1)

    def call(self, inputs):
        return self.last(self.first(inputs))


@pytest.fixture
def saved(tmp_path):
    net = Net()
    expected = np.asarray(net(X))
    net.save_weights(tmp_path / "weights")
    return tmp_path / "weights", expected


def use_call(net):
    return net(X)


def use_predict(net):
    return net.predict(X, verbose=0)


def use_strategy(net):
    with tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"]).scope():
        net.compile("sgd", "mse")
    return net.predict(X, verbose=0)


def use_fit(net):
    net.compile(keras.optimizers.SGD(0.0), "mse")
    net.fit(X, X[:, :1], verbose=0)
    return net(X)


@pytest.mark.parametrize("use", [use_call, use_predict, use_strategy, use_fit])
def test_the_first_call_has_the_weights_that_were_loaded_before(saved, use):
    path, expected = saved
    net = Net()
    status = net.load_weights(path).expect_partial()
    np.testing.assert_allclose(use(net), expected, rtol=1e-5)
    assert status.assert_consumed() is status


def test_a_status_says_that_the_model_has_no_weights_yet(saved):
    status = Net().load_weights(saved[0])
    with pytest.raises(errors.RestoreError, match="Received: a model that is not built"):
        status.assert_existing_objects_matched()


def test_weights_of_another_model_are_refused_at_the_first_call(saved):
    model = tf.keras.Sequential([tf.keras.layers.Dense(5), tf.keras.layers.Dense(1)])
    model.load_weights(saved[0])
    with pytest.raises(ValueError, match="could not be loaded"):
        model(X)
