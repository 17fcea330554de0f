"""Keras 2's optimizers whose steps are others than Keras 3's; the numbers are TensorFlow 2.15's after four steps."""

import keras
import numpy as np
import pytest

import stratax.tf as tf

EXPECTED = [
    ("Nadam", {}, [[0.996030331, -1.996030331, 2.996032715], [0.496696591, 0.25]]),
    (
        "Nadam",
        {"learning_rate": 0.1, "beta_1": 0.8, "beta_2": 0.9, "epsilon": 1e-3, "schedule_decay": 0.1},
        [[0.574563205, -1.573277593, 2.932233810], [0.134532154, 0.25]],
    ),
    ("RMSprop", {}, [[0.989002407, -1.989002466, 2.989019871], [0.490917414, 0.25]]),
]


@pytest.mark.parametrize(("name", "settings", "expected"), EXPECTED)
@pytest.mark.parametrize("compiled", [False, True])
def test_steps_are_those_of_keras_2(name, settings, expected, compiled):
    optimizer = getattr(tf.keras.optimizers.legacy, name)(**settings)
    first, second = tf.Variable([1.0, -2.0, 3.0]), tf.Variable([0.5, 0.25])

    def step(factor):
        gradients = tf.constant([0.1, -0.2, 1e-4]) * factor, tf.constant([1.0, 0.0])
        optimizer.apply_gradients(zip(gradients, (first, second), strict=True))

    step = tf.function(step) if compiled else step
    for number in range(4):
        step(tf.constant(number + 1.0))
    for variable, values in zip((first, second), expected, strict=True):
        np.testing.assert_allclose(np.asarray(variable), values, rtol=2e-6)
    again = type(optimizer).from_config(optimizer.get_config())
    assert again.get_config() == optimizer.get_config()


def test_replicas_train_as_one_device_does():
    found = []
    for devices in (["/cpu:0"], ["/cpu:0", "/cpu:1"]):
        keras.utils.set_random_seed(1)
        with tf.distribute.MirroredStrategy(devices).scope():
            model = keras.Sequential([keras.layers.Dense(2)])
            model.compile(tf.keras.optimizers.legacy.Nadam(0.1), "mse")
        x = np.arange(12, dtype="float32").reshape(6, 2)
        model.fit(x, x[:, ::-1], batch_size=2, epochs=2, shuffle=False, verbose=0)
        found.append([np.asarray(weight) for weight in model.weights])
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4)


class Warming(keras.optimizers.schedules.LearningRateSchedule):
    def __call__(self, step):
        return 0.125 * tf.minimum(tf.math.rsqrt(step), step * 4**-1.5)


class Doubtful(keras.optimizers.schedules.LearningRateSchedule):
    def __call__(self, step):
        raise TypeError(f"no {step.dtype}")


def test_a_schedule_of_the_programs_may_want_a_step_that_is_a_fraction():
    variable = tf.Variable([1.0, 2.0])
    optimizer = tf.keras.optimizers.legacy.SGD(Warming())
    for _ in range(4):
        optimizer.apply_gradients([(tf.constant([1.0, 1.0]), variable)])
    # By TensorFlow 2.15.
    assert variable.numpy().tolist() == [0.90625, 1.90625]
    with pytest.raises(TypeError, match="no float32"):
        tf.keras.optimizers.SGD(Doubtful()).apply_gradients([(tf.constant([1.0, 1.0]), variable)])
