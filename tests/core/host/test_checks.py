"""Assertions in compiled functions: they raise when the program has run, with its values, and change no variable."""

import jax
import numpy as np
import pytest

import stratax.tf as tf
from stratax.core.host import check
from tests.cluster.processes import run_tasks

STRATEGIES = {
    "one device": lambda: tf.distribute.OneDeviceStrategy("/cpu:1"),
    "mirrored": lambda: tf.distribute.MirroredStrategy([f"/cpu:{index}" for index in range(4)]),
    "central": lambda: tf.distribute.experimental.CentralStorageStrategy(["/cpu:0", "/cpu:1"]),
}


def expect_positive(x, message="not positive"):
    check((x > 0).all(), [x], lambda value: f"{message}: {value}")


def test_what_is_known_raises_at_once():
    expect_positive(np.float32(1))
    with pytest.raises(tf.errors.InvalidArgumentError, match="not positive: -1.0"):
        expect_positive(tf.constant(-1.0))


def test_a_function_raises_what_it_computed_and_leaves_variables_alone():
    total = tf.Variable(1.0)

    @tf.function
    def add(x):
        total.assign_add(x)
        expect_positive(total, "The sum")
        return total * 2

    assert float(add(tf.constant(2.0))) == 6
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"^The sum: -4.0\b"):
        add(tf.constant(-7.0))
    assert float(total) == 3
    assert float(add(tf.constant(1.0))) == 8


@pytest.mark.parametrize("kind", STRATEGIES)
def test_replicas_that_fail_leave_no_other_waiting(kind):
    strategy = STRATEGIES[kind]()
    with strategy.scope():
        total = tf.Variable(0.0, aggregation=tf.VariableAggregation.MEAN)

    @tf.function
    def step(values):
        def replica(x):
            context = tf.distribute.get_replica_context()
            expect_positive(x)
            summed = context.all_reduce(tf.distribute.ReduceOp.SUM, x)
            total.assign(summed)
            return summed

        return strategy.run(replica, args=(values,))

    def values(start):
        return strategy.experimental_distribute_values_from_function(
            lambda context: np.float32(start + context.replica_id_in_sync_group)
        )

    step(values(1.0))
    good = float(total)
    assert good > 0
    # Of several replicas only the first one fails.
    with pytest.raises(tf.errors.InvalidArgumentError, match="not positive: 0.0"):
        step(values(0.0))
    assert float(total) == good
    step(values(1.0))


def test_loops_and_conditions_raise_for_the_iteration_that_fails():
    @tf.function
    def count_down(n, checks):
        x = tf.constant(3)
        for _ in tf.range(n):
            x = x - 1
            if checks:
                expect_positive(x)
        return x

    assert int(count_down(tf.constant(2), tf.constant(True))) == 1
    assert int(count_down(tf.constant(5), tf.constant(False))) == -2
    with pytest.raises(tf.errors.InvalidArgumentError, match="not positive: 0"):
        count_down(tf.constant(4), tf.constant(True))


def test_a_loop_over_a_dataset_raises_also_for_elements_of_another_shape():
    seen = tf.Variable(0.0)

    @tf.function
    def read(dataset):
        for batch in dataset:
            seen.assign_add(tf.reduce_sum(batch))
            expect_positive(batch)

    def dataset(*values):
        return tf.data.Dataset.from_tensor_slices(np.array(values, np.float32)).batch(2)

    read(dataset(1, 2, 3, 4))
    assert float(seen) == 10
    # The last batch is traced while the program runs.
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"not positive: \[-5.\]"):
        read(dataset(1, 2, -5))


def test_derivatives_and_batched_functions_check_what_they_compute():
    @tf.function
    def slope(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            expect_positive(x)
            y = x * x
        return tape.gradient(y, x)

    assert float(slope(tf.constant(3.0))) == 6
    with pytest.raises(tf.errors.InvalidArgumentError, match="not positive: -3.0"):
        slope(tf.constant(-3.0))

    def double(x):
        expect_positive(x)
        return x * 2

    mapped = tf.function(jax.vmap(double))
    assert mapped(tf.constant([1.0, 2.0])).tolist() == [2, 4]
    with pytest.raises(tf.errors.InvalidArgumentError, match="not positive: -2.0"):
        mapped(tf.constant([1.0, -2.0]))


def test_what_is_known_not_to_hold_tells_values_that_the_program_computes():
    @tf.function
    def fail(x):
        check(False, [x + 1], lambda value: f"x + 1 is {value}")

    with pytest.raises(tf.errors.InvalidArgumentError, match="x \\+ 1 is 3.0"):
        fail(tf.constant(2.0))


def test_a_program_of_jax_itself_raises_as_its_callbacks_do():
    @jax.jit
    def double(x):
        expect_positive(x)
        return x * 2

    assert float(double(tf.constant(1.0))) == 2

    def fail():
        jax.block_until_ready(double(tf.constant(-1.0)))
        jax.effects_barrier()

    with pytest.raises(jax.errors.JaxRuntimeError, match="not positive: -1.0"):
        fail()


def test_a_layer_that_asserts_ends_fit():
    class Checked(tf.keras.layers.Layer):
        def call(self, x):
            tf.debugging.assert_less(tf.reduce_max(x), 5.0, message="Too large")
            return x

    with STRATEGIES["mirrored"]().scope():
        model = tf.keras.Sequential([tf.keras.Input([1]), Checked(), tf.keras.layers.Dense(1)])
        model.compile("sgd", "mse", steps_per_execution=2)
    good, bad = np.ones([16, 1], np.float32), np.ones([16, 1], np.float32)
    bad[13] = 6
    model.fit(good, good, batch_size=8, verbose=0)
    before = model.get_weights()
    with pytest.raises(
        tf.errors.InvalidArgumentError, match=r"Too large. Condition x < y did not hold.*x = 6.0"
    ):
        model.fit(bad, bad, batch_size=8, verbose=0, shuffle=False)
    assert all(np.isfinite(weight).all() for weight in model.get_weights())
    model.fit(good, good, batch_size=8, verbose=0)
    assert len(before) == 2


WORKERS = """
import numpy as np
import stratax.tf as tf
from stratax.core.host import check

strategy = tf.distribute.MultiWorkerMirroredStrategy()
with strategy.scope():
    total = tf.Variable(0.0)

@tf.function
def step(values, limit):
    def replica(x):
        check(x > 0, [x], lambda value: f"not positive: {value}")
        total.assign_add(x / 4)
        return tf.distribute.get_replica_context().all_reduce("sum", x)
    summed = strategy.reduce("sum", strategy.run(replica, args=(values,)), axis=None)
    check(summed < limit, [summed], lambda value: f"too large: {value}")
    return summed

def outcome(start, limit=1000.0):
    values = strategy.experimental_distribute_values_from_function(
        lambda context: np.float32(start - context.replica_id_in_sync_group))
    try:
        return float(step(values, tf.constant(limit)))
    except tf.errors.InvalidArgumentError as error:
        return str(error).splitlines()[0]

report(outcomes=[outcome(4.0), outcome(3.0), outcome(5.0), outcome(9.0, 2.0)], total=float(total))
"""


@pytest.mark.programs
@pytest.mark.processes
def test_an_assertion_that_fails_in_one_worker_ends_the_step_of_all():
    first, second = run_tasks(2, WORKERS, devices=2)
    assert [first.code, second.code] == [0, 0], first.err + second.err
    elsewhere = "An assertion failed in another worker, whose own error says which. No worker goes on."
    # Replica 3, of the second worker, has the only value that is not positive.
    assert first.report["outcomes"][:3] == [40.0, elsewhere, 56.0]
    assert second.report["outcomes"][:3] == [40.0, "not positive: 0.0", 56.0]
    assert {first.report["outcomes"][3], second.report["outcomes"][3]} == {"too large: 120.0", elsewhere}
    assert first.report["total"] == second.report["total"]


def test_an_assertion_between_elements_that_a_function_takes():
    @tf.function
    def squared(dataset):
        elements, found = iter(dataset), []
        for _ in range(2):
            x = next(elements)
            check(tf.reduce_max(x) < 8, [x], lambda value: f"too large: {value}")
            found.append(x * x)
        return found

    dataset = tf.data.Dataset.from_tensor_slices(np.arange(4.0, dtype="float32")).batch(2)
    assert [x.tolist() for x in squared(dataset)] == [[0, 1], [4, 9]]
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"too large: \[8. 9.\]"):
        squared(tf.data.Dataset.from_tensor_slices(np.arange(6.0, 10, dtype="float32")).batch(2))
