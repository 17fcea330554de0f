"""Replicas that are devices of one mesh run as one program, also several times in one compiled function."""

import dataclasses

import jax.numpy as jnp
import keras
import numpy as np
import pytest

import stratax as sx
from stratax import errors
from stratax.distribute import MirroredStrategy, OneDeviceStrategy, PerReplica


@pytest.fixture(scope="module")
def strategy():
    return sx.distribute.MirroredStrategy(["cpu:0", "cpu:1"])


@pytest.fixture(scope="module")
def four():
    return MirroredStrategy([f"/cpu:{i}" for i in range(4)])


@pytest.fixture(scope="module")
def one():
    return OneDeviceStrategy("/cpu:1")


@pytest.fixture(scope="module")
def ids(four):
    """0 to 3, one on each replica."""
    return four.experimental_distribute_values_from_function(lambda c: np.float32(c.replica_id_in_sync_group))


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


def test_run_gives_each_replica_its_component(four, ids):
    result = four.run(lambda x, by, plus=0.0: x * by + plus, args=(ids, 10.0), kwargs={"plus": ids})
    assert [float(v) for v in four.experimental_local_results(result)] == [0, 11, 22, 33]
    assert [v.devices() for v in result.values] == [{d} for d in four.devices]


def test_run_takes_and_gives_structures(four, ids):
    def fn(tree):
        return {"sum": tree["x"] + tree["y"][0], "none": None, "text": "t", "pair": (tree["x"], 3)}

    result = four.run(fn, args=({"x": ids, "y": [1.0]},))
    assert result["none"] is None
    assert result["text"] == "t"
    assert isinstance(result["pair"][0], PerReplica)
    rows = four.experimental_local_results(result)
    assert [float(row["sum"]) for row in rows] == [1, 2, 3, 4]
    assert [int(row["pair"][1]) for row in rows] == [3, 3, 3, 3]


def test_run_of_one_function_compiles_once_inside_and_outside_of_functions(four, ids):
    traces = []

    def fn(x):
        traces.append(x)
        return x + 1

    for _ in range(3):
        four.run(fn, args=(ids,))
    assert len(traces) == 1
    outer = sx.function(lambda x: four.run(fn, args=(x,)))
    for _ in range(3):
        outer(ids)
    assert len(traces) == 2


@pytest.mark.parametrize(
    "look",
    [
        lambda array: array[1],
        lambda array: array[...],
        lambda array: array[1:3],
        lambda array: array[jnp.array([2, 0])],
        lambda array: array.at[0].set(9.0),
    ],
)
def test_an_array_on_the_devices_of_the_replicas_is_indexed_in_their_function(four, ids, look):
    # JAX 0.10 refuses it in a `shard_map`, whatever comes of it.
    array = four.reduce("mean", four.run(lambda: jnp.arange(4.0)), axis=None)
    assert len(array.sharding.device_set) == 4
    found = four.run(lambda x: x + look(array), args=(ids,))
    for index, value in enumerate(four.experimental_local_results(found)):
        np.testing.assert_array_equal(value, index + look(jnp.arange(4.0)))


def test_run_with_many_functions_is_no_retracing(four, recwarn):
    for function in [lambda x, k=k: x + k for k in range(2)]:
        four.run(function, args=(1.0,))
    bodies = [lambda: 1, lambda: 2, lambda: 3, lambda: 4, lambda: 5, lambda: 6, lambda: 7]
    for body in bodies:
        four.run(body)
    assert not [w for w in recwarn if "traced" in str(w.message)]


def test_gradients_go_through_run_by_value_and_grad_and_a_tape_belongs_into_the_replica(four, ids):
    v = sx.Variable(2.0)

    def loss():
        return four.reduce("sum", four.run(lambda x: v * v * x, args=(ids,)), axis=None)

    for call in (sx.value_and_grad(loss, v), sx.function(lambda: sx.value_and_grad(loss, v)())):
        assert [float(n) for n in call()] == [24, 24]
    with (
        sx.GradientTape(),
        pytest.raises(errors.StrategyError, match="(?s)inside a GradientTape.*Move the tape"),
    ):
        loss()


def test_values_are_made_for_each_replica(four, one):
    seen = []

    def make(c):
        seen.append(dataclasses.astuple(c))
        return {"id": np.int32(c.replica_id_in_sync_group), "n": [np.ones(2, "float32")]}

    value = four.experimental_distribute_values_from_function(make)
    assert seen == [(0, 4), (1, 4), (2, 4), (3, 4)]
    assert [int(v) for v in value["id"].values] == [0, 1, 2, 3]
    assert [v.devices() for v in value["n"][0].values] == [{d} for d in four.devices]
    assert one.experimental_distribute_values_from_function(lambda c: c.num_replicas_in_sync) == 1


def test_values_of_different_structures_or_shapes_are_refused(four):
    with pytest.raises(errors.StructureError, match="same structure for every replica"):
        four.experimental_distribute_values_from_function(
            lambda c: [1.0] * (1 + c.replica_id_in_sync_group % 2)
        )
    with pytest.raises(errors.StructureError, match="same number of dimensions and the same dtype"):
        four.experimental_distribute_values_from_function(
            lambda c: np.ones([2] * (1 + c.replica_id_in_sync_group))
        )


@pytest.fixture(scope="module")
def remainder():
    """A batch of three rows, which four replicas have whole."""
    return PerReplica(jnp.arange(3, dtype="float32"), solo=True)


def test_a_remainder_is_computed_by_one_replica_that_stands_for_all(four, remainder):
    seen = []
    count = sx.Variable(0.0, aggregation="sum", trainable=False)

    def fn(x, scale, *, text):
        context = sx.distribute.get_replica_context()
        seen.append((context.num_replicas_in_sync, context.stands_for, four.num_replicas_in_sync, text))
        count.assign_add(x.sum())
        return {"rows": x * scale, "text": text}

    result = four.run(fn, args=(remainder, 10.0), kwargs={"text": "t"})
    assert (seen, result["text"]) == ([(1, 4, 1, "t")], "t")
    assert result["rows"].solo
    assert [value.tolist() for value in result["rows"].values] == [[0, 10, 20]]
    assert float(count.value) == 3.0


def test_arguments_of_one_batch_are_not_mixed_with_the_remainder_of_another(four, ids, remainder):
    with pytest.raises(errors.StructureError, match=r"remainder of one that does not.*Dataset\.zip"):
        four.run(lambda a, b: a, args=(ids, remainder))
    with pytest.raises(errors.StructureError, match=r"remainder of one that does not"):
        four.run(lambda a, b: a, args=(ids,), kwargs={"b": [remainder]})


def test_results_that_are_variables_are_their_values_and_what_is_no_array_stays(four, ids):
    variable = sx.Variable([1.0, 2.0])
    marker = object()
    result = four.run(lambda x: (variable, marker, np.int32(3), True), args=(ids,))
    assert [value.tolist() for value in result[0].values] == [[1.0, 2.0]] * 4
    assert result[1] is marker
    assert [int(value) for value in result[2].values] == [3] * 4
    assert [value.dtype for value in result[3].values] == [np.bool_] * 4


def test_in_a_loop_replicas_keep_their_own_versions_until_it_is_over(strategy, numbers):
    last = sx.Variable(0.0, aggregation="only_first_replica", trainable=False, synchronization="on_read")
    mean = sx.Variable(1.0, aggregation="mean", trainable=False, synchronization="on_read")

    @sx.function
    def loop(values):
        def step(value):
            mean.assign(mean * value + 1)
            last.assign(last + value)

        for _ in sx.range(3):
            strategy.run(step, args=(values,))

    loop(numbers)
    # 1 -> 2 -> 3 -> 4 where the value is 1, and 1 -> 3 -> 7 -> 15 where it is 2.
    assert (float(mean.value), float(last.value)) == (9.5, 3.0)


def test_what_the_loop_itself_reads_is_one_value_in_every_iteration(strategy, numbers):
    mean = sx.Variable(1.0, aggregation="mean", trainable=False)

    @sx.function
    def loop(values):
        total = 0.0
        for _ in sx.range(3):
            total += mean.value
            strategy.run(lambda value: mean.assign(mean * value + 1), args=(values,))
        return total

    # 1 -> mean(2, 3) = 2.5 -> mean(3.5, 6) = 4.75 -> mean(5.75, 10.5) = 8.125
    assert float(loop(numbers)) == 1 + 2.5 + 4.75
    assert float(mean.value) == 8.125


def test_values_of_one_replica_are_what_the_function_returns(one):
    marker = object()
    assert one.experimental_distribute_values_from_function(lambda c: marker) is marker


RATE = 2.0


def times_rate(x):
    return x * RATE


class Settings:
    def __init__(self):
        self.rate = 1.0


def test_what_captured_lists_dictionaries_and_objects_hold_is_seen_by_the_next_run(strategy):
    rates, names, settings, traces = [1.0], {"a": [1.0]}, Settings(), []

    def note():
        traces.append(1)

    def step(x):
        note()
        return x * rates[0] * names["a"][0] * settings.rate

    def run():
        return float(strategy.experimental_local_results(strategy.run(step, (jnp.float32(2.0),)))[0])

    assert run() == run() == 2.0
    once = len(traces)
    rates[0] = 5.0
    assert run() == run() == 10.0
    names["a"][0] = 2.0
    assert run() == 20.0
    settings.rate = 3.0
    assert run() == run() == 60.0
    # Each of them is traced once, and what was traced before is not traced again.
    assert len(traces) == 4 * once
    settings.rate = 1.0
    assert run() == 20.0
    assert len(traces) == 4 * once


def test_a_function_that_changes_a_list_itself_is_traced_once(strategy):
    traces = []

    def step(x):
        traces.append(1)
        return x

    strategy.run(step, (jnp.float32(2.0),))
    once = len(traces)
    strategy.run(step, (jnp.float32(2.0),))
    assert len(traces) == once


def test_a_rebound_name_is_seen_by_the_next_run(strategy, monkeypatch):
    def total(fn):
        return float(strategy.reduce("SUM", strategy.run(fn, args=(jnp.float32(1.0),)), axis=None))

    assert [total(times_rate), total(lambda x: times_rate(x))] == [4.0, 4.0]
    monkeypatch.setitem(globals(), "RATE", 3.0)
    assert [total(times_rate), total(lambda x: times_rate(x))] == [6.0, 6.0]


def test_new_functions_of_one_code_are_compiled_once(strategy):
    traces = []
    for _ in range(3):
        strategy.run(lambda x: traces.append(1) or x * RATE, args=(jnp.float32(1.0),))
    assert len(traces) == 1
