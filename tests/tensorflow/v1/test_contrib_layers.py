"""Regularizers of contrib."""

import numpy as np
import pytest

import stratax.tf as tf
from stratax import errors
from stratax.tensorflow import v1
from stratax.tensorflow.v1 import contrib_layers
from tests.tensorflow.v1.steps import Step


def test_regularizers():
    weights = np.float32([-1, 2])
    assert float(contrib_layers.l1_regularizer(0.5)(weights)) == 1.5
    assert float(contrib_layers.l2_regularizer(0.5)(weights)) == 1.25
    assert float(contrib_layers.l1_l2_regularizer(1.0, 0.5)(weights)) == 4.25
    assert contrib_layers.l1_regularizer(0.0)(weights) is None
    assert contrib_layers.sum_regularizer([None, contrib_layers.l2_regularizer(0.0)])(weights) is None
    for wrong in (1, -0.5, "a"):
        with pytest.raises(errors.BadArgumentError, match="scale must be a floating-point number"):
            contrib_layers.l2_regularizer(wrong)

    def body(scope, x):
        with v1.variable_scope("s", regularizer=tf.contrib.layers.l2_regularizer(0.5)):
            tf.layers.dense(x, 2, use_bias=False, kernel_initializer=tf.contrib.layers.xavier_initializer())
            tf.layers.dense(x, 2, use_bias=False, kernel_initializer=tf.ones_initializer())
            v1.get_variable("free", (2,), regularizer=tf.no_regularizer)
        v1.add_to_collection("weights", x)
        total = contrib_layers.apply_regularization(contrib_layers.l1_regularizer(1.0))
        assert len(v1.get_collection("regularization_losses")) == 3
        return v1.get_collection("regularization_losses")[1], total

    second, total = Step(body)(np.ones((2, 3), np.float32))
    assert (float(second), float(total)) == (1.5, 6)


def test_the_initializer_of_convolutions_is_that_of_layers():
    assert tf.contrib.layers.xavier_initializer_conv2d is tf.contrib.layers.xavier_initializer
