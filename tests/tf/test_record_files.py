"""tf.io, tf.python_io and tf.data: record files under TensorFlow's names."""

import gc
import os
import warnings

import pytest

import stratax.tf as tf


def test_record_files_are_written_and_read_under_tensorflows_names(tmp_path):
    options = tf.io.TFRecordOptions(compression_type="GZIP")
    with tf.io.TFRecordWriter(str(tmp_path / "a.tfrecord"), options) as writer:
        writer.write(b"x")
    assert tf.io.gfile.glob(str(tmp_path / "*")) == [str(tmp_path / "a.tfrecord")]
    files = tf.data.Dataset.list_files(str(tmp_path / "*.tfrecord"))
    assert list(tf.data.TFRecordDataset(files, compression_type="GZIP")) == [b"x"]


def test_record_files_are_written_and_read_under_the_old_names(tmp_path):
    path = str(tmp_path / "a.tfrecord")
    options = tf.python_io.TFRecordOptions(tf.python_io.TFRecordCompressionType.ZLIB)
    writer = tf.python_io.TFRecordWriter(path, options=options)
    writer.write(b"x")
    writer.close()
    assert list(tf.python_io.tf_record_iterator(path, options)) == [b"x"]


def test_a_writer_that_a_function_forgets_makes_its_file(tmp_path):
    def forget(name, options=None):
        writer = tf.python_io.TFRecordWriter(str(tmp_path / name), options)
        writer.write(b"x")

    def fail():
        with tf.io.TFRecordWriter(str(tmp_path / "c")) as writer:
            writer.write(b"x")
            raise KeyError("mine")

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        forget("a")
        forget("b", tf.io.TFRecordOptions(compression_type="GZIP"))
        with pytest.raises(KeyError):
            fail()
        gc.collect()
    assert sorted(os.listdir(tmp_path)) == ["a", "b"]
    assert list(tf.data.TFRecordDataset(str(tmp_path / "a"))) == [b"x"]
    assert list(tf.data.TFRecordDataset(str(tmp_path / "b"), "GZIP")) == [b"x"]


def test_lines_and_records_of_one_length(tmp_path):
    (tmp_path / "a").write_bytes(b"1\n2\n")
    assert list(tf.data.TextLineDataset(str(tmp_path / "a"))) == [b"1", b"2"]
    assert list(tf.data.FixedLengthRecordDataset(str(tmp_path / "a"), 2)) == [b"1\n", b"2\n"]


def test_errors_of_files_have_tensorflows_names(tmp_path):
    (tmp_path / "a").write_bytes(b"not a record file")
    with pytest.raises(tf.errors.DataLossError, match="may not be a TFRecord file"):
        list(tf.data.TFRecordDataset(str(tmp_path / "a")))
    with pytest.raises(tf.errors.NotFoundError, match="no such file"):
        list(tf.data.TFRecordDataset(str(tmp_path / "b")))
