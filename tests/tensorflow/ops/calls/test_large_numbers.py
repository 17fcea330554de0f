"""Whole numbers that 32 bits can't hold are fractions beside fractions, as TensorFlow makes them."""

import keras
import numpy as np
import pytest

import stratax.tf as tf

LARGE = -(2**32) + 1
X = np.ones((2, 3), np.float32)


@pytest.mark.parametrize(
    ("compute", "expected"),
    [
        (lambda x: x * LARGE, -(2.0**32)),
        (lambda x: LARGE * x, -(2.0**32)),
        (lambda x: x + LARGE, -(2.0**32)),
        (lambda x: LARGE - x, -(2.0**32)),
        (lambda x: x % 2**33, 1.0),
        (lambda x: tf.where(x > 2, x, LARGE), -(2.0**32)),
        (lambda x: tf.where(x > LARGE, tf.ones_like(x) * LARGE, x), -(2.0**32)),
        (lambda x: tf.multiply(x, LARGE), -(2.0**32)),
        (lambda x: tf.maximum(x, LARGE), 1.0),
        (lambda x: tf.clip_by_value(x, LARGE, 2**33), 1.0),
        (lambda x: x * np.int64(LARGE), -(2.0**32)),
        (lambda x: x * tf.cast(LARGE, tf.float32), -(2.0**32)),
        (lambda x: x * tf.constant(LARGE, tf.float32), -(2.0**32)),
    ],
)
@pytest.mark.parametrize("compile", [lambda function: function, tf.function])
def test_it_becomes_a_fraction_beside_fractions(compute, expected, compile):
    made = compile(compute)(tf.constant(X))
    assert made.dtype == tf.float32
    np.testing.assert_array_equal(made, np.full_like(X, expected))


def test_it_becomes_a_fraction_in_layers():
    class Masking(keras.layers.Layer):
        def call(self, x):
            return tf.where(x > 2, x, tf.ones_like(x) * LARGE) + (1 - x) * LARGE

    entered = keras.Input((3,))
    made = keras.Model(entered, Masking()(entered))(X)
    np.testing.assert_array_equal(made, np.full_like(X, -(2.0**32)))


def test_beside_whole_numbers_it_is_refused():
    with pytest.raises(OverflowError, match="-4294967295"):
        tf.constant([1, 2]) * LARGE
