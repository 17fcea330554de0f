"""Batch normalization: TensorFlow's statistics, its updates, and replicas that average them."""

import jax.numpy as jnp
import keras
import numpy as np
import pytest

import stratax as sx
from stratax.tensorflow import v1
from stratax.tensorflow.v1 import layers
from tests.golden import layers_cases, layers_references
from tests.tensorflow.v1.steps import Step


@pytest.mark.parametrize("key", layers_cases.STATISTICS)
def test_batch_normalization_learns_tensorflows_statistics(key):
    shape, given = layers_cases.STATISTICS[key]

    def trained(scope, x):
        result = layers.BatchNormalization(**given)(x, training=True)
        # Nothing depends on the update.
        scope.run(None)
        return result

    train = Step(trained)
    for step in range(3):
        result = train(layers_cases.inputs(shape, step) + step)
        found = {
            "": result,
            "|mean": train.value("batch_normalization/moving_mean"),
            "|variance": train.value("batch_normalization/moving_variance"),
        }
        for suffix, value in found.items():
            expected = layers_references.VALUES[f"{key}|{step}{suffix}"]
            np.testing.assert_allclose(value, expected, rtol=2e-5, atol=1e-5, err_msg=f"step {step} {suffix}")

    def evaluated(scope, x):
        return layers.BatchNormalization(**given)(x, training=False)

    result = Step(evaluated, "eval", state=train.state)(layers_cases.inputs(shape, 2) + 2)
    np.testing.assert_allclose(result, layers_references.VALUES[f"{key}|evaluated"], rtol=2e-5, atol=1e-5)


def test_updates_are_made_once_also_if_something_depends_on_them():
    def body(scope, x, depends):
        layers.batch_normalization(x, momentum=0.5, training=True)
        with v1.control_dependencies(v1.get_collection("update_ops") if depends else None):
            train = v1.get_variable("v", (), initializer=keras.initializers.Zeros()).assign_add(1.0)
        scope.run(train)
        return x

    for depends in (False, True):
        step = Step(body)
        step(np.full((4, 3), 2.0, np.float32), depends)
        assert step.value("batch_normalization/moving_mean").tolist() == [1, 1, 1]


def test_updates_wait_to_be_run_outside_of_training():
    def body(scope, x, runs):
        layers.batch_normalization(x, momentum=0.5, training=True)
        scope.run(v1.get_collection("update_ops") if runs else None)
        return x

    for runs, expected in ((False, 0), (True, 1)):
        step = Step(body, mode="eval")
        step(np.full((4, 3), 2.0, np.float32), runs)
        assert step.value("batch_normalization/moving_mean").tolist() == [expected] * 3


def test_training_may_be_a_tensor():
    def body(scope, x, training):
        result = layers.batch_normalization(layers.dropout(x, 0.5, training=training), training=training)
        scope.run(None)
        return result

    step = Step(body)
    x = np.full((64, 3), 2.0, np.float32)
    np.testing.assert_allclose(step(x, jnp.asarray(False)), x / np.sqrt(1.001), rtol=1e-6)
    assert step.value("batch_normalization/moving_mean").tolist() == [0, 0, 0]
    assert np.ptp(step(x, jnp.asarray(True))) > 0
    assert (step.value("batch_normalization/moving_mean") > 0).all()


def test_variables_have_the_inputs_dtype():
    def body(scope, x):
        return layers.batch_normalization(layers.dense(x, 2), training=True)

    step = Step(body)
    assert step(jnp.ones((2, 3), "bfloat16")).dtype == "bfloat16"
    assert step.value("dense/kernel").dtype == "bfloat16"
    assert step.value("batch_normalization/gamma").dtype == "float32"


def test_replicas_share_variables_and_average_statistics():
    x = layers_cases.inputs((16, 6))

    def body(scope, x):
        result = layers.dense(x, 3, kernel_initializer=layers_cases.weights)
        layers.batch_normalization(result, momentum=0.5, training=True)
        scope.run(None)
        return result

    one, many = Step(body), Step(body)
    expected = one(x)
    strategy = sx.distribute.MirroredStrategy([f"/cpu:{i}" for i in range(8)])
    batch = next(iter(strategy.experimental_distribute_dataset(sx.data.Dataset.from_tensors(x))))
    with strategy.scope():
        parts = strategy.run(many.function, args=(batch,))
    np.testing.assert_allclose(
        np.concatenate(strategy.experimental_local_results(parts)), expected, atol=1e-6
    )
    assert many.names == one.names
    np.testing.assert_allclose(
        many.value("batch_normalization/moving_mean"), one.value("batch_normalization/moving_mean"), atol=1e-6
    )
    parts = np.asarray(expected).reshape(8, 2, 3)
    np.testing.assert_allclose(
        many.value("batch_normalization/moving_variance"), 0.5 + 0.5 * parts.var(1).mean(0), rtol=1e-5
    )


class Doubled(layers.BatchNormalization):
    """Has moments of its own, as those that take them of several replicas."""

    def _moments(self, inputs, reduction_axes, keep_dims, mask=None):
        mean, variance = super()._moments(inputs, reduction_axes, keep_dims=keep_dims, mask=mask)
        assert (tuple(reduction_axes), mean.shape) == ((0, 1, 2), (3,))
        return 2 * mean, 4 * variance


@pytest.mark.parametrize(("fused", "factor"), [(False, 2), (None, 1)])
def test_a_programs_own_moments_are_asked_for_where_the_kernel_is_not_fused(fused, factor):
    def body(scope, x):
        result = Doubled(fused=fused, momentum=0.0)(x, training=True)
        scope.run(None)
        return result

    step, x = Step(body), np.arange(24, dtype=np.float32).reshape(2, 2, 2, 3)
    result = step(x)
    mean, variance = x.mean((0, 1, 2)) * factor, x.var((0, 1, 2)) * factor**2
    np.testing.assert_allclose(result, (x - mean) / np.sqrt(variance + 1e-3), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(step.value("doubled/moving_mean"), mean, rtol=1e-6)


class Normalized(keras.Model):
    """A model of Keras with layers of TensorFlow 1 and no `build`, which counts its calls."""

    def __init__(self):
        super().__init__()
        self.calls = 0
        self.dense = layers.Dense(2, use_bias=False, kernel_initializer="ones")
        self.norm = layers.BatchNormalization(momentum=0.0)

    def call(self, inputs, training=False):
        self.calls += 1
        return self.norm(self.dense(inputs), training=training)


def test_layers_in_a_model_of_keras_update_once():
    made = []

    def body(scope, x):
        made.append(Normalized())
        result = made[-1](x, training=True)
        assert len(v1.get_collection("update_ops")) == 1
        scope.run(None)
        return result

    step, x = Step(body), np.float32([[1, 2], [3, 4]])
    np.testing.assert_allclose(step(x), [[-1, -1], [1, 1]], atol=1e-3)
    (mean,) = [step.value(name) for name in step.names if name.endswith("moving_mean")]
    assert mean.tolist() == [5, 5]
    assert {each.calls for each in made} == {1}
