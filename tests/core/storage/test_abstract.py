"""Variables without values: what is asked for one is told, and nothing takes memory."""

import keras
import numpy as np
import pytest

import stratax as sx
from stratax import errors
from stratax.core import storage

WIDTH = 128


@pytest.fixture
def model():
    with storage.making_abstract():
        model = keras.Sequential([keras.Input((WIDTH,)), keras.layers.Dense(WIDTH), keras.layers.Dense(2)])
        model.compile("adam", "mse")
    return model


def test_large_variables_have_types_and_small_ones_values(model):
    large, small = model.layers
    assert isinstance(storage.read(large.kernel), storage.NoValue)
    assert storage.read(large.kernel).shape == (WIDTH, WIDTH)
    np.testing.assert_array_equal(small.bias.numpy(), [0, 0])
    # Slots are as the variables that they belong to, wherever they are made.
    model.optimizer.build(model.trainable_variables)
    kinds = [isinstance(storage.read(each), storage.NoValue) for each in model.optimizer.variables]
    assert kinds.count(True) == 2


def test_what_is_assigned_is_dropped(model):
    model.layers[0].kernel.assign(np.ones((WIDTH, WIDTH), "float32"))
    assert isinstance(storage.read(model.layers[0].kernel), storage.NoValue)


@pytest.mark.parametrize(
    "look",
    [
        lambda model: model.layers[0].kernel.numpy(),
        lambda model: model.layers[0].kernel + 1,
        lambda model: model(np.zeros((1, WIDTH))),
        lambda model: model.predict(np.zeros((2, WIDTH)), verbose=0),
        lambda model: sx.function(lambda: model.layers[0].kernel + 1)(),
    ],
)
def test_a_look_at_a_value_names_the_variable(model, look):
    with pytest.raises(errors.StrategyError, match=r"(?s)made without a value.*Received: .*dense.*/kernel"):
        look(model)


def test_other_variables_have_values_again(model):
    layer = keras.layers.Dense(WIDTH)
    layer.build((None, WIDTH))
    assert layer.kernel.numpy().shape == (WIDTH, WIDTH)
