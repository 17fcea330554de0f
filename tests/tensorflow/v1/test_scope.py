"""The model scope: variables by name in every trace, deferred operations, gradients."""

import jax.numpy as jnp
import keras
import numpy as np
import pytest

import stratax.tf as tf
from stratax import errors
from stratax.tensorflow import v1
from tests.tensorflow.v1.steps import Step


def dense_step(scope, x):
    kernel = v1.get_variable("kernel", (x.shape[1], 2))
    with v1.variable_scope("inner"):
        bias = v1.get_variable("bias", (2,), initializer=keras.initializers.Ones())
    loss = jnp.mean((x @ kernel.value + bias.value) ** 2)
    gradients = scope.derivatives.gradients(loss, [kernel, bias])
    train = [v.assign_sub(0.1 * g) for v, g in zip([kernel, bias], gradients, strict=True)]
    step = scope.global_step()
    scope.run(v1.group(*train, step.assign_add(1)))
    return loss


def test_variables_are_the_same_in_each_trace_and_are_trained():
    step = Step(dense_step)
    first = step(np.ones((4, 3), np.float32))
    second = step(np.ones((2, 3), np.float32))
    assert len(step.scopes) >= 2
    assert step.names == ["kernel", "inner/bias", "global_step"]
    assert [v.path for v in step.state.variables.values()] == step.names
    assert second < first
    assert int(step.state.variables["global_step"].value) == 2


def test_keras_optimizers_may_call_slots_by_the_names_of_variables():
    def body(scope, x):
        with v1.variable_scope("body"):
            w = v1.get_variable("w", (3, 2))
        loss = jnp.sum(x @ w.value)
        optimizer = keras.optimizers.Adafactor(0.1)
        scope.run(optimizer.apply_gradients(zip(scope.derivatives.gradients(loss, [w]), [w], strict=True)))
        return loss

    step = Step(body)
    step(np.ones((4, 3), np.float32))
    assert [name for name in step.names if name.startswith("adafactor/w")] == ["adafactor/w", "adafactor/w_1"]


def test_first_values_follow_from_the_seed_and_leave_pythons_generator_alone():
    import random

    random.seed(5)
    expected = random.random()
    random.seed(5)
    values = []
    for seed in (1, 1, 2):
        step = Step(dense_step, seed=seed)
        step(np.ones((4, 3), np.float32))
        values.append(np.asarray(step.state.variables["kernel"].value))
    assert random.random() == expected
    assert np.array_equal(values[0], values[1])
    assert not np.array_equal(values[0], values[2])


def test_layers_and_metrics_of_keras_keep_their_variables_and_names():
    def body(scope, x):
        hidden = keras.layers.Dense(4, activation="relu")(x)
        with v1.variable_scope("head"):
            out = keras.layers.Dense(2)(hidden)
        again = keras.layers.Dense(3)(out)
        metric = keras.metrics.Mean(name="mean")
        metric.update_state(again)
        return again

    step = Step(body)
    for rows in (4, 2, 3):
        step(np.ones((rows, 3), np.float32))
    assert step.names == [
        "dense/kernel",
        "dense/bias",
        "head/dense_1/kernel",
        "head/dense_1/bias",
        "dense_2/kernel",
        "dense_2/bias",
        "mean/total",
        "mean/count",
    ]
    assert float(step.state.variables["mean/count"].value) == 9


def test_initial_values_may_be_computed_of_constants_and_variables():
    def body(scope, x):
        a = tf.Variable(tf.zeros([2, 3]) + 1, name="a")
        b = tf.Variable(tf.random.normal([3]), name="b")
        c = tf.Variable(a.value * 2, trainable=False)
        return x + jnp.sum(a.value) + jnp.sum(c.value) + 0 * jnp.sum(b.value)

    step = Step(body)
    assert float(step(np.float32(0))) == 18
    # The generator that `b` is drawn from is the model's.
    assert step.names == ["a", "seed_generator_state", "b", "Variable"]
    assert not step.state.variables["Variable"].trainable
    assert np.ptp(step.state.variables["b"].value) > 0


def test_an_initial_value_that_depends_on_features_is_refused():
    step = Step(lambda scope, x: tf.Variable(x, name="a").value)
    with pytest.raises(errors.BadArgumentError, match="can't depend on features"):
        step(np.float32(0))
