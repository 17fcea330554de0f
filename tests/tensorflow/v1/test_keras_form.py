"""TensorFlow 1's optimizers in Keras' `compile`, and in loops: the numbers of TensorFlow 2.15."""

import numpy as np
import pytest

import stratax.tf as tf
from stratax import errors

T = tf.compat.v1.train
X, Y = np.arange(8, dtype=np.float32).reshape(4, 2), np.ones((4, 1), np.float32)
# What `fit` makes of a kernel of ones, and three steps of [1, 2].
CASES = [
    (lambda: T.GradientDescentOptimizer(0.01), [0.21284293, 0.06034523], [0.94119203, 1.8823841]),
    (lambda: T.AdamOptimizer(0.1), [0.67568254, 0.6712519], [0.7015873, 1.7006245]),
    (lambda: T.MomentumOptimizer(0.01, 0.9), [-0.2831794, -0.5622532], [0.88971204, 1.7794241]),
    (lambda: T.RMSPropOptimizer(0.01), [0.913422, 0.9118348], [0.9521923, 1.9369104]),
    (lambda: T.AdagradOptimizer(0.1), [0.72864366, 0.7274788], [0.7822992, 1.7762966]),
    (lambda: T.FtrlOptimizer(0.1), [0.68950117, 0.7015688], [0.63788956, 1.6237408]),
]


@pytest.mark.parametrize(("make", "expected", "_"), CASES)
def test_keras_trains_with_them(make, expected, _):
    model = tf.keras.Sequential([tf.keras.layers.Dense(1, use_bias=False, kernel_initializer="ones")])
    model.build((None, 2))
    model.compile(make(), "mse")
    model.fit(X, Y, batch_size=2, epochs=2, verbose=0, shuffle=False)
    np.testing.assert_allclose(model.get_weights()[0].ravel(), expected, rtol=1e-5)


@pytest.mark.parametrize(("make", "_", "expected"), CASES)
def test_a_loop_of_ones_own_trains_with_them(make, _, expected):
    v, step, optimizer = tf.Variable([1.0, 2.0]), tf.Variable(0, dtype=tf.int64), make()
    for _ in range(3):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(v**2)
        optimizer.apply_gradients([(tape.gradient(loss, v), v)], global_step=step)
    np.testing.assert_allclose(v.numpy(), expected, rtol=1e-5)
    assert int(step.numpy()) == 3


@pytest.mark.parametrize(("make", "_", "expected"), CASES)
def test_a_function_is_minimized(make, _, expected):
    w, optimizer = tf.Variable([1.0, 2.0]), make()
    for variables in ([w], None, [w]):
        optimizer.minimize(lambda: tf.reduce_sum(w**2), var_list=variables)
    np.testing.assert_allclose(w.numpy(), expected, rtol=1e-5)


@pytest.mark.parametrize("name", ["model.keras", "model.h5"])
def test_a_model_is_saved_without_them(name, tmp_path):
    model = tf.keras.Sequential([tf.keras.Input((2,)), tf.keras.layers.Dense(1)])
    model.compile(T.AdamOptimizer(0.1), "mse")
    model.fit(X, Y, verbose=0)
    with pytest.warns(UserWarning, match="Compile the model again"):
        model.save(tmp_path / name)
    loaded = tf.keras.models.load_model(tmp_path / name)
    np.testing.assert_array_equal(loaded.get_weights()[0], model.get_weights()[0])
    assert not loaded.compiled


def test_a_rate_that_is_a_variable_is_read_in_each_step():
    rate = tf.Variable(0.0)
    model = tf.keras.Sequential([tf.keras.layers.Dense(1, use_bias=False, kernel_initializer="ones")])
    model.build((None, 2))
    model.compile(T.GradientDescentOptimizer(rate), "mse")
    model.fit(X, Y, verbose=0)
    assert model.get_weights()[0].ravel().tolist() == [1, 1]
    rate.assign(0.01)
    model.fit(X, Y, batch_size=2, epochs=2, verbose=0, shuffle=False)
    np.testing.assert_allclose(model.get_weights()[0].ravel(), CASES[0][1], rtol=1e-5)


def test_what_is_refused():
    with pytest.raises(NotImplementedError, match=r"tf\.keras\.optimizers"):
        T.AdamOptimizer()._keras_form().get_config()

    class Own(T.Optimizer):
        pass

    with pytest.raises(errors.BadTypeError, match="does not say how"):
        Own(False, "own")._keras_form()
