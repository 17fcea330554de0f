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


def test_labels_out_of_range_are_refused_in_the_first_batch_and_end_the_training_later(tmp_path):
    made = tf.estimator.BaselineClassifier(str(tmp_path), n_classes=3)
    right, wrong = np.array([0, 1, 2, 0, 0, 1, 2, 0]), np.array([0, 1, 2, 3, 0, 1, 2, 3])
    with pytest.raises(errors.BadArgumentError, match="must be from 0 to 2. Received: values from 0 to 3"):
        made.train(lambda: data(labels=wrong), steps=1)
    with pytest.raises(errors.BadArgumentError, match="label value of 3 which is outside the valid range"):
        made.train(lambda: data(labels=right).take(1).concatenate(data(labels=wrong)), steps=3)


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


def test_dropout_is_used_in_training_only(tmp_path):
    made = tf.estimator.DNNRegressor([16], [X], str(tmp_path), dropout=0.5, optimizer="SGD")
    made.train(data, steps=1)
    first = [made.evaluate(data, steps=1)["loss"] for _ in range(2)]
    assert first[0] == first[1]


def test_sparse_labels_are_names_of_any_number_of_classes(tmp_path):
    labels = tf.SparseTensor(
        np.array([[0, 0], [0, 1], [2, 0]]), np.array(["c", "a", "b"], object), np.array([4, 2])
    )
    head = tf.estimator.MultiLabelHead(3, label_vocabulary=["a", "b", "c"])
    made = tf.estimator.BaselineEstimator(head, str(tmp_path), optimizer="SGD")
    made.train(lambda: tf.data.Dataset.from_tensors(({"x": FEATURES[:4]}, labels)), steps=1)
    # Each class is one of four examples': the mean gradient is 1/2 - 1/4 of a third.
    np.testing.assert_allclose(made.get_variable_value("baseline/bias"), -0.3 * 0.25 / 3, rtol=1e-5)


def test_tensors_and_summaries_of_tensorflow_1_have_its_names(tmp_path):
    seen = {}

    class Look(tf.train.SessionRunHook):
        def before_run(self, run_context):
            return tf.train.SessionRunArgs("dnn/head/predictions/probabilities")

        def after_run(self, run_context, run_values):
            seen["shape"] = run_values.results.shape

    made = FIRST.DNNClassifier([2], [X], str(tmp_path))
    made.train(lambda: data(labels=np.array([0, 1] * 4)), steps=1, hooks=[Look()])
    assert seen["shape"] == (8, 2)
    (path,) = tmp_path.glob("events*")
    tags = {value.tag for event in tf.train.summary_iterator(str(path)) for value in event.summary.value}
    layers = {f"dnn/dnn/{name}" for name in ("hiddenlayer_0", "logits")}
    kinds = ("activation", "fraction_of_zero_values")
    assert tags == {"loss", "average_loss", *(f"{layer}/{kind}" for layer in layers for kind in kinds)}


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


def test_examples_are_parsed_with_label_and_weight():
    spec = tf.estimator.classifier_parse_example_spec([X], "y", label_dtype=tf.string, weight_column="w")
    assert {key: (value.shape, value.dtype.kind) for key, value in spec.items()} == {
        "x": ((1,), "f"),
        "y": ((1,), "O"),
        "w": ((1,), "f"),
    }
    spec = tf.estimator.regressor_parse_example_spec([X], "y", label_dimension=2, label_default=[1.0, 2.0])
    assert (spec["y"].shape, list(spec["y"].default_value)) == ((2,), [1.0, 2.0])
    for arguments, message in (
        (("x",), "label_key should not be used as a feature"),
        ((3,), "label_key must be a string"),
        (("y", "float32", None, 1, "x"), "weight_column should not be used as a feature"),
        (("y", "float32", None, 1, 3), "weight_column must be the name"),
    ):
        with pytest.raises(errors.BadArgumentError, match=message):
            tf.estimator.regressor_parse_example_spec([X], *arguments)


def test_the_linear_regressor_of_the_guide_on_distributed_training():
    strategy = tf.distribute.MirroredStrategy()
    config = tf.estimator.RunConfig(train_distribute=strategy, eval_distribute=strategy)
    regressor = tf.estimator.LinearRegressor(
        feature_columns=[tf.feature_column.numeric_column("feats")], optimizer="SGD", config=config
    )

    def input_fn():
        dataset = tf.data.Dataset.from_tensors(({"feats": [1.0]}, [1.0]))
        return dataset.repeat(1000).batch(10)

    regressor.train(input_fn=input_fn, steps=10)
    found = regressor.evaluate(input_fn=input_fn, steps=10)
    assert sorted(found) == ["average_loss", "global_step", "label/mean", "loss", "prediction/mean"]
    assert found["loss"] == pytest.approx(found["average_loss"])
    # As in the guide.
    assert found["average_loss"] == pytest.approx(1.4210855e-14, abs=1e-12)
    assert found["prediction/mean"] == pytest.approx(1.0, abs=1e-6)


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
