"""Canned estimators on a small input, made of TensorFlow's names or of Stratax': the same lines.

`cases(Names(...))` makes them; each is a function of a folder, and the dataset of its input.
"""

import dataclasses
import itertools
import math
from typing import Any

import numpy as np

STEPS = 8
ROWS = 24
random = np.random.RandomState(3)
FEATURES = {
    "x": random.randn(ROWS, 2).astype(np.float32),
    "y": random.rand(ROWS, 1).astype(np.float32) * 3,
    "kind": random.randint(0, 4, (ROWS, 1)),
    "word": np.array(["red", "green", "blue", "black"])[random.randint(0, 4, ROWS)][:, None],
    "w": random.randint(0, 3, (ROWS, 1)).astype(np.float32),
}
NUMBERS = random.rand(ROWS, 2).astype(np.float32) * 2
CLASSES = random.randint(0, 3, (ROWS, 1))
NAMES = np.array(["low", "mid", "high"])[CLASSES]
HOT = (NUMBERS > 0.8).astype(np.int64)


@dataclasses.dataclass
class Names:
    """A library's names: `tf.estimator`, `tf.compat.v1.estimator`, columns, datasets, a head of TensorFlow 1."""

    second: Any
    first: Any
    columns: Any
    data: Any
    binary_head: Any


def first_value(shape, dtype=None, partition_info=None, **others):
    """Give the first value of a kernel, by its shape."""
    del dtype, partition_info, others
    return np.sin(np.arange(1, math.prod(shape) + 1)).reshape(shape).astype(np.float32) * np.float32(0.7)


def cases(names):
    """Return functions that make estimators, by name, each with its labels."""
    fc, second, first = names.columns, names.second, names.first
    x, y = fc.numeric_column("x", shape=(2,)), fc.numeric_column("y", normalizer_fn=lambda value: value / 3.0)
    kind = fc.categorical_column_with_identity("kind", 4)
    word = fc.categorical_column_with_vocabulary_list("word", ["red", "green", "blue"])
    embedded = fc.embedding_column(kind, 3, initializer=first_value)
    dense, every = (
        [y, x, fc.indicator_column(kind)],
        [kind, x, fc.bucketized_column(fc.numeric_column("y"), [1.0])],
    )
    two = (CLASSES > 0).astype(np.int64)
    return {
        "dnn": (
            lambda folder: second.DNNClassifier(
                [4, 3], [*dense, embedded], folder, activation_fn="tanh", batch_norm=True
            ),
            two,
        ),
        "dnn numbers": (
            lambda folder: second.DNNRegressor([4], dense, folder, 2, weight_column="w", optimizer="Adam"),
            NUMBERS,
        ),
        "dnn head": (
            lambda folder: second.DNNEstimator(
                second.MultiLabelHead(2, thresholds=[0.5]), [3], [x], folder, optimizer="RMSProp"
            ),
            HOT,
        ),
        "linear words": (
            lambda folder: second.LinearClassifier(
                [word, x], folder, n_classes=3, weight_column="w", label_vocabulary=["low", "mid", "high"]
            ),
            NAMES,
        ),
        "linear numbers": (
            lambda folder: second.LinearRegressor(every, folder, optimizer="SGD"),
            NUMBERS[:, :1],
        ),
        "linear head": (
            lambda folder: second.LinearEstimator(
                second.PoissonRegressionHead(), every, folder, optimizer=None
            ),
            CLASSES[:, 0],
        ),
        "both": (
            lambda folder: second.DNNLinearCombinedClassifier(
                folder,
                linear_feature_columns=every,
                dnn_feature_columns=dense,
                dnn_hidden_units=[4],
                weight_column="w",
            ),
            two,
        ),
        "baseline": (lambda folder: second.BaselineClassifier(folder, 3, weight_column="w"), CLASSES),
        "v1 dnn": (
            lambda folder: first.DNNClassifier([3], [*dense, embedded], folder, 3, weight_column="w"),
            CLASSES,
        ),
        "v1 dnn head": (
            lambda folder: first.DNNEstimator(
                names.binary_head(thresholds=[0.4]), [3], [x], folder, optimizer="Adam"
            ),
            two,
        ),
        "v1 linear": (lambda folder: first.LinearClassifier(every, folder, weight_column="w"), two),
        "v1 both": (
            lambda folder: first.DNNLinearCombinedRegressor(
                folder,
                linear_feature_columns=[x],
                dnn_feature_columns=dense,
                dnn_hidden_units=[4],
                label_dimension=2,
                weight_column="w",
            ),
            NUMBERS,
        ),
        "v1 baseline": (lambda folder: first.BaselineRegressor(folder, optimizer="SGD"), NUMBERS[:, :1]),
    }


def dataset(data, labels, keys=FEATURES):
    """Return batches of 8."""
    features = {key: FEATURES[key] for key in keys}
    return data.Dataset.from_tensor_slices((features, labels)).batch(8)


def answers(make, labels, data, folder):
    """Return what a training gives: variables, metrics, and predictions of four rows."""
    made = make(folder)
    # TensorFlow's baseline can't have two features beside the weights.
    keys = ("x", "w") if "Baseline" in type(made).__name__ else FEATURES
    made.train(lambda: dataset(data, labels, keys).repeat(), steps=STEPS)
    found = {f"variable {name}": made.get_variable_value(name) for name in made.get_variable_names()}
    found |= {
        f"metric {name}": value for name, value in made.evaluate(lambda: dataset(data, labels, keys)).items()
    }
    rows = list(itertools.islice(made.predict(lambda: dataset(data, labels, keys)), 4))
    return found | {f"prediction {key}": np.stack([row[key] for row in rows]) for key in rows[0]}
