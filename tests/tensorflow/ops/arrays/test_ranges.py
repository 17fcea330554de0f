"""A range can be computed with."""

import stratax.tf as tf


def test_a_range_can_be_computed_with():
    assert tf.cast(tf.range(3), tf.float32).tolist() == [0.0, 1.0, 2.0]
    assert tf.add(tf.range(1, 7, 3), 1).tolist() == [2, 5]
