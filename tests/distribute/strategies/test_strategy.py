"""What `Strategy` has for its users, and everything that its methods refuse."""

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


def test_run_v2_is_the_older_name(four):
    assert len(four.experimental_run_v2(lambda: 1.0).values) == 4


def test_layers_that_are_built_by_a_later_run_are_created_then(four):
    first, second = keras.layers.Dense(1), keras.layers.Dense(1)
    for layer in (first, second):
        assert len(four.run(lambda x, layer=layer: layer(x), args=(np.ones((1, 2), "float32"),)).values) == 4
        assert layer.kernel.value.shape == (2, 1)


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


# local results


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


# datasets


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
    ("make", "numbers"),
    [
        (lambda: MirroredStrategy(["/gpu:0", "/gpu:1"]), [0, 1]),
        (lambda: MirroredStrategy(["/cpu:4", "/gpu:0"]), [4]),
        (lambda: OneDeviceStrategy("/gpu:0"), [0]),
        (lambda: sx.distribute.CentralStorageStrategy(["/cpu:1", "/cpu:2"], "/gpu:7"), [1, 2]),
    ],
)
def test_devices_that_do_not_exist_are_replaced_and_what_is_left_trains(make, numbers):
    strategy = make()
    assert strategy.device_names == tuple(f"/device:CPU:{number}" for number in numbers)
    with strategy.scope():
        variable = sx.Variable(1.0)
    results = strategy.experimental_local_results(strategy.run(lambda: variable + 1.0))
    assert [float(result) for result in results] == [2.0] * len(numbers)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: MirroredStrategy(["/cpu:0", "graphics"]), errors.DeviceError, "must be like.*graphics"),
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
        (lambda: sx.distribute.TPUStrategy(), errors.NoTPUError, "TPU"),
        (lambda: sx.distribute.TPUStrategy("local"), errors.BadTypeError, "tpu_cluster_resolver='local'"),
    ],
)
def test_devices_and_ops_that_do_not_exist_are_refused(make, error, message):
    with pytest.raises(error, match=f"(?s){message}"):
        make()
