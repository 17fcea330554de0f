"""Baselines: labels out of range, and names of any number of classes."""

import numpy as np
import pytest

import stratax.tf as tf
from stratax import errors

FEATURES = np.linspace(-1.0, 1.0, 8, dtype=np.float32)[:, None]


def data(features=("x",), labels=3 * FEATURES):
    return tf.data.Dataset.from_tensor_slices((dict.fromkeys(features, FEATURES), labels)).batch(8).repeat()


def test_labels_out_of_range_are_refused_in_the_first_batch_and_end_the_training_later(tmp_path):
    made = tf.estimator.BaselineClassifier(str(tmp_path), n_classes=3)
    right, wrong = np.array([0, 1, 2, 0, 0, 1, 2, 0]), np.array([0, 1, 2, 3, 0, 1, 2, 3])
    with pytest.raises(errors.BadArgumentError, match="must be from 0 to 2. Received: values from 0 to 3"):
        made.train(lambda: data(labels=wrong), steps=1)
    with pytest.raises(errors.BadArgumentError, match="label value of 3 which is outside the valid range"):
        made.train(lambda: data(labels=right).take(1).concatenate(data(labels=wrong)), steps=3)


def test_sparse_labels_are_names_of_any_number_of_classes(tmp_path):
    labels = tf.SparseTensor(
        np.array([[0, 0], [0, 1], [2, 0]]), np.array(["c", "a", "b"], object), np.array([4, 2])
    )
    head = tf.estimator.MultiLabelHead(3, label_vocabulary=["a", "b", "c"])
    made = tf.estimator.BaselineEstimator(head, str(tmp_path), optimizer="SGD")
    made.train(lambda: tf.data.Dataset.from_tensors(({"x": FEATURES[:4]}, labels)), steps=1)
    # Each class is one of four examples': the mean gradient is 1/2 - 1/4 of a third.
    np.testing.assert_allclose(made.get_variable_value("baseline/bias"), -0.3 * 0.25 / 3, rtol=1e-5)
