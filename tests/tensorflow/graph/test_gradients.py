"""Gradients of a graph are tensors, and None where nothing depends on a source."""

import pytest

import stratax.tf.compat.v1 as tf


def test_gradients_stop_where_they_are_told_to():
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [])
        y = x * x
        z = y * x
        ((whole,), (stopped,)) = tf.gradients(z, x), tf.gradients(z, [y])
        assert session.run([whole, stopped], {x: 3.0}) == [27.0, 3.0]
        assert tf.gradients(tf.stop_gradient(z), x) == [None]
        assert tf.gradients(tf.cast(tf.cast(x, tf.int32), tf.float32), x) == [None]
        with pytest.raises(TypeError, match="Gradients are asked for of tensors"):
            tf.gradients(3.0, x)
