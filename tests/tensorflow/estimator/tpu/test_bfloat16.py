"""Inside of a bfloat16 scope the variables are float32, all else is not."""

import numpy as np

import stratax.tf as tf
from tests.tensorflow.v1.steps import Step


def test_variables_of_a_bfloat16_scope_are_float32():
    def body(scope, x):
        with tf.tpu.bfloat16_scope():
            kernel = tf.get_variable("kernel", (3, 2), tf.bfloat16)
            plain = tf.get_variable("plain", (2,))
            hidden = tf.layers.dense(
                tf.cast(x, tf.bfloat16), 4, kernel_regularizer=tf.keras.regularizers.L2(0.1)
            )
            normed = tf.layers.batch_normalization(hidden, training=True)
        with tf.tpu.bfloat16_scope("named") as entered:
            again = tf.get_variable("kernel", (1,), tf.bfloat16)
        assert entered.name == "named"
        assert (kernel.dtype, hidden.dtype, normed.dtype, again.dtype) == ("bfloat16",) * 4
        assert plain.dtype == "float32"
        loss = tf.reduce_sum(tf.cast(hidden, tf.float32)) + tf.reduce_sum(tf.cast(kernel, tf.float32))
        optimizer = tf.compat.v1.train.GradientDescentOptimizer(0.1)
        scope.run(optimizer.minimize(loss))
        return loss

    step = Step(body)
    first = float(step(np.ones((5, 3), np.float32)))
    assert float(step(np.ones((5, 3), np.float32))) < first
    for name in (
        "kernel",
        "plain",
        "dense/kernel",
        "dense/bias",
        "batch_normalization/gamma",
        "named/kernel",
    ):
        assert step.state.variables[name].dtype == "float32", name
