"""Operations run once, in the order of the program, if somebody asks for them."""

import keras
import numpy as np

import stratax.tf as tf
from stratax.tensorflow import v1
from tests.tensorflow.v1.steps import Step


def test_control_dependencies_show_what_they_assign_and_run_it_only_when_asked_for():
    def body(scope, is_run):
        v = v1.get_variable("v", (), initializer=keras.initializers.Zeros())
        w = v1.get_variable("w", (), initializer=keras.initializers.Zeros())
        with v1.control_dependencies([v.assign_add(2.0)]):
            inside = v.value * 10
            train = w.assign(v.value)
        outside = v.value
        if is_run:
            scope.run(train)
        return inside, outside

    for is_run, expected in ((False, (0, 0)), (True, (2, 2))):
        step = Step(body)
        inside, outside = step(is_run)
        assert (float(inside), float(outside)) == (20, 0)
        assert tuple(float(v.value) for v in step.state.variables.values()) == expected


def test_names_of_operations_are_unique_below_name_scopes():
    def body(scope, x):
        with v1.name_scope("layer") as name:
            assert name == "layer/"
            assert v1.no_op("a").name == "layer/a"
        with v1.name_scope("layer"):
            assert v1.no_op("a").name == "layer_1/a"
        assert [v1.no_op("a").name, v1.no_op("A").name] == ["a", "A_1"]
        return x

    Step(body)(np.float32(0))


def test_what_is_computed_behind_operations_runs_them():
    def body(scope, x):
        v = v1.get_variable("v", (), initializer=keras.initializers.Zeros())
        with v1.control_dependencies([v.assign_add(1.0)]):
            train_op = tf.reduce_mean(x)
        scope.run(train_op)
        return x

    step = Step(body)
    step(np.float32([1, 2]))
    assert float(step.value("v")) == 1
