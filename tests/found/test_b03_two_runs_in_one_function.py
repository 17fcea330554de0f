"""What one run of replicas has computed is a plain value in the next run of the same compiled function."""

import jax.numpy as jnp
import keras
import numpy as np
import pytest

import stratax as sx


@pytest.fixture
def strategy():
    return sx.distribute.MirroredStrategy(["cpu:0", "cpu:1"])


@pytest.fixture
def numbers(strategy):
    """1.0 on the first replica, 2.0 on the second."""
    return strategy.experimental_distribute_values_from_function(
        lambda context: np.float32(context.replica_id_in_sync_group + 1)
    )


def test_two_runs_update_one_metric_and_one_sum(strategy, numbers):
    with strategy.scope():
        metric = keras.metrics.Mean()
        total = sx.Variable(10.0, aggregation="sum", trainable=False)

    def step(number):
        metric.update_state(number)
        total.assign_add(number)

    @sx.function
    def both(first, second):
        strategy.run(step, args=(first,))
        strategy.run(step, args=(second,))

    both(numbers, numbers)
    both(numbers, numbers)
    assert float(metric.result()) == 1.5
    assert float(metric.count.numpy()) == 8
    assert float(total.numpy()) == 22


def test_two_runs_in_a_loop_update_one_metric(strategy, numbers):
    with strategy.scope():
        metric = keras.metrics.Sum()

    @sx.function
    def loop(values):
        for _ in sx.range(3):
            strategy.run(metric.update_state, args=(values,))
            strategy.run(metric.update_state, args=(values,))

    loop(numbers)
    assert float(metric.result()) == 18


def test_a_run_computes_with_what_another_has_given_and_written(strategy, numbers):
    with strategy.scope():
        mean = sx.Variable([0.0, 0.0], trainable=False, aggregation="mean")

    @sx.function
    def chain(values):
        strategy.run(lambda value: mean.assign([value, value]), args=(values,))
        doubled = strategy.run(lambda value: value * 2, args=(values,))
        total = strategy.reduce("sum", doubled, axis=None)
        first = strategy.experimental_local_results(doubled)[0]

        def last(value):
            zeros = jnp.zeros_like(mean.value)
            return (
                jnp.where(value > 1, mean.value, zeros) + jnp.broadcast_to(total, (2,)) + jnp.ones_like(first)
            )

        return strategy.run(last, args=(values,))

    parts = strategy.experimental_local_results(chain(numbers))
    assert [part.tolist() for part in parts] == [[7.0, 7.0], [8.5, 8.5]]


def test_gradients_pass_through_two_runs(strategy, numbers):
    weight = sx.Variable(3.0)

    @sx.function
    def gradient(values):
        def loss():
            squares = strategy.run(lambda value: value * weight**2, args=(values,))
            total = strategy.reduce("sum", squares, axis=None)
            return strategy.reduce(
                "sum",
                strategy.run(lambda value: value * jnp.full_like(total, 1) * total, args=(values,)),
                axis=None,
            )

        return sx.value_and_grad(loss, weight)()

    value, grad = gradient(numbers)
    # (1 + 2) * w**2 on each of the replicas, weighted by 1 + 2.
    assert (float(value), float(grad)) == (81.0, 54.0)


def test_variables_that_are_kept_elsewhere_take_two_runs():
    strategy = sx.distribute.CentralStorageStrategy(["cpu:0", "cpu:1"], parameter_device="cpu:2")
    with strategy.scope():
        total = sx.Variable(0.0, aggregation="sum", trainable=False)

    @sx.function
    def both():
        strategy.run(lambda: total.assign_add(1.0))
        return strategy.run(lambda: total.assign_add(1.0) * 0 + jnp.ones(()))

    result = both()
    assert float(total.numpy()) == 4
    assert [float(part) for part in strategy.experimental_local_results(result)] == [1.0, 1.0]
    assert set(result.array.devices()) == set(strategy.devices)
