"""`tf.keras.backend`: phases, functions, refusals; its numbers are compared in tests/golden/surface."""

import keras
import numpy as np
import pytest

import stratax.tf as tf
from stratax import errors

K = tf.keras.backend


def test_the_learning_phase_is_that_of_the_call():
    class Layer(tf.keras.layers.Layer):
        def call(self, x, training=False):
            return x * K.learning_phase() + K.in_train_phase(10.0, lambda: 20.0)

    layer = Layer()
    assert layer(np.ones(1), training=True).tolist() == [11.0]
    assert layer(np.ones(1)).tolist() == [20.0]
    assert K.learning_phase() == 0
    with pytest.raises(errors.BadArgumentError, match="0 or 1"):
        K.set_learning_phase(2)
    assert K.in_test_phase(1, 2) == 1


def test_the_phase_of_calls_that_do_not_say_it():
    class Phase(keras.layers.Layer):
        def call(self, x, training=None):
            return x * 0 + (1.0 if training else 0.0)

    class Model(keras.Model):
        def __init__(self):
            super().__init__()
            self.phase = Phase()

        def call(self, x):
            return self.phase(x)

    layer, model, x = Phase(), Model(), np.ones((1, 2), np.float32)
    K.set_learning_phase(1)
    try:
        assert K.learning_phase() == 1
        assert float(layer(x)[0, 0]) == float(model(x)[0, 0]) == 1
        assert float(layer(x, training=False)[0, 0]) == 0
        assert model.predict(x, verbose=0)[0, 0] == 0
        K.set_learning_phase(0)
        assert float(layer(x)[0, 0]) == 0
    finally:
        K.set_learning_phase(1)
        keras.backend.clear_session()
    assert K.learning_phase() == 0
    assert float(layer(x)[0, 0]) == 0


def test_functions_of_symbolic_tensors():
    x = K.placeholder((None, 2))
    double = K.function([x], [x * 2.0, K.sum(x, axis=-1)])
    doubled, sums = double([np.ones((3, 2))])
    assert isinstance(doubled, np.ndarray)
    assert doubled.tolist() == [[2.0, 2.0]] * 3
    assert sums.tolist() == [2.0] * 3
    with pytest.raises(errors.BadArgumentError, match="updates"):
        K.function([x], [x], updates=[1])


def test_variables():
    v = K.variable([1.0])
    K.batch_set_value([(v, [3.0])])
    assert [value.tolist() for value in K.batch_get_value([v, K.zeros(1)])] == [[3.0], [0.0]]
    K.moving_average_update(v, tf.constant([1.0]), 0.5)
    assert v.numpy().tolist() == [2.0]
    with pytest.raises(errors.BadTypeError, match="assigns to a variable"):
        K.set_value(np.zeros(1), 1)
