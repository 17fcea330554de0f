"""A program of TensorFlow 1 with strings, for TensorFlow's Estimator and for Stratax': the same lines.

`cases(tf, estimator, lookup)` makes it of a library's names.
"""

import numpy as np

random = np.random.RandomState(0)
ROWS = 90
COLORS = [["red", "green", "blue", "black", ""][i] for i in random.randint(0, 5, ROWS)]
WORDS = [[f"w{word}" for word in random.randint(0, 20, random.randint(0, 7))] for _ in range(ROWS)]
SIZES = random.randn(ROWS).astype(np.float32)
IDS = random.randint(0, 40, ROWS)
LABELS = [
    ["cat", "dog", "cow"][(len(color) + len(words)) % 3] for color, words in zip(COLORS, WORDS, strict=True)
]
CLASSES = ["cat", "dog", "cow"]
TABLE = random.randn(30, 4).astype(np.float32) * 0.3
PAIRS = random.randn(12, 3).astype(np.float32) * 0.3
KERNEL = random.randn(22, 3).astype(np.float32) * 0.3
STEPS = 9


def cases(tf, estimator, lookup):
    """Return the `model_fn`, and the `input_fn` of training and of evaluation."""

    def example(row):
        def text(values):
            return tf.train.Feature(bytes_list=tf.train.BytesList(value=[value.encode() for value in values]))

        features = {
            "color": text([COLORS[row]]),
            "words": text(WORDS[row]),
            "label": text([LABELS[row]]),
            "key": text([f"row {row}"]),
            "size": tf.train.Feature(float_list=tf.train.FloatList(value=[SIZES[row]])),
            "id": tf.train.Feature(int64_list=tf.train.Int64List(value=[IDS[row]])),
        }
        return tf.train.Example(features=tf.train.Features(feature=features)).SerializeToString()

    spec = {
        "color": tf.FixedLenFeature([], tf.string),
        "words": tf.VarLenFeature(tf.string),
        "label": tf.FixedLenFeature([], tf.string),
        "key": tf.FixedLenFeature([], tf.string),
        "size": tf.FixedLenFeature([1], tf.float32),
        "id": tf.FixedLenFeature([], tf.int64),
    }
    records = np.array([example(row) for row in range(ROWS)], object)

    def input_fn(batch=10, repeat=True):
        dataset = tf.data.Dataset.from_tensor_slices(records)
        dataset = (dataset.repeat() if repeat else dataset).batch(batch)
        dataset = dataset.map(lambda batch: tf.parse_example(batch, spec))
        features = tf.data.make_one_shot_iterator(dataset).get_next()
        labels = features.pop("label")
        return features, labels

    def network(features):
        fc = tf.feature_column
        color = fc.categorical_column_with_vocabulary_list(
            "color", ["red", "green", "blue"], num_oov_buckets=2
        )
        words = fc.categorical_column_with_hash_bucket("words", 30)
        room = fc.categorical_column_with_identity("id", 40)
        columns = [
            fc.numeric_column("size"),
            fc.indicator_column(color),
            fc.embedding_column(words, 4, "sqrtn", initializer=tf.constant_initializer(TABLE)),
            fc.embedding_column(
                fc.crossed_column(["color", room], 12), 3, initializer=tf.constant_initializer(PAIRS)
            ),
        ]
        net = fc.input_layer(features, columns)
        # Strings without a column.
        dark = lookup.KeyValueTensorInitializer(["black", "blue"], [2, 1], tf.string, tf.int64)
        shade = lookup.StaticHashTable(dark, 0).lookup(features["color"])
        keys = tf.strings.to_hash_bucket_fast(tf.strings.join([features["color"], "/"]), 6)
        net = tf.concat([net, tf.one_hot(shade, 3), tf.one_hot(keys, 6)], 1)
        kernel = tf.constant_initializer(KERNEL[: net.shape[1]])
        logits = tf.layers.dense(net, 3, kernel_initializer=kernel)
        return logits + fc.linear_model(features, [color, words, room], units=3)

    def model_fn(features, labels, mode):
        logits = network(features)
        classes = tf.argmax(logits, axis=1)
        if mode == estimator.ModeKeys.PREDICT:
            names = lookup.KeyValueTensorInitializer(np.arange(3), CLASSES, tf.int64, tf.string)
            predictions = {
                "scores": tf.nn.softmax(logits),
                "key": features["key"],
                "class": tf.gather(CLASSES, classes),
                "name": lookup.StaticHashTable(names, "none").lookup(classes),
                "number": tf.as_string(classes),
                "both": tf.strings.join([features["key"], tf.gather(tf.constant(CLASSES), classes)], ": "),
            }
            return estimator.EstimatorSpec(mode, predictions=predictions)
        ids = lookup.KeyValueTensorInitializer(CLASSES, np.arange(3), tf.string, tf.int64)
        numbers = lookup.StaticVocabularyTable(ids, 1).lookup(labels)
        loss = tf.losses.sparse_softmax_cross_entropy(numbers, logits)
        step = tf.train.get_global_step()
        train_op = tf.train.AdagradOptimizer(0.2).minimize(loss, global_step=step)
        metrics = {"accuracy": tf.metrics.accuracy(numbers, classes)}
        return estimator.EstimatorSpec(mode, loss=loss, train_op=train_op, eval_metric_ops=metrics)

    return model_fn, input_fn, lambda: input_fn(16, repeat=False)
