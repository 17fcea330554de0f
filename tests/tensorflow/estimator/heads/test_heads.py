"""Arguments and batches that no head can take are refused."""

import numpy as np
import pytest

import stratax.tf as tf
from stratax import errors

heads = tf.estimator
LOGITS, LABELS = np.array([[1.0], [-2.0]], np.float32), np.array([[1], [0]])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: heads.MultiClassHead(2), "n_classes must be > 2. Received: n_classes=2"),
        (lambda: heads.MultiLabelHead(1), "n_classes must be > 1"),
        (lambda: heads.RegressionHead(0), "label_dimension must be at least 1"),
        (
            lambda: heads.MultiClassHead(3, label_vocabulary=["a"]),
            "Expected: n_classes=3 labels. Received: 1",
        ),
        (lambda: heads.BinaryClassHead(label_vocabulary=["a", "b", "c"]), "Expected: n_classes=2 labels"),
        (lambda: heads.BinaryClassHead(label_vocabulary="ab"), "must be a list or a tuple"),
        (lambda: heads.BinaryClassHead(label_vocabulary=["a", "a"]), "has a label twice"),
        (lambda: heads.BinaryClassHead(thresholds=[0.5, 1.0]), "thresholds must be between 0 and 1"),
        (lambda: heads.BinaryClassHead(loss_reduction="none"), "must make one number"),
        (lambda: heads.RegressionHead(loss_reduction=tf.losses.Reduction.NONE), "must make one number"),
        (lambda: heads.BinaryClassHead(loss_fn=lambda labels: labels), "loss_fn must take labels and logits"),
        (lambda: heads.BinaryClassHead(loss_fn=3), "loss_fn must be a function"),
        (lambda: heads.MultiLabelHead(3, classes_for_class_based_metrics=[3]), r"in range \[0, 2\]"),
        (
            lambda: heads.MultiLabelHead(3, classes_for_class_based_metrics=["a"]),
            "must be in label_vocabulary",
        ),
        (lambda: heads.MultiHead([]), "Must specify heads"),
        (lambda: heads.MultiHead([heads.RegressionHead()]), "a name of their own"),
        (lambda: heads.MultiHead([heads.RegressionHead(name="a")], [1.0, 2.0]), "the same size"),
    ],
)
def test_arguments_that_cannot_be_are_refused(make, message):
    with pytest.raises((errors.BadArgumentError, errors.BadTypeError), match=message):
        make()


@pytest.mark.parametrize(
    ("head", "labels", "logits", "features", "message"),
    [
        (heads.BinaryClassHead(), LABELS, LOGITS[:, 0], {}, "logits must have the head's logits_dimension"),
        (heads.RegressionHead(2), LABELS, LOGITS, {}, r"Expected: shape \(batch, ..., 2\)"),
        (heads.BinaryClassHead(), None, LOGITS, {}, "The labels are missing"),
        (
            heads.BinaryClassHead(),
            LABELS + 1,
            LOGITS,
            {},
            "must be from 0 to 1. Received: values from 1 to 2",
        ),
        (heads.BinaryClassHead(), LABELS[:1], LOGITS, {}, "Mismatched label shape"),
        (heads.BinaryClassHead(), np.array([["a"], ["b"]]), LOGITS, {}, "has no label_vocabulary"),
        (
            heads.BinaryClassHead(label_vocabulary=["a", "b"]),
            [["a"], ["z"]],
            LOGITS,
            {},
            "not in the label_vocab",
        ),
        (heads.BinaryClassHead(label_vocabulary=["a", "b"]), LABELS, LOGITS, {}, "Labels must be strings"),
        (heads.MultiClassHead(3), LABELS * 1.0, LOGITS * [1, 2, 3], {}, "dtype should be integer"),
        (heads.MultiClassHead(3), LABELS * 3, LOGITS * [1, 2, 3], {}, "must be from 0 to 2"),
        (heads.MultiLabelHead(2), LABELS * [2, 2], LOGITS * [1, 2], {}, "zeros and ones"),
        (heads.LogisticRegressionHead(), LABELS - 1.0, LOGITS, {}, "must be from 0 to 1"),
        (
            heads.BinaryClassHead("w"),
            LABELS,
            LOGITS,
            {"x": LOGITS},
            "Expected: a feature 'w'. Received: .*'x'",
        ),
        (heads.BinaryClassHead("w"), LABELS, LOGITS, {"w": np.ones((2, 2))}, "another shape than the logits"),
        (heads.BinaryClassHead(3), LABELS, LOGITS, {"w": LABELS}, "name of a feature or a tf.feature_column"),
        (heads.BinaryClassHead(loss_fn=lambda labels, logits: 1.0), LABELS, LOGITS, {}, "losses of shape"),
        (heads.MultiHead([heads.RegressionHead(name="a")]), LABELS, LOGITS, {}, "dict by the heads' names"),
        (
            heads.MultiHead([heads.RegressionHead(name="a")]),
            {"b": LABELS},
            LOGITS,
            {},
            "missing values for heads",
        ),
        (
            heads.MultiHead([heads.RegressionHead(name="a")]),
            {"a": LABELS},
            LOGITS * [1, 2],
            {},
            "split logits",
        ),
    ],
)
def test_batches_that_do_not_fit_are_refused(head, labels, logits, features, message):
    with pytest.raises((errors.BadArgumentError, errors.BadTypeError), match=message):
        head.loss(labels, logits, features)
