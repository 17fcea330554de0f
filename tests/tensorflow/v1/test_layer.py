"""What every layer of TensorFlow 1 is: its one trace, its names, layers of one's own and of Keras."""

import jax.numpy as jnp
import keras
import numpy as np
import pytest

from stratax import errors
from stratax.tensorflow import v1
from stratax.tensorflow.v1 import layers
from tests.tensorflow.v1.steps import Step


def test_a_layer_of_ones_own():
    class Scale(layers.Layer):
        def build(self, shape):
            self.factor = self.add_weight("factor", (shape[-1],), initializer="ones")
            self.built = True

        def call(self, inputs):
            return inputs * self.factor

    def body(scope, x):
        with v1.variable_scope("s"):
            return Scale()(Scale()(x))

    step = Step(body)
    assert step(np.ones((2, 3), np.float32)).tolist() == [[1] * 3] * 2
    assert step.names == ["s/scale/factor", "s/scale_1/factor"]


def test_a_layer_belongs_to_one_trace():
    kept = []

    def body(scope, x):
        if not kept:
            kept.append(layers.Dense(2))
        return kept[0](x)

    step = Step(body)
    step(np.ones((2, 3), np.float32))
    with pytest.raises(errors.ModelScopeError, match="made outside or by an earlier call"):
        step(np.ones((3, 3), np.float32))


def test_layers_and_models_of_keras_stand_beside():
    def body(scope, x):
        model = keras.Sequential(
            [keras.Input((3,)), keras.layers.Dense(2), keras.layers.BatchNormalization()]
        )
        hidden = layers.dense(keras.layers.Dense(3)(x), 3)
        with v1.variable_scope("tower"):
            hidden = keras.layers.Dense(3)(hidden)
        out = model(hidden, training=scope.mode == "train")
        gradients = v1.gradients(jnp.sum(out), scope.trainable_variables())
        assert all(gradient is not None for gradient in gradients)
        return out

    step = Step(body)
    for rows in (2, 3):
        step(np.ones((rows, 3), np.float32))
    assert step.names == [
        "sequential/dense/kernel",
        "sequential/dense/bias",
        "sequential/batch_normalization/gamma",
        "sequential/batch_normalization/beta",
        "sequential/batch_normalization/moving_mean",
        "sequential/batch_normalization/moving_variance",
        "dense_1/kernel",
        "dense_1/bias",
        "dense/kernel",
        "dense/bias",
        "tower/dense_3/kernel",
        "tower/dense_3/bias",
    ]


def test_a_layer_of_keras_may_have_the_name_that_a_layer_gets():
    def body(scope, x):
        x = layers.dense(keras.layers.Dense(2)(x), 4)
        with v1.variable_scope("dense", reuse=True):
            assert v1.get_variable("kernel", (2, 4)) is scope.global_variables()[2]
        return x

    step = Step(body)
    step(np.ones((2, 3), np.float32))
    assert step.names == ["dense/kernel", "dense/bias", "dense/kernel_1", "dense/bias_1"]
