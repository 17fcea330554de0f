"""Heads with labels, logits and features, made of TensorFlow's names or of Stratax': the same lines.

`cases(estimator, sparse)` makes them of a library's `tf.estimator` and `tf.SparseTensor`.
"""

import numpy as np

WEIGHTS = {"w": np.array([[1.0], [0.0], [2.5], [0.5]], np.float32)}
NONE = {"w": np.zeros((4, 1), np.float32)}
# 0 and its logistic 0.5 are ties of thresholds and classes.
BINARY = np.array([[0.0], [-1.5], [2.0], [0.3]], np.float32)
MANY = np.array([[0.1, -2.0, 1.0], [0.5, 0.5, 0.2], [-1.0, 2.0, 0.3], [3.0, -1.0, 0.0]], np.float32)
PAIRS = np.array([[0.5, 1.0], [-1.0, 2.0], [0.0, 0.3], [2.0, -0.4]], np.float32)
YES = np.array([[1], [0], [1], [1]])
CLASSES = np.array([[2], [1], [0], [0]])
HOT = np.array([[1, 0, 1], [0, 0, 0], [0, 1, 1], [1, 1, 0]])
NUMBERS = np.array([[1.0, 0.0], [2.0, 0.5], [0.0, 3.0], [4.0, 1.5]], np.float32)
PER_LOGIT = {"w": np.array([[1.0, 0.0], [0.5, 2.0], [1.0, 1.0], [0.0, 0.0]], np.float32)}


def squared(labels, logits, features, loss_reduction=None):
    """A loss function with all arguments."""
    del loss_reduction
    return (labels - logits) ** 2 * (1.0 + features["w"])


def cases(estimator, sparse):
    """Return heads by name, each with labels, logits and features."""
    ids = sparse(np.array([[0, 0], [0, 1], [2, 0], [3, 0]]), np.array([2, 0, 1, 1]), np.array([4, 2]))
    words = sparse(
        np.array([[0, 0], [0, 1], [2, 0], [3, 0]]), np.array(["c", "a", "b", "b"]), np.array([4, 2])
    )
    binary, several = estimator.BinaryClassHead, estimator.MultiClassHead
    many, number = estimator.MultiLabelHead, estimator.RegressionHead
    both = estimator.MultiHead(
        [several(3, name="kind"), number(name="size", weight_column="w")], head_weights=[1.0, 0.5]
    )
    return {
        "binary": (binary(), YES, BINARY, {}),
        "binary weighted": (binary("w", thresholds=[0.5, 0.3], name="own"), YES, BINARY, WEIGHTS),
        "binary without weight": (binary("w"), YES[:, 0], BINARY, NONE),
        "binary sum": (binary("w", loss_reduction="sum"), YES * 0.7, BINARY, WEIGHTS),
        "binary words": (
            binary(label_vocabulary=["no", "yes"]),
            np.array([["yes"], ["no"], ["yes"], ["yes"]]),
            BINARY,
            {},
        ),
        "binary loss_fn": (binary(loss_fn=squared), YES, BINARY, WEIGHTS),
        "classes": (several(3), CLASSES, MANY, {}),
        "classes weighted": (several(3, "w", name="own"), CLASSES[:, 0], MANY, WEIGHTS),
        "classes words": (
            several(3, label_vocabulary=["a", "b", "c"], loss_reduction="sum"),
            np.array([["c"], ["b"], ["a"], ["a"]]),
            MANY,
            {},
        ),
        "labels": (many(3, thresholds=[0.5], classes_for_class_based_metrics=[0, 2]), HOT, MANY, {}),
        "labels weighted": (many(3, "w"), HOT, MANY, WEIGHTS),
        "labels sparse": (many(3), ids, MANY, {}),
        "labels words": (
            many(3, label_vocabulary=["a", "b", "c"], classes_for_class_based_metrics=["b"], name="own"),
            words,
            MANY,
            {},
        ),
        "number": (number(), NUMBERS[:, 0], BINARY, {}),
        "numbers": (number(2, "w"), NUMBERS, PAIRS, WEIGHTS),
        "numbers per logit": (number(2, "w", loss_reduction="sum"), NUMBERS, PAIRS, PER_LOGIT),
        "number linked": (number(inverse_link_fn=lambda x: x * 2.0, name="own"), NUMBERS[:, :1], BINARY, {}),
        "poisson": (estimator.PoissonRegressionHead(2), NUMBERS, PAIRS, {}),
        "poisson short": (estimator.PoissonRegressionHead(compute_full_loss=False), YES, BINARY, {}),
        "logistic": (estimator.LogisticRegressionHead("w"), YES * 0.7, BINARY, WEIGHTS),
        "several heads": (
            both,
            {"kind": CLASSES, "size": NUMBERS[:, :1]},
            np.concatenate([MANY, BINARY], 1),
            WEIGHTS,
        ),
    }


def answers(head, labels, logits, features):
    """Return what a head gives, as lists: its loss, with others added, predictions, and metrics after two batches."""
    found = {
        "loss": float(head.loss(labels, logits, features)),
        "regularized": float(head.loss(labels, logits, features, regularization_losses=[1.5, 0.25])),
        "predictions": {_key(key): _listed(value) for key, value in head.predictions(logits).items()},
    }
    metrics = head.metrics(regularization_losses=[1.5, 0.25])
    metrics = head.update_metrics(metrics, features, logits, labels, regularization_losses=[1.5, 0.25])
    found["metrics"] = {key: float(np.asarray(metric.result())) for key, metric in metrics.items()}
    return found


def _key(key):
    return "|".join(key) if isinstance(key, tuple) else key


def _listed(value):
    array = np.asarray(value)
    if array.dtype == object:
        return [[each.decode() for each in row] for row in array]
    return array.tolist()
