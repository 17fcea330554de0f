"""Shapes that arrays take together."""

import numpy as np

import stratax.tf as tf


def test_shapes_are_broadcast_or_refused():
    assert np.asarray(tf.broadcast_dynamic_shape([2, 1], [3])).tolist() == [2, 3]
    assert tf.broadcast_static_shape(tf.TensorShape([2, 1]), tf.TensorShape([3])).as_list() == [2, 3]
