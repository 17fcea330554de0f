"""Estimators of `tf.contrib.learn`: what their model functions return, how they fit, and what experiments measure."""

import os

import numpy as np
import pytest

import stratax.tf as tf
from stratax import errors

v1 = tf.compat.v1
learn = tf.contrib.learn
X = np.float32([[1, 2], [3, 4], [5, 6], [7, 8]])
Y = np.float32([1, 2, 3, 4])


def line(features):
    w = v1.get_variable("w", (2, 1), initializer=v1.ones_initializer())
    return tf.matmul(features["x"], w)[:, 0]


def model_fn(features, targets, mode):
    made = line(features)
    loss = train_op = None
    if mode != learn.ModeKeys.INFER:
        loss = v1.losses.mean_squared_error(targets, made)
        step = tf.contrib.framework.get_global_step()
        train_op = tf.contrib.layers.optimize_loss(loss, step, 0.01, "SGD")
    return learn.ModelFnOps(mode=mode, predictions={"y": made}, loss=loss, train_op=train_op)


def batches():
    return tf.data.Dataset.from_tensor_slices(({"x": X}, Y)).batch(4)


ERROR = {"error": learn.MetricSpec(tf.contrib.metrics.streaming_mean_absolute_error, "y")}


def test_an_estimator_fits_measures_and_predicts(tmp_path):
    made = learn.Estimator(model_fn=model_fn, model_dir=str(tmp_path))
    assert made.fit(input_fn=batches, steps=1) is made
    # The gradient of the mean of squares, of errors 2, 5, 8 and 11.
    error = X.sum(1) - Y
    w = 1 - 0.01 * 2 * np.mean(error[:, None] * X, 0)
    np.testing.assert_allclose(made.get_variable_value("w")[:, 0], w, rtol=1e-5)
    found = made.evaluate(input_fn=batches, metrics=ERROR)
    np.testing.assert_allclose(found["error"], np.mean(np.abs(X @ w - Y)), rtol=1e-5)
    assert "error" not in made.evaluate(input_fn=batches)
    predicted = [each["y"] for each in made.predict(input_fn=lambda: tf.data.Dataset.from_tensors({"x": X}))]
    np.testing.assert_allclose(predicted, X @ w, rtol=1e-5)


def test_arrays_are_fitted_and_a_tuple_is_a_model(tmp_path):
    def of_tuple(features, labels, mode, params):
        made = line({"x": features}) * params["factor"]
        loss = v1.losses.mean_squared_error(labels, made) if labels is not None else None
        step = v1.train.get_global_step()
        train_op = None if loss is None else v1.train.GradientDescentOptimizer(0.0).minimize(loss, step)
        return made, loss, train_op

    made = learn.Estimator(of_tuple, str(tmp_path), params={"factor": 2.0})
    made.fit(X, Y, steps=2, batch_size=2)
    assert made.get_variable_value("global_step") == 2
    np.testing.assert_allclose(made.evaluate(X, Y)["loss"], np.mean((2 * X.sum(1) - Y) ** 2), rtol=1e-6)
    np.testing.assert_allclose(list(made.predict(X)), 2 * X.sum(1), rtol=1e-6)


def test_features_are_made_before_the_model(tmp_path):
    made = learn.Estimator(
        model_fn,
        str(tmp_path),
        feature_engineering_fn=lambda features, labels: ({"x": features["x"] * 2}, labels),
    )
    made.fit(input_fn=batches, steps=1)
    assert made.get_variable_value("w")[0, 0] < 0.5


def serving():
    features = {"x": v1.placeholder(tf.float32, [None, 2])}
    return learn.utils.input_fn_utils.InputFnOps(features, None, features)


def test_an_experiment_measures_and_exports(tmp_path):
    strategy = learn.utils.saved_model_export_utils.make_export_strategy(serving, exports_to_keep=1)
    experiment = learn.Experiment(
        learn.Estimator(model_fn=model_fn, model_dir=str(tmp_path)),
        train_input_fn=lambda: batches().repeat(),
        eval_input_fn=batches,
        eval_metrics=ERROR,
        export_strategies=[strategy],
        train_steps=3,
    )
    found, (folder,) = experiment.train_and_evaluate()
    assert found["global_step"] == 3
    assert found["error"] > 0
    assert os.path.isdir(folder)
    predict = tf.contrib.predictor.from_saved_model(folder)
    w = experiment.estimator.get_variable_value("w")[:, 0]
    np.testing.assert_allclose(predict({"x": X})["y"], X @ w, rtol=1e-5)
    assert os.path.isdir(experiment.estimator.export_savedmodel(str(tmp_path / "more"), serving))


def test_what_is_no_model_or_metric_is_refused(tmp_path):
    with pytest.raises(errors.BadTypeError, match="must be a function"):
        learn.Estimator()
    made = learn.Estimator(model_fn, str(tmp_path))
    with pytest.raises(errors.BadArgumentError, match="x or input_fn"):
        made.fit()
    with pytest.raises(errors.BadArgumentError, match="feed_fn must be None"):
        made.evaluate(input_fn=batches, feed_fn=3)
    with pytest.raises(errors.BadArgumentError, match="one example after the other"):
        made.predict(X, as_iterable=False)
    with pytest.raises(errors.BadArgumentError, match="without specified prediction_key"):
        learn.MetricSpec(tf.contrib.metrics.streaming_accuracy).create_metric_ops(None, Y, {"a": Y, "b": Y})
