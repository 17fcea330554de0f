"""Tests of tables that change: in compiled functions, in checkpoints, and what they refuse."""

import keras
import numpy as np
import pytest

import stratax.tf as tf
from stratax.errors import BadTypeError


def _table(keys=tf.int64, values=tf.int64, default=0):
    return tf.lookup.experimental.MutableHashTable(keys, values, default)


def _pairs(table):
    keys, values = table.export()
    return dict(zip(np.asarray(keys).tolist(), np.asarray(values).tolist(), strict=True))


def test_a_compiled_function_changes_a_table_whenever_it_runs():
    table = _table(values=tf.float32, default=-1.0)

    @tf.function
    def replace(key, value):
        before = table.lookup(key)
        table.insert(key, value)
        return before, table.lookup(key), table.size()

    key = tf.constant([7], tf.int64)
    first = replace(key, tf.constant([2.5]))
    assert [np.asarray(part).tolist() for part in first] == [[-1.0], [2.5], 1]
    second = replace(key, tf.constant([4.5]))
    assert [np.asarray(part).tolist() for part in second] == [[2.5], [4.5], 1]
    assert _pairs(table) == {7: 4.5}


def test_lists_of_what_a_compiled_function_computes_are_keys_and_values():
    # As TensorFlow 2.21 packs them.
    table = tf.lookup.experimental.MutableHashTable(tf.int64, tf.int64, default_value=-1)

    @tf.function
    def put(x):
        table.insert([x, 7], [x + 1, x])
        return table.lookup([x, 7, x + 9]), table.lookup([x, 0], [x, x * 2])

    found, with_defaults = put(tf.constant(2, tf.int64))
    assert (found.numpy().tolist(), with_defaults.numpy().tolist()) == ([3, 2, -1], [3, 4])
    tf.function(lambda x: table.remove([x]))(tf.constant(2, tf.int64))
    assert int(table.size()) == 1


def test_a_loop_of_a_compiled_function_finds_what_it_has_put_in():
    table = _table()

    @tf.function
    def count(numbers):
        for number in numbers:
            key = tf.reshape(number % 3, [1])
            table.insert(key, table.lookup(key) + 1)
        return table.size()

    assert int(count(tf.range(10))) == 3
    assert _pairs(table) == {0: 4, 1: 3, 2: 3}


def test_a_branch_of_a_compiled_function_changes_a_table():
    table = _table()

    @tf.function
    def switch(x):
        if x > 0:
            table.insert(tf.constant([1], tf.int64), tf.reshape(x, [1]))
        else:
            table.remove(tf.constant([1], tf.int64))
        return table.size()

    assert [int(switch(tf.constant(x))) for x in (5, -5, 6)] == [1, 0, 1]
    assert _pairs(table) == {1: 6}


def test_keys_that_are_constants_are_put_in_at_each_run():
    table = _table(tf.string)

    @tf.function
    def keep(x):
        table.insert(tf.constant(["a"]), x)
        return table.lookup(tf.constant(["a", "b"]), dynamic_default_values=tf.concat([x, x + 1], 0))

    assert keep(tf.constant([7])).tolist() == [7, 8]
    assert keep(tf.constant([9])).tolist() == [9, 10]
    assert _pairs(table) == {b"a": 9}


def test_derivatives_go_past_a_table():
    table = _table(values=tf.float32)
    table.insert(tf.constant([1], tf.int64), [3.0])
    scale = tf.Variable(2.0)

    @tf.function
    def gradient(key):
        with tf.GradientTape() as tape:
            result = scale * tf.reduce_sum(table.lookup(key))
        table.insert(key, tf.reshape(scale, [1]))
        return tape.gradient(result, scale)

    key = tf.constant([1], tf.int64)
    assert [float(gradient(key)), float(gradient(key))] == [3.0, 2.0]


def test_a_compiled_function_does_not_export_a_table():
    table = _table()
    with pytest.raises(BadTypeError, match="can't export a table"):
        tf.function(table.export)()


@pytest.mark.parametrize("method", ["lookup", "remove", lambda table, keys: table.insert(keys, [1, 2])])
@pytest.mark.parametrize(
    "keys", [np.array([1.5, 2.5]), np.array([True, False]), np.array([b"a", b"b"], object)]
)
def test_keys_of_another_kind_are_refused(method, keys):
    table = _table()
    call = method if callable(method) else lambda table, keys: getattr(table, method)(keys)
    with pytest.raises(BadTypeError, match="Expected: int64. Received: keys of"):
        call(table, tf.constant(keys))


def test_values_of_another_kind_are_refused():
    with pytest.raises(BadTypeError, match=r"values has another dtype. Expected: int64"):
        _table().insert(tf.constant([1], tf.int64), tf.constant([1.5]))
    table = _table(values=tf.float32)
    table.insert(tf.constant([1], tf.int64), [1])
    assert _pairs(table) == {1: 1.0}


class _Words(tf.Module):
    def __init__(self):
        super().__init__()
        self.table = _table(tf.string, tf.float32, [0.0, 0.0])
        self.fixed = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(["a"], [1]), -1)


class _Layer(keras.layers.Layer):
    def __init__(self):
        super().__init__()
        self.table = _table(tf.string, tf.float32, [0.0, 0.0])

    def call(self, x):
        return x


@pytest.mark.parametrize("owner", [_Words, _Layer])
def test_a_checkpoint_holds_what_is_in_a_table(tmp_path, owner):
    saved, other = owner(), owner()
    saved.table.insert([b"\xff", b"b"], [[1.5, 2.0], [3.0, 0.1]])
    other.table.insert(["c"], [[9.0, 9.0]])
    path = tf.train.Checkpoint(owner=saved).save(str(tmp_path / "ckpt"))
    tf.train.Checkpoint(owner=other).restore(path).assert_consumed()
    assert _pairs(other.table) == _pairs(saved.table)
    assert set(_pairs(other.table)) == {b"\xff", b"b"}


def test_a_table_that_is_added_later_gets_what_a_checkpoint_holds(tmp_path):
    saved = _table()
    saved.insert(tf.constant([1, 2], tf.int64), tf.constant([3, 4], tf.int64))
    constant = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(["a"], [1]), -1)
    path = tf.train.Checkpoint(table=saved, constant=constant).save(str(tmp_path / "ckpt"))
    checkpoint = tf.train.Checkpoint()
    checkpoint.restore(path)
    checkpoint.table = _table()
    assert _pairs(checkpoint.table) == {1: 3, 2: 4}
