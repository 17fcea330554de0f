"""Random numbers of a pipeline's functions, which one program draws: those that Keras draws step by step."""

import time

import keras
import numpy as np

import stratax.tf as tf
from stratax.core import state as generators


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


class SlowGenerator(keras.random.SeedGenerator):
    """Leaves time between reading its state and counting it on, as a busy machine does."""

    def next(self, ordered=True):
        found = np.asarray(self.state.value)
        time.sleep(0.001)
        self.state.assign(found + np.array([0, 1], found.dtype))
        return found


def test_threads_of_a_pipeline_take_turns_with_any_generator():
    before = generators.generator_of(None)
    generators.replace(SlowGenerator(7))
    try:
        dataset = tf.data.Dataset.range(32).map(lambda _: tf.random.uniform([]), num_parallel_calls=4)
        assert len({float(number) for number in dataset}) == 32
    finally:
        generators.replace(before)


def test_every_call_with_a_seed_gives_the_next_numbers():
    calls = {
        "normal": lambda: tf.random.normal([2], seed=5),
        "categorical": lambda: tf.random.categorical([[0.0] * 100], 4, seed=5),
        "gamma": lambda: tf.random.gamma([2], 1.0, seed=5),
        "poisson": lambda: tf.random.poisson([4], 1000.0, seed=5),
        "shuffle": lambda: tf.random.shuffle(tf.range(100), seed=5),
        "dropout": lambda: tf.nn.dropout(tf.ones([100]), 0.5, seed=5),
    }
    for name, call in calls.items():
        for function in (call, tf.function(lambda call=call: call())):
            tf.random.set_seed(1)
            assert len({np.asarray(function()).tobytes() for _ in range(4)}) == 4, name
        elements = tf.data.Dataset.range(4).map(lambda _, call=call: call())
        assert len({numbers.numpy().tobytes() for numbers in elements}) == 4, name


def test_the_seed_of_the_program_begins_the_sequences_anew():
    for call in (
        lambda: tf.random.normal([2], seed=5),
        lambda: tf.random.categorical([[0.0] * 9], 9, seed=5),
    ):
        tf.random.set_seed(3)
        first = [np.asarray(call()) for _ in range(3)]
        tf.random.set_seed(3)
        np.testing.assert_array_equal([np.asarray(call()) for _ in range(3)], first)


def test_an_element_has_its_numbers_in_whatever_thread_and_after_a_restart():
    dataset = tf.data.Dataset.range(32).map(lambda x: tf.random.uniform([], seed=5))
    expected = [float(number) for number in dataset]
    assert len(set(expected)) == 32
    threads = tf.data.Dataset.range(32).map(lambda x: tf.random.uniform([], seed=5), num_parallel_calls=4)
    assert [float(number) for number in threads] == expected
    iterator = iter(dataset)
    for _ in range(20):
        next(iterator)
    restored = iter(dataset)
    restored.set_state(iterator.get_state())
    assert [float(number) for number in restored] == expected[20:]


def test_passes_and_inner_datasets_have_numbers_of_their_own():
    def inner(_):
        return tf.data.Dataset.range(4).map(lambda x: tf.random.uniform([], seed=5)).repeat(3)

    drawn = [float(number) for number in tf.data.Dataset.range(4).flat_map(inner)]
    assert len(set(drawn)) == 48


def test_a_function_that_a_dataset_calls_draws_for_each_element():
    @tf.function
    def noisy(x):
        return tf.cast(x, tf.float32) * 0 + tf.random.uniform([], seed=5)

    tf.random.set_seed(1)
    found = [float(number) for number in tf.data.Dataset.range(3).map(noisy)]
    tf.random.set_seed(1)
    assert found == [float(tf.random.uniform([], seed=5)) for _ in range(3)]
