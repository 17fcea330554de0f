"""`create_train_op` gives the loss, and trains as TensorFlow 1.15's does."""

import numpy as np
import pytest

import stratax.tf as tf
from stratax import errors
from stratax.tensorflow import v1
from tests.tensorflow.v1.steps import Step


def body(make, **arguments):
    def step(scope, x):
        w = v1.get_variable("w", (2,), initializer=v1.ones_initializer())
        u = v1.get_variable("u", (2,), initializer=v1.ones_initializer())
        loss = tf.reduce_sum(tf.square(w * x + u))
        train_op = make(loss, v1.train.GradientDescentOptimizer(0.1), **arguments)
        scope.run([train_op])
        return train_op

    return step


# What TensorFlow 1.15 gives.
@pytest.mark.parametrize(
    ("arguments", "w", "u"),
    [
        ({}, [0.6, -1.4], [0.6, 0.2]),
        ({"clip_gradient_norm": 1.0}, [0.98356009, 0.90136063], [0.95527866, 0.91055727]),
        ({"gradient_multipliers": {"w": 0.5}}, [0.8, -0.2], [0.6, 0.2]),
    ],
)
def test_slims_operation_of_a_step(arguments, w, u):
    step = Step(body(tf.contrib.slim.learning.create_train_op, **arguments))
    assert float(step(np.float32([1, 3]))) == 20
    np.testing.assert_allclose(step.value("w"), w, rtol=1e-6)
    np.testing.assert_allclose(step.value("u"), u, rtol=1e-6)


def test_contribs_operation_of_a_step():
    def only_w(pairs):
        return [(gradient, variable) for gradient, variable in pairs if variable.path == "w"]

    step = Step(body(tf.contrib.training.create_train_op, transform_grads_fn=only_w))
    assert float(step(np.float32([1, 3]))) == 20
    np.testing.assert_allclose(step.value("w"), [0.6, -1.4], rtol=1e-6)
    assert step.value("u").tolist() == [1, 1]
    assert step.value("global_step") == 1


def test_a_loss_that_is_no_number_raises():
    step = Step(body(tf.contrib.training.create_train_op))
    with pytest.raises(errors.StrataxError, match="LossTensor is inf or nan"):
        step(np.float32([np.nan, 1]))
