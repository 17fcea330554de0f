"""An Estimator goes on from what TensorFlow's Estimator has saved, evaluates it and begins with it."""

import pathlib
import shutil

import numpy as np
import pytest

import stratax.tf as tf
from stratax import errors
from tests.golden import checkpoint_cases, estimator_cases

GOLDEN = pathlib.Path(__file__).parents[2] / "golden"
SAVED = GOLDEN / "checkpoints" / "estimator"


def load(name):
    with np.load(GOLDEN / name) as found:
        return dict(found)


def of(golden, kind):
    return {name.partition(" ")[2]: value for name, value in golden.items() if name.startswith(f"{kind} ")}


@pytest.fixture
def folder(tmp_path):
    shutil.copytree(SAVED, tmp_path / "model")
    return str(tmp_path / "model")


def made(folder, **arguments):
    model_fn, train, evaluation = estimator_cases.cases(tf.compat.v1, tf.estimator, tf.data)
    return tf.estimator.Estimator(model_fn, folder, **arguments), train, evaluation


def test_training_goes_on_as_in_tensorflow(folder):
    estimator, train, _ = made(folder)
    assert estimator.latest_checkpoint().endswith("model.ckpt-12")
    assert estimator.get_variable_value("global_step") == estimator_cases.STEPS
    estimator.train(train, steps=checkpoint_cases.STEPS)
    assert estimator.latest_checkpoint().endswith("model.ckpt-15")
    wanted = of(load("checkpoints/numbers.npz"), "further")
    assert estimator.get_variable_names() == sorted(wanted)
    for name, value in wanted.items():
        found = estimator.get_variable_value(name)
        np.testing.assert_allclose(found, value, rtol=1e-5, atol=1e-6, err_msg=name)
    # What TensorFlow wrote is still there, and named by its path.
    assert estimator.train(train, max_steps=15) is estimator
    assert (pathlib.Path(folder) / "model.ckpt-12.index").exists()


def test_evaluation_and_prediction_are_tensorflows(tmp_path):
    estimator, _, evaluation = made(str(tmp_path))
    path, golden = str(SAVED / "model.ckpt-12"), load("estimator.npz")
    found = estimator.evaluate(evaluation, checkpoint_path=path)
    for name, value in of(golden, "metric").items():
        np.testing.assert_allclose(found[name], value, rtol=1e-5, err_msg=name)
    rows = [
        row["p"]
        for _, row in zip(range(20), estimator.predict(evaluation, checkpoint_path=path), strict=False)
    ]
    np.testing.assert_allclose(np.stack(rows), golden["predictions"], rtol=1e-5, atol=1e-6)


def test_a_warm_start_takes_trained_variables(tmp_path):
    estimator, train, _ = made(str(tmp_path), warm_start_from=str(SAVED))
    estimator.train(train, steps=1)
    golden = of(load("estimator.npz"), "variable")
    # One step changes little, and TensorFlow's kernels begin far away from what they were trained to.
    assert estimator.get_variable_value("global_step") == 1
    moved = np.abs(estimator.get_variable_value("dense/kernel") - golden["dense/kernel"]).max()
    assert 0 < moved < 0.1


def test_a_checkpoint_of_another_model_is_named(tmp_path):
    estimator, _, evaluation = made(str(tmp_path))

    def other(features, labels, mode):
        logits = tf.compat.v1.layers.dense(features["x"], 3, name="other")
        return tf.estimator.EstimatorSpec(mode, loss=tf.reduce_mean(logits))

    estimator = tf.estimator.Estimator(other, str(tmp_path))
    with pytest.raises(
        errors.RestoreError, match="of another model: other/kernel is not in the checkpoint; other/bias"
    ):
        estimator.evaluate(evaluation, checkpoint_path=str(SAVED / "model.ckpt-12"))
