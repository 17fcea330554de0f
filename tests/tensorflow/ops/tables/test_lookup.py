"""Tables look keys up, also sparse ones, and are read from files."""

import numpy as np
import pytest

import stratax as sx
import stratax.tf as tf
from stratax import errors

lookup, strings = tf.lookup, tf.strings


def test_tables_look_keys_up():
    table = lookup.StaticHashTable(lookup.KeyValueTensorInitializer(["a", "b"], [1.5, 2.5]), -1.0)
    assert table.lookup([["b"], ["x"]]).tolist() == [[2.5], [-1.0]]
    assert (table.size(), table.default_value, table.key_dtype, table.initializer) == (2, -1.0, object, None)
    names = lookup.StaticHashTable(lookup.KeyValueTensorInitializer([0, 1], ["no", "yes"]), "?")
    assert names[np.array([1, 5])].tolist() == [b"yes", b"?"]
    ids = lookup.StaticVocabularyTable(lookup.KeyValueTensorInitializer(["a", "b"], [0, 1]), 3)
    # As TensorFlow 2.15.
    assert ids[["b", "z", "hello"]].tolist() == [1, 3, 2 + 13009744463427800296 % 3]
    assert (ids.size(), ids.initializer) == (5, None)
    assert lookup.StaticVocabularyTable(None, 100).lookup("hello") == 13009744463427800296 % 100


def test_sparse_keys_give_sparse_values():
    sparse = sx.data.SparseTensor(np.array([[0, 1]]), np.array([b"b"], object), np.array([1, 2]))
    table = lookup.StaticHashTable(lookup.KeyValueTensorInitializer(["a", "b"], [1, 2]), 0)
    found = table.lookup(sparse)
    assert (found.values.tolist(), found.indices.tolist()) == ([2], [[0, 1]])
    with pytest.raises(errors.BadTypeError, match="takes one SparseTensor"):
        strings.join([sparse, sparse])


def test_tables_are_read_from_files(tmp_path):
    path = tmp_path / "words.txt"
    path.write_bytes(b"red\t7\ngreen\t8\r\n")
    lines = lookup.TextFileIndex
    by_line = lookup.TextFileInitializer(
        path, tf.string, 0, tf.int64, lines.LINE_NUMBER, value_index_offset=10
    )
    assert lookup.StaticHashTable(by_line, -1).lookup(["green", "blue"]).tolist() == [11, -1]
    columns = lookup.TextFileInitializer(path, tf.string, 0, tf.int64, 1, vocab_size=1)
    assert lookup.StaticHashTable(columns, -1).lookup(["red", "green"]).tolist() == [7, -1]
    table = tf.contrib.lookup.index_table_from_file(str(path), num_oov_buckets=1)
    assert table.lookup(["red\t7", "x"]).tolist() == [0, 2]
    short = lookup.TextFileInitializer(path, tf.string, lines.WHOLE_LINE, tf.int64, lines.LINE_NUMBER, 3)
    with pytest.raises(errors.BadArgumentError, match="Invalid vocab_size .* expected 3 but got 2"):
        lookup.StaticHashTable(short, -1)
    for wrong, message in (
        (lookup.TextFileInitializer(path, tf.string, 0, tf.int64, 2), "expected 3 got 2"),
        (lookup.TextFileInitializer(path, tf.int64, 0, tf.int64, 1), "has no number of int64"),
    ):
        with pytest.raises(errors.BadArgumentError, match=message):
            lookup.StaticHashTable(wrong, -1)
    missing = lookup.TextFileInitializer(tmp_path / "none", tf.string, 0, tf.int64, 1)
    with pytest.raises(errors.FileMissingError, match="none"):
        lookup.StaticHashTable(missing, -1)
    with pytest.raises(errors.BadArgumentError, match="filename must not be empty"):
        lookup.TextFileInitializer("", tf.string, 0, tf.int64, 1)


def test_a_number_of_a_file_is_written_as_for_tensorflow(tmp_path):
    path = tmp_path / "numbers"
    for line, dtype in ((b"1_0", tf.int64), (b"1_0.5", tf.float32)):
        path.write_bytes(b" 7 \n" + line)
        numbers = lookup.TextFileInitializer(path, dtype, 0, tf.int64, lookup.TextFileIndex.LINE_NUMBER)
        with pytest.raises(errors.BadArgumentError, match=f"has no number of {dtype.name}"):
            lookup.StaticHashTable(numbers, -1)


def test_tables_refuse_what_is_no_table():
    pairs = lookup.KeyValueTensorInitializer
    with pytest.raises(errors.BadArgumentError, match="2 keys and 1 values"):
        pairs(["a", "b"], [1])
    with pytest.raises(errors.BadArgumentError, match="one value for each key"):
        lookup.StaticHashTable(pairs(["a", "a"], [1, 2]), 0)
    with pytest.raises(errors.BadTypeError, match="have another dtype"):
        pairs(["a"], [1], tf.int64)
    with pytest.raises(errors.BadArgumentError, match="oov_buckets must be > 0"):
        lookup.StaticVocabularyTable(pairs(["a"], [0]), 0)
    for table in (
        lookup.StaticHashTable(pairs(["a"], [0]), -1),
        lookup.StaticVocabularyTable(pairs(["a"], [0]), 1),
    ):
        with pytest.raises(errors.BadTypeError, match="keys of another kind"):
            table.lookup(np.array([1]))


def test_contribs_tables_are_there(tmp_path):
    contrib = tf.contrib.lookup
    (tmp_path / "words").write_text("a\nb\n")
    words = contrib.index_to_string_table_from_file(str(tmp_path / "words"), default_value="?")
    assert words.lookup([1, 9]).tolist() == [b"b", b"?"]
    assert contrib.index_table_from_tensor(["a", "b"], default_value=5).lookup(["b", "x"]).tolist() == [1, 5]
    assert contrib.index_to_string_table_from_tensor(["a", "b"]).lookup([1, 9]).tolist() == [b"b", b"UNK"]
    assert contrib.HashTable is lookup.StaticHashTable
    for make in (contrib.index_table_from_tensor, contrib.index_table_from_file):
        with pytest.raises(errors.BadArgumentError, match="Other hashes than the default"):
            make(["a"], hasher_spec=5)
    with pytest.raises(errors.BadArgumentError, match="vocabulary_list must not be empty"):
        contrib.index_table_from_tensor([])


# TensorFlow 2.21.
def test_ids_of_a_vocabulary_may_begin_anywhere():
    given = lookup.KeyValueTensorInitializer(["a", "b", "c"], tf.constant([1, 2, 3], dtype=tf.int64))
    table = lookup.StaticVocabularyTable(given, num_oov_buckets=1)
    assert table[tf.constant(["a", "b", "c", "other"])].numpy().tolist() == [1, 2, 3, 3]
    with pytest.raises(errors.BadArgumentError, match="ids of a vocabulary that is exported"):
        table.as_constants()
