"""What variables take from the scopes around them."""

import numpy as np

import stratax.tf as tf
from tests.tensorflow.v1.steps import Step


def test_custom_getters_inside_others():
    def doubled(getter, name, *args, **kwargs):
        return getter(name, *args, **kwargs).value * 2

    def renamed(getter, name, *args, **kwargs):
        return getter(f"{name}_renamed", *args, **kwargs)

    def body(scope, x):
        with tf.variable_scope("s", custom_getter=renamed), tf.variable_scope("t", custom_getter=doubled):
            return tf.get_variable("v", (2,), initializer=tf.ones_initializer())

    step = Step(body)
    assert step(np.float32(0)).tolist() == [2, 2]
    assert step.names == ["s/t/v_renamed"]
