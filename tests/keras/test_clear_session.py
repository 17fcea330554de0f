"""`keras.utils.clear_session()` in a scope forgets Keras' names, not the strategy."""

import keras
import numpy as np
import pytest

import stratax as sx


@pytest.fixture
def strategy():
    return sx.distribute.MirroredStrategy(["cpu:0", "cpu:1"])


def test_a_model_that_is_made_after_it_trains_with_the_strategy(strategy):
    with strategy.scope():
        early = sx.Variable(1.0)
        keras.utils.clear_session()
        model = keras.Sequential([keras.layers.Input([2]), keras.layers.Dense(1)])
        model.compile("sgd", "mse")
    model.fit(np.ones([4, 2], "float32"), np.ones([4, 1], "float32"), verbose=0)
    for variable in [early, *model.variables, *model.optimizer.variables]:
        assert set(variable.value.devices()) == set(strategy.devices)


def test_it_may_stand_between_building_and_compiling(strategy):
    with strategy.scope():
        model = keras.Sequential([keras.layers.Input([2]), keras.layers.Dense(1)])
        keras.utils.clear_session()
        model.compile("sgd", "mse")
    assert model.fit(np.ones([4, 2], "float32"), np.ones([4, 1], "float32"), verbose=0).history["loss"]
