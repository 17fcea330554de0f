"""Central storage: variables rest on the parameter device and are updated there, once."""

import jax
import keras
import numpy as np
import pytest

import stratax as sx
from stratax.distribute import CentralStorageStrategy, MirroredStrategy


def train(strategy, steps=3):
    keras.utils.set_random_seed(2)
    with strategy.scope():
        model = keras.Sequential(
            [keras.layers.Dense(4, "relu"), keras.layers.BatchNormalization(), keras.layers.Dense(1)]
        )
        model.build((None, 3))
        optimizer = keras.optimizers.Adam(0.05)
        metric = keras.metrics.Mean()

    def replica_step(x):
        loss = lambda: sx.distribute.compute_average_loss(model(x, training=True)[:, 0] ** 2)  # noqa: E731
        value, gradients = sx.value_and_grad(loss, model.trainable_variables)()
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        metric.update_state(value)
        return value

    step = sx.function(lambda x: strategy.reduce("sum", strategy.run(replica_step, args=(x,)), axis=None))
    x = np.random.default_rng(0).normal(size=(steps * 8 - 3, 3)).astype("float32")
    losses = []
    for _ in range(2):
        for batch in strategy.experimental_distribute_dataset(sx.Dataset.from_tensor_slices(x).batch(8)):
            losses.append(float(step(batch)))
    return model, optimizer, metric, losses


def test_everything_rests_on_the_parameter_device_and_the_numbers_are_those_of_mirrored():
    strategy = CentralStorageStrategy([f"/cpu:{i}" for i in range(1, 5)], "/cpu:7")
    assert strategy.parameter_device == jax.devices()[7]
    assert strategy.num_replicas_in_sync == 4
    model, optimizer, metric, losses = train(strategy)
    for variable in [*model.variables, *optimizer.variables, *metric.variables]:
        assert variable.value.devices() == {jax.devices()[7]}, variable.path
    mirrored, _, mirrored_metric, expected = train(MirroredStrategy([f"/cpu:{i}" for i in range(1, 5)]))
    np.testing.assert_allclose(losses, expected, rtol=1e-5)
    for mine, theirs in zip(model.get_weights(), mirrored.get_weights(), strict=True):
        np.testing.assert_allclose(mine, theirs, atol=2e-6)
    np.testing.assert_allclose(metric.result(), mirrored_metric.result(), rtol=1e-5)


def test_the_parameter_device_is_the_hosts_or_the_only_compute_device():
    assert CentralStorageStrategy(["/cpu:3", "/cpu:4"]).parameter_device == jax.devices()[0]
    assert CentralStorageStrategy(["/cpu:3"]).parameter_device == jax.devices()[3]


def test_a_program_that_only_reads_variables_leaves_them_where_they_are():
    strategy = CentralStorageStrategy(["/cpu:0", "/cpu:1"], "/cpu:7")
    with strategy.scope():
        v = sx.Variable([1.0, 2.0])
    assert v.value.devices() == {jax.devices()[7]}
    double = sx.function(lambda: strategy.run(lambda: v * 2))
    assert [c.tolist() for c in double().values] == [[2, 4], [2, 4]]
    assert v.value.devices() == {jax.devices()[7]}
    v.assign([5.0, 5.0])
    assert [c.tolist() for c in double().values] == [[10, 10], [10, 10]]


def test_variables_are_kept_when_a_step_fails():
    strategy = CentralStorageStrategy(["/cpu:0", "/cpu:1"], "/cpu:7")
    with strategy.scope():
        v = sx.Variable(1.0)
    limit = [2.5]

    def check(x):
        value = np.asarray(x)  # a callback that computed with JAX would wait for the device it keeps busy
        if value > limit[0]:
            raise RuntimeError("too much")
        return value

    @sx.function
    def step():
        mean = strategy.reduce("mean", strategy.run(lambda: v + 1), axis=None)
        v.assign(jax.pure_callback(check, jax.ShapeDtypeStruct((), "float32"), mean))

    step()
    taken = v.value
    with pytest.raises(Exception, match="too much"):
        step()
    assert (float(taken), float(v.value)) == (2, 2)
    limit[0] = 10
    step()
    assert (float(taken), float(v.value)) == (2, 3)
