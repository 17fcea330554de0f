"""A mapped function is called exactly once for each element, unless it is proved to change nothing."""

import collections
import itertools

import jax
import jax.numpy as jnp
import keras
import numpy as np
import pytest

import stratax as sx
import stratax.tf as tf
from stratax.data.vectorise import prove
from stratax.data.vectorise._purity import is_pure

TABLE = np.zeros(3)
NUMBERS = [1.0, 2.0]
SCALE = 3
COUNTER = itertools.count()


def values(dataset):
    return [np.asarray(element).tolist() for element in dataset]


@pytest.mark.parametrize("make", [tf.Variable, keras.Variable])
def test_a_variable_is_assigned_once_for_each_element(make):
    counter = make(0)

    def count(x):
        counter.assign(counter + 1)
        return counter.value

    assert values(tf.data.Dataset.range(3).map(lambda x: counter.assign_add(1))) == [1, 2, 3]
    assert values(tf.data.Dataset.range(4).map(count).batch(2)) == [[4, 5], [6, 7]]


def test_the_spec_is_found_without_assigning():
    counter = tf.Variable(0)
    dataset = tf.data.Dataset.range(3).map(lambda x: counter.assign_add(1)).batch(2)
    assert dataset.element_spec == sx.data.TensorSpec((None,), "int32")
    assert int(counter) == 0
    assert values(dataset) == [[1, 2], [3]]


def test_a_metric_sees_each_element_once():
    mean = keras.metrics.Mean()

    def update(x):
        mean.update_state(x)
        return mean.result()

    assert values(tf.data.Dataset.range(4).map(update)) == [0.0, 0.5, 1.0, 1.5]


def in_place(x):
    table = TABLE
    table += 1
    return x + table.sum()


def positional_out(x):
    return np.add(TABLE, 1, TABLE).sum() + x


def named_out(x):
    return np.add(TABLE, 1, out=TABLE).sum() + x


def through_a_helper(x):
    table = the_table()
    table[:] = table + 1
    return x + table.sum()


def the_table():
    return TABLE


def filled(x):
    np.copyto(TABLE, TABLE + 1)
    return TABLE.sum() + x


@pytest.mark.parametrize("function", [in_place, positional_out, named_out, through_a_helper, filled])
def test_an_array_outside_is_changed_once_for_each_element(function):
    TABLE[:] = 0
    found = list(sx.data.Dataset.range(40).map(function).batch(20))
    assert TABLE.tolist() == [40.0] * 3
    np.testing.assert_array_equal(np.concatenate(found), np.arange(40) + 3 * np.arange(1, 41))


def test_next_to_an_array_that_is_only_read_a_function_is_called_for_blocks():
    dataset = sx.data.Dataset.range(40).map(lambda x: (x - TABLE) / np.sqrt(2.0)).batch(40)
    next(iter(dataset))
    assert dataset._node.child.is_vectorised


def wrapped_like_numpy(x):
    NUMBERS.append(x)
    return x


wrapped_like_numpy.__module__ = "numpy"


class Noisy:
    __module__ = "numpy"

    def __call__(self, x):
        return x


Pair = collections.namedtuple("Pair", "first second")


@pytest.mark.parametrize(
    "function",
    [
        wrapped_like_numpy,
        Noisy(),
        lambda x: wrapped_like_numpy(x),
        lambda x: tf.random.uniform(()) + x,
        lambda x: np.random.default_rng().normal() + x,
        lambda x: np.copyto(TABLE, x),
        lambda x: tf.io.write_file("name", x),
        lambda x: x.counter.assign_add(1),
        lambda x: np.add.at(TABLE, 0, 1),
        lambda x: x + next(COUNTER),
        sx.function(lambda x: NUMBERS.append(x)),
        jax.jit(lambda x: np.add(TABLE, 1, TABLE) + x),
    ],
)
def test_what_only_looks_pure_is_not(function):
    assert not is_pure(function)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: tf.cast(x, tf.float32) / 255.0,
        lambda x: tf.image.resize(x, (2, 2), method=tf.image.ResizeMethod.NEAREST_NEIGHBOR),
        lambda x: tf.io.parse_single_example(x, {"a": tf.io.FixedLenFeature([], tf.int64)}),
        lambda x: Pair(x, np.add.reduce(x)),
        lambda x: [part for part in (x, x + 1)],  # noqa: C416
        sx.function(lambda x: x + 1),
    ],
)
def test_known_functions_of_known_libraries_are_pure(function):
    assert is_pure(function)


def test_names_of_fields_are_known_of_the_elements_only():
    function = lambda pair: pair.first + pair.second  # noqa: E731
    assert not is_pure(function)
    assert prove(function, {"first", "second"}) is not None
    pairs = sx.data.Dataset.from_tensors(Pair(np.arange(3.0), np.ones(3))).unbatch().map(function)
    assert values(pairs) == [1.0, 2.0, 3.0]


def test_what_a_name_stands_for_is_taken_when_the_function_is_called(monkeypatch):
    dataset = sx.data.Dataset.range(40).map(lambda x: jnp.multiply(x, SCALE)).batch(40)
    assert next(iter(dataset))[2] == 6
    monkeypatch.setitem(globals(), "SCALE", 5)
    assert next(iter(dataset))[2] == 10
