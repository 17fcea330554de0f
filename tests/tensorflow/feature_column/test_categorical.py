"""Columns of categories: the order of TensorFlow 1's arguments, texts in rows of different lengths, no value at all."""

import numpy as np

import stratax.tensorflow.feature_column as fc
import stratax.tf as tf
from stratax.data import SparseTensor

WORD = fc.categorical_column_with_hash_bucket("w", 10)
LISTED = fc.categorical_column_with_vocabulary_list("w", ["a", "b"])


def _ids(column, **features):
    return fc.Transformation([column]).host_features(features)[f"{column.name}/ids"].tolist()


def test_the_arguments_of_files_stand_in_another_order_in_v1(tmp_path):
    path = tmp_path / "words.txt"
    path.write_text("a\nb\n")
    column = tf.compat.v1.feature_column.categorical_column_with_vocabulary_file("w", str(path), 1, 3)
    assert (column.vocabulary_size, column.num_oov_buckets, column.default_value) == (1, 3, -1)


def test_rows_of_different_lengths_and_python_strings_are_taken():
    assert _ids(LISTED, w=[["a", "b", "c"], [], ["b"]]) == [[0, 1, -1], [-1, -1, -1], [1, -1, -1]]
    assert _ids(LISTED, w=["a", "b"]) == [[0], [1]]
    assert _ids(LISTED, w=np.array(["b", ""])) == [[1], [-1]]


def test_a_batch_without_any_value_has_no_ids():
    empty = SparseTensor(np.zeros((0, 2), np.int64), np.zeros(0, object), np.array([2, 0]))
    for column in (WORD, LISTED, fc.crossed_column(["w", "w"], 5)):
        assert _ids(column, w=empty) == [[-1], [-1]]
    weighted = fc.weighted_categorical_column(WORD, "v")
    numbers = SparseTensor(np.zeros((0, 2), np.int64), np.zeros(0, np.float32), np.array([2, 0]))
    made = fc.Transformation([weighted]).host_features({"w": empty, "v": numbers})
    assert {key: value.tolist() for key, value in made.items()} == {
        "w_weighted_by_v/ids": [[-1], [-1]],
        "w_weighted_by_v/weights": [[0], [0]],
    }
