"""Optimizers of canned estimators are objects, names or functions."""

import keras
import numpy as np
import pytest

import stratax.tf as tf
from stratax.tensorflow.estimator.canned import get_optimizer_instance

X = tf.feature_column.numeric_column("x")
FIRST = tf.compat.v1.estimator
FEATURES = np.linspace(-1.0, 1.0, 8, dtype=np.float32)[:, None]


def data(features=("x",), labels=3 * FEATURES):
    return tf.data.Dataset.from_tensor_slices((dict.fromkeys(features, FEATURES), labels)).batch(8).repeat()


@pytest.mark.parametrize(
    "optimizer",
    [
        keras.optimizers.SGD(0.1),
        lambda: keras.optimizers.SGD(0.1),
        tf.compat.v1.train.GradientDescentOptimizer(0.1),
        lambda: tf.compat.v1.train.GradientDescentOptimizer(
            tf.compat.v1.train.exponential_decay(0.1, tf.compat.v1.train.get_global_step(), 1, 1.0)
        ),
    ],
)
@pytest.mark.parametrize("estimators", [tf.estimator, FIRST])
def test_optimizers_are_objects_or_functions(tmp_path, optimizer, estimators):
    made = estimators.LinearRegressor([X], str(tmp_path), optimizer=optimizer, loss_reduction="sum")
    made.train(data, steps=1)
    (weight,) = made.get_variable_value("linear/linear_model/x/weights").ravel()
    assert weight == pytest.approx(0.1 * 2 * np.sum(FEATURES * 3 * FEATURES), rel=1e-5)
    assert made.get_variable_value("global_step") == 1


@pytest.mark.parametrize("rate", [None, 0.0])
def test_a_named_optimizer_is_made_with_a_learning_rate(rate):
    assert isinstance(get_optimizer_instance("Adam", 0.1), tf.compat.v1.train.AdamOptimizer)
    own = tf.compat.v1.train.GradientDescentOptimizer(0.1)
    assert get_optimizer_instance(own, rate) is own
    with pytest.raises(ValueError, match=r"learning_rate must be specified when opt is string.*'SGD'"):
        get_optimizer_instance("SGD", rate)


def test_slots_of_optimizers_by_name_are_named_by_the_scope_of_the_heads_training(tmp_path):
    head = tf.estimator.MultiHead([tf.estimator.RegressionHead(name=name) for name in "ab"])
    made = tf.estimator.LinearEstimator(head, [X], str(tmp_path))
    made.train(lambda: data().map(lambda x, y: (x, {"a": y, "b": y})), steps=1)
    # TensorFlow 2.15.
    names = [name for name in made.get_variable_names() if "Ftrl" in name]
    assert names == [
        f"training_2/Ftrl/linear/linear_model/{path}/{slot}"
        for path in ("bias_weights", "x/weights")
        for slot in ("accumulator", "linear")
    ]
