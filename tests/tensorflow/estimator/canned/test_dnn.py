"""Dropout of deep networks."""

import numpy as np

import stratax.tf as tf

X = tf.feature_column.numeric_column("x")
FEATURES = np.linspace(-1.0, 1.0, 8, dtype=np.float32)[:, None]


def data(features=("x",), labels=3 * FEATURES):
    return tf.data.Dataset.from_tensor_slices((dict.fromkeys(features, FEATURES), labels)).batch(8).repeat()


def test_dropout_is_used_in_training_only(tmp_path):
    made = tf.estimator.DNNRegressor([16], [X], str(tmp_path), dropout=0.5, optimizer="SGD")
    made.train(data, steps=1)
    first = [made.evaluate(data, steps=1)["loss"] for _ in range(2)]
    assert first[0] == first[1]
