"""Values that are known without running anything."""

import numpy as np

import stratax.tf as tf


def test_a_constant_is_known_and_an_argument_is_not():
    seen = []

    @tf.function
    def traced(x):
        seen.append(tf.get_static_value(x))
        return x

    traced(np.float32(1))
    assert seen == [None]
    assert int(tf.get_static_value(tf.constant(3))) == 3
