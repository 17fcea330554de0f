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


def test_second_derivatives_need_a_shape_and_a_way():
    with tf.Graph().as_default():
        x, other = tf.placeholder(tf.float32, [None]), tf.placeholder(tf.float32, [2])
        with pytest.raises(ValueError, match="of a known shape"):
            tf.hessians(tf.reduce_sum(x), x)
        with pytest.raises(ValueError, match="Nothing of ys depends on x"):
            tf.hessians(tf.reduce_sum(x), other)
