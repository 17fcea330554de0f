"""Names that Keras and TensorFlow 1 share mean what they meant where they stand."""

import numpy as np
import pytest

import stratax.tf as tf
from stratax.tensorflow import v1
from tests.tensorflow.v1.steps import Step


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
