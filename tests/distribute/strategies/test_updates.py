"""`strategy.extended` as TensorFlow's programs call it: in `merge_call`, the cross-replica context, programs."""

import jax
import numpy as np
import pytest

import stratax as sx
import stratax.tf as tf
from stratax import errors
from stratax.distribute import CentralStorageStrategy, MirroredStrategy, OneDeviceStrategy

TWO = ["/cpu:0", "/cpu:1"]
STRATEGIES = {
    "mirrored": (lambda: MirroredStrategy(TWO), 2),
    "central": (lambda: CentralStorageStrategy(TWO, "/cpu:2"), 2),
    "one device": (lambda: OneDeviceStrategy("/cpu:1"), 1),
}
# Where variables are, and how many values `update(..., group=False)` gives for each.
STORED = {"mirrored": (("0", "1"), 2), "central": (("2",), 1), "one device": (("1",), 1)}


@pytest.fixture(scope="module", params=STRATEGIES)
def named(request):
    make, count = STRATEGIES[request.param]
    return request.param, make(), count


def numbers(names):
    return tuple(name.rsplit(":", 1)[1] for name in names)


def devices_of(array):
    return sorted(str(device.id) for device in array.devices())


def ids(strategy):
    """1 on the first replica, 2 on the second."""
    return strategy.experimental_distribute_values_from_function(
        lambda context: np.float32(context.replica_id_in_sync_group + 1)
    )


def context():
    return sx.distribute.get_replica_context()


def test_devices_are_those_of_replicas_and_of_variables(named):
    name, strategy, count = named
    assert isinstance(strategy.extended, tf.distribute.StrategyExtended)
    assert len(strategy.extended.worker_devices) == count
    assert numbers(strategy.extended.parameter_devices) == STORED[name][0]
    assert strategy.extended.experimental_require_static_shapes is False


@pytest.mark.parametrize("aggregation", ["none", "sum", "mean", "only_first_replica"])
def test_an_update_of_a_merge_call_counts_once_whatever_the_aggregation(named, aggregation):
    _, strategy, count = named
    with strategy.scope():
        v = sx.Variable(5.0, aggregation=aggregation)

    def step(value):
        def merge(strategy, v, value):
            total = strategy.extended.reduce_to(tf.distribute.ReduceOp.SUM, value, destinations=v)
            strategy.extended.update(v, lambda v, x: v.assign_sub(x), args=(total,))
            return total

        total = context().merge_call(merge, args=(v, value))
        # What all replicas have alike already, in a replica: `merge_call` is made.
        strategy.extended.update(v, lambda v, x, y: v.assign_add(x * y), (total,), {"y": 10.0})
        return total

    @sx.function
    def program(value):
        total = strategy.run(step, args=(value,))
        return total, strategy.extended.update(v, lambda v: v.assign_add(1.0))

    total, after = program(ids(strategy))
    expected = 3.0 if count == 2 else 1.0
    assert [float(x) for x in strategy.experimental_local_results(total)] == [expected] * count
    assert float(after) == float(v.value) == 5 - expected + 10 * expected + 1


@pytest.mark.parametrize("aggregation", ["none", "sum"])
def test_an_update_counts_once_where_replicas_run_in_python(aggregation):
    strategy = MirroredStrategy(TWO)
    with strategy.scope():
        v = sx.Variable(5.0, aggregation=aggregation)
    tf.config.run_functions_eagerly(True)
    try:
        strategy.run(
            lambda x: strategy.extended.update(v, lambda v: v.assign_add(2.0)), args=(ids(strategy),)
        )
    finally:
        tf.config.run_functions_eagerly(False)
    assert float(v.value) == 7.0


def test_values_are_reduced_to_where_they_are_wanted(named):
    name, strategy, count = named
    extended, value = strategy.extended, ids(strategy)
    with strategy.scope():
        v = sx.Variable(0.0)
    v.assign(1.0)
    total = 3.0 if count == 2 else 1.0
    for_variable, everywhere = extended.batch_reduce_to("SUM", [(value, v), (value, value)])
    assert float(for_variable) == float(everywhere) == total
    assert devices_of(for_variable) == list(STORED[name][0])
    assert len(devices_of(everywhere)) == count
    mean = extended.reduce_to("mean", value, "/cpu:3")
    assert float(mean) == total / count
    assert devices_of(mean) == ["3"]
    like = jax.device_put(1.0, jax.devices()[4])
    assert devices_of(extended.reduce_to("SUM", value, like)) == ["4"]
    assert float(extended.reduce_to("MEAN", 3.0, v)) == 3.0


def test_update_gives_what_the_function_returns_and_leaves_the_variable_in_its_place(named):
    name, strategy, count = named
    where, copies = STORED[name]
    update = strategy.extended.update
    with strategy.scope():
        v = sx.Variable(5.0)
    assert float(update(v, lambda v: v.assign(1.0))) == 1.0
    assert devices_of(v.value) == list(where)
    reduced = strategy.extended.reduce_to("sum", ids(strategy), "/cpu:3")
    assert float(update(v, lambda v, x: v.assign_add(x), [reduced])) == (4.0 if count == 2 else 2.0)
    several = update(v, lambda v: {"a": v.assign(2.0), "b": None}, group=False)
    assert [float(x) for x in several["a"]] == [2.0] * copies
    assert several["b"] == (None,)
    # The first of the components: what TensorFlow shows of a variable whose copies differ.
    assert float(update(v, lambda v, x: v.assign(x), (ids(strategy),))) == 1.0


def test_rows_of_indexed_slices_are_joined():
    strategy = MirroredStrategy(TWO)

    def step():
        index = tf.reshape(context().replica_id_in_sync_group, [1])
        rows = tf.IndexedSlices(tf.ones([1, 2]), index, [3, 2])
        return context().merge_call(
            lambda strategy, rows: tf.convert_to_tensor(strategy.extended.reduce_to("mean", rows, "/cpu:0")),
            (rows,),
        )

    assert strategy.run(step).values[1].tolist() == [[0.5, 0.5], [0.5, 0.5], [0, 0]]


def test_variables_know_the_scope_that_they_were_created_in(named):
    _, strategy, _ = named
    extended, outside = strategy.extended, sx.Variable(1.0)
    with strategy.scope():
        v = sx.Variable(1.0)
        with extended.colocate_vars_with(v):
            near = sx.Variable(2.0)
        with pytest.raises(errors.BadArgumentError, match="created in the scope of"):
            extended.colocate_vars_with(outside)
    assert extended.variable_created_in_scope(v)
    assert extended.variable_created_in_scope(near)
    assert not extended.variable_created_in_scope(outside)
    assert extended.value_container(v) is v
    default = tf.distribute.get_strategy().extended
    assert default.variable_created_in_scope(outside)
    assert not default.variable_created_in_scope(v)
    with pytest.raises(errors.StrategyError, match="outside of the scope of its strategy"):
        extended.colocate_vars_with(v)
    with pytest.raises(errors.BadTypeError, match="expects a variable"):
        extended.variable_created_in_scope(1.0)


def test_what_has_no_meaning_is_refused():
    strategy = MirroredStrategy(TWO)
    extended, v = strategy.extended, sx.Variable(1.0)
    with pytest.raises(errors.StrategyError, match="reduce_to was called inside a replica"):
        strategy.run(lambda: extended.reduce_to("sum", 1.0, v))
    with pytest.raises(errors.BadArgumentError, match="needs one value for each replica"):
        extended.reduce_to("SUM", 3.0, v)
    with pytest.raises(errors.BadArgumentError, match="MAX"):
        extended.reduce_to("MAX", ids(strategy), v)
    for wrong in (None, [v, v]):
        with pytest.raises(errors.BadTypeError, match="destinations says where one value goes"):
            extended.reduce_to("sum", ids(strategy), wrong)
    for wrong in ((1.0, print, ()), (v, None, ()), (v, print, 1.0)):
        with pytest.raises(errors.BadTypeError, match="expects a variable, a function that updates it"):
            extended.update(*wrong)
    with (
        OneDeviceStrategy("/cpu:0").scope(),
        pytest.raises(errors.StrategyError, match="inside the scope of another one"),
    ):
        extended.update(v, lambda v: v.assign(2.0))


def test_a_distributed_iterator_gives_an_optional_also_in_a_program(named):
    _, strategy, count = named
    dataset = strategy.experimental_distribute_dataset(tf.data.Dataset.range(4).batch(2))
    iterator = iter(dataset)
    first = iterator.get_next_as_optional()
    assert first.has_value()
    assert len(strategy.experimental_local_results(first.get_value())) == count
    iterator.get_next()
    last = iterator.get_next_as_optional()
    assert not last.has_value()
    with pytest.raises(errors.BadArgumentError, match="has no value"):
        last.get_value()

    @tf.function
    def total(iterator):
        element, total = iterator.get_next_as_optional(), 0
        while element.has_value():
            sums = strategy.run(tf.reduce_sum, args=(element.get_value(),))
            total += strategy.reduce("SUM", sums, axis=None)
            element = iterator.get_next_as_optional()
        return total

    assert int(total(iter(dataset))) == 6
