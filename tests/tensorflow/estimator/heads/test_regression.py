"""Weights of a regression's examples, and metrics that are not its own."""

import numpy as np
import pytest

import stratax.tf as tf
from stratax import errors

heads = tf.estimator
LOGITS, LABELS = np.array([[1.0], [-2.0]], np.float32), np.array([[1], [0]])


def test_weights_are_normalized_by_their_column():
    column = tf.feature_column.numeric_column("w", normalizer_fn=lambda x: x / 2)
    weighted = heads.RegressionHead(weight_column=column, loss_reduction="sum")
    loss = weighted.loss(LABELS, LOGITS, {"w": np.array([4.0, 0.0])})
    assert float(loss) == 2 * float(heads.RegressionHead(loss_reduction="sum").loss(LABELS[:1], LOGITS[:1]))


def test_metrics_of_another_head_are_refused():
    head = heads.RegressionHead(name="own")
    with pytest.raises(errors.BadArgumentError, match="eval_metrics must be what metrics"):
        head.update_metrics(heads.RegressionHead().metrics(), {}, LOGITS, LABELS)
