"""Random numbers of a pipeline's functions, which one program draws: those that Keras draws step by step."""

import numpy as np

import stratax.tf as tf


def draws():
    return (
        tf.random.normal([3], 2.0, 0.5),
        tf.random.uniform([2, 2], -1.0, 1.0),
        tf.random.truncated_normal([3]),
        tf.random.uniform([4], 0, 10, tf.int32),
        tf.random.normal([]),
    )


def test_a_pipeline_draws_the_numbers_that_the_program_would():
    tf.random.set_seed(7)
    expected = [[np.asarray(numbers) for numbers in draws()] for _ in range(5)]
    after = np.asarray(tf.random.normal([2]))
    tf.random.set_seed(7)
    found = list(tf.data.Dataset.range(5).map(lambda _: draws()))
    for row, wanted in zip(found, expected, strict=True):
        for numbers, one in zip(row, wanted, strict=True):
            assert numbers.dtype == one.dtype
            np.testing.assert_array_equal(numbers, one, strict=True)
    # The generator has counted on.
    np.testing.assert_array_equal(tf.random.normal([2]), after)


def test_threads_of_a_pipeline_draw_different_numbers():
    tf.random.set_seed(7)
    dataset = tf.data.Dataset.range(64).map(lambda _: tf.random.uniform([]), num_parallel_calls=4)
    assert len({float(number) for number in dataset}) == 64


def test_a_seed_gives_the_same_numbers_in_every_call():
    dataset = tf.data.Dataset.range(3).map(lambda _: tf.random.normal([2], seed=5))
    for numbers in dataset:
        np.testing.assert_array_equal(numbers, tf.random.normal([2], seed=5))
