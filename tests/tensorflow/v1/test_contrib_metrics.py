"""`tf.contrib.metrics` gives the values of TensorFlow 1.15's, behind two batches."""

import jax.numpy as jnp
import numpy as np
import pytest

import stratax as sx
import stratax.tf as tf
from stratax import errors
from tests.tensorflow.v1.evaluated import evaluated

m = tf.contrib.metrics

_RANDOM = np.random.RandomState(3)
P = _RANDOM.uniform(size=(2, 6)).astype(np.float32)
LABELS = (_RANDOM.uniform(size=(2, 6)) > 0.4).astype(np.int64)
W = _RANDOM.uniform(0.5, 2, (2, 6)).astype(np.float32)
C, D = _RANDOM.randint(0, 3, (2, 6)), _RANDOM.randint(0, 3, (2, 6))
S = _RANDOM.normal(size=(2, 6, 3)).astype(np.float32)
# What TensorFlow 1.15 gives.
VALUES = {
    "accuracy": 0.4282822012901306,
    "mean": 0.42517539858818054,
    "error": 0.5678855776786804,
    "relative": 0.5256856083869934,
    "iou": 0.2050265073776245,
    "less": 0.5833333134651184,
    "precision": 0.6000000238418579,
    "recall": 0.43325379490852356,
    "auc": 0.585328221321106,
    "specificity": 0.4000000059604645,
    "at": [0.5714285969734192, 0.33333340287208557],
    "recall_at_2": 0.8333333134651184,
    "sparse": 0.8333333,
    "average": 0.5,
    "top": 0.4166667,
    "count": 16.567222595214844,
    "f1": 0.7881320118904114,
    "kappa": -0.0105263,
    "covariance": 0.018136000260710716,
    "pearson": 0.11377640068531036,
}


def made(batch):
    columns = [batch[:, each] for each in range(8)]
    p, w, s = columns[0], columns[1], batch[:, 5:]
    labels, c, d = (columns[each].astype(jnp.int32) for each in (2, 3, 4))
    truth = columns[2]
    return {
        "accuracy": m.streaming_accuracy(c, d, w),
        "mean": m.streaming_mean(p, w),
        "error": m.streaming_root_mean_squared_error(p, truth, w),
        "relative": m.streaming_mean_relative_error(p, truth, tf.ones_like(p)),
        "iou": m.streaming_mean_iou(c, d, 3),
        "less": m.streaming_percentage_less(p, 0.5),
        "precision": m.streaming_precision(p > 0.5, labels),
        "recall": m.streaming_recall(p > 0.5, labels, w),
        "auc": m.streaming_auc(p, labels, w),
        "specificity": m.streaming_specificity_at_sensitivity(p, labels, 0.6),
        "at": m.streaming_precision_at_thresholds(p, labels, [0.3, 0.6]),
        "recall_at_2": m.streaming_recall_at_k(s, c, 2),
        "sparse": m.streaming_sparse_recall_at_k(s, c[:, None], 2),
        "average": m.streaming_sparse_average_precision_at_k(s, c[:, None], 2),
        "top": m.streaming_sparse_precision_at_top_k(tf.nn.top_k(s, 2)[1], c[:, None]),
        "count": m.count(p, w),
        "f1": m.f1_score(labels, p, w),
        "kappa": m.cohen_kappa(c, d, 3),
        "covariance": m.streaming_covariance(p, truth, w),
        "pearson": m.streaming_pearson_correlation(p, truth, w),
    }


# All of an example's numbers in one row, as replicas take rows.
ROWS = [
    np.concatenate([np.stack([P[i], W[i], LABELS[i], C[i], D[i]], 1), S[i]], 1).astype(np.float32)
    for i in range(2)
]


@pytest.mark.parametrize("num_replicas", [1, 2])
def test_values_are_tensorflows(num_replicas):
    devices = [f"/cpu:{index}" for index in range(num_replicas)]
    strategy = sx.distribute.MirroredStrategy(devices) if num_replicas > 1 else None
    found, _ = evaluated(made, ROWS, strategy)
    for key, value in VALUES.items():
        np.testing.assert_allclose(found[key], value, rtol=2e-5, err_msg=key)


def test_metrics_are_taken_apart_by_name():
    values, updates = m.aggregate_metric_map({"a": (1, 2), "b": (3, 4)})
    assert (values, updates) == ({"a": 1, "b": 3}, {"a": 2, "b": 4})
    assert m.aggregate_metrics((1, 2), (3, 4)) == ([1, 3], [2, 4])
    with pytest.raises(errors.BadArgumentError, match="at least one"):
        m.aggregate_metrics()


def test_the_accuracy_of_a_batch():
    assert float(m.accuracy(np.int32([1, 2, 3, 4]), np.int32([1, 2, 0, 0]))) == 0.5
    weighted = m.accuracy(np.int32([1, 2]), np.int32([1, 0]), np.float32([3, 1]))
    assert float(weighted) == 0.75
    with pytest.raises(errors.BadArgumentError, match="should match"):
        m.accuracy(np.int32([1]), np.float32([1]))


def test_too_few_classes_are_refused():
    with pytest.raises(errors.BadArgumentError, match="must be >= 2"):
        evaluated(lambda batch: {"kappa": m.cohen_kappa(batch, batch, 1)}, [np.int32([0])])


def test_metrics_name_their_arguments_as_before():
    import inspect

    names = list(inspect.signature(m.streaming_accuracy).parameters)
    assert names == ["predictions", "labels", "weights", "metrics_collections", "updates_collections", "name"]
    assert "tf.contrib.metrics.streaming_accuracy" in m.streaming_accuracy.__doc__
    assert (
        next(iter(inspect.signature(m.streaming_sparse_precision_at_top_k).parameters)) == "top_k_predictions"
    )
    assert tf.contrib.slim.metrics.streaming_accuracy is m.streaming_accuracy


def streaming(batch):
    columns = [batch[:, each] for each in range(8)]
    p, w, s = columns[0], columns[1], batch[:, 5:]
    labels, c = (columns[each].astype(jnp.int32) for each in (2, 3))
    said, at = p > 0.5, [0.3, 0.6]
    old = tf.compat.v1.metrics
    return {
        "fn": (m.streaming_false_negatives(said, labels, w), old.false_negatives(labels, said, w)),
        "fp": (m.streaming_false_positives(said, labels, w), old.false_positives(labels, said, w)),
        "tn": (m.streaming_true_negatives(said, labels, w), old.true_negatives(labels, said, w)),
        "tp": (m.streaming_true_positives(said, labels, w), old.true_positives(labels, said, w)),
        "fn_at": (
            m.streaming_false_negatives_at_thresholds(p, labels, at),
            old.false_negatives_at_thresholds(labels, p, at),
        ),
        "fp_at": (
            m.streaming_false_positives_at_thresholds(p, labels, at),
            old.false_positives_at_thresholds(labels, p, at),
        ),
        "tn_at": (
            m.streaming_true_negatives_at_thresholds(p, labels, at),
            old.true_negatives_at_thresholds(labels, p, at),
        ),
        "tp_at": (
            m.streaming_true_positives_at_thresholds(p, labels, at),
            old.true_positives_at_thresholds(labels, p, at),
        ),
        "recall_at": (
            m.streaming_recall_at_thresholds(p, labels, at),
            old.recall_at_thresholds(labels, p, at),
        ),
        "cosine": (
            m.streaming_mean_cosine_distance(s, s[:, ::-1], 1),
            old.mean_cosine_distance(s[:, ::-1], s, 1),
        ),
        "squared": (
            m.streaming_mean_squared_error(p, columns[2], w),
            old.mean_squared_error(columns[2], p, w),
        ),
        "tensor": (m.streaming_mean_tensor(s), old.mean_tensor(s)),
        "sensitivity": (
            m.streaming_sensitivity_at_specificity(p, labels, 0.6),
            old.sensitivity_at_specificity(labels, p, 0.6),
        ),
        "sparse": (
            m.streaming_sparse_precision_at_k(s, c[:, None], 2),
            old.sparse_precision_at_k(c[:, None].astype("int64"), s, 2),
        ),
    }


def test_predictions_come_first_in_contrib():
    ours, firsts = (
        evaluated(lambda batch, i=i: {key: pair[i] for key, pair in streaming(batch).items()}, ROWS)[0]
        for i in (0, 1)
    )
    for key, value in firsts.items():
        np.testing.assert_allclose(ours[key], value, rtol=1e-6, err_msg=key)
        assert np.all(np.isfinite(value))
