"""Predictions of two classes, each by its key."""

import numpy as np
import pytest

import stratax.tf as tf
from stratax import errors

heads = tf.estimator
LOGITS, LABELS = np.array([[1.0], [-2.0]], np.float32), np.array([[1], [0]])


def test_predictions_are_chosen_by_key():
    head = heads.BinaryClassHead()
    assert list(head.predictions(LOGITS, ["logistic"])) == ["logistic"]
    with pytest.raises(errors.BadArgumentError, match="Prediction key must be in PredictionKeys"):
        head.predictions(LOGITS, ["logits", "classis"])
