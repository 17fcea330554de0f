"""Variables by scope, suffix and pattern, and values of checkpoints for them, as `tf.contrib.framework`."""

import numpy as np
import pytest

import stratax.tf as tf
from stratax import errors
from stratax.tensorflow import v1
from stratax.tf.contrib import framework
from tests.tensorflow.v1.steps import Step


def make():
    framework.variable("a/w", (2,), initializer=tf.zeros_initializer(), collections=["mine"])
    framework.model_variable("a/b", (2,), initializer=tf.zeros_initializer())
    framework.variable("c/w", (2,), initializer=tf.zeros_initializer(), trainable=False)


def paths(variables):
    return [each.path for each in variables]


def test_variables_are_found():
    def body(scope, x):
        make()
        assert paths(framework.get_variables()) == ["a/w", "a/b", "c/w"]
        assert paths(framework.get_variables("a")) == ["a/w", "a/b"]
        assert paths(framework.get_variables(suffix="w")) == ["a/w", "c/w"]
        assert paths(framework.get_variables_by_name("w", "c")) == ["c/w"]
        assert paths(framework.get_model_variables()) == ["a/b"]
        assert paths(framework.get_trainable_variables()) == ["a/w", "a/b"]
        assert paths(v1.get_collection("mine")) == ["a/w"]
        assert paths(framework.get_variables_to_restore(["a", "c"], ["a/b"])) == ["a/w", "c/w"]
        chosen = framework.filter_variables(framework.get_variables(), ["w$"], ["^c"])
        assert paths(chosen) == ["a/w"]
        assert framework.get_unique_variable("a/b").path == "a/b"
        with pytest.raises(errors.BadArgumentError, match="Couldn't find variable 'd'"):
            framework.get_unique_variable("d")
        return x

    Step(body)(np.float32(0))


def test_values_are_assigned_by_name():
    def body(scope, x):
        make()
        operation, feeds = framework.assign_from_values({"a/w": [1.0, 2.0], "c/w": [3.0, 4.0]})
        scope.run([operation])
        assert feeds == {}
        return x

    step = Step(body)
    step(np.float32(0))
    assert step.value("a/w").tolist() == [1, 2]
    assert step.value("a/b").tolist() == [0, 0]


def test_a_model_begins_with_the_values_of_a_checkpoint(tmp_path):
    def first(features, labels, mode):
        loss = tf.reduce_sum(tf.get_variable("a/w", (), initializer=tf.constant_initializer(5.0)))
        step = tf.train.get_or_create_global_step()
        return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=tf.assign_add(step, 1))

    def second(features, labels, mode):
        w = tf.get_variable("b/w", (), initializer=tf.zeros_initializer())
        other = tf.get_variable("b/new", (), initializer=tf.ones_initializer())
        names = {"a/w": w, "absent": other}
        init = framework.assign_from_checkpoint_fn(path, names, ignore_missing_vars=True)
        step = tf.train.get_or_create_global_step()
        scaffold = tf.train.Scaffold(init_fn=lambda scaffold, session: init(session))
        return tf.estimator.EstimatorSpec(
            mode, loss=w + other, train_op=tf.assign_add(step, 1), scaffold=scaffold
        )

    def input_fn():
        return tf.data.Dataset.from_tensors(({"x": [1.0]}, [0.0]))

    path = str(tmp_path / "first")
    tf.estimator.Estimator(first, path).train(input_fn, steps=1)
    made = tf.estimator.Estimator(second, str(tmp_path / "second")).train(input_fn, steps=1)
    assert made.get_variable_value("b/w") == 5
    assert made.get_variable_value("b/new") == 1
