"""A model function of TensorFlow 1 gives TensorFlow 2.15's numbers and names, on one device and on several."""

import pathlib

import numpy as np
import pytest

import stratax as sx
import stratax.tf as tf
from tests.golden import estimator_cases

GOLDEN = pathlib.Path(__file__).parents[2] / "golden" / "estimator.npz"


@pytest.fixture(scope="module")
def golden():
    with np.load(GOLDEN) as found:
        return dict(found)


def of(golden, kind):
    """Those of a kind, by name."""
    return {
        name.removeprefix(f"{kind} "): value for name, value in golden.items() if name.startswith(f"{kind} ")
    }


@pytest.mark.parametrize("replicas", [1, pytest.param(4, marks=pytest.mark.stress)])
def test_training_evaluation_and_prediction_are_tensorflows(tmp_path, golden, replicas):
    v1 = tf.compat.v1
    model_fn, train, evaluation = estimator_cases.cases(v1, tf.estimator, tf.data)
    config = tf.estimator.RunConfig()
    if replicas > 1:
        # BatchNormalization's statistics are a replica's own, so each replica has the whole batch.
        strategy = sx.distribute.MirroredStrategy([f"/cpu:{index}" for index in range(replicas)])
        config = tf.estimator.RunConfig(train_distribute=strategy, eval_distribute=strategy)
        once = train

        def train():
            return once().flat_map(lambda x, y: tf.data.Dataset.from_tensors((x, y)).repeat(replicas))

    made = tf.estimator.Estimator(model_fn, str(tmp_path), config)
    made.train(train, steps=estimator_cases.STEPS)
    variables = of(golden, "variable")
    assert made.get_variable_names() == sorted(variables)
    for name, value in variables.items():
        np.testing.assert_allclose(made.get_variable_value(name), value, rtol=1e-5, atol=1e-6, err_msg=name)
    found = made.evaluate(evaluation)
    metrics = of(golden, "metric")
    assert sorted(found) == sorted(metrics)
    # The loss is a mean over batches, and a remainder that replicas share counts as one of each.
    for name in metrics.keys() - ({"loss", "rate"} if replicas > 1 else set()):
        np.testing.assert_allclose(found[name], metrics[name], rtol=1e-5, err_msg=name)
    predicted = np.stack([row["p"] for row in made.predict(evaluation)])
    assert len(predicted) == len(estimator_cases.FEATURES)
    np.testing.assert_allclose(predicted[:20], golden["predictions"], rtol=1e-5, atol=1e-6)
