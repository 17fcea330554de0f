"""Small models that the tests of checkpoints save and restore."""

import keras
import numpy as np

X = np.random.default_rng(0).normal(size=(24, 3)).astype("float32")
Y = np.random.default_rng(1).normal(size=(24, 2)).astype("float32")


def network(units=4):
    return keras.Sequential([keras.layers.Dense(units, activation="relu"), keras.layers.Dense(2)])


def built(units=4):
    model = network(units)
    model.build((None, 3))
    return model


def values(variables):
    return [np.asarray(variable) for variable in variables]


def assert_equal(first, second):
    assert len(first) == len(second)
    for a, b in zip(first, second, strict=True):
        np.testing.assert_array_equal(a, b)


def trained(optimizer="adam"):
    model = built()
    model.compile(optimizer, "mse")
    model.fit(X, Y, batch_size=8, verbose=0)
    return model
