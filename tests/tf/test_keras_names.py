"""`tf.losses`, `tf.metrics`, `tf.initializers` and `tf.optimizers`: Keras' names beside TensorFlow 1's."""

import keras
import numpy as np
import pytest

import stratax.tf as tf
from stratax.tensorflow import v1
from tests.tensorflow.v1.steps import Step


@pytest.mark.parametrize("module", ["losses", "metrics", "initializers", "optimizers"])
def test_classes_are_those_of_keras(module):
    ours, theirs = getattr(tf, module), getattr(keras, module)
    classes = [name for name in dir(theirs) if name[0].isupper()]
    assert classes
    assert all(getattr(ours, name) is getattr(theirs, name) for name in classes)


def test_short_names_of_losses_are_those_of_keras():
    assert tf.losses.mse is keras.losses.mean_squared_error
    assert tf.metrics.MAPE is keras.losses.mean_absolute_percentage_error
    assert tf.losses.binary_crossentropy is keras.losses.binary_crossentropy
    assert tf.optimizers.schedules.CosineDecay is keras.optimizers.schedules.CosineDecay


def test_a_squared_error_outside_of_a_model_fn_is_that_of_each_example():
    x, y = np.zeros((2, 2), np.float32), np.array([[1.0, 1.0], [2.0, 2.0]], np.float32)
    assert np.asarray(tf.losses.mean_squared_error(x, y)).tolist() == [1.0, 4.0]
    assert np.asarray(tf.metrics.mean_squared_error(y_true=x, y_pred=y)).tolist() == [1.0, 4.0]
    assert np.asarray(tf.metrics.mean_absolute_error(x, y)).tolist() == [1.0, 2.0]


def test_a_squared_error_with_version_1s_arguments_is_one_number():
    x, y = np.zeros((2, 2), np.float32), np.array([[1.0, 1.0], [2.0, 2.0]], np.float32)
    assert float(tf.losses.mean_squared_error(labels=x, predictions=y)) == 2.5
    assert float(tf.losses.mean_squared_error(x, y, 2.0)) == 5.0


def test_initializers_have_the_spread_of_their_version():
    spread = lambda values: float(np.std(np.asarray(values)))  # noqa: E731
    assert spread(tf.random_normal_initializer(seed=1)((1000,))) == pytest.approx(0.05, rel=0.1)
    assert spread(tf.compat.v1.random_normal_initializer(seed=1)((1000,))) == pytest.approx(1.0, rel=0.1)
    assert spread(tf.initializers.truncated_normal(seed=1)((1000,))) < 0.05
    assert np.abs(np.asarray(tf.random_uniform_initializer(seed=1)((1000,)))).max() <= 0.05
    assert v1.random_uniform_initializer(seed=1)((1000,)).max() > 0.9


def test_in_a_model_fn_names_that_both_have_mean_what_they_meant():
    def body(scope, x):
        values = tf.random_normal_initializer(seed=1)((1000,))
        return tf.losses.mean_squared_error(x, 2 * x), values

    loss, values = Step(body)(np.ones((2, 2), np.float32))
    assert np.asarray(loss).shape == ()
    assert float(np.std(np.asarray(values))) > 0.5
