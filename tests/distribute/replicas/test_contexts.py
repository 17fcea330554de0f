"""Which strategy and which replica are in force, from outside and from inside."""

import threading

import jax.numpy as jnp
import numpy as np
import pytest

import stratax as sx
from stratax import errors
from stratax.core import functions
from stratax.core.state import IndexedSlices
from stratax.distribute import MirroredStrategy, OneDeviceStrategy
from stratax.distribute.replicas import _contexts


@pytest.fixture(scope="module")
def two():
    return MirroredStrategy(["/cpu:0", "/cpu:1"])


def test_outside_of_scopes_the_default_strategy_s_replica_is_in_force():
    context = _contexts.get_replica_context()
    assert _contexts.is_default(_contexts.get_strategy())
    assert not _contexts.has_strategy()
    assert not _contexts.in_cross_replica_context()
    assert not _contexts.in_replica()
    assert _contexts.syncing_replicas() is None
    assert context.num_replicas_in_sync == 1
    assert context.replica_id_in_sync_group == 0


def test_a_scope_is_the_cross_replica_context(two):
    with two.scope():
        assert _contexts.get_strategy() is two
        assert _contexts.in_cross_replica_context()
        assert _contexts.get_replica_context() is None
        assert not _contexts.in_replica()
    assert not _contexts.has_strategy()


def test_a_block_that_fails_leaves_no_strategy_in_force(two):
    with pytest.raises(KeyError), _contexts.enter_contexts(two, None):
        raise KeyError
    assert not _contexts.has_strategy()


def test_other_threads_have_contexts_of_their_own(two):
    seen = []
    with two.scope():
        thread = threading.Thread(target=lambda: seen.append(_contexts.has_strategy()))
        thread.start()
        thread.join()
    assert seen == [False]


def test_participants_are_those_of_the_innermost_replica_of_the_strategy(two):
    other = OneDeviceStrategy("/cpu:0")
    assert _contexts.num_participants(two) is None
    with _contexts.enter_contexts(two, _contexts.ReplicaContext(two, 2)):
        assert _contexts.num_participants(two) == two.num_replicas_in_sync == 2
        assert _contexts.num_participants(other) is None
        assert _contexts.syncing_replicas() is _contexts.get_replica_context()
        with _contexts.enter_contexts(two, _contexts.ReplicaContext(two, 1, stands_for=2)):
            assert two.num_replicas_in_sync == 1
            assert _contexts.syncing_replicas() is None


def test_merge_call_is_cross_replica_and_gives_each_replica_its_part(two):
    def in_replica():
        context = sx.distribute.get_replica_context()

        def merge(strategy, value):
            assert _contexts.in_cross_replica_context()
            assert _contexts.in_replica()
            return strategy.reduce("sum", value, axis=None), value

        return context.merge_call(merge, args=(jnp.float32(context.replica_id_in_sync_group + 1),))

    total, own = two.run(in_replica)
    assert [float(value) for value in total.values] == [3.0, 3.0]
    assert [float(value) for value in own.values] == [1.0, 2.0]


def test_what_a_mean_over_a_replica_s_examples_counts_for(two):
    assert _contexts.ReplicaContext(two, 2).num_contributions == 2
    assert _contexts.ReplicaContext(two, 2, averages_gradients=True).num_contributions == 1
    assert _contexts.ReplicaContext(two, 1, stands_for=2).stands_for == 2


def test_a_context_names_the_devices_of_all_replicas(two):
    assert _contexts.ReplicaContext(two, 2).devices == two.device_names


@pytest.mark.parametrize(("axis", "index"), [(0, 0), (-1, 2), (np.int64(1), 1)])
def test_an_axis_is_counted_from_the_front(axis, index):
    assert _contexts.check_axis(axis, 3) == index


@pytest.mark.parametrize(
    ("axis", "error", "message"),
    [
        (3, errors.BadArgumentError, r"Expected: -3 <= axis < 3.*Received: axis=3"),
        (-4, errors.BadArgumentError, r"Received: axis=-4"),
        ("0", errors.BadTypeError, r"axis must be an int. Received: axis='0'"),
        (True, errors.BadTypeError, r"Received: axis=True"),
    ],
)
def test_an_axis_that_is_none_is_refused(axis, error, message):
    with pytest.raises(error, match=message):
        _contexts.check_axis(axis, 3)


@pytest.mark.parametrize("eagerly", [False, True])
def test_what_merge_call_assigns_to_a_sum_counts_once(two, eagerly):
    # Numbers of TensorFlow 2.21, MirroredStrategy(["CPU:0", "CPU:1"]).
    with two.scope():
        total = sx.Variable(1.0, aggregation="sum")

    def merge(strategy):
        before = total.read_value()
        total.assign(5.0)
        for _ in range(3):
            total.assign_add(before)
        return before

    functions.run_functions_eagerly(eagerly)
    try:
        seen = two.run(lambda: _contexts.get_replica_context().merge_call(merge))
    finally:
        functions.run_functions_eagerly(False)
    assert float(total.value) == 8.0
    assert [float(value) for value in two.experimental_local_results(seen)] == [1.0, 1.0]


@pytest.mark.parametrize(("op", "rows"), [("sum", [[1, 1], [2, 2]]), ("mean", [[0.5, 0.5], [1, 1]])])
def test_the_rows_of_slices_are_joined_and_their_shape_may_be_a_tensor(two, op, rows):
    def slices():
        index = sx.distribute.get_replica_context().replica_id_in_sync_group
        values = jnp.full((1, 2), index + 1.0)
        return IndexedSlices(values, jnp.reshape(index, [1]), dense_shape=jnp.array([4, 2]))

    def step():
        context = sx.distribute.get_replica_context()
        joined, plain = context.all_reduce(op, [slices(), jnp.float32(2)])
        return joined.values, joined.indices, jnp.asarray(joined), plain

    for function in (step, slices):
        result = sx.function(lambda f=function: two.run(f))()
        if function is slices:
            combined = two.reduce(op, {"rows": result}, axis=None)["rows"]
            assert isinstance(combined, IndexedSlices)
            found = [combined.values, combined.indices, jnp.asarray(combined)]
        else:
            *found, plain = [two.experimental_local_results(each)[1] for each in result]
            assert float(plain) == (4 if op == "sum" else 2)
        assert [each.tolist() for each in found] == [rows, [0, 1], [*rows, [0, 0], [0, 0]]]


def test_a_shape_of_slices_that_only_the_program_knows_is_refused(two):
    def step(size):
        return jnp.asarray(IndexedSlices(jnp.ones((1, 2)), jnp.array([0]), dense_shape=[size, 2]))

    with pytest.raises(
        errors.BadArgumentError, match="dense_shape of IndexedSlices depends on what only the running"
    ):
        sx.function(step)(jnp.int32(3))


def number():
    return jnp.asarray(_contexts.get_replica_context().replica_id_in_sync_group, "float32")


def summed(x):
    return _contexts.get_replica_context().all_reduce("sum", x)


def in_branch(meet):
    def step():
        x = number()
        if x > 0:
            x = meet(x)
        return x

    return step


def in_nested_branch():
    x = number()
    if x > 0:  # noqa: SIM102 (each is a condition of the program)
        if x > 0.5:
            x = summed(x)
    return x


def in_loop():
    x = 2 * number()
    while x < 1:
        x = summed(x) + 1
    return x


def in_loop_of_a_number():
    x = number()
    for _ in sx.range(jnp.int32(x)):
        x += summed(x)
    return x


MEETINGS = {
    "all_reduce": in_branch(summed),
    "all_gather": in_branch(lambda x: _contexts.get_replica_context().all_gather(x[None], 0).sum()),
    "merge_call": in_branch(
        lambda x: _contexts.get_replica_context().merge_call(lambda strategy, y: y, (x,))
    ),
    "nested": in_nested_branch,
    "loop": in_loop,
    "number of iterations": in_loop_of_a_number,
}


@pytest.mark.parametrize("step", MEETINGS.values(), ids=MEETINGS)
def test_replicas_that_do_not_all_meet_raise_and_do_not_hang(two, step):
    # XLA would wait for the others for ever.
    with pytest.raises(errors.BadArgumentError, match="take different ways.*all_reduce"):
        two.run(step)


def test_replicas_that_take_the_same_way_meet(two):
    def step():
        x = number() + 1
        if summed(x) > 2:
            x = summed(x)
        return x

    assert [float(x) for x in two.experimental_local_results(two.run(step))] == [3, 3]
