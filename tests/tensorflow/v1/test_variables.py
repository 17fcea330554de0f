"""Variables outside of a model keep their names and are new ones."""

import keras
import numpy as np
import pytest

import stratax as sx
import stratax.tf as tf
from stratax.tensorflow import v1
from tests.tensorflow.v1.steps import Step


def test_a_variable_outside_of_a_model_keeps_its_name():
    made = v1.Variable(1.0, name="z")
    assert (made.name, made.op.name) == ("z", "z")


def test_variables_outside_of_a_scope_are_new_ones():
    first, second = keras.Variable(1.0, name="v"), keras.Variable(1.0, name="v")
    assert first is not second
    made = sx.Variable(1.0)
    made.assign_add(2.0)
    assert float(made.value) == 3


def test_a_variable_is_true_in_a_model_fn():
    def body(scope, x):
        zero = v1.get_variable("zero", (), initializer=v1.zeros_initializer())
        assert (zero or None) is zero
        return x

    Step(body)(np.float32(0))


def test_variables_of_a_model_fn_are_elements_of_sets():
    found = []

    def model_fn(features, labels, mode):
        layer = tf.keras.layers.Dense(2)
        outputs = layer(features)
        variables = tf.compat.v1.trainable_variables()
        other = tf.compat.v1.get_variable("v", [2])
        found.extend([len({*variables, *variables, other}), variables[1] in variables, other in variables])
        loss = tf.reduce_sum((outputs + other - labels) ** 2)
        optimizer = tf.compat.v1.train.GradientDescentOptimizer(0.1)
        step = tf.compat.v1.train.get_global_step()
        return tf.estimator.EstimatorSpec(
            mode, loss=loss, train_op=optimizer.minimize(loss, step, var_list=list(set(variables)))
        )

    batch = (np.ones((4, 3), np.float32), np.ones((4, 2), np.float32))
    tf.estimator.Estimator(model_fn).train(lambda: tf.data.Dataset.from_tensors(batch), steps=1)
    assert found[:3] == [3, True, False]


def test_a_variable_outside_of_a_model_fn_has_no_hash():
    variable = tf.keras.layers.Dense(1)
    variable.build([None, 2])
    with pytest.raises(TypeError, match="Variable is unhashable"):
        hash(variable.kernel)
    assert np.asarray(variable.kernel == variable.kernel).all()
