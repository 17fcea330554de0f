"""Gradients of what a function has computed already: TensorFlow's values."""

import jax
import jax.numpy as jnp
import numpy as np

import stratax as sx
import stratax.tf as tf
from stratax.core.gradients import trace_gradients


def compiled(function, *args):
    return [None if each is None else np.asarray(each).tolist() for each in sx.function(function)(*args)]


def test_gradients_and_gradients_of_gradients():
    def cube(x):
        y = x * x * x
        (first,) = trace_gradients([y], [x], [None], [])
        (second,) = trace_gradients([first], [x], [None], [])
        return first, second

    assert compiled(cube, jnp.array([2.0, 3.0])) == [[12, 27], [12, 18]]


def test_a_source_between_and_one_that_nothing_depends_on():
    def between(x, z):
        y = x * 2.0
        w = y * y
        return trace_gradients([w], [y, x, z], [None], [])

    assert compiled(between, jnp.float32(3), jnp.float32(1)) == [12, 24, None]


def test_nothing_goes_through_what_is_stopped():
    def stopped(x):
        y = x * 2.0
        return [
            *trace_gradients([y * y, y], [x], [None, None], [y]),
            *trace_gradients([y * x], [x], [None], [y]),
            *trace_gradients([y * y * x], [y, x], [None], [y]),
        ]

    assert compiled(stopped, jnp.float32(3)) == [None, 6, 36, 36]


def test_constants_of_the_function_have_gradients_where_they_are_used():
    @tf.function
    def of_constants(x):
        scalar, row, unused = tf.constant(2.0), tf.constant([2.0, 3.0]), tf.constant(5.0)
        found = tf.gradients([scalar * x, tf.reduce_sum(row * x)], [scalar, row, unused, x])
        assert found[2] is None
        zero = tf.gradients(scalar * x, [unused, row], unconnected_gradients="zero")
        return [found[0], found[1], found[3], tf.gradients(scalar * scalar, scalar)[0], *zero]

    assert [each.numpy().tolist() for each in of_constants(tf.constant(3.0))] == [3, [3, 3], 7, 4, 0, [0, 0]]


def test_what_has_no_derivative_connects_nothing():
    def none(x):
        results = [
            jax.lax.stop_gradient(x * 2) + 1,
            jnp.floor(x),
            (x > 1).astype("float32"),
            x.astype("int32") * 1.0,
        ]
        return [trace_gradients([y], [x], [None], [])[0] for y in results]

    assert compiled(none, jnp.float32(3)) == [None] * 4


def test_several_targets_with_gradients_of_their_own_and_whole_numbers():
    def weighted(x):
        targets = [x * 2.0, x * 3.0, x > 1]
        return trace_gradients(targets, [x], [jnp.array([1.0, 10.0]), None, None], [])

    assert compiled(weighted, jnp.array([1.0, 2.0])) == [[5, 23]]


def test_gradients_through_loops_conditions_and_functions_with_their_own_derivatives():
    def body(x):
        y = jax.nn.relu(x) * jax.nn.softmax(x)
        y = y * 2.0 if x[0] > 0 else y * 3.0
        total = jnp.float32(0)
        for _ in sx.range(3):
            total += jnp.sum(y) * x[1]
        return total

    def both(x):
        (ours,) = trace_gradients([body(x)], [x], [None], [])
        return ours, jax.grad(lambda x: 6.0 * jnp.sum(jax.nn.relu(x) * jax.nn.softmax(x)) * x[1])(x)

    ours, expected = sx.function(both)(jnp.array([2.0, 3.0]))
    np.testing.assert_allclose(ours, expected, rtol=1e-5)


def test_in_replicas_a_gradient_is_the_replicas_own():
    strategy = sx.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"])
    v = sx.Variable([1.0, 2.0])

    def step():
        index = sx.distribute.get_replica_context().replica_id_in_sync_group
        return trace_gradients([jnp.sum(v * v) * (index + 1)], [v.value], [None], [])[0]

    results = strategy.experimental_local_results(sx.function(lambda: strategy.run(step))())
    assert [each.tolist() for each in results] == [[2, 4], [4, 8]]
