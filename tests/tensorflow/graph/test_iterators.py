"""Iterators of a graph say what is wrong, and are told apart from those that compute."""

import pytest

import stratax.tf.compat.v1 as tf
from stratax import errors


def test_iterators_without_a_graph_say_what_to_do():
    dataset = tf.data.Dataset.range(3)
    with pytest.raises(ValueError, match="Elsewhere use `iter"):
        dataset.make_initializable_iterator()
    with pytest.raises(errors.ModelScopeError, match="Elsewhere use `iter"):
        tf.data.Iterator.from_structure(tf.int32, [])
    assert isinstance(iter(dataset), tf.data.Iterator)


def test_an_iterator_that_is_not_begun_or_not_told_says_so():
    with tf.Graph().as_default(), tf.Session() as session:
        dataset = tf.data.Dataset.range(3)
        element = dataset.make_initializable_iterator().get_next()
        with pytest.raises(errors.FailedPreconditionError, match="has not been initialized"):
            session.run(element)
        once = dataset.make_one_shot_iterator()
        assert isinstance(once, tf.data.Iterator)
        with pytest.raises(ValueError, match="does not have an initializer"):
            once.initializer  # noqa: B018
        handle = tf.placeholder(tf.string, [])
        chosen = tf.data.Iterator.from_string_handle(handle, once.output_types, once.output_shapes).get_next()
        with pytest.raises(ValueError, match="You must feed a value for placeholder tensor"):
            session.run(chosen)
        assert session.run([chosen, chosen + 1], {handle: session.run(once.string_handle())}) == [0, 1]
