"""Variables whose values a store keeps: programs, checkpoints and Keras itself reach them there."""

import copy
import pickle

import jax
import jax.numpy as jnp
import keras
import numpy as np
import pytest

import stratax as sx
from stratax.core.storage import _variable_store


class CountingStore(_variable_store.VariableStore):
    """Keeps values as NumPy arrays and notes every request."""

    def __init__(self):
        self.values = {}
        self.requests = []

    def create(self, variable, value):
        self.requests.append(("create", 1))
        self.values[id(variable)] = np.array(value)

    def read(self, variables):
        self.requests.append(("read", len(variables)))
        return [jnp.array(self.values[id(variable)]) for variable in variables]

    def write(self, variables, values):
        self.requests.append(("write", len(variables)))
        for variable, value in zip(variables, values, strict=True):
            self.values[id(variable)] = np.array(value)


@pytest.fixture
def store():
    return CountingStore()


def kept(value, store):
    variable = sx.Variable(value)
    _variable_store.keep(variable, store)
    store.requests.clear()
    return variable


def test_keras_reads_and_assigns_in_the_store(store):
    variable = kept([1.0, 2.0], store)
    assert variable.numpy().tolist() == [1.0, 2.0]
    assert store.requests == [("read", 1)]
    variable.assign([3.0, 4.0])
    assert store.values[id(variable)].tolist() == [3.0, 4.0]
    assert (variable + 1).tolist() == [4.0, 5.0]
    assert isinstance(variable, sx.Variable)
    assert "_value" not in variable.__dict__


def test_a_program_reads_and_writes_each_store_in_one_round_trip(store):
    first, second, own = kept(1.0, store), kept(2.0, store), sx.Variable(3.0)

    @sx.function
    def step():
        first.assign_add(own)
        second.assign_add(first)
        own.assign_add(1.0)
        return second * 1

    assert float(step()) == 6.0
    store.requests.clear()
    assert float(step()) == 6.0 + 8.0
    assert store.requests == [("read", 2), ("write", 2)]
    assert float(own.value) == 5.0


def test_a_program_that_only_reads_writes_nothing(store):
    variable = kept(2.0, store)
    double = sx.function(lambda: variable * 2)
    assert float(double()) == 4.0
    store.requests.clear()
    variable.assign(3.0)
    assert float(double()) == 6.0
    assert store.requests == [("write", 1), ("read", 1)]


def test_replicas_that_need_a_copy_on_their_devices_do_not_write_it_back(store):
    strategy = sx.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"])
    variable = kept(2.0, store)
    for _ in range(2):
        assert float(strategy.reduce("sum", strategy.run(lambda: variable * 1), axis=None)) == 4.0
    assert all(kind == "read" for kind, _ in store.requests)


def test_a_loop_that_the_host_drives_ends_in_the_store(store):
    variable = kept(0.0, store)
    dataset = sx.data.Dataset.range(5)

    @sx.function
    def total(elements):
        for element in elements:
            variable.assign_add(jnp.asarray(element, "float32"))

    total(dataset)
    assert float(store.values[id(variable)]) == 10.0


def test_a_variable_without_a_value_gets_it_in_the_store(store):
    layer = keras.layers.Dense(2)

    @sx.function
    def call(x):
        if not layer.built:
            layer.build(x.shape)
            for weight in layer.weights:
                _variable_store.keep(weight, store)
                assert not _variable_store.has_value(weight)
        return layer(x)

    assert call(jnp.ones((1, 3))).shape == (1, 2)
    assert [store.values[id(weight)].shape for weight in layer.weights] == [(3, 2), (2,)]
    assert all(_variable_store.has_value(weight) for weight in layer.weights)


def test_a_store_may_compute_first_values_elsewhere():
    class Zeros(CountingStore):
        def initialize(self, variable, make):
            self.values[id(variable)] = np.zeros(variable.shape, "float32")

    store, layer = Zeros(), keras.layers.Dense(2)

    @sx.function
    def call(x):
        if not layer.built:
            layer.build(x.shape)
            for weight in layer.weights:
                _variable_store.keep(weight, store)
        return layer(x)

    assert call(jnp.ones((1, 3))).tolist() == [[0.0, 0.0]]
    assert store.requests[0][0] == "read"


def test_a_checkpoint_reads_all_values_at_once_and_restores_into_the_store(store, tmp_path):
    first, second = kept(1.0, store), kept([2.0], store)
    checkpoint = sx.train.Checkpoint(first=first, second=second)
    path = checkpoint.save(str(tmp_path / "all"))
    assert ("read", 2) in store.requests
    first.assign(5.0)
    store.requests.clear()
    checkpoint.restore(path)
    assert float(store.values[id(first)]) == 1.0
    assert not any(kind == "read" for kind, _ in store.requests)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda value: pickle.loads(pickle.dumps(value))])
def test_a_copy_keeps_its_value_in_itself(store, copied):
    variable = kept(2.0, store)
    other = copied(variable)
    other.assign(3.0)
    assert float(variable.value) == 2.0
    assert _variable_store.store_of(other) is None
    assert type(other) is sx.Variable


def test_values_that_somebody_holds_survive_a_program_that_overwrites_the_variable():
    variable = sx.Variable(jnp.ones(4))
    held = variable.value
    step = sx.function(lambda: variable.assign_add(jnp.ones(4)))
    step()
    again = variable.value
    step()
    assert held.tolist() == [1.0] * 4
    assert again.tolist() == [2.0] * 4


def test_a_program_reuses_the_memory_of_a_variable_that_nobody_holds():
    variable = sx.Variable(jnp.ones(4096))
    step = sx.function(lambda: variable.assign_add(jnp.ones(4096)))
    step()
    step()
    pointer = variable.value.unsafe_buffer_pointer()
    step()
    assert variable.value.unsafe_buffer_pointer() == pointer


def test_moving_a_variable_twice_into_one_store_changes_nothing(store):
    variable = kept(2.0, store)
    kind = type(variable)
    _variable_store.keep(variable, store)
    assert type(variable) is kind
    assert not store.requests
    assert isinstance(jax.device_get(variable.value), np.ndarray)
