"""A model function as TensorFlow 1 writes it, for TensorFlow's Estimator and for Stratax': the same lines.

`cases(tf, estimator, data)` makes it of a library's names.
"""

import functools

import numpy as np

random = np.random.RandomState(0)
FEATURES = random.randn(200, 6).astype(np.float32)
LABELS = (FEATURES[:, 0] + FEATURES[:, 1] * 2 > 0).astype(np.int32) + (FEATURES[:, 2] > 1).astype(np.int32)
KERNELS = [random.randn(6, 8).astype(np.float32) * 0.3, random.randn(8, 3).astype(np.float32) * 0.3]
STEPS = 12


def cases(tf, estimator, data):
    """Return the `model_fn`, and the `input_fn` of training and of evaluation."""

    def input_fn(batch=16, repeat=True):
        dataset = data.Dataset.from_tensor_slices(({"x": FEATURES}, LABELS))
        return (dataset.repeat() if repeat else dataset).batch(batch)

    def network(features, mode):
        net = tf.layers.dense(
            features["x"],
            8,
            kernel_initializer=tf.constant_initializer(KERNELS[0]),
            kernel_regularizer=lambda kernel: 0.01 * tf.reduce_sum(tf.square(kernel)),
        )
        net = tf.layers.batch_normalization(net, training=mode == estimator.ModeKeys.TRAIN, momentum=0.9)
        with tf.variable_scope("head"):
            kernel = tf.constant_initializer(KERNELS[1])
            logits = tf.layers.dense(tf.nn.relu(net), 3, kernel_initializer=kernel)
            return logits * tf.get_variable("scale", [], initializer=tf.ones_initializer())

    def model_fn(features, labels, mode):
        logits = network(features, mode)
        predictions = {"p": tf.nn.softmax(logits, name="p"), "c": tf.argmax(logits, axis=1)}
        if mode == estimator.ModeKeys.PREDICT:
            return estimator.EstimatorSpec(mode, predictions=predictions)
        loss = tf.losses.sparse_softmax_cross_entropy(labels, logits) + tf.losses.get_regularization_loss()
        step = tf.train.get_global_step()
        rate = tf.train.exponential_decay(0.1, step, 5, 0.9)
        optimizer = tf.train.MomentumOptimizer(rate, 0.9, use_nesterov=True)
        gradients, variables = zip(*optimizer.compute_gradients(loss), strict=True)
        clipped, _ = tf.clip_by_global_norm(gradients, 1.0)
        with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
            train_op = optimizer.apply_gradients(zip(clipped, variables, strict=True), global_step=step)
        averages = tf.train.ExponentialMovingAverage(0.9, num_updates=step)
        with tf.control_dependencies([train_op]):
            train_op = averages.apply(tf.trainable_variables())
        metrics = {
            "accuracy": tf.metrics.accuracy(labels, predictions["c"]),
            "auc": tf.metrics.auc(tf.equal(labels, 0), predictions["p"][:, 0]),
            "rate": tf.metrics.mean(rate),
        }
        return estimator.EstimatorSpec(
            mode, predictions=predictions, loss=loss, train_op=train_op, eval_metric_ops=metrics
        )

    return model_fn, input_fn, functools.partial(input_fn, 32, repeat=False)
