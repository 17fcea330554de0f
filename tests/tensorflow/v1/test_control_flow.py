"""Conditions and loops in a `model_fn`."""

import numpy as np

import stratax.tf as tf
import stratax.tf.compat.v1 as tf1
from tests.tensorflow.v1.steps import Step


def test_assignments_in_a_branch_take_effect_if_its_turn_comes():
    def body(scope, x):
        count = tf.get_variable("count", (), initializer=tf.zeros_initializer(), trainable=False)
        made = tf.cond(x > 0, lambda: tf.assign_add(count, 1.0), lambda: tf.assign(count, -5.0))
        return made, tf.cond(x > 10, lambda: tf.group(count.assign_add(100.0)), tf.no_op)

    step = Step(body)
    assert step(np.float32(1))[0].item() == 1.0
    assert step(np.float32(2))[0].item() == 2.0
    assert step(np.float32(-1))[0].item() == -5.0
    step(np.float32(11))
    assert step(np.float32(1))[0].item() == 97.0


def test_gradients_pass_through_conditions_and_loops():
    def body(scope, x):
        weight = tf.get_variable("weight", (), initializer=tf.ones_initializer())
        chosen = tf.cond(x > 0, lambda: weight * x * x, lambda: weight)
        rows = tf.map_fn(lambda row: row * weight, tf.stack([x, x]))
        _, power = tf.while_loop(
            lambda k, p: k < 3, lambda k, p: (k + 1, p * weight), [0, x], maximum_iterations=3
        )
        return tf.gradients(chosen + tf.reduce_sum(rows) + power, weight)[0]

    step = Step(body)
    assert step(np.float32(3)).item() == 9.0 + 6.0 + 9.0
    assert step(np.float32(-2)).item() == 1.0 - 4.0 - 6.0


def test_a_training_step_may_be_left_out():
    def body(scope, x):
        weight = tf.get_variable("weight", (), initializer=tf.ones_initializer())
        optimizer = tf.compat.v1.train.GradientDescentOptimizer(1.0)
        gradients = optimizer.compute_gradients(weight * x, [weight])
        train_op = tf.cond(
            tf.math.is_finite(x), lambda: tf.group(optimizer.apply_gradients(gradients)), tf.no_op
        )
        scope.run([train_op])
        return weight.value

    step = Step(body)
    for x, expected in ((2.0, -1.0), (np.inf, -1.0), (1.0, -2.0)):
        step(np.float32(x))
        assert step.value("weight") == expected


# TensorFlow 2.21.
def test_a_loop_of_tensorflow_1_gives_the_value_of_a_single_variable():
    def loop(loop_vars, **options):
        return tf1.while_loop(lambda i, *_: i < 3, lambda i, *others: (i + 1, *others), loop_vars, **options)

    assert int(tf1.while_loop(lambda i: i < 3, lambda i: i + 1, [0])) == 3
    assert int(loop([0])) == int(loop((0,), maximum_iterations=9)) == 3
    assert tuple(map(int, loop([0, 7]))) == (3, 7)
    assert tuple(map(int, loop([0], return_same_structure=True))) == (3,)
    assert int(tf1.while_loop(lambda i: i < 3, lambda i: i + 1, [0], None, 10, True, False, "name", 2)) == 2
    assert int(tf.function(lambda: loop([0]))()) == 3
