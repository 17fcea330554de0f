"""Graphs are told apart, asked by name, and finished, as TensorFlow's."""

import pytest

import stratax.tf.compat.v1 as tf


def test_each_graph_has_names_and_variables_of_its_own():
    first, second = tf.Graph(), tf.Graph()
    with first.as_default():
        a = tf.constant(1.0, name="a")
        tf.Variable(1.0, name="v")
        with second.as_default():
            b = tf.constant(2.0, name="a")
        assert tf.get_default_graph() is first
    assert (a.name, b.name, a.graph is first, b.graph is second) == ("a:0", "a:0", True, True)
    assert [len(graph.get_collection("variables")) for graph in (first, second)] == [1, 0]
    with tf.Session(graph=second) as session:
        assert session.run("a:0") == 2.0


def test_names_that_are_not_there_say_which_are():
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [2], name="x")
        y = tf.add(x, 1.0, name="y")
        assert graph.get_tensor_by_name("y:0") is y
        assert graph.as_graph_element("y") is y.op
        assert y.op.inputs == [x]
        assert x.consumers() == [y.op]
        assert y.op.outputs == [y]
        with pytest.raises(KeyError, match="does not exist in the graph"):
            graph.get_tensor_by_name("z:0")
        with pytest.raises(ValueError, match="looks like an .* Operation name, not a Tensor"):
            graph.get_tensor_by_name("y")
        with pytest.raises(KeyError, match="an Operation not in the graph"):
            graph.get_operation_by_name("z")


def test_a_finalized_graph_takes_nothing_more():
    with tf.Graph().as_default() as graph:
        x = tf.constant(1.0)
        graph.finalize()
        with pytest.raises(RuntimeError, match="Graph is finalized and cannot be modified"):
            tf.add(x, 1.0)
        assert tf.Session().run(x) == 1.0


def test_a_nested_graph_is_not_reset():
    with tf.Graph().as_default(), pytest.raises(ValueError, match="to clear nested graphs"):
        tf.reset_default_graph()
