"""Numbers of 64 bits keep them in reductions and in the functions that a Dataset calls, as in TensorFlow."""

import jax.numpy as jnp
import numpy as np
import pytest

import stratax.tf as tf
from stratax.data import Dataset
from stratax.errors import BadTypeError

BIG = 2**40


def only(dataset):
    (element,) = dataset.as_numpy_iterator()
    return element


@pytest.mark.parametrize(
    ("state", "function", "expected"),
    [
        (tf.constant(0, tf.int64), lambda s, x: s + x, np.int64(BIG + 3)),
        (tf.zeros([], tf.int64), lambda s, x: s + x, np.int64(BIG + 3)),
        (np.int64(0), lambda s, x: s + x, np.int64(BIG + 3)),
        (tf.constant(0.0, tf.float64), lambda s, x: s + tf.cast(x, tf.float64), np.float64(BIG + 3)),
        (tf.constant(0, tf.int32), lambda s, x: s + 1, np.int32(3)),
    ],
)
def test_a_state_has_the_dtype_that_was_asked_for(state, function, expected):
    result = Dataset.from_tensor_slices(np.array([1, 2, BIG])).reduce(state, function)
    assert (result, result.dtype) == (expected, expected.dtype)


def test_of_a_structure_each_part_has_its_own():
    total, count = Dataset.range(5).reduce((tf.constant(0, tf.int64), 0), lambda s, x: (s[0] + x, s[1] + 1))
    assert (total, total.dtype, count, count.dtype) == (10, np.int64, 5, np.int32)


def test_a_state_may_grow():
    grown = Dataset.range(4).reduce(tf.zeros([0], tf.int64), lambda s, x: tf.concat([s, [x]], 0))
    assert grown.tolist() == [0, 1, 2, 3]
    assert grown.dtype == np.int64


def test_a_state_that_was_wide_once_stays_wide():
    result = Dataset.range(3).reduce(tf.constant(0, tf.int64), lambda s, x: s + x if x < 2 else np.int32(7))
    assert (result, result.dtype) == (7, np.int64)


@pytest.mark.parametrize("state", [0, np.int32(0), tf.constant(0.0)])
def test_a_state_of_another_dtype_is_refused(state):
    with pytest.raises(BadTypeError, match="reduce gave elements of different dtype.*int64"):
        Dataset.range(5).reduce(state, lambda s, x: tf.cast(s, tf.int64) + x)


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda x: x * tf.constant(BIG, tf.int64), np.int64(2 * BIG)),
        (lambda x: x + tf.ones([], tf.int64), np.int64(3)),
        (lambda x: x + tf.zeros([], tf.int64), np.int64(2)),
        (lambda x: tf.cast(x, tf.float64) * tf.constant(0.1, tf.float64), np.float64(0.2)),
        (lambda x: tf.constant(1, tf.int64), np.int64(1)),
        (lambda x: tf.constant(1), np.int32(1)),
        (lambda x: tf.constant(0.5), np.float32(0.5)),
        (lambda x: tf.convert_to_tensor(x), np.int64(2)),
        (lambda x: tf.where(x > 1, x, tf.constant(0, tf.int64)), np.int64(2)),
        (lambda x: tf.constant([1, 2], tf.uint8, shape=[2, 1])[1, 0], np.uint8(2)),
        (lambda x: tf.eye(2, dtype=tf.float64)[0, 0], np.float64(1)),
        (lambda x: tf.fill([2], x)[1], np.int64(2)),
    ],
)
def test_what_a_function_of_a_dataset_makes_has_the_dtype_that_it_asks_for(function, expected):
    for dataset in (Dataset.range(2, 3), Dataset.range(2, 3).filter(lambda x: x > 0)):
        found = only(dataset.map(function))
        assert (found, found.dtype) == (expected, expected.dtype)


def test_a_filter_compares_wide_numbers():
    rows = np.array([BIG, BIG + 1, 1])
    kept = Dataset.from_tensor_slices(rows).filter(lambda x: tf.equal(x, tf.constant(BIG, tf.int64)))
    assert only(kept) == BIG


def test_what_jax_has_computed_stays_an_array_of_jax():
    found = only(Dataset.range(2, 3).map(lambda x: tf.constant(jnp.asarray(0.5) * 3) + jnp.float32(x)))
    assert (found, found.dtype) == (3.5, np.float32)


def test_outside_of_such_functions_arrays_are_on_a_device():
    assert tf.constant(1, tf.int64).dtype == np.int32
    Dataset.range(2).reduce(np.int64(0), lambda s, x: s + tf.constant(1, tf.int64))
    assert isinstance(tf.constant(1.0), jnp.ndarray)


def test_ranges_and_casts_in_functions_of_a_dataset_keep_64_bits():
    dataset = Dataset.range(4)
    assert [r.dtype for r in dataset.map(lambda n: tf.range(n))] == [np.int64] * 4

    def total(n):
        sum = tf.constant(0, tf.int64)
        for i in tf.range(n):
            sum += tf.cast(i, tf.int64)
        return sum

    found = list(dataset.map(total))
    assert [r.dtype for r in found] == [np.int64] * 4
    np.testing.assert_array_equal(found, [0, 0, 1, 3])
