"""A `model_fn` with columns of strings, SparseTensors and crosses, and a short training of it."""

import numpy as np

import stratax as sx
import stratax.tf.compat.v1 as tf
from stratax.tensorflow.estimator import Estimator, EstimatorSpec, ModeKeys, RunConfig

fc = tf.feature_column
random = np.random.default_rng(0)
# The last batch of 8 has 3 rows, which do not divide among replicas.
ROWS = 43
COLORS = [["red", "green", "blue", "black", ""][i] for i in random.integers(0, 5, ROWS)]
NUMBERS = random.normal(size=(ROWS, 3)).astype("float32")
# Of very different lengths: the arrays of their ids differ in width.
WORDS = [[f"w{word}" for word in random.integers(0, 20, random.integers(0, 9))] for _ in range(ROWS)]
IDS = random.integers(0, 50, ROWS)
LABELS = (NUMBERS[:, 0] * [len(color) - 3 for color in COLORS] > 0).astype("int64")
KEYS = [f"key {row}" for row in range(ROWS)]

SPEC = {
    "color": tf.io.FixedLenFeature([], tf.string),
    "words": tf.io.VarLenFeature(tf.string),
    "key": tf.io.FixedLenFeature([], tf.string),
    "numbers": tf.io.FixedLenFeature([3], tf.float32),
    "id": tf.io.FixedLenFeature([], tf.int64),
    "label": tf.io.FixedLenFeature([], tf.int64),
}

color = fc.categorical_column_with_vocabulary_list("color", ["red", "green", "blue"], num_oov_buckets=1)
words = fc.categorical_column_with_hash_bucket("words", 30)
room = fc.categorical_column_with_hash_bucket("id", 10, dtype=tf.int64)
pair = fc.crossed_column(["color", "id"], 20)
ones = tf.ones_initializer()
COLUMNS = [
    fc.numeric_column("numbers", shape=(3,)),
    fc.indicator_column(color),
    fc.embedding_column(words, 4, combiner="mean", initializer=ones),
    fc.indicator_column(room),
    fc.embedding_column(pair, 2, initializer=ones),
]


def _example(row):
    def text(values):
        return tf.train.Feature(bytes_list=tf.train.BytesList(value=[value.encode() for value in values]))

    def whole(value):
        return tf.train.Feature(int64_list=tf.train.Int64List(value=[value]))

    features = {
        "color": text([COLORS[row]]),
        "words": text(WORDS[row]),
        "key": text([KEYS[row]]),
        "numbers": tf.train.Feature(float_list=tf.train.FloatList(value=NUMBERS[row])),
        "id": whole(IDS[row]),
        "label": whole(LABELS[row]),
    }
    return tf.train.Example(features=tf.train.Features(feature=features)).SerializeToString()


RECORDS = np.array([_example(row) for row in range(ROWS)], object)


def parsed(records):
    features = tf.io.parse_example(records, SPEC)
    label = features.pop("label")
    return features, label


def model_fn(features, labels, mode):
    net = fc.input_layer(features, COLUMNS)
    logits = tf.layers.dense(net, 2, name="logits", kernel_initializer=tf.zeros_initializer())
    logits += fc.linear_model(features, [color, words], units=2)
    classes = tf.argmax(logits, 1)
    if mode == ModeKeys.PREDICT:
        predictions = {
            "scores": tf.nn.softmax(logits),
            "key": features["key"],
            "label": tf.gather(["no", "yes"], classes),
        }
        return EstimatorSpec(mode, predictions=predictions)
    loss = tf.losses.sparse_softmax_cross_entropy(labels, logits)
    if mode == ModeKeys.EVAL:
        scores = tf.nn.softmax(logits)[:, 1]
        metrics = {"accuracy": tf.metrics.accuracy(labels, classes), "auc": tf.metrics.auc(labels, scores)}
        return EstimatorSpec(mode, loss=loss, eval_metric_ops=metrics)
    step = tf.train.get_global_step()
    train_op = tf.train.AdagradOptimizer(0.1).minimize(loss, global_step=step)
    return EstimatorSpec(mode, loss=loss, train_op=train_op)


def estimator(folder, strategy=None):
    """An Estimator of the model."""
    config = RunConfig(tf_random_seed=1, train_distribute=strategy, eval_distribute=strategy)
    return Estimator(model_fn, str(folder), config)


def data(replicas=1, input_context=None):
    """The input: each replica consumes a batch of its own, 8 rows in all."""
    dataset = sx.data.Dataset.from_tensor_slices(RECORDS)
    if input_context is not None:
        dataset = dataset.shard(input_context.num_input_pipelines, input_context.input_pipeline_id)
    return dataset.batch(8 // replicas).map(parsed)


def trained(folder, strategy=None):
    """The metrics and all variables of a short training."""
    replicas = 1 if strategy is None else strategy.num_replicas_in_sync
    made = estimator(folder, strategy)

    def own(input_context=None):
        return data(replicas, input_context)

    made.train(own)
    found = made.evaluate(own)
    return found, {name: made.get_variable_value(name) for name in made.get_variable_names()}
