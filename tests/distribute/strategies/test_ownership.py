"""A variable belongs to the scope that its own thread created it in, whatever other threads do meanwhile."""

import copy
import gc
import pickle
import threading
import weakref

import keras
import numpy as np
import pytest

import stratax as sx
from stratax.distribute.strategies import _ownership, default_strategy, own, owner

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


def test_nothing_belongs_to_the_default_strategy(strategies):
    variable = sx.Variable(1.0)
    assert owner(variable) is None
    own([variable], strategies[0])
    assert owner(variable) is strategies[0]
    own([variable], default_strategy())
    assert owner(variable) is None


def test_what_a_scope_that_fails_has_created_is_placed_and_no_scope_is_left(strategies):
    made = []

    def fails():
        with strategies[0].scope():
            made.append(sx.Variable(1.0))
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        fails()
    assert devices_of(made[0]) == set(strategies[0].devices)
    assert devices_of(sx.Variable(1.0)).isdisjoint(strategies[1].devices)
    assert _ownership._CREATED.get() == ()


def test_a_variable_that_is_gone_when_its_scope_ends_is_not_waited_for(strategies):
    with strategies[0].scope():
        kept, gone = sx.Variable(1.0), sx.Variable(2.0)
        reference = weakref.ref(gone)
        del gone
        gc.collect()
        assert reference() is None
    assert devices_of(kept) == set(strategies[0].devices)


def test_the_state_of_the_default_generator_belongs_to_nobody(strategies, monkeypatch):
    with strategies[0].scope():
        own_generator = keras.random.SeedGenerator(1)
        with monkeypatch.context() as patch:
            patch.setattr(_ownership.state, "is_made_now", lambda: True)
            default = keras.random.SeedGenerator(1)
    assert owner(own_generator.state) is strategies[0]
    assert owner(default.state) is None
    assert devices_of(own_generator.state) == set(strategies[0].devices) != devices_of(default.state)
