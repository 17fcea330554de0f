"""What is called while a graph is built belongs to it, and nothing is computed."""

import numpy as np
import pytest

import stratax.tf.compat.v1 as tf


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as made:
        yield made


def test_a_tensor_of_a_graph_has_no_value():
    x = tf.constant([1.0, 2.0])
    for use in (bool, float, len, np.asarray, int):
        with pytest.raises(TypeError, match="has no value before a session runs it"):
            use(x)
    assert [each.shape.as_list() for each in x] == [[], []]
    assert x == x
    assert x != tf.constant([1.0, 2.0])
    assert len({x, x}) == 1


def test_names_are_given_by_position_and_by_name():
    x = tf.placeholder(tf.float32, [2], "x")
    assert [tf.add(x, x, "sum").name, tf.add(x, x, name="sum").name, tf.square(x).name] == [
        "sum:0",
        "sum_1:0",
        "Square:0",
    ]


def test_a_dataset_computes_its_elements_although_a_graph_is_built():
    dataset = tf.data.Dataset.range(3).map(lambda x: tf.add(x, 1))
    assert [int(each) for each in dataset] == [1, 2, 3]
