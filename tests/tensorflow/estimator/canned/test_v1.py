"""Canned models of TensorFlow 1: their arguments, and their names of tensors and summaries."""

import inspect

import numpy as np
import pytest

import stratax.tf as tf

X = tf.feature_column.numeric_column("x")
FIRST = tf.compat.v1.estimator
FEATURES = np.linspace(-1.0, 1.0, 8, dtype=np.float32)[:, None]


def data(features=("x",), labels=3 * FEATURES):
    return tf.data.Dataset.from_tensor_slices((dict.fromkeys(features, FEATURES), labels)).batch(8).repeat()


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


def test_classes_of_tensorflow_1_have_its_arguments_and_describe_them():
    own = inspect.signature(FIRST.LinearClassifier)
    assert list(own.parameters)[-4:] == [
        "partitioner",
        "warm_start_from",
        "loss_reduction",
        "sparse_combiner",
    ]
    assert own.parameters["loss_reduction"].default == "weighted_sum"
    doc = FIRST.LinearClassifier.__doc__
    assert doc.startswith("A linear model that classifies, as `tf.compat.v1.estimator.LinearClassifier`.")
    assert [f"    {name}: " in doc for name in own.parameters] == [True] * len(own.parameters)
    assert not issubclass(FIRST.LinearClassifier, tf.estimator.LinearClassifier)


def test_arguments_that_are_missing_are_named():
    with pytest.raises(TypeError, match=r"DNNClassifier\(\) missing a required argument: 'hidden_units'"):
        FIRST.DNNClassifier(feature_columns=[X])
