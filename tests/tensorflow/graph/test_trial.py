"""Shapes that are not known when a graph is built are found as far as they can be."""

import pytest

import stratax.tf.compat.v1 as tf


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as made:
        yield made


def test_a_size_that_has_to_fit_is_taken_from_the_other_operand():
    x = tf.placeholder(tf.float32, [None, None])
    assert tf.matmul(x, tf.zeros([7, 3])).shape.as_list() == [None, 3]
    assert (x + tf.zeros([4])).shape.as_list()[1] in (4, None)


def test_what_does_not_fit_is_an_error_when_the_graph_is_built():
    with pytest.raises(ValueError, match="(?i)shape|size|dim"):
        tf.matmul(tf.placeholder(tf.float32, [None, 3]), tf.zeros([4, 2]))


def test_the_rank_may_be_unknown_and_said_later():
    x = tf.placeholder(tf.float32)
    assert x.shape.rank is None
    assert tf.reduce_sum(x).shape.as_list() == []
    x.set_shape([None, 3])
    assert tf.reduce_sum(x, 0).shape.as_list() == [3]
    with pytest.raises(ValueError, match="(?i)shape"):
        x.set_shape([2, 4])


def test_a_branch_computes_with_tensors_around_it():
    x, flag = tf.placeholder(tf.float32, [None]), tf.placeholder(tf.bool, [])
    y = tf.cond(flag, lambda: x * 2.0, lambda: x + 10.0)
    with tf.Session() as session:
        assert session.run(y, {x: [1.0], flag: True}).tolist() == [2.0]
        assert session.run(y, {x: [1.0, 2.0], flag: False}).tolist() == [11.0, 12.0]
    assert y.shape.as_list() == [None]
