"""DeepFM of 13 numbers and 26 hashed fields: a model_fn over feature columns, which reads lines of text."""

import pathlib
import sys
import tempfile

import numpy as np
import tensorflow as tf
from _turns import Turns

v1 = tf.compat.v1
BATCH, WIDTH, BUCKETS = 256, 8, 1000
NUMBERS = [f"I{i}" for i in range(13)]
FIELDS = [f"C{i}" for i in range(26)]
ROWS = 20_000


def write_rows(path):
    """Write the lines that are read."""
    random = np.random.default_rng(0)
    labels = random.integers(0, 2, ROWS)
    numbers = random.lognormal(1.0, 1.0, (ROWS, len(NUMBERS))).round(3)
    ids = random.integers(0, 5000, (ROWS, len(FIELDS)))
    with path.open("w") as file:
        for label, row, fields in zip(labels, numbers, ids, strict=True):
            file.write(",".join([str(label), *map(str, row), *(f"{field:08x}" for field in fields)]) + "\n")


def input_fn(path):
    """Read batches without end."""

    def parse(lines):
        defaults = [[0]] + [[0.0]] * len(NUMBERS) + [[""]] * len(FIELDS)
        label, *columns = tf.io.decode_csv(lines, defaults)
        return dict(zip(NUMBERS + FIELDS, columns, strict=True)), label

    data = tf.data.TextLineDataset([str(path)]).repeat().shuffle(1000)
    return data.batch(BATCH).map(parse, num_parallel_calls=2).prefetch(1)


def model_fn(features, labels, mode, params):
    """Make the model of one mode."""
    fields = [tf.feature_column.categorical_column_with_hash_bucket(name, BUCKETS) for name in FIELDS]
    numbers = [tf.feature_column.numeric_column(name) for name in NUMBERS]
    with v1.variable_scope("linear"):
        linear = v1.feature_column.linear_model(features, numbers + fields)
    with v1.variable_scope("fields"):
        vectors = [
            v1.feature_column.input_layer(
                features,
                tf.feature_column.embedding_column(field, WIDTH, initializer=v1.glorot_normal_initializer()),
            )
            for field in fields
        ]
    with v1.variable_scope("pairs"):
        stacked = tf.stack(vectors, axis=1)
        square_of_sum = tf.square(tf.reduce_sum(stacked, axis=1))
        sum_of_squares = tf.reduce_sum(tf.square(stacked), axis=1)
        pairs = 0.5 * tf.reduce_sum(square_of_sum - sum_of_squares, axis=1, keepdims=True)
    with v1.variable_scope("deep"):
        deep = tf.concat([v1.feature_column.input_layer(features, numbers), *vectors], axis=1)
        for width in params["layers"]:
            deep = v1.layers.dense(deep, width, tf.nn.relu)
            deep = v1.layers.dropout(deep, 0.1, training=mode == tf.estimator.ModeKeys.TRAIN)
        deep = v1.layers.dense(deep, 1)
    logits = tf.reshape(linear + pairs + deep, [-1])
    loss = tf.reduce_mean(
        tf.nn.sigmoid_cross_entropy_with_logits(labels=tf.cast(labels, tf.float32), logits=logits)
    )
    optimizer = v1.train.AdamOptimizer(5e-4)
    train_op = optimizer.minimize(loss, global_step=v1.train.get_global_step())
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)


def main():
    """Train by turns."""
    v1.logging.set_verbosity(v1.logging.ERROR)
    with tempfile.TemporaryDirectory() as folder:
        rows = pathlib.Path(folder, "rows.csv")
        write_rows(rows)
        config = tf.estimator.RunConfig(f"{folder}/model", save_checkpoints_steps=10**9)
        estimator = tf.estimator.Estimator(model_fn, config=config, params={"layers": [256, 128, 64]})
        estimator.train(lambda: input_fn(rows), max_steps=10**9, hooks=[Turns()])


if __name__ == "__main__":
    sys.exit(main())
