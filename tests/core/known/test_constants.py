"""What follows from constants is known while a function is traced; nothing else is."""

import jax
import jax.numpy as jnp
import keras
import numpy as np
import pytest

import stratax as sx
import stratax.tf as tf
from stratax.core.known import _constants


def seen_by(compute, *args, decorate=sx.function):
    """What is known of a value while a function is traced that computes it; None if nothing is."""
    seen = []

    @decorate
    def traced(*inner):
        value = compute(*inner)
        try:
            seen.append(np.asarray(_constants.constant_of(value)).tolist())
        except LookupError:
            seen.append(None)
        return value

    traced(*args)
    return seen[-1]


@pytest.mark.parametrize("decorate", [sx.function, jax.jit])
def test_what_is_computed_of_constants_is_known(decorate):
    assert seen_by(lambda: jnp.prod(jnp.asarray((2, 3)) * 2), decorate=decorate) == 24
    assert seen_by(lambda: jnp.split(jnp.arange(4) + 1, 2)[1], decorate=decorate) == [3, 4]


def test_what_is_computed_in_loops_branches_and_under_tapes_is_known():
    found = []

    @tf.function
    def traced(x):
        for _ in tf.range(3):
            x += tf.reduce_sum(tf.zeros([tf.constant(2) * 2]))
        if x > 0:
            x += tf.reduce_sum(tf.ones([tf.constant(1) + 1]))
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x * tf.reduce_sum(tf.ones([tf.constant(2) + 1]))
        found.append(tape.gradient(y, x))
        return x

    assert float(traced(tf.constant(1.0))) == 3.0


@pytest.mark.parametrize(
    "compute",
    [
        lambda v, x: x + 1,
        lambda v, x: v + 1,
        lambda v, x: jnp.ones(2) + v,
        lambda v, x: jax.pure_callback(lambda: np.int32(3), jax.ShapeDtypeStruct((), np.int32)),
        lambda v, x: jax.jit(
            lambda: jax.pure_callback(lambda: np.int32(3), jax.ShapeDtypeStruct((), np.int32)) + 1
        )(),
        lambda v, x: tf.random.uniform([], 0, 9, tf.int32),
    ],
)
def test_arguments_variables_random_numbers_and_what_the_host_says_are_not_known(compute):
    v = keras.Variable(3, dtype="int32")
    assert seen_by(lambda x: compute(v, x), jnp.int32(1)) is None


def test_a_replicas_number_is_not_known():
    strategy = sx.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"])

    def replica():
        number = tf.distribute.get_replica_context().replica_id_in_sync_group
        with pytest.raises(sx.errors.BadTypeError, match="known while a program is traced"):
            tf.zeros([number + 1 + tf.constant(0)])
        return tf.zeros([tf.constant(2) * 2])

    assert strategy.run(replica).values[1].shape == (4,)


def in_function(compute):
    return np.asarray(tf.function(compute)(tf.constant([[4.0, 3.0], [2.0, 1.0]]))).tolist()


# What TensorFlow gives.
@pytest.mark.parametrize(
    ("compute", "expected"),
    [
        (lambda x: tf.pad(x, tf.constant([[0, 0], [1, 0]])), [[0, 4, 3], [0, 2, 1]]),
        (lambda x: tf.range(tf.reduce_prod(tf.cast((1, 3), tf.int32))), [0, 1, 2]),
        (lambda x: tf.range(0.0, tf.cast(tf.constant(2), tf.float32)), [0, 1]),
        (lambda x: tf.reshape(x, tf.constant([-1])), [4, 3, 2, 1]),
        (lambda x: tf.tile(x[0], [tf.constant(2)]), [4, 3, 4, 3]),
        (lambda x: tf.one_hot([1], tf.constant(2)), [[0, 1]]),
        (lambda x: tf.reduce_sum(x, tf.constant([0])), [6, 4]),
        (lambda x: tf.concat([x, x], tf.constant(1)), [[4, 3, 4, 3], [2, 1, 2, 1]]),
        (lambda x: tf.expand_dims(x[0], tf.constant(0)), [[4, 3]]),
        (lambda x: tf.repeat(x[0], tf.constant(2)), [4, 4, 3, 3]),
        (lambda x: x[0, tf.constant(1) :], [3]),
        (lambda x: x[: tf.constant(1)], [[4, 3]]),
        (lambda x: tf.strided_slice(x, [tf.constant(0), 0], [tf.constant(1), 1]), [[4]]),
        (lambda x: tf.TensorArray(tf.float32, tf.constant(2)).unstack(x).stack(), [[4, 3], [2, 1]]),
    ],
)
def test_functions_take_constants_where_they_need_numbers(compute, expected):
    assert in_function(compute) == expected
