"""Whole numbers of 64 bits that do not fit into the 32 bits of a device raise; they wrapped without a word."""

import jax
import numpy as np
import pytest

import stratax as sx
import stratax.tf as tf
from stratax import errors

WIDE = np.array([1, 2**40], np.int64)
MESSAGE = (
    r"does not fit into the 32 bits.*Received: 1099511627776 in an array of int64 of shape \(.*jax_enable_x64"
)


@sx.function
def double(x):
    return x * 2


@sx.function
def total(dataset):
    result = 0
    for element in dataset:
        result += element[0]
    return result


@sx.function
def first(iterator):
    return next(iterator)


def distributed():
    strategy = sx.distribute.MirroredStrategy(["cpu:0", "cpu:1"])
    return next(
        iter(strategy.experimental_distribute_dataset(sx.data.Dataset.from_tensor_slices(WIDE).batch(2)))
    )


@pytest.mark.parametrize(
    "use",
    [
        lambda: double(WIDE),
        lambda: total(sx.data.Dataset.from_tensors(WIDE)),
        lambda: first(iter(sx.data.Dataset.from_tensors(WIDE))),
        lambda: sx.Variable(WIDE),
        lambda: sx.Variable([0, 0]).assign(WIDE),
        lambda: tf.constant(WIDE) + tf.zeros([2], tf.int32),
        lambda: tf.add(WIDE, tf.zeros([2], tf.int32)),
        distributed,
    ],
    ids=["argument", "loop", "iterator", "variable", "assign", "constant", "operation", "distributed"],
)
def test_they_raise_wherever_they_go_to_a_device(use):
    with pytest.raises(errors.BadArgumentError, match=MESSAGE):
        use()


def test_unsigned_ones_have_limits_of_their_own():
    np.testing.assert_array_equal(double(np.array([2**31], np.uint64)), [2**32 % 2**32])
    with pytest.raises(errors.BadArgumentError, match="Expected: 0 to 4294967295. Received: 4294967296"):
        double(np.array([2**32], np.uint64))


def test_what_fits_is_taken_and_a_conversion_says_what_it_becomes():
    np.testing.assert_array_equal(double(np.array([-(2**31), 2**30 - 1], np.int64)), [0, 2**31 - 2])
    np.testing.assert_array_equal(double(np.zeros([0], np.int64)), [])
    np.testing.assert_allclose(tf.cast(WIDE, tf.float32), [1.0, 2.0**40])


def test_with_64_bits_on_devices_nothing_is_refused():
    with jax.enable_x64(True):
        np.testing.assert_array_equal(sx.function(lambda x: x * 2)(WIDE), WIDE * 2)
