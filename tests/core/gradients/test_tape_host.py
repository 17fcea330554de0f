"""Tapes that follow tensors of the host: elements of a Dataset, images, whatever `tf` computes there."""

import copy

import keras
import numpy as np
import pytest

import stratax as sx
import stratax.tf as tf


def element():
    return next(iter(tf.data.Dataset.from_tensors(np.array([[1.0, 2.0]], np.float32))))


DENSE = keras.layers.Dense(1, kernel_initializer="ones")
INPUT = keras.Input((2,))
MODEL = keras.Model(INPUT, DENSE(INPUT))
SEQUENTIAL = keras.Sequential([keras.Input((2,)), DENSE])
VARIABLE = keras.Variable([[1.0, 3.0]])


# The gradients are TensorFlow's.
@pytest.mark.parametrize(
    ("compute", "expected"),
    [
        (lambda x: x * x, [2, 4]),
        (lambda x: -x, [-1, -1]),
        (lambda x: 1 - x, [-1, -1]),
        (lambda x: np.float32(2) * x, [2, 2]),
        (lambda x: np.ones((1, 2), np.float32) / x, [-1, -0.25]),
        (lambda x: x * [[1.0, 2.0]], [1, 2]),
        (lambda x: tf.constant(1.0) - x, [-1, -1]),
        (lambda x: VARIABLE * x, [1, 3]),
        (lambda x: x @ tf.transpose(x), [2, 4]),
        (lambda x: x[..., 1], [0, 1]),
        (lambda x: next(iter(x)), [1, 1]),
        (lambda x: abs(x) ** 2, [2, 4]),
        (lambda x: tf.stack([x, x * 2]), [3, 3]),
        (lambda x: tf.cast(x, tf.float16), [1, 1]),
        (lambda x: tf.where(x > 1.5, x, 3 * x), [3, 1]),
        (lambda x: tf.image.resize(x[:, None, :, None], (2, 2)), [2, 2]),
        (lambda x: tf.function(lambda a: a * a)(x), [2, 4]),
        (lambda x: tf.function(lambda: x * 3)(), [3, 3]),
        (DENSE, [1, 1]),
        (MODEL, [1, 1]),
        (SEQUENTIAL, [1, 1]),
        (lambda x: keras.losses.MeanSquaredError()(np.zeros((1, 2), np.float32), x), [1, 2]),
    ],
)
def test_an_element_that_is_watched_has_a_gradient(compute, expected):
    x = element()
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = compute(x)
    np.testing.assert_array_equal(tape.gradient(y, x), [expected])


def test_second_derivatives_of_an_element():
    x = element()
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x * x * x
        first = tape.gradient(y, x)
    np.testing.assert_array_equal(outer.gradient(first, x), [[6, 12]])


def test_a_watched_element_keeps_its_values():
    x = element()
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
    assert x.numpy().tolist() == [[1, 2]]
    assert x.shape == (1, 2)
    assert len(x) == 1
    assert np.exp(x).tolist() == np.exp(np.array([[1, 2]], np.float32)).tolist()
    assert (np.asarray(copy.deepcopy(x)) == [[1, 2]]).all()
    np.testing.assert_array_equal(tape.gradient(x, x), [[1, 1]])


def test_text_is_watched_with_a_warning(caplog):
    text = tf.constant("a")
    with tf.GradientTape() as tape:
        tape.watch(text)
    assert "must be floating" in caplog.text
    assert tape.gradient(text, VARIABLE) is None


def test_an_array_of_numpy_is_no_tensor():
    with sx.GradientTape() as tape, pytest.raises(sx.errors.BadTypeError, match="can't follow"):
        tape.watch(np.ones(2, np.float32))
