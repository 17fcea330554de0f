"""Collections, in a model function and outside of one, and the global step."""

import numpy as np
import pytest

import stratax.tf as tf
from stratax import errors
from tests.tensorflow.v1.steps import Step

compat = tf.compat.v1


def test_collections():
    def body(scope, x):
        tf.add_to_collection("mine", x)
        tf.add_to_collections(["mine", "yours", "mine"], 2)
        tf.get_collection_ref("yours").append(3)
        local = tf.get_local_variable("local", (), initializer=tf.zeros_initializer())
        made = tf.Variable(1.0, name="made", collections=["yours"], trainable=False)
        graph = tf.get_default_graph()
        graph.add_to_collections(["a", "b"], 1)
        graph.add_to_collection("a", 2)
        assert len(tf.get_collection("mine")) == 2
        assert tf.get_collection("yours")[1:] == [3, made]
        assert (graph.get_collection("a"), graph.get_collection_ref("b")) == ([1, 2], [1])
        assert tf.local_variables() == [local]
        assert (tf.model_variables(), tf.moving_average_variables(), tf.trainable_variables()) == ([], [], [])
        with tf.variable_scope("s"):
            inside = tf.get_variable("v", (2,))
        assert tf.global_variables("s/") == tf.trainable_variables(scope="s") == [inside]
        assert compat.all_variables() == tf.global_variables() == [made, inside]
        tf.group(
            tf.global_variables_initializer(),
            tf.local_variables_initializer(),
            tf.tables_initializer(),
            tf.variables_initializer([made]),
        )
        return x

    Step(body)(np.float32(1))


def test_the_global_step():
    def body(scope, x):
        assert tf.train.get_global_step() is None
        step = tf.train.create_global_step()
        assert tf.train.get_or_create_global_step() is tf.train.get_global_step() is step
        with pytest.raises(errors.BadArgumentError, match="already exists"):
            tf.train.create_global_step()
        scope.run(step.assign_add(1))
        return x

    step = Step(body)
    for _ in range(3):
        step(np.float32(1))
    assert int(step.value("global_step")) == 3


def test_outside_of_a_model_fn_there_is_one_global_step():
    tf.reset_default_graph()
    assert tf.train.get_global_step() is None
    step = tf.train.get_or_create_global_step()
    assert tf.train.get_global_step() is step is tf.train.get_or_create_global_step()
    with pytest.raises(errors.BadArgumentError, match="already exists"):
        tf.train.create_global_step()
    tf.reset_default_graph()
