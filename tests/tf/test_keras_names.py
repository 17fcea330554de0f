"""`tf.losses`, `tf.metrics`, `tf.initializers` and `tf.optimizers`: Keras' names beside TensorFlow 1's."""

import keras
import numpy as np
import pytest

import stratax.tf as tf


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
