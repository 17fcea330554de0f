"""tf.io, tf.train and tf.sparse: TensorFlow's names for Examples and their parsing."""

import numpy as np
import pytest

import stratax.tf as tf


def _record(index):
    feature = {
        "label": tf.train.Feature(int64_list=tf.train.Int64List(value=[index])),
        "image_raw": tf.train.Feature(bytes_list=tf.train.BytesList(value=[bytes([index, 255])])),
    }
    return tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString()


def test_an_old_program_parses_its_records():
    features = {"label": tf.FixedLenFeature([], tf.int64), "image_raw": tf.FixedLenFeature([], tf.string)}
    parsed = tf.parse_single_example(_record(3), features)
    image = tf.decode_raw(parsed["image_raw"], tf.uint8)
    assert parsed["label"] == 3
    np.testing.assert_array_equal(image, [3, 255])


def test_a_pipeline_of_records_parsed_in_batches():
    features = {"label": tf.io.FixedLenFeature([], tf.int64), "image_raw": tf.io.VarLenFeature(tf.string)}
    records = tf.data.Dataset.from_tensor_slices([_record(i) for i in range(50)])
    labels = []
    for batch in records.batch(32).map(lambda batch: tf.io.parse_example(batch, features)):
        labels.extend(batch["label"].tolist())
        assert tf.sparse.to_dense(batch["image_raw"]).shape == (len(batch["label"]), 1)
    assert labels == list(range(50))


def test_a_pipeline_of_records_parsed_one_by_one():
    features = {
        "label": tf.io.FixedLenFeature([], tf.int64),
        "image_raw": tf.io.FixedLenFeature([], tf.string),
    }

    def parse(record):
        parsed = tf.io.parse_single_example(record, features)
        return tf.io.decode_raw(parsed["image_raw"], tf.uint8), parsed["label"]

    dataset = tf.data.Dataset.from_tensor_slices([_record(i) for i in range(50)]).map(parse).batch(20)
    images, labels = zip(*dataset, strict=True)
    assert np.concatenate(labels).tolist() == list(range(50))
    assert np.concatenate(images)[:, 0].tolist() == list(range(50))


def test_a_pipeline_of_files_that_are_read_one_by_one(tmp_path):
    folder = tf.io.gfile.join(str(tmp_path), "texts")
    tf.gfile.MakeDirs(folder)
    for number in range(3):
        with tf.io.gfile.GFile(f"{folder}/{number}.csv", "w") as file:
            file.write(f"{number},{number / 2}")
    assert tf.gfile.Exists(folder)
    assert tf.gfile.Glob(f"{folder}/*") == tf.io.gfile.glob(f"{folder}/*")
    files = tf.data.Dataset.list_files(f"{folder}/*.csv", shuffle=False)
    rows = files.map(tf.io.read_file).map(lambda line: tf.decode_csv(line, [[0], [0.0]]))
    assert [(int(number), float(half)) for number, half in rows] == [(0, 0.0), (1, 0.5), (2, 1.0)]
    tf.write_file(f"{folder}/new/a", "text")
    assert tf.read_file(f"{folder}/new/a") == b"text"
    with pytest.raises(tf.errors.NotFoundError, match="no such file"):
        tf.io.read_file(f"{folder}/none")


def test_a_tensor_comes_back():
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    np.testing.assert_array_equal(tf.io.parse_tensor(tf.io.serialize_tensor(array), tf.float32), array)
    assert tf.io.parse_tensor(tf.io.serialize_tensor("text"), tf.string) == b"text"
