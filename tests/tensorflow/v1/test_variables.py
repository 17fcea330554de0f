"""Variables outside of a model keep their names and are new ones."""

import keras
import numpy as np

import stratax as sx
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
