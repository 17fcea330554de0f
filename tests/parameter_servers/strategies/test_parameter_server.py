"""One worker with parameter servers does what one device does, with every optimizer, divided or not."""

import jax.numpy as jnp
import keras
import numpy as np
import pytest

import stratax as sx
from stratax import errors
from stratax.cluster import SimpleClusterResolver
from stratax.core import storage
from stratax.distribute.strategies import ParameterServerStrategy
from stratax.parameter_servers.remote import FixedShardsPartitioner
from tests.distribute.parameter_servers import one_device, running, strategy_on
from tests.stressed import but

optimizers = keras.optimizers
OPTIMIZERS = {
    "sgd": lambda: optimizers.SGD(0.1),
    "momentum": lambda: optimizers.SGD(0.1, momentum=0.9, nesterov=True),
    "weight decay": lambda: optimizers.SGD(0.1, weight_decay=0.01),
    "adam": lambda: optimizers.Adam(0.1),
    "adamw": lambda: optimizers.AdamW(0.01),
    "nadam": lambda: optimizers.Nadam(0.01),
    "adamax": lambda: optimizers.Adamax(0.01),
    "adagrad": lambda: optimizers.Adagrad(0.1),
    "adadelta": lambda: optimizers.Adadelta(0.1),
    "rmsprop": lambda: optimizers.RMSprop(0.01, centered=True, momentum=0.5),
    "ftrl": lambda: optimizers.Ftrl(0.1),
    "lion": lambda: optimizers.Lion(0.01),
    "lamb": lambda: optimizers.Lamb(0.01),
    "adafactor": lambda: optimizers.Adafactor(0.01),
    "muon": lambda: optimizers.Muon(0.01),
    "schedule": lambda: optimizers.Adam(optimizers.schedules.ExponentialDecay(0.1, 2, 0.5)),
    "global norm": lambda: optimizers.Adam(0.1, global_clipnorm=0.1),
    "norm": lambda: optimizers.SGD(0.1, clipnorm=0.1),
    "moving average": lambda: optimizers.Adam(0.01, use_ema=True, ema_overwrite_frequency=2),
    "accumulation": lambda: optimizers.SGD(0.1, gradient_accumulation_steps=2),
    "loss scale": lambda: optimizers.LossScaleOptimizer(optimizers.SGD(0.1)),
}
# Those whose result is one device's to the last bit: nothing is fused in another way.
EXACT = {"sgd", "momentum", "weight decay", "norm"}
# One of each kind of update: by elements, with a norm, with state of another shape, with all of a variable.
KINDS = {"sgd", "global norm", "adafactor", "muon", "moving average"}


def data():
    random = np.random.default_rng(0)
    x = random.normal(size=(32, 3)).astype("float32")
    return x, x @ np.array([[1.0], [-2.0], [0.5]], "float32")


def trained(strategy, make_optimizer, steps=4):
    """A Keras model, its optimizer, losses and a metric after a loop of a user's own."""
    keras.utils.set_random_seed(3)
    x, y = data()
    with strategy.scope():
        model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(4, "relu"), keras.layers.Dense(1)])
        optimizer = make_optimizer()
        seen = keras.metrics.Mean()

    def step(batch):
        features, labels = batch

        def loss_fn():
            return jnp.mean((model(features) - labels) ** 2)

        loss, grads = sx.value_and_grad(loss_fn, model.trainable_variables)()
        optimizer.apply_gradients(zip(grads, model.trainable_variables, strict=True))
        seen.update_state(loss)
        return loss

    dataset = sx.data.Dataset.from_tensor_slices((x, y)).batch(8).repeat().take(steps)
    losses = []
    for batch in strategy.experimental_distribute_dataset(dataset):
        losses.append(float(strategy.reduce("sum", strategy.run(step, args=(batch,)), axis=None)))
    return model, optimizer, losses, float(seen.result())


def compare(strategy, name):
    make = OPTIMIZERS[name]
    model, optimizer, losses, mean = trained(strategy, make)
    expected, one, expected_losses, expected_mean = trained(one_device(), make)
    np.testing.assert_allclose(losses, expected_losses, rtol=1e-6)
    assert mean == pytest.approx(expected_mean, rel=1e-6)
    for left, right in zip(
        [*model.variables, *optimizer.variables], [*expected.variables, *one.variables], strict=True
    ):
        assert storage.store_of(left) is not None
        if name in EXACT:
            np.testing.assert_array_equal(left.numpy(), right.numpy())
        np.testing.assert_allclose(left.numpy(), right.numpy(), rtol=1e-6, atol=1e-6)


@pytest.fixture
def one_server():
    with strategy_on(1) as strategy:
        yield strategy


@pytest.fixture
def divided():
    with strategy_on(2, FixedShardsPartitioner(3)) as strategy:
        yield strategy


@pytest.mark.parametrize("name", but(lambda name: name == "adam", OPTIMIZERS))
def test_one_server_gives_what_one_device_does(one_server, name):
    compare(one_server, name)


@pytest.mark.parametrize("name", but(KINDS.__contains__, OPTIMIZERS))
def test_shards_on_two_servers_give_what_one_device_does(divided, name):
    compare(divided, name)


def test_a_step_asks_each_server_twice(divided):
    model, _, _, _ = trained(divided, OPTIMIZERS["adam"], steps=1)
    kernel = divided.extended.placement.store.layouts.of(model.layers[0].kernel)
    assert {shard.server for shard in kernel.shards} == {0, 1}
    slots = [server.shards.names for server in divided.servers_of_test]
    assert all(any("momentum" in name for name in names) for names in slots)


def test_two_workers_gradients_are_all_applied():
    with running(1) as (_, resolver):
        strategies = [ParameterServerStrategy(resolver) for _ in range(2)]
        steps = []
        for strategy in strategies:
            with strategy.scope():
                weight = sx.Variable([1.0, 2.0], name="weight")
                count = sx.Variable(0, name="count", aggregation="sum", trainable=False)
                optimizer = optimizers.SGD(0.5, name="sgd")

            def step(weight=weight, count=count, optimizer=optimizer):
                optimizer.apply_gradients([(jnp.ones(2), weight)])
                count.assign_add(1)

            steps.append((strategy, step, weight, count, optimizer))
        for _ in range(3):
            for strategy, step, *_ in steps:
                strategy.run(step)
        for strategy in strategies:
            # Nobody waits for another's gradients by itself.
            strategy.extended.placement.store.servers.settle()
        for _, _, weight, count, optimizer in steps:
            assert weight.numpy().tolist() == [1.0 - 3.0, 2.0 - 3.0]
            assert int(count.numpy()) == int(optimizer.iterations.numpy()) == 6
        for strategy in strategies:
            strategy.close()


def test_what_a_step_reads_behind_an_update_is_updated(one_server):
    with one_server.scope():
        weight = sx.Variable(1.0)
        optimizer = optimizers.SGD(0.5, name="sgd")

    def step():
        optimizer.apply_gradients([(jnp.float32(1.0), weight)])
        first = weight + 0, optimizer.iterations + 0
        optimizer.apply_gradients([(jnp.float32(2.0), weight)])
        return first, weight + 0, optimizer.iterations + 0

    (first, one), second, two = one_server.run(step)
    assert (float(first), int(one), float(second), int(two)) == (0.5, 1, -0.5, 2)
    assert float(weight.numpy()) == -0.5


def test_an_assignment_behind_an_update_does_not_make_it_twice(one_server):
    with one_server.scope():
        weight = sx.Variable([1.0, 2.0])
        optimizer = optimizers.SGD(1.0)

    def step():
        optimizer.apply_gradients([(jnp.ones(2), weight)])
        weight.assign_add([10.0, 10.0])
        return weight + 0

    assert one_server.run(step).tolist() == [10.0, 11.0]
    assert weight.numpy().tolist() == [10.0, 11.0]
    assert one_server.run(step).tolist() == [19.0, 20.0]
    assert weight.numpy().tolist() == [19.0, 20.0]


def test_assignments_of_other_kinds_are_made_by_the_worker(one_server):
    with one_server.scope():
        weight = sx.Variable([1.0, 2.0])
    one_server.run(lambda: weight.assign(weight * 3))
    assert weight.numpy().tolist() == [3.0, 6.0]
    one_server.run(lambda: weight.assign_sub([1.0, 1.0]))
    weight.assign_add([0.5, 0.5])
    assert weight.numpy().tolist() == [2.5, 5.5]


def test_a_large_variable_is_made_where_it_is(divided):
    with divided.scope():
        table = keras.Variable(keras.initializers.RandomUniform(seed=1), shape=(90_000, 4), name="table")
    expected = keras.initializers.RandomUniform(seed=1)((90_000, 4))
    # Nothing of it has been here yet.
    assert not divided.extended.placement.store.puller.num_known
    np.testing.assert_allclose(table.numpy(), expected, rtol=1e-6)


def test_a_loop_over_a_dataset_in_a_compiled_function_is_refused(one_server):
    with one_server.scope():
        total = sx.Variable(0.0)

    @sx.function
    def add_all(dataset):
        for batch in dataset:
            one_server.run(lambda x: total.assign_add(x.sum()), args=(batch,))

    with pytest.raises(errors.StrategyError, match="inside a loop or condition"):
        add_all(one_server.experimental_distribute_dataset([np.ones(3, "float32")]))


def test_a_cluster_without_servers_is_refused():
    resolver = SimpleClusterResolver({"worker": ["a:1"]})
    with pytest.raises(errors.ClusterError, match="needs parameter servers"):
        ParameterServerStrategy(resolver)
    with pytest.raises(errors.BadTypeError, match="cluster resolver"):
        ParameterServerStrategy(None)
