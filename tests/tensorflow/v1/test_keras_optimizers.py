"""Keras' optimizers in a `model_fn` change what TensorFlow's do: numbers are those of TensorFlow 2.15."""

import numpy as np
import pytest

import stratax as sx
import stratax.tf as tf

legacy = tf.keras.optimizers.legacy


def elements():
    random = np.random.default_rng(0)
    features = {"c": random.integers(0, 10, (40, 2)).astype(np.int64)}
    return tf.data.Dataset.from_tensor_slices((features, random.integers(0, 2, 40))).batch(4)


# Weights of ten words, of which each step looks up at most eight.
@pytest.mark.parametrize(
    ("optimizer", "expected"),
    [
        (
            lambda: legacy.SGD(0.1, momentum=0.9),
            [-0.27869, 0.11169, -0.00406, -0.03031, 0.05148, -0.01515, 0.20379, 0.01625, 0.04397, -0.1239],
        ),
        (
            lambda: legacy.SGD(0.1, momentum=0.9, nesterov=True),
            [-0.31957, 0.14999, -0.00534, -0.02265, 0.07214, -0.04466, 0.23828, 0.00447, 0.04804, -0.14579],
        ),
        (
            lambda: legacy.RMSprop(0.01, momentum=0.9),
            [-0.2139, 0.22196, 0.0236, -0.14058, 0.06245, 0.06865, 0.30408, -0.05367, 0.13484, -0.31271],
        ),
        (
            lambda: legacy.Adadelta(1.0),
            [-0.00292, 0.00574, -0.00001, -0.00053, 0.00111, -0.00299, 0.00523, -0.00189, 0.00097, -0.00329],
        ),
        (
            lambda: legacy.Adamax(0.01),
            [-0.02509, 0.02206, 0.00687, -0.01658, 0.00435, 0.01731, 0.03402, -0.00225, 0.0215, -0.01667],
        ),
        (
            lambda: legacy.Nadam(0.01),
            [-0.02264, 0.03925, 0.00235, -0.00398, 0.01358, -0.00969, 0.03072, -0.01067, 0.01134, -0.03836],
        ),
    ],
)
@pytest.mark.parametrize("replicas", [None, 2])
def test_rows_that_a_step_does_not_look_up_stay(tmp_path, optimizer, expected, replicas):
    strategy = replicas and sx.distribute.MirroredStrategy([f"cpu:{number}" for number in range(replicas)])
    estimator = tf.estimator.LinearClassifier(
        [tf.feature_column.categorical_column_with_identity("c", 10)],
        optimizer=optimizer(),
        model_dir=str(tmp_path),
        config=tf.estimator.RunConfig(tf_random_seed=1, train_distribute=strategy),
    )
    # Each replica has a batch of its own.
    estimator.train(
        lambda: elements() if not replicas else elements().unbatch().batch(4 // replicas), steps=10
    )
    found = estimator.get_variable_value("linear/linear_model/c/weights")[:, 0]
    np.testing.assert_allclose(found, expected, atol=1.5e-5)
