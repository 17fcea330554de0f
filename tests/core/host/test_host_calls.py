"""What a function on the host raises in a running program: the caller gets that error, and the next program runs."""

import jax
import numpy as np
import pytest

import stratax.tf as tf

Error = tf.errors.InvalidArgumentError


class OwnError(Exception):
    """One that only this test knows."""


def refuse(x):
    if x < 0:
        raise OwnError(f"negative: {x}")
    return np.float32(x + 1)


def called(x):
    return tf.numpy_function(refuse, [x], tf.TensorSpec([], tf.float32))


def test_a_function_raises_what_the_host_raised_and_leaves_variables_alone():
    total = tf.Variable(1.0)

    @tf.function
    def add(x):
        total.assign_add(called(x))
        return total * 2

    assert float(add(tf.constant(2.0))) == 8
    for _ in range(2):
        with pytest.raises(OwnError, match=r"^negative: -1.0$"):
            add(tf.constant(-1.0))
    # Who waits for all programs does not hear of it again.
    jax.effects_barrier()
    assert float(total) == 4
    assert float(add(tf.constant(0.0))) == 10


def test_a_loop_that_is_driven_from_the_host_raises_it():
    dataset = tf.data.Dataset.from_tensor_slices(np.float32([1, 2, -3, 4]))

    @tf.function
    def run(iterator):
        total = 0.0
        for x in iterator:
            total += called(x)
        return total

    with pytest.raises(OwnError, match=r"^negative: -3.0$"):
        run(iter(dataset))
    assert float(run(iter(dataset.take(2)))) == 5


def test_replicas_raise_it():
    strategy = tf.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"])
    for _ in range(2):
        with pytest.raises(OwnError, match=r"^negative: -1.0$"):
            strategy.run(called, args=(tf.constant(-1.0),))
    jax.effects_barrier()
    assert strategy.experimental_local_results(strategy.run(called, args=(tf.constant(1.0),)))[0] == 2


def test_a_reserved_key_of_a_table_is_the_tables_error():
    table = tf.lookup.experimental.DenseHashTable(
        tf.int64, tf.int64, default_value=-1, empty_key=0, deleted_key=-2
    )

    @tf.function
    def insert(key):
        table.insert(key, key)

    with pytest.raises(Error, match="Using the empty_key or deleted_key as a table key is not allowed"):
        insert(tf.constant([0], tf.int64))
    insert(tf.constant([5], tf.int64))
    assert table.lookup(tf.constant([5], tf.int64)) == 5


def test_a_step_of_fit_raises_it():
    class Loss(tf.keras.losses.Loss):
        def call(self, y_true, y_pred):
            return called(tf.stop_gradient(y_pred[0, 0])) + 0.0 * y_pred[:, 0]

    with tf.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"]).scope():
        model = tf.keras.Sequential(
            [tf.keras.Input((1,)), tf.keras.layers.Dense(1, kernel_initializer="ones")]
        )
        model.compile("sgd", Loss())
    with pytest.raises(OwnError, match="^negative: -1.0"):
        model.fit(np.float32([[-1], [-1]]), np.float32([0, 0]), verbose=0)
