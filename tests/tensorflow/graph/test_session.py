"""Sessions take what TensorFlow's take, and say what is wrong with the rest."""

import collections

import numpy as np
import pytest

import stratax.tf.compat.v1 as tf
from stratax import errors


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as made:
        yield made


def test_fetches_keep_their_structure():
    pair = collections.namedtuple("pair", "first second")
    x = tf.placeholder(tf.float32, [], name="x")
    with tf.Session() as session:
        found = session.run({"a": pair(x, [x + 1.0]), "b": (x * 2.0, "x:0")}, {"x:0": 3.0})
        assert found == {"a": pair(3.0, [4.0]), "b": (6.0, 3.0)}
        assert session.run(tf.no_op()) is None
        assert session.run(()) == ()


@pytest.mark.parametrize(
    ("fetch", "feed", "error", "message"),
    [
        (
            "y",
            None,
            ValueError,
            "You must feed a value for placeholder tensor 'x' with dtype float and shape",
        ),
        ("y", {"x:0": np.zeros((2, 2))}, ValueError, r"Cannot feed value of shape \(2, 2\) for Tensor x:0"),
        ("y", {"x:0": "text"}, ValueError, "Expected: a value of dtype float32 for tensor 'x:0'"),
        ("z:0", None, KeyError, "refers to a Tensor which does not exist"),
        ("nothing", None, KeyError, "refers to an Operation not in the graph"),
        (3, None, TypeError, "has invalid type"),
        ("w", None, errors.FailedPreconditionError, "Attempting to use uninitialized value w"),
    ],
)
def test_what_cannot_be_run_is_an_error_of_tensorflows_kind(fetch, feed, error, message):
    x = tf.placeholder(tf.float32, [None, 3], name="x")
    tf.reduce_sum(x, name="y")
    w = tf.Variable(1.0, name="w")
    with tf.Session() as session, pytest.raises(error, match=message):
        session.run(w if fetch == "w" else fetch, feed)


def test_a_tensor_is_no_value_to_feed():
    x, y = tf.placeholder(tf.float32, []), tf.constant(1.0)
    with (
        tf.Session() as session,
        pytest.raises(TypeError, match="The value of a feed cannot be a tf.Tensor object"),
    ):
        session.run(x, {x: y})
    with tf.Session() as session, pytest.raises(TypeError, match="Cannot interpret feed_dict key as Tensor"):
        session.run(x, {3: 1.0})


def test_sessions_of_one_graph_have_values_of_their_own():
    w = tf.Variable(1.0)
    add = tf.assign_add(w, 1.0)
    first, second = tf.Session(), tf.Session()
    first.run(w.initializer)
    assert first.run(add) == 2.0
    with pytest.raises(errors.FailedPreconditionError, match="uninitialized"):
        second.run(add)
    second.run(w.initializer)
    assert (second.run(w), first.run(w), second.run(add), first.run(w)) == (1.0, 2.0, 2.0, 2.0)
    w.load(7.0, first)
    assert (first.run(w), second.run(w)) == (7.0, 2.0)


def test_a_closed_session_and_a_graph_without_one_say_so(graph):
    x = tf.constant(1.0)
    with pytest.raises(ValueError, match="No default session is registered"):
        x.eval()
    session = tf.Session()
    session.close()
    with pytest.raises(RuntimeError, match="Attempted to use a closed Session"):
        session.run(x)
    with tf.Session(graph=tf.Graph()), pytest.raises(ValueError, match="its graph is different"):
        x.eval()
    with pytest.raises(ValueError, match="is not an element of this graph"):
        tf.Session(graph=tf.Graph()).run(x)
    with pytest.raises(TypeError, match=r"graph must be a tf\.Graph"):
        tf.Session(graph=3)


def test_a_part_of_a_run_is_refused_and_a_run_is_a_function():
    x = tf.placeholder(tf.float32, [])
    with tf.Session() as session:
        with pytest.raises(NotImplementedError, match="feed the second with the results of the first"):
            session.partial_run_setup([x])
        assert session.make_callable(x * 2.0, [x])(4.0) == 8.0
        assert tf.get_default_session() is session
    assert tf.get_default_session() is None


def test_a_placeholder_with_a_default_need_not_be_fed_and_options_are_taken():
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder_with_default([1.0, 2.0], [None], name="x")
        doubled = x * 2.0
        options, told = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE), tf.RunMetadata()
        assert session.run(doubled, options=options, run_metadata=told).tolist() == [2.0, 4.0]
        assert session.run(doubled, {x: [3.0]}).tolist() == [6.0]
