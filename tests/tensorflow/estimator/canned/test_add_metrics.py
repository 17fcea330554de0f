"""Metrics that are added to an estimator."""

import numpy as np
import pytest

import stratax.tf as tf
from stratax import errors

FEATURES = np.linspace(-1.0, 1.0, 8, dtype=np.float32)[:, None]


def data(features=("x",), labels=3 * FEATURES):
    return tf.data.Dataset.from_tensor_slices((dict.fromkeys(features, FEATURES), labels)).batch(8).repeat()


def test_metrics_are_added_to_an_estimator(tmp_path):
    def farthest(labels, predictions, features):
        error = tf.abs(labels - predictions["predictions"]) + 0 * features["x"]
        return {"error": tf.metrics.mean(error), "average_loss": tf.metrics.mean(error * 0 + 7)}

    made = tf.estimator.add_metrics(tf.estimator.BaselineRegressor(str(tmp_path)), farthest)
    made.train(data, steps=1)
    found = made.evaluate(data, steps=1)
    assert found["average_loss"] == 7.0
    assert found["error"] == pytest.approx(np.mean(np.abs(3 * FEATURES)), rel=1e-5)
    assert "label/mean" in found
    with pytest.raises(errors.BadArgumentError, match="metric_fn has arguments that are not known"):
        tf.estimator.add_metrics(made, lambda labels, scores: {})
    with pytest.raises(errors.BadTypeError, match="estimator must be an Estimator"):
        tf.estimator.add_metrics(3, farthest)
    with pytest.raises(errors.BadTypeError, match="metric_fn must be a function"):
        tf.estimator.add_metrics(made, 3)
