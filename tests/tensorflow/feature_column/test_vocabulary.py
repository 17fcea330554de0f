"""Vocabularies from files, of numbers and of records."""

import numpy as np
import pytest

import stratax.tensorflow.feature_column as fc
import stratax.tf as tf
from stratax import errors


def _ids(column, **features):
    return fc.Transformation([column]).host_features(features)[f"{column.name}/ids"].tolist()


def test_files_of_vocabularies_that_can_not_be_right_are_refused(tmp_path):
    path = tmp_path / "words.txt"
    with pytest.raises(errors.FileMissingError, match="words.txt"):
        fc.categorical_column_with_vocabulary_file("w", str(path))
    missing = fc.categorical_column_with_vocabulary_file("w", str(path), 3)
    text = np.array([b"a"], object)
    with pytest.raises(errors.FileMissingError, match="words.txt"):
        _ids(missing, w=text)
    path.write_text("")
    with pytest.raises(errors.BadArgumentError, match="one entry at least. Received: vocabulary_size=0"):
        fc.categorical_column_with_vocabulary_file("w", str(path))
    path.write_text("a\nb\n")
    with pytest.raises(
        errors.BadArgumentError, match=r"too short. Expected: 3 lines.*Received: 2 in .*words.txt"
    ):
        _ids(missing, w=text)
    path.write_text("a\nb\na\n")
    with pytest.raises(errors.BadArgumentError, match="b'a' more than once: in lines 1 and 3"):
        _ids(missing, w=text)
    whole = fc.categorical_column_with_vocabulary_file("w", str(path), 2, tf.int64)
    with pytest.raises(errors.BadArgumentError, match="no whole number: b'a' in line 1"):
        _ids(whole, w=np.array([1]))


def test_vocabularies_of_numbers_and_of_records(tmp_path):
    path = str(tmp_path / "numbers.txt")
    with open(path, "w") as file:
        file.write("7\n-1\n30\n")
    column = fc.categorical_column_with_vocabulary_file("w", path, dtype=tf.int64, default_value=2)
    assert _ids(column, w=np.array([[30, 7], [-1, 5]])) == [[2, 0], [-1, 2]]
    records = str(tmp_path / "words.tfrecord.gz")
    with tf.io.TFRecordWriter(records, tf.io.TFRecordOptions("GZIP")) as writer:
        for word in (b"x", b"y"):
            writer.write(word)
    column = fc.categorical_column_with_vocabulary_file("w", records, num_oov_buckets=1)
    assert column.num_buckets == 3
    assert _ids(column, w=["y", "z"]) == [[1], [2]]
