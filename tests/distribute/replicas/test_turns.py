"""Replicas that run in Python: one after another, with values, and with the numbers of a compiled program."""

import jax
import numpy as np
import pytest

import stratax.tf as tf
from stratax.base.surroundings import Slot
from tests.stressed import but

ROWS = np.arange(24, dtype=np.float32).reshape(8, 3) / 10
MARK: Slot[str] = Slot("mark", "absent")


@pytest.fixture
def eagerly():
    tf.config.run_functions_eagerly(True)
    yield
    tf.config.run_functions_eagerly(False)


@pytest.fixture(scope="module")
def strategy():
    return tf.distribute.MirroredStrategy([f"/cpu:{index}" for index in range(4)])


@pytest.fixture(scope="module")
def pair():
    return tf.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"])


def batch_of(strategy, rows=ROWS):
    return next(
        iter(strategy.experimental_distribute_dataset(tf.data.Dataset.from_tensor_slices(rows).batch(8)))
    )


def test_replicas_take_turns_and_meet_in_collectives(strategy, eagerly):
    order = []

    def replica(x):
        context = tf.distribute.get_replica_context()
        number = int(context.replica_id_in_sync_group)
        # Values: Python can branch on them and print them.
        order.append((number, "before", float(x[0, 0]) > 1))
        total = context.all_reduce(tf.distribute.ReduceOp.SUM, x[0, 0])
        order.append((number, "after", round(float(total), 4)))
        assert context.num_replicas_in_sync == 4
        return total

    result = strategy.run(replica, args=(batch_of(strategy),))
    total = round(float(ROWS[::2, 0].sum()), 4)
    assert order == [
        *((number, "before", number > 1) for number in range(4)),
        *((number, "after", total) for number in range(4)),
    ]
    assert [round(float(value), 4) for value in strategy.experimental_local_results(result)] == [total] * 4
    assert result.values[2].devices() == {jax.devices()[2]}


def trained(strategy):
    tf.keras.utils.set_random_seed(3)
    with strategy.scope():
        model = tf.keras.Sequential(
            [
                tf.keras.Input([3]),
                tf.keras.layers.BatchNormalization(synchronized=True),
                tf.keras.layers.Dropout(0.3),
                tf.keras.layers.Dense(1),
            ]
        )
        optimizer = tf.keras.optimizers.SGD(0.1, momentum=0.9)
        mean = tf.keras.metrics.Mean()
        steps = tf.Variable(0, aggregation=tf.VariableAggregation.ONLY_FIRST_REPLICA)

    def replica(x):
        with tf.GradientTape() as tape:
            y = model(x, training=True)
            loss = tf.nn.compute_average_loss(tf.reduce_sum(y * y, axis=1))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        mean.update_state(y)
        steps.assign_add(1)
        return loss

    @tf.function
    def step(x):
        return strategy.reduce("sum", strategy.run(replica, args=(x,)), axis=None)

    # The last batch does not divide among the replicas.
    rows = np.concatenate([ROWS, ROWS[:3]])
    data = strategy.experimental_distribute_dataset(tf.data.Dataset.from_tensor_slices(rows).batch(8))
    losses = [float(step(batch)) for batch in data]
    return losses, model.get_weights(), float(mean.result()), int(steps)


@pytest.mark.parametrize("kind", but(lambda kind: kind == "mirrored", ["mirrored", "central", "one device"]))
def test_training_gives_the_numbers_of_the_compiled_program(kind, pair):
    strategies = {
        "mirrored": lambda: pair,
        "central": lambda: tf.distribute.experimental.CentralStorageStrategy(["/cpu:0", "/cpu:1"]),
        "one device": lambda: tf.distribute.OneDeviceStrategy("/cpu:1"),
    }
    chosen = strategies[kind]()
    compiled = trained(chosen)
    tf.config.run_functions_eagerly(True)
    try:
        eager = trained(chosen)
    finally:
        tf.config.run_functions_eagerly(False)
    for expected, found in zip(jax.tree.leaves(compiled), jax.tree.leaves(eager), strict=True):
        np.testing.assert_allclose(found, expected, atol=2e-5)
    assert len(compiled[0]) == 2
    assert compiled[3] == 2


def test_gathers_merges_and_derivatives_of_collectives_are_those_of_the_compiled_program(strategy):
    def replica(x):
        context = tf.distribute.get_replica_context()
        with tf.GradientTape() as tape:
            tape.watch(x)
            weight = 1.0 + tf.cast(context.replica_id_in_sync_group, tf.float32)
            y = tf.reduce_sum(context.all_reduce("sum", x * x) * weight)
        merged = context.merge_call(
            lambda strategy, value, scale: strategy.reduce("mean", value, axis=None) * scale,
            args=(x,),
            kwargs={"scale": 2.0},
        )
        return tape.gradient(y, x), context.all_gather(x, 1), merged

    batch = batch_of(strategy)
    compiled = strategy.run(replica, args=(batch,))
    tf.config.run_functions_eagerly(True)
    try:
        eager = strategy.run(replica, args=(batch,))
    finally:
        tf.config.run_functions_eagerly(False)
    for expected, found in zip(jax.tree.leaves(compiled), jax.tree.leaves(eager), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_an_error_of_one_replica_ends_all_and_changes_nothing(strategy, eagerly):
    with strategy.scope():
        total = tf.Variable(1.0)
    ended = []

    def replica(x):
        total.assign_add(1.0)
        if float(x[0, 0]) > 1:
            raise ValueError("too large")
        try:
            tf.distribute.get_replica_context().all_reduce("sum", x)
        finally:
            ended.append(True)

    with pytest.raises(ValueError, match="too large"):
        strategy.run(replica, args=(batch_of(strategy),))
    assert len(ended) == 2
    assert float(total) == 1


def test_replicas_that_call_different_collectives_are_refused(strategy, eagerly):
    def replica(x):
        if float(x[0, 0]) > 1:
            tf.distribute.get_replica_context().all_reduce("sum", x)

    with pytest.raises(
        RuntimeError, match=r"do not come to the same collectives.*\[None, None, 'psum', 'psum'\]"
    ):
        strategy.run(replica, args=(batch_of(strategy),))


def test_layers_build_in_the_first_replica_and_settings_of_keras_hold_in_all(strategy, eagerly):
    with strategy.scope():
        layer = tf.keras.layers.Dense(2)
    dtypes = []

    def replica(x):
        dtypes.append(tf.keras.config.dtype_policy().name)
        return layer(x)

    before = tf.keras.config.dtype_policy()
    tf.keras.config.set_dtype_policy("mixed_bfloat16")
    try:
        result = strategy.run(replica, args=(batch_of(strategy),))
    finally:
        tf.keras.config.set_dtype_policy(before)
    assert result.shape == (2, 2)
    assert len(layer.weights) == 2
    assert dtypes == ["mixed_bfloat16"] * 4


def test_what_the_caller_has_around_it_holds_in_all_replicas_and_ends_with_them(strategy, eagerly):
    seen = []

    def replica():
        seen.append(MARK.get())
        MARK.set("changed")
        return tf.distribute.get_replica_context().replica_id_in_sync_group

    with MARK.holding("given"):
        strategy.run(replica)
    assert seen == ["given"] * 4
    assert MARK.get() == "absent"


def test_jax_loops_with_collectives_and_collectives_of_jaxs_own_are_refused(strategy, eagerly):
    def looping(x):
        total = tf.distribute.get_replica_context().all_reduce
        return jax.lax.fori_loop(0, 2, lambda _, value: total("sum", value), x)

    with pytest.raises(RuntimeError, match=r"stands in JAX' `(while|scan)`.*run_functions_eagerly\(False\)"):
        strategy.run(looping, args=(batch_of(strategy),))
    with pytest.raises(NameError, match="unbound axis name"):
        strategy.run(lambda x: jax.lax.psum(x, "replica"), args=(batch_of(strategy),))


def test_several_workers_are_refused(strategy, eagerly, monkeypatch):
    from stratax.distribute.strategies import _in_python

    monkeypatch.setattr(_in_python, "InStep", object)
    with pytest.raises(RuntimeError, match="several workers don't run in Python"):
        strategy.run(lambda x: x, args=(batch_of(strategy),))


def test_assertions_raise_where_they_stand(strategy, eagerly):
    reached = []

    def replica(x):
        tf.debugging.assert_less(x, 1.0)
        reached.append(True)

    with pytest.raises(tf.errors.InvalidArgumentError, match="x < y"):
        strategy.run(replica, args=(batch_of(strategy),))
    assert len(reached) == 1


# The numbers are TensorFlow 2.21's.
@pytest.mark.filterwarnings("ignore:.*takes datasets or text out of a dataset")
@pytest.mark.parametrize("is_compiled", [False, True])
def test_replicas_loop_over_windows(pair, is_compiled):
    with pair.scope():
        kept = tf.Variable(
            0.0,
            synchronization=tf.VariableSynchronization.ON_READ,
            aggregation=tf.VariableAggregation.SUM,
        )
        summed = tf.Variable(0.0, aggregation=tf.VariableAggregation.SUM)
    dataset = tf.data.Dataset.range(7).window(3)

    def replica():
        folded, reduced = tf.constant(0.0), tf.constant(0.0)
        for window in dataset:
            for x in window.map(lambda x: tf.cast(x, tf.float32) * 2.0 + 1.0).filter(lambda x: x > 2.0):
                folded = folded * 2.0 + x
            whole = tf.data.experimental.get_single_element(window.batch(3))
            total = window.reduce(np.int64(0), lambda a, b: a + b)
            reduced = reduced * 2.0 + tf.cast(tf.reduce_sum(whole) + total, tf.float32)
        kept.assign_add(folded)
        summed.assign_add(reduced)
        return folded, reduced, tf.distribute.get_replica_context().all_reduce("SUM", reduced)

    def step():
        return pair.run(replica)

    step = tf.function(step) if is_compiled else step
    for _ in range(2):
        found = [pair.experimental_local_results(each) for each in step()]
        assert [[float(value) for value in each] for each in found] == [[303, 303], [84, 84], [168, 168]]
    assert float(kept.read_value()) == 4 * 303
    assert float(summed) == 4 * 84
