"""Conditions, loops and functions of rows, beside what `tests/golden/surface/control.py` compares with TensorFlow."""

import jax
import numpy as np
import pytest

import stratax.tf as tf
from stratax import errors


def test_what_a_branch_assigns_takes_effect_if_its_turn_comes():
    v = tf.Variable(1.0)

    @tf.function
    def update(x):
        tf.cond(x > 0, lambda: v.assign_add(10.0), lambda: v.assign(-1.0))
        return v.read_value()

    assert (update(tf.constant(1.0)).item(), update(tf.constant(-1.0)).item()) == (11.0, -1.0)
    assert v.numpy() == -1.0


def test_a_function_that_a_branch_calls_may_have_ifs_of_its_own():
    def halved(x):
        if x > 4:
            x = x / 2
        return x

    @tf.function
    def call(x):
        return tf.cond(x > 0, lambda: halved(x), lambda: x)

    assert [call(tf.constant(x)).item() for x in (-3.0, 3.0, 6.0)] == [-3.0, 3.0, 3.0]


def test_a_loop_of_a_compiled_function_assigns_variables():
    v = tf.Variable(0.0)

    @tf.function
    def count(n):
        def body(k):
            v.assign_add(2.0)
            return [k + 1]

        return tf.while_loop(lambda k: k < n, body, [0])[0]

    assert count(tf.constant(3)).item() == 3
    assert v.numpy() == 6.0
    assert count.num_programs == 1


def test_conditions_and_loops_work_in_jax_own_transformations():
    doubled = jax.vmap(lambda x: tf.cond(x > 2, lambda: x * 2, lambda: x))(np.arange(4))
    assert doubled.tolist() == [0, 1, 2, 6]
    assert jax.jit(lambda n: tf.while_loop(lambda k: k < n, lambda k: [k + 1], [0]))(3)[0].item() == 3
    limited = jax.jit(lambda n: tf.while_loop(lambda k: k < n, lambda k: [k + 1], [0], maximum_iterations=2))
    assert limited(3)[0].item() == 2


def test_a_pipeline_calls_them_with_arrays_of_the_host():
    numbers = tf.data.Dataset.range(4)
    assert list(numbers.map(lambda x: tf.cond(x > 2, lambda: x * 2, lambda: x))) == [0, 1, 2, 6]
    steps = numbers.map(
        lambda x: tf.while_loop(lambda k: k < x, lambda k: [k + 1], [tf.cast(0, tf.int64)])[0]
    )
    assert [(type(step), step) for step in steps.as_numpy_iterator()] == [(np.int64, n) for n in range(4)]
    rows = tf.data.Dataset.from_tensors(np.arange(6).reshape(3, 2)).map(lambda x: tf.map_fn(tf.reduce_sum, x))
    assert next(iter(rows)).tolist() == [1, 5, 9]


def test_a_named_tuple_of_variables_stays_one():
    import collections

    pair = collections.namedtuple("pair", "count total")
    found = tf.while_loop(lambda k, t: k < 3, lambda k, t: pair(k + 1, t + k), pair(np.int32(0), np.int32(0)))
    assert found == pair(3, 3)


def test_branches_of_different_dtypes_are_refused_in_a_compiled_function():
    different = tf.function(lambda x: tf.cond(x > 0, lambda: 1, lambda: tf.constant([1.0])))
    with pytest.raises(errors.TracingError, match="between the branches"):
        different(tf.constant(1.0))


def test_variables_of_a_loop_keep_their_shapes_in_a_compiled_function():
    growing = tf.function(
        lambda n: tf.while_loop(
            lambda k, x: k < n, lambda k, x: (k + 1, tf.concat([x, x], 0)), (0, tf.ones([1]))
        )
    )
    with pytest.raises(errors.TracingError, match="The shape or dtype"):
        growing(tf.constant(3))


def test_wrong_conditions_loops_and_rows_say_what_was_expected():
    with pytest.raises(errors.BadArgumentError, match="pred must be a scalar"):
        tf.cond(np.array([True, False]), lambda: 1, lambda: 2)
    with pytest.raises(errors.BadArgumentError, match="None of the 1 conditions holds"):
        tf.case([(np.bool_(False), lambda: 1)])
    with pytest.raises(errors.BadArgumentError, match="Only one condition"):
        tf.case([(True, lambda: 1), (True, lambda: 2)], exclusive=True)
    with pytest.raises(errors.BadTypeError, match="must be a list of pairs"):
        tf.case([])
    with pytest.raises(errors.BadTypeError, match="must be a pair"):
        tf.case([1])
    with pytest.raises(errors.BadTypeError, match="must be a list of functions"):
        tf.switch_case(0, [])
    with pytest.raises(errors.BadTypeError, match="branch_index must be a whole number"):
        tf.switch_case(0.5, [lambda: 1])
    with pytest.raises(errors.BadTypeError, match="maximum_iterations must be a whole number"):
        tf.while_loop(lambda k: k < 3, lambda k: [k + 1], [0], maximum_iterations=0.5)
    with pytest.raises(errors.BadArgumentError, match="Expected: 2. Received: 1"):
        tf.while_loop(lambda k, x: k < 3, lambda k, x: [k + 1], [0, 0])
    with pytest.raises(errors.BadArgumentError, match="stack it with tf.stack"):
        tf.map_fn(lambda x: x, [1, 2])
    with pytest.raises(errors.BadArgumentError, match="Pass initializer="):
        tf.scan(lambda a, x: a, np.zeros(0))


# TensorFlow 2.21: outside of functions the last call of the body says what the values stand in.
@pytest.mark.parametrize("first", [list, tuple])
@pytest.mark.parametrize("made", [list, tuple])
def test_a_loops_values_stand_in_what_tensorflow_gives_them_in(first, made):
    def loop(limit, loop_vars):
        return tf.while_loop(lambda i, _: i < limit, lambda i, j: made([i + 1, j]), loop_vars)

    kinds = []

    @tf.function
    def compiled():
        kinds.append(type(loop(3, first([tf.constant(0), 0]))))

    compiled()
    assert type(loop(3, first([0, 0]))) is made
    assert type(loop(0, first([0, 0]))) is first
    assert set(kinds) == {first}
    found = tf.data.Dataset.range(1).map(lambda x: loop(3, first([0, 0])))
    assert [tuple(map(int, each)) for each in found] == [(3, 0)]
