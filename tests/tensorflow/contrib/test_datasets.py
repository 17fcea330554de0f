"""Digits in batches, and arrays of CSV files, as `tf.contrib.learn.datasets` of TensorFlow 1.15 gives them."""

import gzip
import pathlib
import socket
import struct

import numpy as np
import pytest

import stratax.tf as tf
from stratax import errors

input_data = tf.examples.tutorials.mnist.input_data
base = tf.contrib.learn.datasets.base


def write(path, magic, array):
    sizes = b"".join(struct.pack(">I", size) for size in array.shape)
    with gzip.open(path, "wb") as file:
        file.write(struct.pack(">I", magic) + sizes + array.tobytes())


@pytest.fixture
def folder(tmp_path):
    for part, count in (("train", 7), ("t10k", 4)):
        pixels = (np.arange(count * 6) * 5 % 256).astype(np.uint8).reshape(count, 2, 3)
        write(tmp_path / f"{part}-images-idx3-ubyte.gz", 2051, pixels)
        write(tmp_path / f"{part}-labels-idx1-ubyte.gz", 2049, np.arange(count).astype(np.uint8))
    return str(tmp_path)


def test_batches_are_tensorflows(folder):
    digits = input_data.read_data_sets(folder, one_hot=True, validation_size=2, seed=3)
    found = [digits.train.next_batch(3) for _ in range(3)]
    # What TensorFlow 1.15 gives of these files.
    assert [np.argmax(labels, 1).tolist() for _, labels in found] == [[5, 6, 3], [2, 4, 3], [6, 2, 4]]
    np.testing.assert_allclose(found[0][0][0], np.arange(150, 180, 5) / 255, atol=1e-6)
    assert digits.train.epochs_completed == 1
    assert digits.train.images.shape == (5, 6)
    _, labels = digits.validation.next_batch(2, shuffle=False)
    assert (labels.argmax(1).tolist(), labels.dtype) == ([0, 1], np.float64)
    assert digits.test.num_examples == 4


def test_bytes_stay_images_and_labels_numbers(folder):
    digits = input_data.read_data_sets(folder, validation_size=0, reshape=False, dtype=tf.uint8, seed=3)
    images, labels = digits.train.next_batch(4)
    assert (images.shape, images.dtype) == ((4, 2, 3, 1), np.uint8)
    assert labels.tolist() == [4, 6, 5, 3]
    assert digits.train.labels.dtype == np.uint8


def test_made_up_examples_need_no_files():
    images, labels = input_data.read_data_sets("", fake_data=True, one_hot=True).train.next_batch(
        2, fake_data=True
    )
    assert (np.shape(images), np.shape(labels)) == ((2, 784), (2, 10))


def test_other_files_and_arguments_are_refused(folder):
    with pytest.raises(errors.BadArgumentError, match="between 0 and 7"):
        input_data.read_data_sets(folder, validation_size=8)
    with pytest.raises(errors.BadTypeError, match="expected uint8 or float32"):
        input_data.read_data_sets(folder, validation_size=0, dtype=tf.int32)
    path = pathlib.Path(folder, "train-labels-idx1-ubyte.gz")
    with open(path, "rb") as file, pytest.raises(errors.DataError, match="Invalid magic number 2049"):
        input_data.extract_images(file)
    with pytest.raises(errors.BadArgumentError, match="images.shape"):
        input_data.DataSet(np.zeros((2, 1, 1, 1)), np.zeros(3))


def test_a_file_is_downloaded_once(tmp_path):
    source = tmp_path / "source.txt"
    source.write_text("first")
    folder = str(tmp_path / "folder")
    path = base.maybe_download("copy.txt", folder, source.as_uri())
    source.write_text("second")
    assert base.maybe_download("copy.txt", folder, source.as_uri()) == path
    assert pathlib.Path(path).read_text() == "first"


def test_csv_files_are_arrays(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text("2,2,a,b\n1.5,2.5,0\n3,4,1\n")
    found = base.load_csv_with_header(str(path), target_dtype=np.int64, features_dtype=np.float32)
    assert (found.data.tolist(), found.target.tolist()) == ([[1.5, 2.5], [3, 4]], [0, 1])
    path.write_text("1,1.5,2.5\n0,3,4\n")
    found = base.load_csv_without_header(str(path), np.int64, np.float32, target_column=0)
    assert (found.data.tolist(), found.target.tolist()) == ([[1.5, 2.5], [3, 4]], [1, 0])


def test_a_server_that_says_nothing_is_not_waited_for_and_nothing_is_left(tmp_path, monkeypatch):
    monkeypatch.setattr("stratax.tensorflow.contrib._datasets._SECONDS", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with pytest.raises(OSError, match="timed out"):
            base.maybe_download("a", tmp_path / "folder", f"http://127.0.0.1:{port}/a")
    assert not list(tmp_path.rglob("a*"))


def test_data_are_loaded_by_their_name(monkeypatch):
    datasets = tf.contrib.learn.datasets
    assert datasets.DATASETS["mnist"] is datasets.load_mnist
    monkeypatch.setitem(datasets.DATASETS, "mnist", lambda: "loaded")
    assert datasets.load_dataset("mnist") == "loaded"
    with pytest.raises(errors.BadArgumentError, match="one of \\['mnist'\\]"):
        datasets.load_dataset("iris")
