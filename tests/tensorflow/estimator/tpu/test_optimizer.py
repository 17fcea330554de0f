"""A sum over the cores is as many times the mean."""

import jax.numpy as jnp

import stratax.tf as tf
from stratax.tensorflow.estimator import tpu
from stratax.tensorflow.v1 import train
from tests.tensorflow.estimator.tpu.test_estimator import estimator, input_fn


def test_a_sum_over_the_cores_is_as_many_times_the_mean(tmp_path):
    def function(features, labels, mode, params):
        w = tf.Variable(0.0, name="w")
        total = tpu.cross_replica_sum(jnp.ones(()))
        loss = tf.reduce_mean(features[:, 0] * 0) + w.value * total
        optimizer = tpu.CrossShardOptimizer(train.GradientDescentOptimizer(1.0), reduction="weighted_sum")
        step = train.get_or_create_global_step()
        return tpu.TPUEstimatorSpec(mode, loss=loss, train_op=optimizer.minimize(loss, step))

    made = estimator(tmp_path, function=function)
    made.train(input_fn, steps=1)
    assert made.get_variable_value("w") == -64
