"""What is saved while workers go on is one state: each step is in it as a whole, or not at all."""

import zipfile

import h5py
import jax.numpy as jnp
import keras
import numpy as np
import pytest

import stratax as sx
from stratax.parameter_servers.remote import FixedShardsPartitioner
from tests.distribute.parameter_servers import one_device, strategy_on
from tests.parameter_servers.coordination.clusters import in_process


def counting(coordinator):
    """Variables on all servers that are equal after each step: a count, weights, statistics, an optimizer's numbers."""
    with coordinator.strategy.scope():
        count = sx.Variable(0, aggregation="sum", name="count")
        weights = [sx.Variable(np.zeros(3, "float32"), name=f"weight_{index}") for index in range(3)]
        optimizer = keras.optimizers.SGD(1.0, momentum=0.0)
        optimizer.build(weights)

    @sx.function
    def step():
        def replica():
            optimizer.apply_gradients([(-jnp.ones(3), weight) for weight in weights])
            count.assign_add(1)

        coordinator.strategy.run(replica)
        return jnp.float32(0)

    return {"count": count, "weights": weights, "optimizer": optimizer}, step


def saved_numbers(path):
    """All numbers that a checkpoint of `counting` has of steps."""
    checkpoint = sx.train.load_checkpoint(path)
    keys = [key for key in checkpoint.get_variable_to_shape_map() if "save_counter" not in key]
    keys = [key for key in keys if "learning_rate" not in key]
    assert len(keys) == 5
    return {int(number) for key in keys for number in np.unique(checkpoint.get_tensor(key))}


def test_a_checkpoint_has_all_of_each_step_while_workers_go_on(tmp_path):
    with in_process(servers=2, workers=2, partitioner=FixedShardsPartitioner(2)) as coordinator:
        held, step = counting(coordinator)
        checkpoint = sx.train.Checkpoint(**held)
        coordinator.schedule(step).fetch()
        paths, is_busy = [], False
        for _ in range(8):
            for _ in range(20):
                coordinator.schedule(step)
            paths.append(checkpoint.save(tmp_path / "state"))
            is_busy |= not coordinator.done()
        coordinator.join()
        assert is_busy
        found = [saved_numbers(path) for path in paths]
        assert all(len(numbers) == 1 for numbers in found)
        steps = [number for numbers in found for number in numbers]
        assert steps == sorted(steps)
        assert int(held["count"].numpy()) == 161


def test_files_of_keras_have_all_of_each_step_while_workers_go_on(tmp_path):
    with in_process(servers=2, workers=2) as coordinator:
        with coordinator.strategy.scope():
            layers = [keras.layers.Dense(2, kernel_initializer="zeros") for _ in range(2)]
            model = keras.Sequential([keras.Input((2,)), *layers])
            model.compile(keras.optimizers.SGD(1.0), "mse")
            model.optimizer.build(model.trainable_variables)

        @sx.function
        def step():
            grads = [(-jnp.ones(weight.shape), weight) for weight in model.trainable_variables]
            coordinator.strategy.run(lambda: model.optimizer.apply_gradients(grads))
            return jnp.float32(0)

        coordinator.schedule(step).fetch()
        found, is_busy = [], False
        for name in ("0.weights.h5", "1.keras", "2.weights.h5", "3.keras"):
            for _ in range(20):
                coordinator.schedule(step)
            found.append(numbers_of_keras(model, tmp_path / name))
            is_busy |= not coordinator.done()
        coordinator.join()
        assert is_busy
        assert all(len(numbers) == 1 for numbers in found)
        assert numbers_of_keras(model, tmp_path / "end.weights.h5") == {81}


def numbers_of_keras(model, path):
    """All numbers that a file of Keras has of steps."""
    if path.suffix == ".keras":
        model.save(path)
        with zipfile.ZipFile(path) as archive:
            archive.extract("model.weights.h5", path.parent)
        path = path.parent / "model.weights.h5"
    else:
        model.save_weights(path)
    found = []
    with h5py.File(path) as file:
        file.visititems(lambda name, each: found.append((name, each[()])) if hasattr(each, "shape") else None)
    values = [value for name, value in found if name != "optimizer/vars/1"]
    assert len(values) == 5
    return {int(number) for value in values for number in np.unique(value)}


def adam(strategy):
    """A model that Adam has trained for some steps, with its optimizer."""
    keras.utils.set_random_seed(7)
    with strategy.scope():
        model = keras.Sequential([keras.Input((5,)), keras.layers.Dense(3), keras.layers.Dense(2)])
        model.compile(keras.optimizers.Adam(0.1), "mse")
        model.optimizer.build(model.trainable_variables)
    return model


def train(model, strategy, seed):
    random = np.random.default_rng(seed)

    def step():
        weights = model.trainable_variables
        grads = [jnp.asarray(random.normal(size=weight.shape), "float32") for weight in weights]
        model.optimizer.apply_gradients(zip(grads, weights, strict=True))

    for _ in range(2):
        strategy.run(step)


def values_of(model):
    return [np.asarray(variable.numpy()) for variable in [*model.variables, *model.optimizer.variables]]


@pytest.mark.parametrize("kind", ["checkpoint", "keras"])
def test_what_servers_keep_is_restored_under_other_strategies_and_the_other_way_round(kind, tmp_path):
    def handed_on(number, source, strategy):
        target = adam(strategy)
        train(target, strategy, 100 + number)
        path = tmp_path / f"{number}.weights.h5"
        if kind == "keras":
            source.save_weights(path)
            target.load_weights(path)
        else:
            saved = sx.train.Checkpoint(model=source).write(path)
            sx.train.Checkpoint(model=target).restore(saved).assert_consumed()
        for left, right in zip(values_of(source), values_of(target), strict=True):
            np.testing.assert_array_equal(left, right)
        return target

    with strategy_on(2, FixedShardsPartitioner(2)) as two, strategy_on(3, FixedShardsPartitioner(3)) as three:
        model = adam(two)
        train(model, two, 1)
        others = [three, sx.distribute.MirroredStrategy(), one_device(), two]
        for number, strategy in enumerate(others):
            model = handed_on(number, model, strategy)
        # Training goes on from there as on one device.
        alone = handed_on(len(others), model, one_device())
        train(model, two, 2)
        train(alone, one_device(), 2)
        for left, right in zip(values_of(model), values_of(alone), strict=True):
            np.testing.assert_allclose(left, right, rtol=1e-6, atol=1e-7)
