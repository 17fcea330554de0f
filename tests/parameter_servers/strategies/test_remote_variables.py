"""The skeleton of a strategy whose variables live in another process: all of it is parts that the base composes.

A real second process holds the arrays. The strategy has no mesh, no devices of its own and nobody to be in step with.
"""

import dataclasses
import pathlib
import subprocess
import sys
from multiprocessing.connection import Client

import jax
import jax.numpy as jnp
import keras
import numpy as np
import pytest

import stratax as sx
from stratax import errors
from stratax.core import autograph, regions, storage
from stratax.core.functions import _function
from stratax.distribute import replicas
from stratax.distribute.input import OnDefaultDevice
from stratax.distribute.replicas import PostponesUpdates, is_seed_state
from stratax.distribute.strategies import (
    Alone,
    Execution,
    InputOfReplicas,
    Placement,
    StrategyExtended,
    UpdatesOnce,
)

pytestmark = pytest.mark.processes

KEY = "for this test"


class Connection:
    def __init__(self, address):
        self._client = Client(str(address), family="AF_UNIX", authkey=KEY.encode())

    def ask(self, *request):
        self._client.send(request)
        succeeded, answer = self._client.recv()
        if not succeeded:
            raise RuntimeError(answer)
        return answer

    def close(self):
        self._client.close()


class RemoteStore(storage.VariableStore):
    """Values in another process, by name."""

    def __init__(self, connection):
        self._connection = connection
        self._names = {}

    def name(self, variable):
        return self._names.setdefault(id(variable), f"{len(self._names)}/{variable.path}")

    def create(self, variable, value):
        self._connection.ask("create", self.name(variable), np.asarray(value))

    def initialize(self, variable, make):
        # A table that is larger than this process' memory: it is never here.
        if variable.name == "table":
            self._connection.ask("zeros", self.name(variable), tuple(variable.shape), variable.dtype)
        else:
            super().initialize(variable, make)

    def read(self, variables):
        return [jnp.asarray(array) for array in self._connection.ask("read", [*map(self.name, variables)])]

    def write(self, variables, values):
        self._connection.ask("write", [*map(self.name, variables)], [*map(np.asarray, values)])


class RemotePlacement(Placement):
    """Everything but the states of random generators lives in the store."""

    def __init__(self, store):
        self._store = store

    def store_of(self, variable):
        return None if is_seed_state(variable) else self._store

    def place(self, variables, values):
        """What is left stays where it was made."""

    def prepare(self, region):
        """A program takes its variables from wherever they are."""


class LocalExecution(Execution):
    """One replica, this process: a function runs on pulled values, and what it assigns is pushed."""

    def __init__(self, strategy):
        self._strategy = strategy
        self._compiled = _function.Function(self.call_for_each_replica, autograph=False, calls_argument=True)

    @property
    def num_replicas(self):
        return 1

    def run(self, fn, args, kwargs):
        # Entered around the trace as well: what a step creates gets its first value at the end of it, from the store.
        with replicas.enter_contexts(self._strategy, None):
            return self._compiled(fn, args, kwargs)

    def call_for_each_replica(self, fn, args, kwargs, *, averages_gradients=False):
        with replicas.enter_contexts(self._strategy, replicas.ReplicaContext(self._strategy, 1)):
            return autograph.convert(fn)(*args, **kwargs)

    def reduce(self, op, value, axis):
        combine = jnp.sum if op is sx.distribute.ReduceOp.SUM else jnp.mean
        return value if axis is None else jax.tree.map(lambda leaf: combine(leaf, axis), value)

    def gather(self, value, axis):
        return value

    def values_from_function(self, value_fn):
        return value_fn(sx.distribute.ValueContext())

    def to_all(self, array):
        return array


class PushingRegion(regions.Region, PostponesUpdates):
    """What a function reads is its caller's; updates of optimizers leave it as they are asked for."""

    def __init__(self, parent):
        super().__init__(parent)
        self.updates = []

    def lift(self, variable):
        return self.parent.get_current_value(variable)

    def postpone(self, update):
        self.updates.append(update)


class AsynchronousExecution(LocalExecution):
    """The same without waiting for updates: gradients are handed on, and applied whenever somebody does it."""

    def __init__(self, strategy):
        super().__init__(strategy)
        self.pushed = []

    def run(self, fn, args, kwargs):
        result, updates, arrays = super().run(fn, args, kwargs)
        self.pushed.extend(zip(updates, arrays, strict=True))
        return result

    def call_for_each_replica(self, fn, args, kwargs, *, averages_gradients=False):
        outside = regions.current_region()
        with PushingRegion(outside) as region:
            result = super().call_for_each_replica(fn, args, kwargs)
        for variable in region.writes.values():
            outside.take_over(variable, region.final_value(variable), region)
        updates = [dataclasses.replace(update, arrays=[]) for update in region.updates]
        return result, updates, [update.arrays for update in region.updates]

    def apply_pushed(self):
        """Applies one gradient after another to the values that the other process has by then."""
        for update, arrays in self.pushed:
            with replicas.enter_contexts(self._strategy, None):
                _function.Function(update.make, autograph=False)(arrays)
        self.pushed.clear()


class UpdatedElsewhere(RemotePlacement, UpdatesOnce):
    """Variables that workers do not update."""


class RemoteStrategy(sx.distribute.Strategy):
    def __init__(self, connection):
        self.store = RemoteStore(connection)
        super().__init__(
            StrategyExtended(
                placement=RemotePlacement(self.store),
                membership=Alone(),
                execution=LocalExecution(self),
                input=InputOfReplicas(self, OnDefaultDevice()),
            )
        )


class AsynchronousStrategy(sx.distribute.Strategy):
    def __init__(self, connection):
        self.store = RemoteStore(connection)
        super().__init__(
            StrategyExtended(
                placement=UpdatedElsewhere(self.store),
                membership=Alone(),
                execution=AsynchronousExecution(self),
                input=InputOfReplicas(self, OnDefaultDevice()),
            )
        )


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    path = tmp_path_factory.mktemp("server") / "socket"
    script = pathlib.Path(__file__).with_name("array_server.py")
    with subprocess.Popen(
        [sys.executable, script, str(path), KEY], stdout=subprocess.PIPE, text=True
    ) as server:
        assert server.stdout.readline() == "ready\n"
        yield path
        server.kill()


@pytest.fixture
def connection(address):
    connection = Connection(address)
    yield connection
    connection.close()


def made(kind, connection):
    strategy = kind(connection)
    # Other tests have left theirs.
    names = connection.ask("names")
    strategy.store._names.update({-index: name for index, name in enumerate(names, 1)})
    connection.ask("requests")
    return strategy


@pytest.fixture
def strategy(connection):
    return made(RemoteStrategy, connection)


@pytest.fixture
def other(address):
    """Another client of the server: what the variables' process really holds."""
    connection = Connection(address)
    yield connection
    connection.close()


def data():
    random = np.random.default_rng(0)
    x = random.normal(size=(32, 3)).astype("float32")
    return x, x @ np.array([[1.0], [-2.0], [0.5]], "float32")


def trained(strategy, steps=4):
    """A Keras model and its optimizer after a loop of a user's own."""
    keras.utils.set_random_seed(3)
    x, y = data()
    with strategy.scope():
        model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(4, "relu"), keras.layers.Dense(1)])
        optimizer = keras.optimizers.Adam(0.1)
        seen = keras.metrics.Mean()

    def step(batch):
        features, labels = batch

        def loss_fn():
            return jnp.mean((model(features) - labels) ** 2)

        loss, grads = sx.value_and_grad(loss_fn, model.trainable_variables)()
        optimizer.apply_gradients(zip(grads, model.trainable_variables, strict=True))
        seen.update_state(loss)
        return loss

    batches = strategy.experimental_distribute_dataset(
        sx.data.Dataset.from_tensor_slices((x, y)).batch(8).repeat().take(steps)
    )
    losses = [
        float(strategy.reduce("sum", strategy.run(step, args=(batch,)), axis=None)) for batch in batches
    ]
    return model, optimizer, losses, float(seen.result())


def test_the_scope_creates_variables_in_the_other_process(strategy, other):
    with strategy.scope():
        variable = sx.Variable([1.0, 2.0], name="weight")
        dense = keras.layers.Dense(2)
        dense.build((1, 3))
    name = strategy.store.name(variable)
    assert [array.tolist() for array in other.ask("read", [name])] == [[1.0, 2.0]]
    kernel = strategy.store.name(dense.kernel)
    np.testing.assert_array_equal(other.ask("read", [kernel])[0], dense.kernel.numpy())
    assert not any("_value" in each.__dict__ for each in (variable, *dense.weights))


def test_reads_pull_and_assignments_push(strategy, other):
    with strategy.scope():
        variable = sx.Variable(1.0)
    name = strategy.store.name(variable)
    other.ask("write", [name], [np.float32(7.0)])
    assert float(variable.numpy()) == 7.0
    variable.assign_add(1.0)
    assert float(other.ask("read", [name])[0]) == 8.0


def test_run_pulls_what_a_function_reads_and_pushes_what_it_assigns_once(strategy, connection, other):
    with strategy.scope():
        first, second, third = (sx.Variable(float(value)) for value in range(3))

    def step(amount):
        first.assign_add(amount)
        second.assign(first * second)
        return first + third

    assert float(strategy.run(step, args=(10.0,))) == 12.0
    connection.ask("requests")
    other.ask("write", [strategy.store.name(third)], [np.float32(100.0)])
    assert float(strategy.run(step, args=(10.0,))) == 120.0
    assert connection.ask("requests") == ["write", "read", "write"]
    assert float(second.numpy()) == 200.0


def test_a_compiled_function_and_a_loop_in_it_do_so_too(strategy, connection):
    with strategy.scope():
        total = sx.Variable(0.0)

    @sx.function
    def many(count):
        for _ in sx.range(count):
            strategy.run(lambda: total.assign_add(1.0))
        return total * 1

    assert float(many(3)) == 3.0
    connection.ask("requests")
    assert float(many(3)) == 6.0
    assert connection.ask("requests") == ["read", "write"]


def test_training_gives_the_weights_of_one_device(strategy):
    model, optimizer, losses, mean = trained(strategy)
    expected, one, expected_losses, expected_mean = trained(sx.distribute.OneDeviceStrategy("/cpu:0"))
    np.testing.assert_allclose(losses, expected_losses, rtol=1e-6)
    assert losses[-1] < losses[0]
    assert mean == pytest.approx(expected_mean, rel=1e-6)
    for left, right in zip(
        [*model.variables, *optimizer.variables], [*expected.variables, *one.variables], strict=True
    ):
        np.testing.assert_allclose(left.numpy(), right.numpy(), rtol=1e-5, atol=1e-6)


def test_slots_that_an_optimizer_makes_later_live_there_too(strategy):
    model, optimizer, _, _ = trained(strategy, steps=1)
    assert all(
        storage.store_of(variable) is strategy.store for variable in (*model.variables, *optimizer.variables)
    )


def test_a_table_that_this_process_could_not_hold_is_made_elsewhere(strategy, other):
    with strategy.scope():
        table = keras.Variable(
            lambda shape, dtype: pytest.fail("The table was made here."), shape=(4, 2), name="table"
        )
    assert other.ask("read", [strategy.store.name(table)])[0].tolist() == [[0.0, 0.0]] * 4


def test_a_checkpoint_goes_from_there_to_devices_and_back(strategy, connection, tmp_path):
    with strategy.scope():
        variables = [sx.Variable(np.full(3, value, "float32")) for value in (1.0, 2.0)]
    connection.ask("requests")
    path = sx.train.Checkpoint(variables=variables).save(str(tmp_path / "saved"))
    assert connection.ask("requests") == ["read"]
    with sx.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"]).scope():
        copies = [sx.Variable(np.zeros(3, "float32")) for _ in variables]
    sx.train.Checkpoint(variables=copies).restore(path)
    assert [copy.numpy().tolist() for copy in copies] == [[1.0] * 3, [2.0] * 3]
    for variable in variables:
        variable.assign(np.zeros(3))
    sx.train.Checkpoint(variables=variables).restore(path)
    assert [variable.numpy().tolist() for variable in variables] == [[1.0] * 3, [2.0] * 3]


def test_variables_of_other_strategies_stay_where_they_are(strategy):
    with strategy.scope():
        there = sx.Variable(1.0)
    with sx.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"]).scope():
        here = sx.Variable(1.0)
    assert storage.store_of(there) is strategy.store
    assert storage.store_of(here) is None
    assert len(here.value.devices()) == 2


def test_the_base_demands_no_devices_and_says_what_needs_a_mesh(strategy):
    assert strategy.num_replicas_in_sync == 1
    assert strategy.devices == ()
    assert repr(strategy) == "<RemoteStrategy with 1 replicas>"
    with pytest.raises(errors.StrategyError, match=r"strategy.mesh belongs to .* Received: <RemoteStrategy"):
        _ = strategy.mesh
    with pytest.raises(errors.StrategyError, match=r"strategy.cross_device_ops belongs to"):
        _ = strategy.cross_device_ops


def test_input_is_the_process_own(strategy):
    context = []

    def dataset_fn(given):
        context.append(given)
        return [np.arange(2)]

    (batch,) = strategy.distribute_datasets_from_function(dataset_fn)
    assert batch.tolist() == [0, 1]
    assert context[0].num_input_pipelines == 1
    assert strategy.experimental_distribute_values_from_function(lambda c: c.num_replicas_in_sync) == 1


def test_a_loop_over_a_distributed_dataset_takes_its_batches_and_can_be_gone_on_with(strategy):
    def distributed():
        return strategy.experimental_distribute_dataset(
            sx.data.Dataset.range(10).filter(lambda x: x >= 0).batch(4)
        )

    dataset = distributed()
    assert isinstance(dataset, sx.distribute.DistributedDataset)
    batches = [batch.tolist() for batch in dataset]
    assert batches == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
    iterator = iter(dataset)
    assert [next(iterator).tolist(), next(iterator).tolist()] == batches[:2]
    restored = iter(distributed())
    restored.set_state(iterator.get_state())
    assert [batch.tolist() for batch in restored] == batches[2:]
    assert bool(iterator.get_next_as_optional().has_value())
    assert not iterator.get_next_as_optional().has_value()


def test_a_compiled_function_takes_batches_of_a_distributed_dataset(strategy):
    with strategy.scope():
        total = sx.Variable(0.0)

    @sx.function
    def add_all(dataset):
        for batch in dataset:
            strategy.run(lambda x: total.assign_add(x.sum()), args=(batch,))

    add_all(strategy.experimental_distribute_dataset([np.full(3, value, "float32") for value in range(5)]))
    assert float(total.numpy()) == 30.0


def fitted(strategy, dataset, **kwargs):
    """A Keras model after `fit`, and its history."""
    keras.utils.set_random_seed(3)
    with strategy.scope():
        model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(4, "relu"), keras.layers.Dense(1)])
        model.compile(keras.optimizers.Adam(0.1), "mse", metrics=["mae"], **kwargs)
    return model, model.fit(dataset, epochs=2, validation_data=dataset, verbose=0).history


@pytest.mark.parametrize("steps_per_execution", [1, 3])
def test_fit_gives_the_weights_of_one_device(strategy, other, steps_per_execution):
    dataset = sx.data.Dataset.from_tensor_slices(data()).batch(8)
    model, history = fitted(strategy, dataset, steps_per_execution=steps_per_execution)
    expected, expected_history = fitted(
        sx.distribute.OneDeviceStrategy("/cpu:0"), dataset, steps_per_execution=steps_per_execution
    )
    assert history["loss"][-1] < history["loss"][0]
    assert history.keys() == expected_history.keys()
    for name, values in history.items():
        np.testing.assert_allclose(values, expected_history[name], rtol=1e-5)
    there = other.ask("read", [strategy.store.name(weight) for weight in model.weights])
    for left, right in zip(there, expected.weights, strict=True):
        np.testing.assert_allclose(left, right.numpy(), rtol=1e-5, atol=1e-6)


def test_fit_takes_arrays_and_a_distributed_dataset(strategy):
    arrays = sx.data.Dataset.from_tensor_slices(data()).batch(8)
    _, expected = fitted(strategy, arrays)
    _, history = fitted(strategy, strategy.experimental_distribute_dataset(arrays))
    np.testing.assert_allclose(history["loss"], expected["loss"], rtol=1e-5)
    x, y = data()
    with strategy.scope():
        model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])
        model.compile("sgd", "mse")
    assert len(model.fit(x, y, batch_size=8, epochs=2, verbose=0).history["loss"]) == 2
    assert model.predict(x, batch_size=8, verbose=0).shape == (32, 1)
    assert model.evaluate(x, y, batch_size=8, verbose=0) > 0


def test_a_replica_knows_that_it_is_one(strategy):
    def which():
        context = sx.distribute.get_replica_context()
        merged = context.merge_call(lambda strategy, value: value + 1, args=(jnp.float32(1.0),))
        return context.all_reduce("sum", merged) + context.replica_id_in_sync_group

    assert float(strategy.run(which)) == 2.0
    assert regions.current_region() is None


def test_steps_need_not_wait_for_updates(connection, other, tmp_path):
    strategy = made(AsynchronousStrategy, connection)
    with strategy.scope():
        weight = sx.Variable([1.0, 2.0])
        count = sx.Variable(0.0, trainable=False)
        optimizer = keras.optimizers.SGD(0.5, momentum=0.9)

    def step(factor):
        count.assign_add(1.0)
        loss, (grad,) = sx.value_and_grad(lambda: jnp.sum(factor * weight**2), [weight])()
        optimizer.apply_gradients([(grad, weight)])
        return loss

    name = strategy.store.name(weight)
    # A checkpoint whose values wait for variables has optimizers built within the step.
    waiting = sx.train.Checkpoint()
    saved = sx.train.Checkpoint(other=sx.Variable(1.0)).save(str(tmp_path / "saved"))
    waiting.restore(saved, sx.train.CheckpointOptions(expect_partial=True))
    # Both see the weights as they are before either update.
    assert [float(strategy.run(step, args=(factor,))) for factor in (1.0, 3.0)] == [5.0, 15.0]
    assert other.ask("read", [name])[0].tolist() == [1.0, 2.0]
    assert float(count.numpy()) == 2.0
    strategy.extended.execution.apply_pushed()
    # Velocity: -0.5 * 2w, then 0.9 of that and -0.5 * 6w.
    np.testing.assert_allclose(other.ask("read", [name])[0], [1 - 1 - 3.9, 2 - 2 - 7.8], rtol=1e-6)
    assert int(optimizer.iterations.numpy()) == 2
    assert all(storage.store_of(each) is strategy.store for each in optimizer.variables)
