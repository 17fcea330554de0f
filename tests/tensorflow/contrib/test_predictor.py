"""Predictors compute what an export, or an Estimator, serves; models of Keras are saved in folders."""

import os

import numpy as np
import pytest

import stratax.tf as tf
from stratax import errors

v1 = tf.compat.v1


def model_fn(features, labels, mode):
    w = v1.get_variable("w", initializer=np.float32([[1.0], [2.0]]))
    made = {"y": tf.matmul(features["x"], w), "twice": features["x"] * 2}
    outputs = {
        "serving_default": tf.estimator.export.PredictOutput(made),
        "other": tf.estimator.export.PredictOutput({"z": -made["y"]}),
    }
    loss = None if labels is None else tf.reduce_mean(tf.square(made["y"] - labels))
    step = v1.train.get_global_step()
    train_op = None if loss is None else v1.train.GradientDescentOptimizer(0.0).minimize(loss, step)
    return tf.estimator.EstimatorSpec(
        mode, predictions=made, loss=loss, train_op=train_op, export_outputs=outputs
    )


def serving():
    features = {"x": v1.placeholder(tf.float32, [None, 2])}
    return tf.estimator.export.ServingInputReceiver(features, features)


@pytest.fixture
def trained(tmp_path):
    estimator = tf.estimator.Estimator(model_fn, str(tmp_path))
    batch = ({"x": np.ones((2, 2), np.float32)}, np.ones((2, 1), np.float32))
    estimator.train(lambda: tf.data.Dataset.from_tensors(batch), steps=1)
    return estimator


def test_an_export_is_called_with_lists_by_name(trained, tmp_path):
    folder = trained.export_saved_model(str(tmp_path / "exports"), serving)
    predict = tf.contrib.predictor.from_saved_model(folder)
    found = predict({"x": [[1, 2], [3, 4]]})
    assert isinstance(found["y"], np.ndarray)
    assert found["y"].tolist() == [[5], [11]]
    assert found["twice"].tolist() == [[2, 4], [6, 8]]
    assert list(predict.feed_tensors) == ["x"]
    assert sorted(predict.fetch_tensors) == ["twice", "y"]
    other = tf.contrib.predictor.from_saved_model(folder, signature_def_key="other")
    assert other({"x": np.float32([[1, 2]])})["z"].tolist() == [[-5]]
    with pytest.raises(errors.BadArgumentError, match="unexpected keys in input_dict: {'z'}"):
        predict({"z": [1]})
    with pytest.raises(errors.BadArgumentError, match='signature_def_key "none"'):
        tf.contrib.predictor.from_saved_model(folder, signature_def_key="none")
    with pytest.raises(errors.BadArgumentError, match="found by signature_def_key"):
        tf.contrib.predictor.from_saved_model(folder, input_names={"x": "x:0"})


def test_an_estimator_predicts_without_an_input_function(trained):
    predict = tf.contrib.predictor.from_estimator(trained, serving)
    assert predict({"x": [[1.0, 1.0]]})["y"].tolist() == [[3]]


def test_a_model_of_keras_is_saved_and_loaded(tmp_path):
    model = tf.keras.Sequential([tf.keras.layers.Input((2,)), tf.keras.layers.Dense(1)])
    path = tf.contrib.saved_model.save_keras_model(model, os.path.join(tmp_path, "model"))
    loaded = tf.contrib.saved_model.load_keras_model(path.decode())
    x = np.ones((1, 2), np.float32)
    np.testing.assert_allclose(loaded(x), model(x), rtol=1e-6)
