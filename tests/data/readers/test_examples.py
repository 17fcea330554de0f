"""Batches of parsed examples, and TFRecord files that a Dataset fills."""

import pytest

import stratax.tf as tf
from stratax.errors import BadArgumentError, BadTypeError

experimental = tf.data.experimental
FEATURES = {"a": tf.io.FixedLenFeature([], tf.int64), "b": tf.io.FixedLenFeature([], tf.float32)}


def example(number):
    features = {
        "a": tf.train.Feature(int64_list=tf.train.Int64List(value=[number])),
        "b": tf.train.Feature(float_list=tf.train.FloatList(value=[number / 2])),
    }
    return tf.train.Example(features=tf.train.Features(feature=features)).SerializeToString()


@pytest.fixture
def file(tmp_path):
    name = str(tmp_path / "examples.tfrecord")
    with tf.io.TFRecordWriter(name) as writer:
        for number in range(5):
            writer.write(example(number))
    return name


def test_batches_of_features(file):
    batches = experimental.make_batched_features_dataset(file, 2, FEATURES, num_epochs=1, shuffle=False)
    assert [batch["a"].tolist() for batch in batches.as_numpy_iterator()] == [[0, 1], [2, 3], [4]]
    full = experimental.make_batched_features_dataset(
        file, 2, FEATURES, num_epochs=1, shuffle=False, drop_final_batch=True
    )
    assert [batch["b"].tolist() for batch in full.as_numpy_iterator()] == [[0, 0.5], [1, 1.5]]


def test_a_label_is_given_beside_the_features(file):
    batches = experimental.make_batched_features_dataset(
        [file], 5, FEATURES, label_key="b", num_epochs=1, shuffle_seed=3
    )
    ((features, label),) = batches.as_numpy_iterator()
    assert sorted(features["a"].tolist()) == [0, 1, 2, 3, 4]
    assert (features["a"] / 2).tolist() == label.tolist()
    assert set(features) == {"a"}
    with pytest.raises(BadArgumentError, match="label_key has to be one of the features"):
        experimental.make_batched_features_dataset(file, 2, FEATURES, label_key="c")


def test_examples_without_an_end_come_in_full_batches(file):
    batches = experimental.make_batched_features_dataset(file, 2, FEATURES)
    assert tuple(batches.element_spec["a"].shape) == (2,)
    numbers = [number for batch in batches.take(5) for number in batch["a"].numpy().tolist()]
    assert sorted(numbers) == sorted([*range(5)] * 2)


def test_a_reader_of_pairs_and_several_files(file, tmp_path):
    other = str(tmp_path / "other.tfrecord")
    with tf.io.TFRecordWriter(other) as writer:
        writer.write(example(9))

    def reader(name, suffix):
        return tf.data.TFRecordDataset(name).map(lambda record: (suffix, record))

    batches = experimental.make_batched_features_dataset(
        [file, other], 6, FEATURES, reader, reader_args=["key"], num_epochs=1, reader_num_threads=2
    )
    (batch,) = batches
    assert sorted(batch["a"].numpy().tolist()) == [0, 1, 2, 3, 4, 9]


def test_batches_are_parsed(file):
    records = tf.data.TFRecordDataset(file)
    (parsed,) = records.batch(5).apply(experimental.parse_example_dataset(FEATURES, 2))
    assert parsed["a"].numpy().tolist() == [0, 1, 2, 3, 4]
    with pytest.raises(BadTypeError, match="takes batches of serialized examples"):
        records.apply(experimental.parse_example_dataset(FEATURES))
    with pytest.raises(BadArgumentError, match="`features` is required"):
        experimental.parse_example_dataset(None)


@pytest.mark.parametrize("compression", [None, "GZIP"])
def test_a_dataset_fills_a_file(tmp_path, compression):
    name = str(tmp_path / "numbers.tfrecord")
    writer = experimental.TFRecordWriter(name, compression)
    writer.write(tf.data.Dataset.range(3).map(tf.io.serialize_tensor))
    records = tf.data.TFRecordDataset(name, compression)
    assert [int(tf.io.parse_tensor(record, tf.int64)) for record in records] == [0, 1, 2]
    with pytest.raises(BadTypeError, match="A TFRecord file is of strings"):
        writer.write(tf.data.Dataset.range(3))
    with pytest.raises(BadTypeError, match="write takes a Dataset"):
        writer.write([b"a"])


def test_groups_fill_files_of_their_own(tmp_path):
    def filled(key, group):
        name = tf.strings.join([str(tmp_path), "/part", tf.strings.as_string(key)])
        experimental.TFRecordWriter(name).write(group.map(lambda _, record: record))
        return tf.data.Dataset.from_tensors(name)

    numbered = tf.data.Dataset.from_tensor_slices([b"a", b"b", b"c"]).enumerate()
    parts = numbered.group_by_window(lambda i, _: i % 2, filled, tf.int64.max)
    names = list(parts.as_numpy_iterator())
    assert [list(tf.data.TFRecordDataset(name).as_numpy_iterator()) for name in names] == [
        [b"a", b"c"],
        [b"b"],
    ]
