"""A coordinator schedules, joins, fetches and fails as TensorFlow's, with a cluster in this process."""

import threading

import jax.numpy as jnp
import keras
import numpy as np
import pytest

import stratax as sx
from stratax import errors
from stratax.distribute import ClusterCoordinator, Server
from tests.distribute.parameter_servers import one_device
from tests.parameter_servers.coordination.clusters import in_process


@pytest.fixture(scope="module")
def coordinator():
    with in_process(servers=1, workers=2) as coordinator:
        yield coordinator


@pytest.fixture
def strategy(coordinator):
    return coordinator.strategy


def numbers():
    return sx.data.Dataset.range(1, 1000)


GOING = threading.Event()


def waiting():
    """A dataset that a worker of this process waits for."""
    assert GOING.wait(20)
    return sx.data.Dataset.range(5, 9)


def test_variables_are_changed_once_for_each_function(coordinator, strategy):
    with strategy.scope():
        total = sx.Variable(0.0, aggregation="sum")

    def add(amount):
        total.assign_add(amount)
        return total.read_value()

    for amount in range(20):
        coordinator.schedule(add, args=(jnp.float32(amount),))
    coordinator.join()
    assert float(total.numpy()) == sum(range(20))


def test_tensorflows_example_of_a_worker_dataset(coordinator, strategy):
    with strategy.scope():
        v = sx.Variable(0)

    def dataset_fn():
        return sx.data.Dataset.from_tensor_slices([1, 1, 1])

    @sx.function
    def worker_fn(iterator):
        def replica_fn(x):
            v.assign_add(x)
            return v.read_value()

        return strategy.run(replica_fn, args=(next(iterator),))

    iterator = iter(coordinator.create_per_worker_dataset(dataset_fn))
    assert coordinator.fetch(coordinator.schedule(worker_fn, args=(iterator,))) == 1


def test_each_worker_has_an_iterator_of_its_own_and_batches_of_other_shapes(coordinator, strategy):
    def dataset_fn(context):
        assert (context.num_input_pipelines, context.input_pipeline_id) == (1, 0)
        return sx.data.Dataset.range(10).batch(4).repeat()

    @sx.function
    def make():
        return strategy.distribute_datasets_from_function(dataset_fn)

    iterator = iter(coordinator.create_per_worker_dataset(make))
    results = [coordinator.schedule(lambda it: next(it) + 0, args=(iterator,)) for _ in range(12)]
    found = [result.fetch().tolist() for result in results]
    assert all(each in ([0, 1, 2, 3], [4, 5, 6, 7], [8, 9]) for each in found)
    assert [8, 9] in found


def test_the_end_of_a_dataset_is_an_error_of_join(coordinator):
    iterator = iter(coordinator.create_per_worker_dataset(sx.data.Dataset.range(2)))
    for _ in range(8):
        coordinator.schedule(lambda it: next(it) + 0, args=(iterator,))
    with pytest.raises(errors.OutOfRangeError):
        coordinator.join()
    coordinator.join()


def test_an_error_reaches_the_next_join_or_schedule_once_and_cancels_the_rest(coordinator):
    def fails():
        raise ValueError("wrong on purpose")

    waiting = threading.Event()

    def slow():
        assert waiting.wait(10)
        return jnp.float32(0)

    blockers = [coordinator.schedule(slow) for _ in range(2)]
    failed = coordinator.schedule(fails)
    behind = [coordinator.schedule(lambda: jnp.float32(1)) for _ in range(20)]
    waiting.set()
    with pytest.raises(ValueError, match="wrong on purpose"):
        coordinator.join()
    with pytest.raises(ValueError, match="wrong on purpose"):
        failed.fetch()
    assert [float(each.fetch()) for each in blockers] == [0.0, 0.0]
    with pytest.raises(errors.CancelledError, match="was not run"):
        behind[-1].fetch()
    # Told once: what comes now is run.
    assert float(coordinator.schedule(lambda: jnp.float32(2)).fetch()) == 2.0
    coordinator.join()


def test_wrong_arguments_are_refused(coordinator, strategy):
    with pytest.raises(errors.BadTypeError, match="schedule expects a function"):
        coordinator.schedule(3)
    with pytest.raises(errors.BadArgumentError, match="works with a ParameterServerStrategy"):
        ClusterCoordinator(one_device())
    lock = threading.Lock()
    with pytest.raises(errors.BadTypeError, match="can't be pickled"):
        coordinator.create_per_worker_dataset(lambda: lock)
    with pytest.raises(errors.BadTypeError, match="expects a dataset"):
        coordinator.create_per_worker_dataset(3)
    assert ClusterCoordinator(strategy) is coordinator
    iterator = iter(coordinator.create_per_worker_dataset(numbers))
    with pytest.raises(TypeError, match="iterator of its own"):
        next(iterator)
    coordinator.schedule(lambda it: it, args=(coordinator.create_per_worker_dataset(numbers),))
    with pytest.raises(errors.BadTypeError, match="Expected: iter"):
        coordinator.join()


def test_a_cluster_without_workers_is_refused():
    with pytest.raises(errors.BadArgumentError, match="job_name is one of"):
        Server({"ps": ["127.0.0.1:0"], "worker": ["127.0.0.1:0"]}, task_index=0)
    with pytest.raises(errors.BadArgumentError, match="task_index is one of"):
        Server({"ps": ["127.0.0.1:0"]}, "ps", 3)


def test_an_evaluator_does_not_train():
    cluster = {"chief": ["127.0.0.1:1"], "ps": ["127.0.0.1:2"], "worker": ["127.0.0.1:3"]}
    resolver = sx.cluster.SimpleClusterResolver(cluster, task_type="evaluator", task_id=0)
    with pytest.raises(errors.ClusterError, match="evaluator's part of the program comes before"):
        sx.distribute.ParameterServerStrategy(resolver)


def test_servers_tell_their_addresses():
    server = Server.create_local_server(start=False)
    assert server.target == "grpc://127.0.0.1:0"
    assert server.server_def["job_name"] == "worker"
    chief = Server({"chief": ["127.0.0.1:0"]})
    assert chief.target == "grpc://127.0.0.1:0"
    chief.close()


def trained(strategy, run, steps=6):
    """A model with dropout, trained step by step: `run(step)` runs one."""
    keras.utils.set_random_seed(5)
    random = np.random.default_rng(0)
    x = jnp.asarray(random.normal(size=(8, 3)), "float32")
    with strategy.scope():
        layers = [keras.layers.Dense(4, "relu"), keras.layers.Dropout(0.5, seed=1), keras.layers.Dense(1)]
        model = keras.Sequential([keras.Input((3,)), *layers])
        optimizer = keras.optimizers.Adam(0.05)

    @sx.function
    def step():
        def replica():
            variables = model.trainable_variables
            loss, grads = sx.value_and_grad(
                lambda: jnp.mean((model(x, training=True) - x[:, :1]) ** 2), variables
            )()
            optimizer.apply_gradients(zip(grads, variables, strict=True))
            return loss

        return strategy.run(replica)

    return [float(run(step)) for _ in range(steps)], [weight.numpy() for weight in model.weights]


def test_one_worker_gives_the_weights_of_one_device():
    with in_process(servers=2, workers=1) as coordinator:
        losses, weights = trained(coordinator.strategy, lambda step: coordinator.schedule(step).fetch())
    expected, expected_weights = trained(one_device(), lambda step: step())
    np.testing.assert_allclose(losses, expected, rtol=1e-6)
    for left, right in zip(weights, expected_weights, strict=True):
        np.testing.assert_allclose(left, right, rtol=1e-6, atol=1e-7)


def test_steps_of_one_function_see_one_anothers_changes():
    def trained(strategy, call):
        with strategy.scope():
            v = sx.Variable(1.0)
            optimizer = keras.optimizers.SGD(0.1, momentum=0.5)

        def replica_fn(x):
            loss, grads = sx.value_and_grad(lambda: v * v * jnp.float32(x), [v])()
            optimizer.apply_gradients(zip(grads, [v], strict=True))
            return loss

        @sx.function
        def steps(iterator):
            total = jnp.float32(0)
            for _ in range(3):
                total += strategy.run(replica_fn, args=(next(iterator),))
            return total

        return [float(call(steps)) for _ in range(2)], float(v.numpy())

    with in_process() as coordinator:
        remote = iter(coordinator.create_per_worker_dataset(numbers))
        losses, value = trained(
            coordinator.strategy, lambda steps: coordinator.schedule(steps, args=(remote,)).fetch()
        )
    local = iter(numbers())
    expected_losses, expected_value = trained(one_device(), lambda steps: steps(local))
    np.testing.assert_allclose(losses, expected_losses, rtol=1e-6)
    np.testing.assert_allclose(value, expected_value, rtol=1e-6)


def test_a_compiled_loop_that_takes_elements_is_refused(coordinator):
    @sx.function
    def step(iterator):
        total = jnp.int32(0)
        for _ in sx.range(3):
            total += jnp.int32(next(iterator))
        return total

    iterator = iter(coordinator.create_per_worker_dataset(numbers))
    coordinator.schedule(step, args=(iterator,))
    with pytest.raises(errors.TracingError, match="Have the loop around `coordinator.schedule`"):
        coordinator.join()


def test_a_function_reads_what_variables_of_the_program_are_when_it_is_scheduled(coordinator):
    rate = sx.Variable(1.0)
    scaled = sx.function(lambda x: rate * x)
    found = []
    for value in (1.0, 2.0, 5.0):
        rate.assign(value)
        found.append(float(coordinator.schedule(scaled, args=(jnp.float32(3.0),)).fetch()))
    assert found == [3.0, 6.0, 15.0]


def test_a_variable_that_is_not_on_servers_is_not_changed_by_a_function(coordinator):
    total, metric = sx.Variable(0.0, name="total"), keras.metrics.Mean()
    for change in (lambda: total.assign_add(1.0), lambda: metric.update_state(1.0)):
        coordinator.schedule(sx.function(change))
        with pytest.raises(
            errors.StrategyError, match=r"total', which a step .* inside `with strategy.scope\(\):`"
        ):
            coordinator.join()


def test_an_optimizer_that_is_not_on_servers_is_refused(coordinator, strategy):
    with strategy.scope():
        weight = sx.Variable(1.0)
    optimizer = keras.optimizers.SGD(1.0)
    coordinator.schedule(sx.function(lambda: optimizer.apply([jnp.float32(1.0)], [weight])))
    with pytest.raises(errors.StrategyError, match="learning_rate', which a step"):
        coordinator.join()


@pytest.mark.parametrize("partitioner", [None, lambda shape, dtype: [2] + [1] * (len(shape) - 1)])
def test_rows_that_workers_add_at_once_all_count(partitioner):
    with in_process(servers=2, workers=2, partitioner=partitioner) as coordinator:
        with coordinator.strategy.scope():
            table = sx.Variable(jnp.zeros((6, 2)))

        @sx.function
        def add(place):
            table.scatter_nd_add(place, jnp.ones((2, 2)))
            table.assign_add(jnp.ones((6, 2)))
            table.scatter_nd_sub(jnp.array([[1]]), jnp.ones((1, 2)))

        for number in range(20):
            coordinator.schedule(add, args=(jnp.array([[number % 2], [4]]),))
        coordinator.join()
        assert table.numpy()[:, 0].tolist() == [30.0, 10.0, 20.0, 20.0, 40.0, 20.0]
        assert np.array_equal(table.numpy()[:, 0], table.numpy()[:, 1])
