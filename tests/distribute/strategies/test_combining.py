"""`reduce` and `gather` combine what replicas have returned, in compiled functions and outside of them."""

import jax.numpy as jnp
import numpy as np
import pytest

import stratax as sx
from stratax import errors
from stratax.distribute import MirroredStrategy, OneDeviceStrategy, PerReplica, ReduceOp, get_replica_context
from stratax.distribute.strategies import _combining


@pytest.fixture(scope="module")
def four():
    return MirroredStrategy([f"/cpu:{i}" for i in range(4)])


@pytest.fixture(scope="module")
def two():
    return MirroredStrategy(["/cpu:0", "/cpu:1"])


@pytest.fixture(scope="module")
def one():
    return OneDeviceStrategy("/cpu:1")


@pytest.fixture(scope="module")
def ids(four):
    """0 to 3, one on each replica."""
    return four.experimental_distribute_values_from_function(lambda c: np.float32(c.replica_id_in_sync_group))


@pytest.mark.parametrize("compiled", [False, True])
def test_reduce_combines_components_and_within_them(four, ids, compiled):
    value = four.run(lambda x: jnp.stack([x, 10 * x]), args=(ids,))

    def reduce(op, axis):
        call = lambda v: four.reduce(op, {"v": v}, axis=axis)["v"]  # noqa: E731
        return np.asarray((sx.function(call) if compiled else call)(value))

    np.testing.assert_allclose(reduce(ReduceOp.SUM, None), [6, 60])
    np.testing.assert_allclose(reduce("mean", None), [1.5, 15])
    np.testing.assert_allclose(reduce("SUM", 0), 66)
    np.testing.assert_allclose(reduce(ReduceOp.MEAN, -1), 66 / 8)


def test_reduce_takes_a_numpy_axis_and_one_devices_values(four, ids, one):
    value = four.run(lambda x: jnp.stack([x, x]), args=(ids,))
    assert float(four.reduce("sum", value, axis=np.int64(0))) == 12
    assert float(one.reduce("sum", jnp.array([1.0, 2.0]), axis=0)) == 3
    assert float(one.reduce("sum", 2.0, axis=None)) == 2
    assert float(four.reduce("mean", 2.0, axis=None)) == 2


@pytest.mark.parametrize(
    ("op", "axis", "error", "message"),
    [
        ("max", None, errors.BadArgumentError, "reduce_op must be ReduceOp.SUM.*'max'"),
        (3, None, errors.BadArgumentError, "reduce_op=3"),
        ("sum", 1, errors.BadArgumentError, "-1 <= axis < 1.*Received: axis=1"),
        ("sum", -2, errors.BadArgumentError, "Received: axis=-2"),
        ("sum", "0", errors.BadTypeError, "axis must be an int. Received: axis='0'"),
        ("sum", True, errors.BadTypeError, "axis must be an int. Received: axis=True"),
    ],
)
def test_reduce_refuses(four, op, axis, error, message):
    value = PerReplica(jnp.ones((4, 2)))
    with pytest.raises(error, match=f"(?s){message}"):
        four.reduce(op, value, axis=axis)


def test_reduce_refuses_a_sum_of_what_is_not_per_replica(four):
    with pytest.raises(errors.BadArgumentError, match="needs one value for each replica.*value=1.0"):
        four.reduce("sum", 1.0, axis=None)


def test_gather_concatenates_in_the_order_of_the_replicas(four, ids):
    value = four.run(lambda x: jnp.full((1, 2), x), args=(ids,))
    assert np.asarray(four.gather(value, axis=0)).tolist() == [[0, 0], [1, 1], [2, 2], [3, 3]]
    assert np.asarray(sx.function(lambda v: four.gather(v, axis=-1))(value)).tolist() == [
        [0, 0, 1, 1, 2, 2, 3, 3]
    ]
    tree = four.gather({"a": value, "plain": np.ones(2)}, axis=0)
    assert tree["plain"].shape == (2,)
    with pytest.raises(errors.BadArgumentError, match="axis is out of range"):
        four.gather(ids, axis=0)


@pytest.fixture(scope="module")
def remainder():
    """A batch of three rows, which four replicas have whole."""
    return PerReplica(jnp.arange(6, dtype="float32").reshape(3, 2), solo=True)


@pytest.mark.parametrize("compiled", [False, True])
def test_the_one_component_of_a_remainder_counts_once(four, remainder, compiled):
    def combine(value):
        whole = four.reduce("sum", value, axis=None), four.gather(value, axis=0)
        return whole, (four.reduce("sum", value, axis=0), four.reduce("mean", value, axis=-1))

    whole, (total, mean) = (sx.function(combine) if compiled else combine)(remainder)
    for value in whole:
        np.testing.assert_array_equal(value, remainder.array)
    assert (total.tolist(), mean.tolist()) == ([6, 9], [0.5, 2.5, 4.5])


def test_values_that_are_not_per_replica_are_the_mean_of_themselves_and_are_gathered_as_they_are(four):
    rows = np.float32([[1, 3], [5, 7]])
    assert four.reduce("mean", rows, axis=0).tolist() == [3, 5]
    assert four.reduce("mean", {"a": rows}, axis=None)["a"].tolist() == rows.tolist()
    assert four.gather(rows, axis=0).tolist() == rows.tolist()
    with pytest.raises(errors.BadArgumentError, match=r"-2 <= axis < 2.*Received: axis=2"):
        four.gather(rows, axis=2)
    with pytest.raises(errors.BadArgumentError, match=r"Received: axis=-3"):
        four.reduce("mean", rows, axis=-3)


def test_reductions_of_one_structure_are_compiled_once(four, ids):
    compiled = four.extended.execution._combiner._compiled_reduce
    before = compiled.num_programs
    value = four.run(lambda x: jnp.full((5, 3), x), args=(ids,))
    for _ in range(3):
        assert (
            four.reduce("sum", {"one of this name": value}, axis=0)["one of this name"].tolist() == [30] * 3
        )
    assert compiled.num_programs == before + 1
    assert four.reduce("mean", {"one of this name": value}, axis=0)["one of this name"].tolist() == [1.5] * 3
    assert compiled.num_programs == before + 2


def test_a_part_of_a_structure_that_has_several_shapes_is_gathered_and_the_rest_is_not(
    four, ids, monkeypatch
):
    gathered, gather = [], _combining.gather
    monkeypatch.setattr(
        _combining, "gather", lambda leaf, *rest: gathered.append(leaf) or gather(leaf, *rest)
    )
    uneven = four.experimental_distribute_values_from_function(
        lambda c: np.full((1 + c.replica_id_in_sync_group, 1), c.replica_id_in_sync_group, np.float32)
    )
    even = four.run(lambda x: jnp.full((2,), x), args=(ids,))
    total = four.reduce("sum", (uneven, even), axis=0)
    assert gathered == [uneven]
    assert [value.tolist() for value in total] == [[0 + 2 + 6 + 12], 12]
    mean = four.reduce("mean", (uneven, even), axis=0)
    assert [value.tolist() for value in mean] == [[2], 1.5]
    assert four.gather((uneven, even), axis=0)[0].shape == (10, 1)


def own_value(strategy, synchronization, aggregation):
    """A variable that begins with [1, 2], to which each replica adds its number and 1."""
    with strategy.scope():
        return sx.Variable(
            [1.0, 2.0], synchronization=synchronization, aggregation=aggregation, trainable=False
        )


def add(v):
    v.assign_add(jnp.float32(get_replica_context().replica_id_in_sync_group) + jnp.ones(2))


def listed(values):
    return [np.asarray(value).tolist() for value in values]


# TensorFlow 2.21's answers, before and after replicas have added to the variable.
BEFORE, AFTER = [[1.0, 2.0], [1.0, 2.0]], [[2.0, 3.0], [3.0, 4.0]]


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("aggregation", ["none", "sum", "mean", "only_first_replica"])
def test_a_variable_that_is_synchronized_on_read_has_each_replicas_value(two, aggregation, compiled):
    v = own_value(two, "on_read", aggregation)

    def looked_at():
        local = [value["v"] + 0.0 for value in two.experimental_local_results({"v": v, "plain": 1.0})]
        return (
            local,
            two.reduce("SUM", v, axis=None),
            two.reduce("MEAN", [v], axis=None),
            two.gather(v, axis=0),
        )

    look = sx.function(looked_at) if compiled else looked_at
    for expected in (BEFORE, AFTER):
        local, total, mean, rows = look()
        assert listed(local) == expected
        assert total.tolist() == np.sum(expected, 0).tolist()
        assert mean[0].tolist() == np.mean(expected, 0).tolist()
        assert rows.tolist() == np.concatenate(expected).tolist()
        two.run(add, (v,))


def test_a_loop_reduces_what_its_replicas_have_just_added(two):
    v = own_value(two, "on_read", "none")

    @sx.function
    def loop():
        total = jnp.zeros(2)
        for _ in sx.range(3):
            two.run(add, (v,))
            total += two.reduce("SUM", v, axis=None)
        return total

    assert loop().tolist() == [24.0, 30.0]
    assert listed(two.experimental_local_results(v)) == [[4.0, 5.0], [7.0, 8.0]]


@pytest.mark.parametrize(
    ("aggregation", "expected"),
    [
        ("none", AFTER),
        ("sum", [[4.0, 5.0]] * 2),
        ("mean", [[2.5, 3.5]] * 2),
        ("only_first_replica", [[2.0, 3.0]] * 2),
    ],
)
def test_every_replica_has_a_copy_of_a_mirrored_variable(two, aggregation, expected):
    v = own_value(two, "auto", aggregation)
    assert listed(two.experimental_local_results(v)) == BEFORE
    two.run(add, (v,))
    assert listed(two.experimental_local_results(v)) == expected
    assert two.gather(v, axis=0).tolist() == np.concatenate(expected).tolist()
    # As one value for all of them, also where each has its own.
    assert two.reduce("MEAN", v, axis=None).tolist() == expected[0]
    with pytest.raises(errors.BadArgumentError, match="which is not per replica"):
        two.reduce("SUM", v, axis=None)


def test_in_a_replica_and_of_another_strategy_a_variable_is_one_value(one, two):
    v = own_value(two, "on_read", "sum")
    counts = []
    two.run(lambda: counts.append(len(two.experimental_local_results(v))))
    assert set(counts) == {1}
    assert len(one.experimental_local_results(v)) == 1
