"""A variable belongs to the scope that its own thread created it in, whatever other threads do meanwhile."""

import copy
import pickle
import threading

import keras
import numpy as np
import pytest

import stratax as sx
from stratax.distribute.keras_hooks import _keras_hooks
from stratax.distribute.strategies import _ownership

SECONDS = 60


@pytest.fixture(scope="module")
def strategies():
    return sx.distribute.MirroredStrategy(["cpu:0", "cpu:1"]), sx.distribute.MirroredStrategy(
        ["cpu:2", "cpu:3"]
    )


def devices_of(variable):
    return set(variable.value.devices())


def test_a_scope_places_the_variables_of_its_own_thread(strategies):
    created, other_has_ended, made = threading.Event(), threading.Event(), {}

    def in_the_first_scope():
        with strategies[0].scope():
            made["first"] = sx.Variable(1.0)
            created.set()
            assert other_has_ended.wait(SECONDS)
            made["before the end"] = devices_of(made["first"])

    thread = threading.Thread(target=in_the_first_scope)
    thread.start()
    assert created.wait(SECONDS)
    with strategies[1].scope():
        second = sx.Variable(2.0)
    other_has_ended.set()
    thread.join(SECONDS)
    assert not made["before the end"] & set(strategies[1].devices)
    assert devices_of(made["first"]) == set(strategies[0].devices)
    assert devices_of(second) == set(strategies[1].devices)
    assert _ownership.owner(made["first"]) is strategies[0]
    assert _ownership.owner(second) is strategies[1]


def test_models_of_two_threads_train_on_their_own_devices(strategies):
    barrier, placed, errors = threading.Barrier(2, timeout=SECONDS), [None, None], []

    def train(index):
        try:
            with strategies[index].scope():
                barrier.wait()
                model = keras.Sequential([keras.layers.Input([2]), keras.layers.Dense(1)])
                model.compile("sgd", "mse")
                barrier.wait()
            barrier.wait()
            model.fit(np.ones([4, 2], "float32"), np.ones([4, 1], "float32"), batch_size=4, verbose=0)
            placed[index] = [
                devices_of(variable) for variable in [*model.variables, *model.optimizer.variables]
            ]
        except BaseException as error:
            errors.append(error)
            barrier.abort()

    threads = [threading.Thread(target=train, args=(index,)) for index in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(SECONDS)
    assert not errors
    for strategy, of_thread in zip(strategies, placed, strict=True):
        assert all(devices == set(strategy.devices) for devices in of_thread)


def test_an_inner_scope_leaves_the_outer_ones_variables_alone(strategies):
    with strategies[0].scope():
        outer = sx.Variable(1.0)
        with strategies[0].scope():
            inner = sx.Variable(1.0)
        assert devices_of(inner) == set(strategies[0].devices)
        assert devices_of(outer) != set(strategies[0].devices)
    assert devices_of(outer) == set(strategies[0].devices)


def test_a_copy_of_a_variable_has_its_owner_and_what_is_unpickled_has_none(strategies):
    with strategies[0].scope():
        variable = keras.Variable(np.ones(2))
    assert _ownership.owner(copy.deepcopy(variable)) is strategies[0]
    assert _ownership.owner(pickle.loads(pickle.dumps(variable))) is None


def test_variables_of_a_program_belong_to_the_strategy_that_runs_it(strategies):
    layer = keras.layers.Dense(1)
    strategies[0].run(layer, args=(np.ones([2, 2], "float32"),))
    assert _ownership.owner(layer.kernel) is strategies[0]


def test_hooks_are_put_in_place_once():
    functions = [
        (keras.layers.BatchNormalization, "__init__"),
        (keras.layers.BatchNormalization, "_moments"),
        (keras.metrics.Mean, "update_state"),
        (keras.Variable, "_initialize_layout"),
        (keras.optimizers.Optimizer, "apply"),
    ]
    before = [getattr(owner, name) for owner, name in functions]
    _keras_hooks.install()
    assert [getattr(owner, name) for owner, name in functions] == before
