"""`tf.contrib.estimator` forwards features, and clips what other optimizers apply."""

import numpy as np
import pytest

import stratax.tf as tf
from stratax import errors

v1 = tf.compat.v1
contrib = tf.contrib.estimator


def model_fn(features, labels, mode):
    w = v1.get_variable("w", initializer=np.float32([3.0, 4.0]))
    loss = tf.reduce_sum(w)
    made = {"y": features["x"] * 2.0}
    optimizer = contrib.clip_gradients_by_norm(v1.train.MomentumOptimizer(1.0, 0.5), 1.0)
    train_op = contrib.TowerOptimizer(optimizer).minimize(loss, v1.train.get_global_step())
    assert optimizer.get_slot_names() == ["momentum"]
    assert optimizer.get_slot(w, "momentum") in optimizer.variables()
    return tf.estimator.EstimatorSpec(mode, predictions=made, loss=loss, train_op=train_op)


def batches():
    features = {"x": np.float32([1, 2]), "key": np.int32([7, 8])}
    return tf.data.Dataset.from_tensor_slices((features, np.float32([0, 0]))).batch(2)


@pytest.fixture
def trained(tmp_path):
    made = tf.estimator.Estimator(contrib.replicate_model_fn(model_fn), str(tmp_path))
    return made.train(batches, steps=1)


def test_gradients_are_clipped_by_their_common_norm(trained):
    # The gradient is (1, 1), of the norm of the root of 2.
    np.testing.assert_allclose(trained.get_variable_value("w"), np.float32([3, 4]) - 0.5**0.5, rtol=1e-6)
    np.testing.assert_allclose(trained.get_variable_value("w/Momentum"), [0.5**0.5] * 2, rtol=1e-6)


@pytest.mark.parametrize(("keys", "names"), [("key", {"key", "y"}), (None, {"key", "x", "y"})])
def test_features_are_among_predictions(trained, keys, names):
    found = list(contrib.forward_features(trained, keys).predict(batches))
    assert set(found[0]) == names
    assert [each["key"] for each in found] == [7, 8]


def test_features_that_are_not_there_are_refused(trained):
    with pytest.raises(errors.BadTypeError, match="string or a list of strings"):
        contrib.forward_features(trained, 3)
    with pytest.raises(errors.BadArgumentError, match='Key "none" is not in features'):
        list(contrib.forward_features(trained, "none").predict(batches))
    twice = contrib.forward_features(contrib.forward_features(trained, "key"), "key")
    with pytest.raises(errors.BadArgumentError, match="Cannot forward feature key"):
        list(twice.predict(batches))


def test_an_export_serves_forwarded_features(trained, tmp_path):
    def serving():
        features = {"x": v1.placeholder(tf.float32, [None]), "key": v1.placeholder(tf.int32, [None])}
        return tf.estimator.export.ServingInputReceiver(features, features)

    def with_output(features, labels, mode):
        made = {"y": features["x"]}
        outputs = {"serving_default": tf.estimator.export.PredictOutput(made)}
        return tf.estimator.EstimatorSpec(mode, predictions=made, export_outputs=outputs)

    plain = tf.estimator.Estimator(with_output, trained.model_dir)
    predict = tf.contrib.predictor.from_estimator(contrib.forward_features(plain, "key"), serving)
    assert predict({"x": [1.0], "key": [5]})["key"].tolist() == [5]
