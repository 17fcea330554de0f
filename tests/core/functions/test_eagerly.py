"""Functions that run in Python, for debugging: `tf.config.run_functions_eagerly`."""

import numpy as np
import pytest

import stratax.tf as tf


@pytest.fixture(autouse=True)
def eagerly():
    tf.config.run_functions_eagerly(True)
    yield
    tf.config.run_functions_eagerly(False)


def test_a_function_runs_in_python_while_that_is_asked_for():
    seen = []

    @tf.function
    def double(x):
        seen.append(x)
        return x * 2

    assert tf.config.functions_run_eagerly()
    assert tf.config.experimental_functions_run_eagerly()
    assert [float(double(tf.constant(value))) for value in (1.0, 2.0)] == [2, 4]
    assert [float(value) for value in seen] == [1, 2]
    tf.config.experimental_run_functions_eagerly(False)
    assert [float(double(tf.constant(value))) for value in (3.0, 4.0)] == [6, 8]
    # Compiled: only its traces run in Python.
    assert len(seen) < 6
    tf.config.run_functions_eagerly(True)
    double(tf.constant(5.0))
    assert float(seen[-1]) == 5


def test_loops_conditions_and_variables_are_pythons():
    total = tf.Variable(0.0)

    @tf.function
    def add_up(n, dataset):
        values = []
        for i in tf.range(n):
            if i % 2:
                total.assign_add(1.0)
                values.append(float(total))
        for x in dataset:
            total.assign_add(x)
        return values

    assert add_up(tf.constant(4), tf.data.Dataset.from_tensor_slices(np.float32([10, 20]))) == [1, 2]
    assert float(total) == 32


def test_a_method_and_a_function_in_a_function_run_in_python_too():
    class Counter:
        def __init__(self):
            self.calls = []

        @tf.function
        def count(self, x):
            self.calls.append(int(x))
            return x + 1

    counter = Counter()

    @tf.function
    def twice(x):
        return counter.count(counter.count(x))

    assert int(twice(tf.constant(1))) == 3
    assert counter.calls == [1, 2]


def test_the_end_of_an_iterator_is_the_error_of_compiled_functions():
    iterator = iter(tf.data.Dataset.range(1))

    @tf.function
    def take():
        return next(iterator)

    assert int(take()) == 0
    with pytest.raises(tf.errors.OutOfRangeError, match="no more elements"):
        take()


def test_a_gradient_is_taken_of_what_python_runs():
    weight = tf.Variable(3.0)

    @tf.function
    def square(x):
        return x * x * weight

    with tf.GradientTape() as tape:
        y = square(weight)
    assert float(tape.gradient(y, weight)) == 27


def test_fit_stays_compiled():
    seen = []

    class Layer(tf.keras.layers.Layer):
        def call(self, x):
            seen.append(x)
            return x

    model = tf.keras.Sequential([tf.keras.Input([1]), Layer(), tf.keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    model.fit(np.ones([16, 1]), np.ones([16, 1]), batch_size=1, verbose=0)
    assert len(seen) < 10
