"""Tables of what a Dataset gives; all values are TensorFlow 2.21's."""

import pytest

import stratax.tf as tf
from stratax.errors import BadArgumentError, BadTypeError

experimental = tf.data.experimental
PAIRS = tf.data.Dataset.from_tensor_slices((["a", "b", "c"], [1, 2, 3]))
WORDS = tf.data.Dataset.from_tensor_slices(["a", "b"])


def found(table, keys):
    return table.lookup(tf.constant(keys)).numpy().tolist()


def test_a_table_has_the_pairs_of_a_dataset():
    assert found(
        experimental.table_from_dataset(PAIRS, default_value=-1, key_dtype=tf.string), ["a", "x"]
    ) == [1, -1]
    squares = tf.data.Dataset.range(3).map(lambda x: (x, x * x))
    table = experimental.table_from_dataset(squares, key_dtype=tf.int64)
    assert table.lookup(tf.constant([2, 9], tf.int64)).numpy().tolist() == [4, -1]
    named = tf.data.Dataset.zip(
        (tf.data.Dataset.range(3), tf.data.Dataset.from_tensor_slices(["x", "y", "z"]))
    )
    table = experimental.table_from_dataset(named, default_value="n/a", key_dtype=tf.int64)
    assert table.lookup(tf.constant([2, 9], tf.int64)).numpy().tolist() == [b"z", b"n/a"]


def test_an_initializer_says_what_it_has():
    initializer = experimental.DatasetInitializer(PAIRS)
    assert (initializer.key_dtype, initializer.value_dtype) == (tf.string, tf.int32)
    assert found(tf.lookup.StaticHashTable(initializer, 0), ["b", "q"]) == [2, 0]


def test_an_index_table_counts_what_a_dataset_gives():
    keys = ["a", "b", "zz"]
    assert found(experimental.index_table_from_dataset(WORDS), keys) == [0, 1, -1]
    table = experimental.index_table_from_dataset(WORDS, num_oov_buckets=1)
    assert (found(table, keys), int(table.size())) == ([0, 1, 2], 3)
    assert found(
        experimental.index_table_from_dataset(PAIRS.map(lambda key, _: key), vocab_size=2), ["b", "c"]
    ) == [1, -1]
    numbers = experimental.index_table_from_dataset(tf.data.Dataset.range(10, 13), key_dtype=tf.int64)
    assert numbers.lookup(tf.constant([10, 12, 7], tf.int64)).numpy().tolist() == [0, 2, -1]


def test_what_does_not_fit_is_told():
    with pytest.raises(
        tf.errors.FailedPreconditionError, match="expected to contain 5 elements but contained only 2"
    ):
        experimental.index_table_from_dataset(WORDS, vocab_size=5)
    with pytest.raises(BadArgumentError, match="default_value must be given"):
        experimental.table_from_dataset(PAIRS.map(lambda key, _: (key, key)))
    with pytest.raises(BadArgumentError, match="num_oov_buckets must not be negative"):
        experimental.table_from_dataset(PAIRS, num_oov_buckets=-1)
    with pytest.raises(BadTypeError, match="pairs of a key and a value"):
        experimental.table_from_dataset(WORDS)
