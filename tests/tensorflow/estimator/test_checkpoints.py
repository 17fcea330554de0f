"""The global step of a folder, and checkpoints of variables that devices have in parts."""

import pkgutil

import keras
import numpy as np
import pytest

import stratax as sx
import stratax.tf as tf
import stratax.tf.compat.v1 as v1
from stratax.core.storage import HostParts
from tests.tensorflow.estimator.test_warm_start import data, estimator


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    made = estimator(tmp_path_factory.mktemp("trained"))
    made.train(data, steps=2)
    return made


def test_the_global_step_of_a_folder(tmp_path, trained):
    assert sx.estimator.load_global_step_from_checkpoint_dir(trained.model_dir) == 2
    assert sx.estimator.load_global_step_from_checkpoint_dir(tmp_path) == 0


def test_a_model_dir_of_variables_in_parts_goes_on_with_any_devices(tmp_path, monkeypatch):
    name = "stratax.checkpoint._arrays.write"
    write, parts = pkgutil.resolve_name(name), []

    def writing(folder, arrays):
        parts.append(sum(isinstance(each, HostParts) for each in arrays.values()))
        write(folder, arrays)

    monkeypatch.setattr(name, writing)

    def model_fn(features, labels, mode):
        kernel = v1.get_variable(
            "kernel", (128, 64), initializer=keras.initializers.RandomNormal(0.1, seed=1)
        )
        loss = tf.reduce_mean(tf.square(tf.matmul(features, kernel) - labels))
        optimizer = v1.train.MomentumOptimizer(0.1, 0.9)
        op = optimizer.minimize(loss, v1.train.get_or_create_global_step())
        return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=op)

    rng = np.random.default_rng(0)
    rows, targets = rng.normal(size=(16, 128)).astype("float32"), rng.normal(size=(16, 64)).astype("float32")

    def trained(strategy, folder, steps):
        estimator = tf.estimator.Estimator(
            model_fn, folder, tf.estimator.RunConfig(train_distribute=strategy)
        )
        share = 1 if strategy is None else strategy.num_replicas_in_sync
        estimator.train(
            lambda: sx.data.Dataset.from_tensor_slices((rows, targets)).repeat().batch(16 // share),
            max_steps=steps,
        )
        return estimator.get_variable_value("kernel"), estimator.get_variable_value("kernel/Momentum")

    def sharded(count):
        return sx.distribute.ShardedStrategy([f"/cpu:{index}" for index in range(count)])

    expected = trained(None, tmp_path / "whole", 6)
    for steps, strategy in ((2, sharded(4)), (4, sharded(8)), (5, None), (6, sharded(2))):
        found = trained(strategy, tmp_path / "parts", steps)
    # The kernel and its slot, at the beginning and at the end of a run.
    assert parts == [0, 0, 2, 2, 2, 2, 0, 0, 2, 2]
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-5)
