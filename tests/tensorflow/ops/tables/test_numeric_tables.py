"""Tables of numbers in compiled functions, layers and replicas: what TensorFlow finds."""

import numpy as np
import pytest

import stratax.tf as tf

KEYS = [7, 1, 5, -3]


def table(key_dtype=tf.int64, value_dtype=tf.float32, default=-1, keys=KEYS, values=(70, 10, 50, 30)):
    made = tf.lookup.KeyValueTensorInitializer(keys, values, key_dtype, value_dtype)
    return tf.lookup.StaticHashTable(made, default)


@pytest.mark.parametrize("key_dtype", [tf.int64, tf.int32, tf.uint8, tf.float32])
@pytest.mark.parametrize("value_dtype", [tf.int64, tf.int32, tf.float32, tf.float64])
def test_a_function_finds_what_the_host_finds(key_dtype, value_dtype):
    keys = KEYS[:3] if key_dtype == tf.uint8 else KEYS
    made = table(key_dtype, value_dtype, keys=keys, values=(70, 10, 50, 30)[: len(keys)])
    asked = tf.constant([[1, 2, 5], [7, 0, 6]], key_dtype)
    found = tf.function(made.lookup)(asked)
    assert found.tolist() == np.asarray(made.lookup(asked)).tolist() == [[10, -1, 50], [70, -1, -1]]
    assert tf.function(lambda keys: made[keys])(asked).dtype == found.dtype


def test_an_empty_table_and_no_keys():
    empty = tf.lookup.StaticHashTable(
        tf.lookup.KeyValueTensorInitializer(np.zeros(0, np.int64), np.zeros(0, np.int32)), 4
    )
    assert tf.function(empty.lookup)(tf.constant([1, 2])).tolist() == [4, 4]
    assert tf.function(table().lookup)(tf.zeros([0], tf.int32)).shape == (0,)


def test_a_table_is_made_in_the_function():
    def find(keys):
        made = tf.lookup.KeyValueTensorInitializer(tf.constant([5, 6]), tf.constant([50.0, 60.0]))
        return tf.lookup.StaticHashTable(made, -1.0).lookup(keys)

    assert tf.function(find)(tf.constant([5, 7])).tolist() == [50, -1]


def test_keys_that_devices_do_not_have_are_found_by_nobody_there_and_values_are_refused():
    large = table(keys=[2**40 + 1, 1], values=[5, 6])
    assert tf.function(large.lookup)(tf.constant([1, 2])).tolist() == [6, -1]
    much = table(tf.int64, tf.int64, keys=[1, 2], values=np.array([2**40, 6]))
    with pytest.raises(ValueError, match=r"devices can't represent.*1099511627776.*Look them up on the host"):
        tf.function(much.lookup)(tf.constant([2]))
    assert much.lookup(np.array([1])).tolist() == [2**40]


def test_keys_of_another_kind_are_refused():
    with pytest.raises(TypeError, match="keys of another kind. Expected: int64"):
        tf.function(table().lookup)(tf.constant([1.0]))


def test_values_that_are_text_stay_on_the_host():
    names = table(tf.int64, tf.string, "?", values=list("abcd"))
    with pytest.raises(TypeError, match="computes strings on the host"):
        tf.function(names.lookup)(tf.constant([1]))


def test_sparse_and_ragged_keys():
    sparse = tf.sparse.from_dense(np.array([[5, 0], [0, 6]]))
    assert tf.function(lambda keys: table().lookup(keys).values)(sparse).tolist() == [50, -1]
    ragged = tf.ragged.constant([[5], [6, 7]])
    assert tf.function(lambda keys: table().lookup(keys).flat_values)(ragged).tolist() == [50, -1, 70]


class Numbers(tf.keras.layers.Layer):
    """Looks numbers up."""

    def __init__(self, table):
        super().__init__()
        self.table = table

    def call(self, keys):
        return self.table.lookup(tf.cast(keys, tf.int64))


def test_a_layer_trains_and_predicts():
    strategy = tf.distribute.MirroredStrategy()
    with strategy.scope():
        model = tf.keras.Sequential(
            [tf.keras.Input((2,), dtype="int32"), Numbers(table()), tf.keras.layers.Dense(1)]
        )
        model.compile("sgd", "mse")
    keys = np.array([[1, 2]] * 16)
    assert np.isfinite(model.fit(keys, np.ones((16, 1)), verbose=0).history["loss"])
    part = tf.keras.Sequential([tf.keras.Input((2,), dtype="int32"), Numbers(table())])
    assert part.predict(keys[:1], verbose=0).tolist() == [[10, -1]]


def test_each_replica_finds_its_own():
    strategy = tf.distribute.MirroredStrategy()
    batches = strategy.experimental_distribute_dataset(tf.data.Dataset.range(8).batch(8))
    mutable = tf.lookup.experimental.MutableHashTable(tf.int64, tf.int32, 0)
    mutable.insert([1, 2], [11, 12])
    for batch in batches:
        found = strategy.run(lambda keys: (table().lookup(keys), mutable.lookup(keys)), args=(batch,))
        rows = [strategy.gather(part, axis=0).tolist() for part in found]
    assert rows == [[-1, 10, -1, -1, -1, 50, -1, 70], [0, 11, 12, 0, 0, 0, 0, 0]]


def test_what_was_put_in_is_found_by_the_next_call():
    mutable = tf.lookup.experimental.MutableHashTable(tf.int64, tf.float32, [-1.0, -2.0])
    find = tf.function(mutable.lookup)
    assert find(tf.constant([4])).tolist() == [[-1.0, -2.0]]
    mutable.insert([4], [[1.5, 2.5]])
    assert find(tf.constant([4])).tolist() == [[1.5, 2.5]]
    mutable.remove([4])
    assert find(tf.constant([4])).tolist() == [[-1.0, -2.0]]


def test_other_keys_of_a_vocabulary_have_hashes():
    ids = tf.lookup.KeyValueTensorInitializer(tf.constant([10, 20], tf.int64), tf.constant([0, 1], tf.int64))
    vocabulary = tf.lookup.StaticVocabularyTable(ids, 5)
    asked = tf.constant([20, 30, 40, 10])
    # As TensorFlow 2.21's.
    assert tf.function(vocabulary.lookup)(asked).tolist() == vocabulary.lookup(asked).tolist() == [1, 5, 5, 0]


def test_text_is_called_string_where_keys_are_refused():
    table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(["a"], [1]), 0)
    with pytest.raises(TypeError, match="Expected: string. Received: keys of int32"):
        table.lookup(tf.constant([1]))
