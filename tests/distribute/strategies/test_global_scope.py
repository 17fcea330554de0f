"""A strategy that is in force for the rest of the program."""

import numpy as np
import pytest

import stratax.tf as tf


@pytest.fixture
def none_left():
    yield
    tf.distribute.experimental_set_strategy(None)


def test_models_train_with_the_strategy_that_was_set(none_left):
    first, second = (tf.distribute.MirroredStrategy([f"/cpu:{i}", f"/cpu:{i + 1}"]) for i in (0, 2))
    tf.distribute.experimental_set_strategy(first)
    assert tf.distribute.get_strategy() is first
    model = tf.keras.Sequential([tf.keras.Input([1]), tf.keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    model.fit(np.ones([4, 1]), np.ones([4, 1]), verbose=0)
    assert model.weights[0].value.sharding.device_set == set(first.devices)
    tf.distribute.experimental_set_strategy(second)
    assert tf.distribute.get_strategy() is second
    assert tf.distribute.in_cross_replica_context()
    tf.distribute.experimental_set_strategy(None)
    assert not tf.distribute.has_strategy()


def test_it_is_refused_inside_a_scope(none_left):
    strategy = tf.distribute.OneDeviceStrategy("/cpu:0")
    with strategy.scope(), pytest.raises(RuntimeError, match="inside the scope of a strategy"):
        tf.distribute.experimental_set_strategy(strategy)
    with pytest.raises(TypeError, match="a strategy, or None.*strategy=3"):
        tf.distribute.experimental_set_strategy(3)
