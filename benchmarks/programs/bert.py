"""BERT, tiny: a classifier of pairs of sentences, as a TPUEstimator without a TPU, as its authors have it."""

import re
import sys
import tempfile

import numpy as np
import tensorflow as tf
from _turns import Turns

v1 = tf.compat.v1
BATCH, LENGTH, VOCABULARY, CLASSES = 32, 128, 30522, 2
WIDTH, BLOCKS, HEADS = 128, 2, 2
STEPS, WARMUP, LEARNING_RATE = 10_000, 1_000, 2e-5


def initializer():
    """Return what gives weights their first values."""
    return v1.truncated_normal_initializer(stddev=0.02)


def normalize(x):
    """Normalize."""
    with v1.variable_scope("LayerNorm"):
        scale = v1.get_variable("gamma", [x.shape.as_list()[-1]], initializer=v1.ones_initializer())
        shift = v1.get_variable("beta", [x.shape.as_list()[-1]], initializer=v1.zeros_initializer())
        mean, variance = tf.nn.moments(x, [-1], keepdims=True)
        return tf.nn.batch_normalization(x, mean, variance, shift, scale, 1e-12)


def drop(x, rate):
    """Drop a part of the numbers in training."""
    return tf.nn.dropout(x, rate=rate) if rate else x


def embed(ids, segments, rate):
    """Look up words, kinds of sentences and places."""
    with v1.variable_scope("embeddings"):
        words = v1.get_variable("word_embeddings", [VOCABULARY, WIDTH], initializer=initializer())
        kinds = v1.get_variable("token_type_embeddings", [2, WIDTH], initializer=initializer())
        places = v1.get_variable("position_embeddings", [512, WIDTH], initializer=initializer())
        x = tf.reshape(tf.gather(words, tf.reshape(ids, [-1])), [-1, LENGTH, WIDTH])
        one_hot = tf.one_hot(tf.reshape(segments, [-1]), depth=2)
        x += tf.reshape(tf.matmul(one_hot, kinds), [-1, LENGTH, WIDTH])
        x += tf.expand_dims(tf.slice(places, [0, 0], [LENGTH, -1]), 0)
        return drop(normalize(x), rate)


def attend(x, mask, rate):
    """Attend to all words of a sentence."""
    size = WIDTH // HEADS

    def project(name):
        y = v1.layers.dense(x, WIDTH, name=name, kernel_initializer=initializer())
        return tf.transpose(tf.reshape(y, [-1, LENGTH, HEADS, size]), [0, 2, 1, 3])

    query, key, value = project("query"), project("key"), project("value")
    scores = tf.matmul(query, key, transpose_b=True) / size**0.5
    scores += (1.0 - tf.cast(mask[:, None, None, :], tf.float32)) * -10000.0
    weights = drop(tf.nn.softmax(scores), rate)
    return tf.reshape(tf.transpose(tf.matmul(weights, value), [0, 2, 1, 3]), [-1, LENGTH, WIDTH])


def gelu(x):
    """Compute the activation of BERT's authors."""
    return x * 0.5 * (1.0 + tf.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * tf.pow(x, 3))))


def dense(x, width, activation=None):
    """Add a dense layer."""
    return v1.layers.dense(x, width, activation=activation, name="dense", kernel_initializer=initializer())


def encode(features, rate):
    """Compute what the first word has become."""
    with v1.variable_scope("bert"):
        x = embed(features["input_ids"], features["segment_ids"], rate)
        for block in range(BLOCKS):
            with v1.variable_scope(f"encoder/layer_{block}"):
                with v1.variable_scope("attention"):
                    with v1.variable_scope("self"):
                        y = attend(x, features["input_mask"], rate)
                    with v1.variable_scope("output"):
                        x = normalize(x + drop(dense(y, WIDTH), rate))
                with v1.variable_scope("intermediate"):
                    y = dense(x, 4 * WIDTH, gelu)
                with v1.variable_scope("output"):
                    x = normalize(x + drop(dense(y, WIDTH), rate))
        with v1.variable_scope("pooler"):
            return dense(tf.squeeze(x[:, 0:1, :], axis=1), WIDTH, tf.tanh)


class AdamWithDecay(v1.train.Optimizer):
    """Adam without correction of its start, with weights that decay."""

    def __init__(self, rate):
        super().__init__(False, "AdamWithDecay")
        self._rate = rate

    def apply_gradients(self, grads_and_vars, global_step=None, name=None):
        """Return the operation that updates the variables."""
        updates = []
        for gradient, variable in grads_and_vars:
            if gradient is None:
                continue
            parts = re.match("^(.*):\\d+$", variable.name).group(1)
            mean, square = (
                v1.get_variable(
                    f"{parts}/{slot}",
                    shape=variable.shape.as_list(),
                    dtype=tf.float32,
                    trainable=False,
                    initializer=v1.zeros_initializer(),
                )
                for slot in ("adam_m", "adam_v")
            )
            next_mean = tf.multiply(0.9, mean) + tf.multiply(0.1, gradient)
            next_square = tf.multiply(0.999, square) + tf.multiply(0.001, tf.square(gradient))
            update = next_mean / (tf.sqrt(next_square) + 1e-6)
            if not re.search("LayerNorm|bias", parts):
                update += 0.01 * variable
            updates += [
                variable.assign(variable - self._rate * update),
                mean.assign(next_mean),
                square.assign(next_square),
            ]
        return tf.group(*updates, name=name)


def train(loss):
    """Return the operation that makes a step."""
    step = v1.train.get_or_create_global_step()
    rate = v1.train.polynomial_decay(
        tf.constant(LEARNING_RATE), step, STEPS, end_learning_rate=0.0, power=1.0, cycle=False
    )
    warming = tf.cast(step < WARMUP, tf.float32)
    rate = (1.0 - warming) * rate + warming * LEARNING_RATE * tf.cast(step, tf.float32) / WARMUP
    variables = v1.trainable_variables()
    gradients, _ = tf.clip_by_global_norm(tf.gradients(loss, variables), clip_norm=1.0)
    update = AdamWithDecay(rate).apply_gradients(zip(gradients, variables, strict=True), global_step=step)
    return tf.group(update, [step.assign(step + 1)])


def model_fn(features, labels, mode, params):
    """Make the model of one mode."""
    is_training = mode == tf.estimator.ModeKeys.TRAIN
    pooled = encode(features, 0.1 if is_training else 0.0)
    weights = v1.get_variable("output_weights", [CLASSES, WIDTH], initializer=initializer())
    bias = v1.get_variable("output_bias", [CLASSES], initializer=v1.zeros_initializer())
    logits = tf.nn.bias_add(tf.matmul(drop(pooled, 0.1), weights, transpose_b=True), bias)
    likely = tf.nn.log_softmax(logits, axis=-1)
    per_example = -tf.reduce_sum(tf.one_hot(labels, CLASSES) * likely, axis=-1)
    loss = tf.reduce_mean(per_example)
    return v1.estimator.tpu.TPUEstimatorSpec(mode, loss=loss, train_op=train(loss))


def input_fn(params):
    """Read batches without end."""
    random = np.random.default_rng(0)
    count = 64 * BATCH
    features = {
        "input_ids": random.integers(0, VOCABULARY, (count, LENGTH), np.int32),
        "input_mask": np.ones((count, LENGTH), np.int32),
        "segment_ids": np.repeat([[0, 1]], LENGTH // 2, 1).repeat(count, 0).astype(np.int32),
    }
    labels = random.integers(0, CLASSES, count, np.int32)
    data = tf.data.Dataset.from_tensor_slices((features, labels))
    return data.repeat().shuffle(100).batch(params["batch_size"], drop_remainder=True)


def main():
    """Train by turns."""
    v1.logging.set_verbosity(v1.logging.ERROR)
    tpu = v1.estimator.tpu
    with tempfile.TemporaryDirectory() as folder:
        config = tpu.RunConfig(model_dir=folder, save_checkpoints_steps=10**9)
        estimator = tpu.TPUEstimator(model_fn, config=config, use_tpu=False, train_batch_size=BATCH)
        estimator.train(input_fn, max_steps=10**9, hooks=[Turns()])


if __name__ == "__main__":
    sys.exit(main())
