"""Datasets that Keras makes of folders and arrays, with the numbers that they have on TensorFlow 2.21."""

import numpy as np
import pytest
from PIL import Image

import stratax.tf as tf

DATA = np.arange(40.0).reshape(20, 2)


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(0)
    for kind in "ab":
        (tmp_path / kind).mkdir()
        for i in range(4):
            image = rng.integers(0, 255, (20 + i, 30, 3)).astype("uint8")
            Image.fromarray(image).save(tmp_path / kind / f"{i}.png")
            (tmp_path / kind / f"{i}.txt").write_text(f"{kind} {i}")
    return tmp_path


def test_texts_of_folders_come_with_their_labels(folder):
    dataset = tf.keras.utils.text_dataset_from_directory(folder, batch_size=8, shuffle=False, verbose=False)
    text, label = next(iter(dataset))
    assert text.numpy().tolist() == [f"{kind} {i}".encode() for kind in "ab" for i in range(4)]
    np.testing.assert_array_equal(label, [0] * 4 + [1] * 4)


def test_windows_of_a_series_are_those_of_tensorflow():
    make = tf.keras.utils.timeseries_dataset_from_array
    batches = list(make(DATA, np.arange(20), 4, sequence_stride=3, sampling_rate=2, batch_size=4))
    np.testing.assert_array_equal(batches[0][0][1], DATA[[3, 5, 7, 9]])
    np.testing.assert_array_equal(batches[0][1], [0, 3, 6, 9])
    np.testing.assert_array_equal(batches[1][1], [12])
    shuffled = make(DATA, np.arange(20), 4, shuffle=True, seed=1, batch_size=3)
    labels = np.concatenate([np.asarray(label) for _, label in shuffled])
    assert sorted(labels) == list(range(17))
    assert list(labels) != list(range(17))


def test_arrays_are_split_into_two_datasets():
    left, right = tf.keras.utils.split_dataset(DATA, left_size=0.7)
    np.testing.assert_array_equal(list(left), DATA[:14])
    np.testing.assert_array_equal(list(right), DATA[14:])
