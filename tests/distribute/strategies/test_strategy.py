"""`run`, `reduce`, `gather` and the rest of `Strategy`, and everything that they refuse."""

import dataclasses

import jax
import jax.numpy as jnp
import keras
import numpy as np
import pytest

import stratax as sx
from stratax import errors
from stratax.distribute import (
    MirroredStrategy,
    OneDeviceStrategy,
    PerReplica,
    ReduceOp,
    Strategy,
    get_replica_context,
    get_strategy,
    has_strategy,
    in_cross_replica_context,
)


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


def context():
    return get_replica_context()


# run


def test_run_gives_each_replica_its_component(four, ids):
    result = four.run(lambda x, by, plus=0.0: x * by + plus, args=(ids, 10.0), kwargs={"plus": ids})
    assert [float(v) for v in four.experimental_local_results(result)] == [0, 11, 22, 33]
    assert [v.devices() for v in result.values] == [{d} for d in four.devices]


def test_run_under_one_device_gives_plain_arrays_on_it(one):
    result = one.run(lambda x: x + 1, args=(np.ones(2, "float32"),))
    assert isinstance(result, jax.Array)
    v = sx.Variable(1.0)
    doubled = one.run(lambda: v.assign(v * 2))
    assert doubled.devices() == {one.devices[0]}
    assert float(v.value) == 2


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


def test_run_v2_is_the_older_name(four):
    assert len(four.experimental_run_v2(lambda: 1.0).values) == 4


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


def test_run_with_many_functions_is_no_retracing(four, recwarn):
    for function in [lambda x, k=k: x + k for k in range(2)]:
        four.run(function, args=(1.0,))
    bodies = [lambda: 1, lambda: 2, lambda: 3, lambda: 4, lambda: 5, lambda: 6, lambda: 7]
    for body in bodies:
        four.run(body)
    assert not [w for w in recwarn if "traced" in str(w.message)]


def test_layers_that_are_built_by_a_later_run_are_created_then(four):
    first, second = keras.layers.Dense(1), keras.layers.Dense(1)
    for layer in (first, second):
        assert len(four.run(lambda x, layer=layer: layer(x), args=(np.ones((1, 2), "float32"),)).values) == 4
        assert layer.kernel.value.shape == (2, 1)


def test_one_device_unpacks_a_per_replica_of_one_component(one):
    assert one.run(lambda x: x, args=(PerReplica(jnp.ones((1, 3))),)).shape == (3,)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda s: s.run(3), errors.BadTypeError, "expects a function. Received: fn=3"),
        (lambda s: s.run(abs, args=3.0), errors.BadTypeError, r"Received: args=3.0. Write `args=\(value,\)`"),
        (lambda s: s.run(abs, kwargs=[1]), errors.BadTypeError, r"as a dict. Received: kwargs=\[1\]"),
        (
            lambda s: s.run(abs, args=(PerReplica(jnp.ones((3, 2))),)),
            errors.BadArgumentError,
            r"wrong number of components. Expected: 4.*Received: 3 components of shape \(2,\)",
        ),
        (
            lambda s: s.run(
                lambda a, b: a, args=(PerReplica(jnp.ones((4, 2))), PerReplica(jnp.ones(3), solo=True))
            ),
            errors.StructureError,
            "remainder of one that does not",
        ),
        (
            lambda s: s.run(lambda: s.run(lambda: 1)),
            errors.StrategyError,
            "run was called inside a replica.*nested",
        ),
        (
            lambda s: s.run(lambda: s.scope().__enter__()),
            errors.StrategyError,
            "scope.*entered inside a replica",
        ),
        (
            lambda s: s.run(lambda: s.reduce("sum", 1.0, axis=None)),
            errors.StrategyError,
            "reduce was called inside",
        ),
        (
            lambda s: s.run(lambda: s.gather(jnp.ones(1), axis=0)),
            errors.StrategyError,
            "gather was called inside",
        ),
        (
            lambda s: s.run(lambda: context().all_reduce("max", 1.0)),
            errors.BadArgumentError,
            "reduce_op='max'",
        ),
        (
            lambda s: s.run(lambda: context().all_gather(1.0, 0)),
            errors.BadArgumentError,
            "axis is out of range",
        ),
    ],
)
def test_run_refuses(four, call, error, message):
    with pytest.raises(error, match=f"(?s){message}"):
        call(four)
    assert len(four.run(lambda: 1.0).values) == 4  # and nothing is left behind


def test_strategies_can_not_be_nested(four, one):
    with four.scope():
        with pytest.raises(
            errors.StrategyError, match="(?s)scope of a strategy was entered inside.*OneDevice"
        ):
            one.scope().__enter__()
        with pytest.raises(errors.StrategyError, match="run was called inside the scope of another strategy"):
            one.run(lambda: 1)
        assert get_strategy() is four

    @sx.function
    def both():
        four.run(lambda: 1.0)
        one.run(lambda: 1.0)

    with pytest.raises(errors.StrategyError, match="One compiled function runs two strategies"):
        both()
    with pytest.raises(errors.StrategyError, match="inside a replica"):
        four.run(lambda: one.run(lambda: 1.0))


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


# contexts


def test_contexts_say_where_they_are(four):
    assert not has_strategy()
    assert not in_cross_replica_context()
    assert get_strategy().num_replicas_in_sync == 1
    assert get_replica_context().replica_id_in_sync_group == 0
    seen = []

    def fn():
        seen.append(
            (has_strategy(), in_cross_replica_context(), get_strategy(), context().num_replicas_in_sync)
        )
        assert context().strategy is four
        assert context().devices == four.device_names
        assert four.num_replicas_in_sync == 4
        return context().replica_id_in_sync_group

    with four.scope() as entered:
        assert entered is four
        assert (has_strategy(), in_cross_replica_context(), get_strategy()) == (True, True, four)
        assert get_replica_context() is None
        with four.scope():  # its own scope again changes nothing
            assert get_strategy() is four
        assert get_strategy() is four
    assert [int(v) for v in four.run(fn).values] == [0, 1, 2, 3]
    assert seen == [(True, False, four, 4)]
    assert not has_strategy()


def test_a_scope_that_raises_is_left(four):
    with pytest.raises(KeyError), four.scope():
        raise KeyError("x")
    assert not has_strategy()
    assert sx.Variable(1.0).value.devices() == {jax.devices()[0]}


def test_variables_made_in_a_scope_are_on_every_device(four):
    with four.scope():
        v = sx.Variable([1.0, 2.0])
        dense = keras.layers.Dense(2)
        dense.build((None, 2))
    assert v.value.devices() == set(four.devices)
    assert dense.kernel.value.devices() == set(four.devices)


# reduce, gather, local results


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


def test_local_results_are_one_for_each_replica(four, ids):
    assert four.experimental_local_results(3.0) == (3.0,)
    rows = four.experimental_local_results((ids, "plain"))
    assert [(float(a), b) for a, b in rows] == [(0, "plain"), (1, "plain"), (2, "plain"), (3, "plain")]


# a replica's collectives


def test_a_replicas_collectives_give_all_replicas_the_result(four, ids):
    def fn(x):
        c = context()
        total = c.all_reduce(ReduceOp.SUM, {"x": x, "n": 1})
        mean = c.all_reduce("mean", x)
        everyone = c.all_gather(jnp.stack([x, -x])[None], axis=0)
        wide = c.all_gather(x[None, None], axis=-1)
        return total, mean, everyone, wide

    (total, mean, everyone, wide) = four.run(fn, args=(ids,))
    assert [float(v) for v in total["x"].values] == [6] * 4
    assert [int(v) for v in total["n"].values] == [4] * 4
    assert [float(v) for v in mean.values] == [1.5] * 4
    assert everyone.values[2].tolist() == [[0, 0], [1, -1], [2, -2], [3, -3]]
    assert wide.values[1].tolist() == [[0, 1, 2, 3]]


def test_merge_call_sees_all_components_once(four, ids):
    calls = []

    def merge(strategy, value, scale, text, *, shift):
        calls.append((strategy, in_cross_replica_context(), get_replica_context(), text))
        assert isinstance(value, PerReplica)
        return strategy.reduce("sum", value, axis=None) * scale + shift, value, None

    def fn(x):
        total, own, nothing = context().merge_call(merge, args=(x, 10.0, "text"), kwargs={"shift": 1.0})
        assert nothing is None
        return total, own * 2

    total, own = four.run(fn, args=(ids,))
    assert [float(v) for v in total.values] == [61] * 4
    assert [float(v) for v in own.values] == [0, 2, 4, 6]
    assert calls == [(four, True, None, "text")]


@pytest.mark.parametrize("rows", [4, 3])
def test_merge_call_means_the_same_for_a_remainder(four, rows):
    v = sx.Variable(0.0)

    def merge(strategy, count, total):
        assert strategy.num_replicas_in_sync == (4 if rows == 4 else 1)
        examples = strategy.reduce(ReduceOp.SUM, count, axis=None)
        v.assign(strategy.reduce(ReduceOp.SUM, total, axis=None) / examples)
        return examples

    def fn(x):
        return context().merge_call(merge, args=(jnp.float32(x.shape[0]), x.sum()))

    (batch,) = four.experimental_distribute_dataset([np.arange(rows, dtype="float32")])
    result = four.run(fn, args=(batch,))
    assert {float(value) for value in result.values} == {rows}
    assert float(v.value) == (rows - 1) / 2


# values from functions


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


def test_numpy_datasets_are_rows(four):
    for make in (four.make_experimental_numpy_dataset, four.experimental_make_numpy_dataset):
        rows = list(make((np.arange(3), np.ones((3, 2)))).as_numpy_iterator())
        assert [int(row[0]) for row in rows] == [0, 1, 2]


# making strategies


def test_a_strategy_says_what_it_is(four):
    assert four.num_replicas_in_sync == 4
    assert four.extended.membership.share.of(4) == slice(0, 4)
    assert len(four.device_names) == 4
    assert "MirroredStrategy with 4 replicas" in repr(four)
    assert isinstance(four, Strategy)
    assert MirroredStrategy().num_replicas_in_sync == len(jax.devices())
    assert sx.detect_strategy() is get_strategy()


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: MirroredStrategy(["/cpu:0", "/gpu:0"]), errors.DeviceError, "gpu:0"),
        (lambda: MirroredStrategy(["/cpu:99"]), errors.DeviceError, "cpu:99"),
        (lambda: OneDeviceStrategy("/tpu:0"), errors.DeviceError, "tpu:0"),
        (
            lambda: MirroredStrategy([]),
            errors.BadArgumentError,
            r"at least one device. Received: devices=\[\]",
        ),
        (lambda: MirroredStrategy("/cpu:0"), errors.BadTypeError, r"must be a list.*Write `\['/cpu:0'\]`"),
        (
            lambda: MirroredStrategy(["/cpu:0", "cpu:0"]),
            errors.BadArgumentError,
            "must not name a device twice",
        ),
        (lambda: MirroredStrategy(["/cpu:0"], "nccl"), errors.BadTypeError, "cross_device_ops='nccl'"),
        (
            lambda: sx.distribute.CentralStorageStrategy(["/cpu:0"], "/gpu:7"),
            errors.DeviceError,
            "gpu:7",
        ),
        (lambda: sx.distribute.TPUStrategy(), errors.NoTPUError, "TPU"),
        (lambda: sx.distribute.TPUStrategy("local"), errors.BadTypeError, "tpu_cluster_resolver='local'"),
    ],
)
def test_devices_and_ops_that_do_not_exist_are_refused(make, error, message):
    with pytest.raises(error, match=f"(?s){message}"):
        make()
