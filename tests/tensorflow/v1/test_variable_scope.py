"""Variable scopes: sharing, regularizers, collections, and the names of TensorFlow."""

import jax.numpy as jnp
import keras
import numpy as np
import pytest

import stratax.tf as tf
from stratax import errors
from stratax.distribute.replicas import is_seed_state
from stratax.tensorflow import v1
from stratax.tensorflow.v1 import layers, train
from tests.tensorflow.v1.steps import Step


def test_variables_have_tensorflows_names():
    def body(scope, x):
        with v1.variable_scope("body"):
            x = layers.dense(x, 2, name="d1")
            x = layers.batch_normalization(x)
        with v1.variable_scope("k"):
            x = keras.layers.Dense(2, name="kd")(x)
            x = keras.layers.Dropout(0.5, name="drop")(x, training=True)
            x = keras.layers.Dropout(0.5, name="drop")(x, training=True)
        first, second = (tf.Variable(1.0, name="z") for _ in range(2))
        loss = jnp.sum(x) * first.value * second.value
        scope.run(train.MomentumOptimizer(0.1, 0.9).minimize(loss, scope.global_step()))
        decayed = [v.name for v in v1.trainable_variables() if "batch_normalization" not in v.name]
        assert decayed == [
            *("body/d1/kernel:0", "body/d1/bias:0", "k/kd/kernel:0", "k/kd/bias:0", "z:0", "z_1:0")
        ]
        return loss

    step = Step(body)
    step(np.ones((4, 3), np.float32))
    step(np.ones((2, 3), np.float32))
    variables = step.state.variables
    assert {"body/batch_normalization/gamma", "body/d1/kernel/Momentum", "global_step"} <= set(variables)
    # TensorFlow 2.15's `v.name` and `v.op.name`.
    assert [v.name for v in variables.values()] == [f"{name}:0" for name in variables]
    assert [v.op.name for v in variables.values()] == list(variables) == [v.path for v in variables.values()]
    seeds = [v for v in variables.values() if "seed" in v.name]
    assert len(seeds) == 2
    assert all(map(is_seed_state, seeds))


def test_sharing_follows_the_scope():
    def body(scope, x):
        with v1.variable_scope("s"):
            first = v1.get_variable("v", (2,))
        with v1.variable_scope("s", reuse=True):
            assert v1.get_variable("v", (2,)) is first
            with pytest.raises(errors.BadArgumentError, match="s/new does not exist"):
                v1.get_variable("new", (2,))
        with v1.variable_scope("s", reuse=v1.AUTO_REUSE):
            assert v1.get_variable("v", (2,)) is first
            v1.get_variable("new", (2,))
            with pytest.raises(
                errors.BadArgumentError, match=r"specified shape \(3,\) and found shape \(2,\)"
            ):
                v1.get_variable("v", (3,))
        with v1.variable_scope("s"), pytest.raises(errors.BadArgumentError, match="s/v already exists"):
            v1.get_variable("v", (2,))
        return x

    step = Step(body)
    step(np.float32(0))
    assert step.names == ["s/v", "s/new"]


def test_regularizers_and_collections():
    def body(scope, x):
        with v1.variable_scope("a", regularizer=lambda w: jnp.sum(w) * 2):
            v1.get_variable("v", (2,), initializer=keras.initializers.Ones(), collections=["mine"])
        losses = scope.collections.get("regularization_losses")
        assert [v.path for v in scope.collections.get("mine")] == ["a/v"]
        assert [v.path for v in scope.collections.get("trainable_variables", scope="a/")] == ["a/v"]
        return losses[0]

    assert float(Step(body)(np.float32(0))) == 4
