"""What canned estimators take and refuse, beside the numbers that they give."""

import keras
import numpy as np
import pytest

import stratax.tf as tf
from stratax import errors

X = tf.feature_column.numeric_column("x")
FIRST = tf.compat.v1.estimator
FEATURES = np.linspace(-1.0, 1.0, 8, dtype=np.float32)[:, None]


def data(features=("x",), labels=3 * FEATURES):
    return tf.data.Dataset.from_tensor_slices((dict.fromkeys(features, FEATURES), labels)).batch(8).repeat()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: tf.estimator.DNNClassifier([3], []), "feature_columns must have at least one column"),
        (lambda: tf.estimator.DNNClassifier(None, [X]), "hidden_units must be the sizes of layers"),
        (lambda: tf.estimator.DNNRegressor([3, 0], [X]), "hidden_units must be the sizes of layers"),
        (lambda: tf.estimator.DNNRegressor([3], [X], dropout=1.5), "dropout must be from 0"),
        (
            lambda: tf.estimator.DNNClassifier([3], [X], n_classes=1),
            "n_classes must be an integer of at least 2",
        ),
        (
            lambda: FIRST.LinearClassifier([X], n_classes=3, label_vocabulary=["a"]),
            "one label for each class",
        ),
        (lambda: tf.estimator.LinearRegressor(None), "feature_columns must have at least one column"),
        (lambda: tf.estimator.LinearRegressor([X], label_dimension=0), "label_dimension must be at least 1"),
        (
            lambda: tf.estimator.LinearRegressor([X], optimizer="Momentum"),
            "Adagrad, Adam, Ftrl, RMSProp, SGD",
        ),
        (lambda: tf.estimator.LinearRegressor([X], optimizer=3), "An optimizer must be one of"),
        (lambda: tf.estimator.LinearRegressor([X], sparse_combiner="max"), "sparse_combiner must be one of"),
        (lambda: tf.estimator.LinearEstimator("head", [X]), "head must be a head"),
        (lambda: tf.estimator.BaselineEstimator(None), "head must be a head"),
        (
            lambda: tf.estimator.DNNLinearCombinedRegressor(),
            "Either linear_feature_columns or dnn_feature_columns",
        ),
        (
            lambda: tf.estimator.DNNLinearCombinedClassifier(dnn_feature_columns=[X]),
            "dnn_hidden_units must be defined",
        ),
        (
            lambda: FIRST.DNNLinearCombinedClassifier(
                linear_feature_columns=[X],
                linear_optimizer=tf.train.SyncReplicasOptimizer(
                    tf.compat.v1.train.AdamOptimizer(), replicas_to_aggregate=1
                ),
                dnn_feature_columns=[X],
                dnn_hidden_units=[2],
            ),
            "SyncReplicasOptimizer does not support several optimizers",
        ),
    ],
)
def test_arguments_that_cannot_be_are_refused(make, message):
    with pytest.raises((errors.BadArgumentError, errors.BadTypeError), match=message):
        make()


@pytest.mark.parametrize(
    ("make", "given", "message"),
    [
        (lambda folder: tf.estimator.LinearRegressor([X], folder), lambda: data(["y"]), "'x'"),
        (
            lambda folder: tf.estimator.DNNRegressor([2], [X], folder),
            lambda: tf.data.Dataset.from_tensors((FEATURES, FEATURES)),
            "features should be a dictionary",
        ),
        (lambda folder: tf.estimator.LinearRegressor([X], folder, 2), data, "Mismatched label shape"),
        (
            lambda folder: tf.estimator.LinearRegressor([X], folder, weight_column="w"),
            data,
            "weight column is not among the features",
        ),
        (
            lambda folder: tf.estimator.LinearClassifier([X], folder, n_classes=3),
            data,
            "Labels dtype should be integer",
        ),
        (
            lambda folder: tf.estimator.LinearClassifier([X], folder, label_vocabulary=["a", "b"]),
            lambda: data(labels=np.array(["a", "b", "c", "a"] * 2)),
            "Labels are not in the label_vocabulary",
        ),
        (
            lambda folder: tf.estimator.BaselineRegressor(folder),
            lambda: tf.data.Dataset.from_tensors(({"x": FEATURES, "y": FEATURES[:3]}, FEATURES)),
            "have one number of examples",
        ),
    ],
)
def test_inputs_that_do_not_fit_are_refused(tmp_path, make, given, message):
    with pytest.raises((errors.BadArgumentError, errors.BadTypeError), match=message):
        make(str(tmp_path)).train(given, steps=1)


@pytest.mark.parametrize("kind", ["Adam", "legacy.Adam"])
def test_an_optimizer_of_keras_takes_a_rate_that_decays_with_the_global_step(tmp_path, kind):
    inputs = np.linspace(0, 1, 32).astype("float32")
    examples = {"x": inputs}, (inputs > 0.5).astype("int32")

    def make():
        made = keras.optimizers.Adam if kind == "Adam" else tf.keras.optimizers.legacy.Adam
        step = tf.compat.v1.train.get_global_step()
        return made(learning_rate=tf.compat.v1.train.exponential_decay(0.1, step, 2, 0.5))

    made = tf.estimator.LinearClassifier([X], str(tmp_path), optimizer=make)
    for _ in range(2):
        made.train(lambda: tf.data.Dataset.from_tensor_slices(examples).batch(8).repeat(), max_steps=6)
    # TensorFlow 2.15, with legacy.Adam.
    weights = [
        made.get_variable_value(f"linear/linear_model/{name}weights").item() for name in ("x/", "bias_")
    ]
    np.testing.assert_allclose(weights, [-0.1160, -0.1789], atol=1e-4)
