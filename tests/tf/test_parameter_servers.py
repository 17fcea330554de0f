"""TensorFlow's tutorial of parameter servers, in one process: TensorFlow 2.21's numbers, and its names."""

import json
import pathlib

import numpy as np
import pytest

import stratax.tf as tf
from tests.golden import parameter_server_cases as cases

GOLDEN = json.loads((pathlib.Path(cases.__file__).with_name("parameter_server.json")).read_text("utf-8"))[
    "cases"
]


@pytest.fixture(scope="module")
def coordinator():
    tasks, resolver = cases.make_cluster(tf)
    strategy = tf.distribute.experimental.ParameterServerStrategy(resolver)
    coordinator = tf.distribute.experimental.coordinator.ClusterCoordinator(strategy)
    yield coordinator
    coordinator.close()
    strategy.close()
    for task in tasks:
        task.close()


@pytest.mark.parametrize("name", cases.OPTIMIZERS)
def test_one_worker_gives_tensorflows_losses_and_weights(coordinator, name):
    found = cases.train(tf, coordinator, name)
    np.testing.assert_allclose(found["losses"], GOLDEN[name]["losses"], rtol=2e-6)
    for left, right in zip(found["weights"], GOLDEN[name]["weights"], strict=True):
        np.testing.assert_allclose(left, right, rtol=2e-6, atol=1e-6)


def test_results_are_remote_values_and_iterators_are_of_each_worker(coordinator):
    value = coordinator.schedule(lambda: tf.constant(3) + 1)
    assert isinstance(value, tf.distribute.coordinator.RemoteValue)
    assert tf.distribute.experimental.coordinator.RemoteValue is tf.distribute.coordinator.RemoteValue
    assert value.fetch() == 4
    dataset = coordinator.create_per_worker_dataset(lambda: tf.data.Dataset.range(3))
    assert isinstance(iter(dataset), tf.distribute.experimental.coordinator.PerWorkerValues)
    experimental = tf.distribute.experimental.ParameterServerStrategy
    assert issubclass(experimental, tf.distribute.ParameterServerStrategy)


def test_a_partitioner_of_a_users_own_is_called_with_a_shape_and_a_dtype():
    class Halves(tf.distribute.experimental.partitioners.Partitioner):
        def __call__(self, shape, dtype, axis=0):
            assert dtype == np.float32
            return [2, *(1 for _ in shape[1:])]

    assert Halves()((4, 3), np.dtype("float32")) == [2, 1]
