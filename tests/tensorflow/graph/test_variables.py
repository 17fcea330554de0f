"""Variables of a graph begin when a session runs their initializers."""

import numpy as np
import pytest

import stratax.tf.compat.v1 as tf


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as made:
        yield made


def test_a_variable_may_begin_with_what_another_one_begins_with():
    first = tf.Variable(tf.random_normal([3]), name="first")
    second = tf.Variable(first.initialized_value() * 2.0, name="second")
    third = tf.Variable(lambda: tf.ones([2]), name="third")
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        a, b = session.run([first, second])
        np.testing.assert_allclose(b, 2 * a)
        assert session.run(third).tolist() == [1.0, 1.0]
        assert third.initial_value.shape.as_list() == [2]


def test_a_variable_computes_as_a_tensor_does():
    v = tf.Variable([[1.0, 2.0], [3.0, 4.0]])
    made = [v + 1.0, 2.0 * v, v[0], -v, v @ v, v.read_value(), tf.matmul(v, v), v.value]
    with tf.Session() as session:
        session.run(v.initializer)
        found = session.run(made)
    own = np.array([[1.0, 2.0], [3.0, 4.0]])
    for got, wanted in zip(
        found, [own + 1, 2 * own, own[0], -own, own @ own, own, own @ own, own], strict=True
    ):
        np.testing.assert_allclose(got, wanted)
    assert v in [v]
    assert v.get_shape().as_list() == [2, 2]
    assert v.op.name == "Variable"


def test_a_shape_that_is_not_known_is_refused():
    with pytest.raises(ValueError, match="initial_value must have a shape specified"):
        tf.Variable(tf.placeholder(tf.float32, [None]))
