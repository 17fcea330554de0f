"""A short training and evaluation of a TPUEstimator, whose calls of `input_fn` share each batch."""

import numpy as np

import stratax as sx
import stratax.tf.compat.v1 as tf
from stratax.tensorflow.estimator import tpu

BATCH = 16
STEPS = 4
random = np.random.default_rng(0)
FEATURES = random.standard_normal((STEPS * BATCH, 4)).astype(np.float32)
LABELS = (FEATURES @ np.float32([[1], [2], [-1], [0.5]])).astype(np.float32)


def input_fn(params):
    """Give this call's part of each batch."""
    _, index, count, _ = params["context"].current_input_fn_deployment()
    dataset = sx.data.Dataset.from_tensor_slices((FEATURES, LABELS)).batch(
        params["batch_size"], drop_remainder=True
    )
    return dataset.shard(count, index)


def model_fn(features, labels, mode, params):
    predicted = tf.layers.dense(features, 1, kernel_initializer=tf.ones_initializer())
    loss = tf.losses.mean_squared_error(labels, predicted)
    optimizer = tpu.CrossShardOptimizer(tf.train.AdamOptimizer(0.05))
    train_op = optimizer.minimize(loss, tf.train.get_global_step())

    def metrics(labels, predicted):
        return {"error": tf.metrics.mean_absolute_error(labels, predicted)}

    return tpu.TPUEstimatorSpec(
        mode, loss=loss, train_op=train_op, eval_metrics=(metrics, [labels, predicted])
    )


def trained(folder, pipeline, strategy=None):
    """Train and evaluate; return the metrics and the kernel."""
    config = tpu.RunConfig(
        tpu.TPUConfig(iterations_per_loop=2, per_host_input_for_training=pipeline),
        model_dir=str(folder),
        train_distribute=strategy,
        eval_distribute=strategy,
    )
    made = tpu.TPUEstimator(model_fn, config=config, train_batch_size=BATCH, eval_batch_size=BATCH)
    made.train(input_fn, steps=STEPS)
    found = made.evaluate(input_fn, steps=STEPS)
    return found, made.get_variable_value("dense/kernel")
