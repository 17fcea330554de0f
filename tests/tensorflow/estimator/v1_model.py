"""A `model_fn` with losses, metrics, optimizers and averages of TensorFlow 1, and a short training of it."""

import numpy as np

import stratax as sx
import stratax.tf.compat.v1 as tf
from stratax.tensorflow.estimator import Estimator, EstimatorSpec, ModeKeys, RunConfig

random = np.random.default_rng(0)
# The last batch of 8 has 3 rows, which do not divide among replicas.
FEATURES = random.normal(size=(43, 4)).astype("float32")
LABELS = (FEATURES[:, 0] * FEATURES[:, 1] > 0).astype("int32")
WEIGHTS = random.integers(0, 3, 43).astype("float32")


def model_fn(features, labels, mode):
    hidden = tf.layers.dense(features["x"], 8, activation=tf.nn.relu, name="hidden")
    logits = tf.layers.dense(hidden, 2, name="logits")
    loss = tf.losses.sparse_softmax_cross_entropy(labels, logits, weights=features["weights"])
    if mode == ModeKeys.EVAL:
        classes, scores = tf.argmax(logits, 1), tf.nn.softmax(logits)[:, 1]
        accuracy = tf.metrics.accuracy(labels, classes, weights=features["weights"])
        metrics = {
            "accuracy": accuracy,
            "error": (1 - accuracy[0], accuracy[1]),
            # Through functions, also together with other values and numbers.
            "root": (tf.sqrt(accuracy[0]), accuracy[1]),
            "mixed": (
                2 * tf.maximum(1 - accuracy[0], 0.25) / (accuracy[0] + tf.sqrt(accuracy[0])),
                tf.no_op(),
            ),
            "auc": tf.metrics.auc(labels, scores, weights=features["weights"]),
            "recall": tf.metrics.recall(labels, classes),
        }
        return EstimatorSpec(mode, loss=loss, eval_metric_ops=metrics)
    step = tf.train.get_or_create_global_step()
    optimizer = tf.train.SyncReplicasOptimizer(
        tf.train.AdamOptimizer(tf.train.exponential_decay(0.1, step, 5, 0.9)),
        replicas_to_aggregate=8,
        variable_averages=tf.train.ExponentialMovingAverage(0.9, step),
    )
    pairs = optimizer.compute_gradients(loss)
    clipped, _ = tf.clip_by_global_norm([gradient for gradient, _ in pairs], 0.2)
    train_op = optimizer.apply_gradients(
        zip(clipped, [variable for _, variable in pairs], strict=True), global_step=step
    )
    hooks = [optimizer.make_session_run_hook(is_chief=True)]
    return EstimatorSpec(mode, loss=loss, train_op=train_op, training_hooks=hooks)


def trained(folder, strategy=None):
    """The metrics and all variables of a short training."""
    replicas = 1 if strategy is None else strategy.num_replicas_in_sync
    config = RunConfig(tf_random_seed=1, train_distribute=strategy, eval_distribute=strategy)
    made = Estimator(model_fn, str(folder), config)

    def data(input_context=None):
        dataset = sx.data.Dataset.from_tensor_slices(({"x": FEATURES, "weights": WEIGHTS}, LABELS))
        if input_context is not None:
            dataset = dataset.shard(input_context.num_input_pipelines, input_context.input_pipeline_id)
        # Each replica consumes a batch of its own.
        return dataset.batch(8 // replicas)

    made.train(data)
    found = made.evaluate(data)
    return found, {name: made.get_variable_value(name) for name in made.get_variable_names()}
