import sys

import click
import numpy as np
import pytest

from stratax.cli._datasets import default_mnist_path, load_digits, load_images, load_mnist
from stratax.errors import BadArgumentError


def mnist_arrays(**changes):
    arrays = {
        "x_train": np.full((6, 28, 28), 255, np.uint8),
        "y_train": np.arange(6, dtype=np.uint8),
        "x_test": np.zeros((2, 28, 28), np.uint8),
        "y_test": np.array([9, 0], np.uint8),
    }
    return arrays | changes


@pytest.fixture
def mnist_file(tmp_path):
    def write(**changes):
        path = tmp_path / "mnist.npz"
        np.savez(path, **mnist_arrays(**changes))
        return path

    return write


def test_the_digits_are_1797_real_images_between_0_and_1():
    images = load_digits()
    assert images.x_train.shape == (1500, 8, 8)
    assert images.x_test.shape == (297, 8, 8)
    assert images.x_train.dtype == np.float32
    assert (images.x_train.min(), images.x_train.max()) == (0, 1)
    assert set(images.y_test) == set(range(10))


def test_the_digits_are_split_the_same_way_every_time_and_no_image_is_in_both_parts():
    first, second = load_digits(), load_digits()
    np.testing.assert_array_equal(first.x_test, second.x_test)
    np.testing.assert_array_equal(first.y_test, second.y_test)
    everything = np.concatenate([first.x_train, first.x_test]).reshape(1797, 64)
    assert len(np.unique(everything, axis=0)) == 1797


def test_mnist_is_read_from_a_path_and_scaled(mnist_file):
    images = load_images("mnist", mnist_file())
    assert images.x_train.dtype == np.float32
    assert images.x_train.max() == 1
    assert images.y_train.tolist() == [0, 1, 2, 3, 4, 5]
    assert images.y_test.dtype == np.int32


def test_the_real_mnist_file_has_70000_images(shared):
    images = load_mnist(shared / "data" / "mnist.npz")
    assert (images.x_train.shape, images.x_test.shape) == ((60000, 28, 28), (10000, 28, 28))


def test_mnist_without_a_path_comes_from_keras_cache(mnist_file, monkeypatch, tmp_path):
    cache = tmp_path / "datasets"
    cache.mkdir()
    mnist_file().rename(cache / "mnist.npz")
    monkeypatch.setenv("KERAS_HOME", str(tmp_path))
    assert load_images("mnist", None).x_test.shape == (2, 28, 28)


def test_keras_cache_is_in_the_home_folder_unless_the_environment_says_otherwise(monkeypatch, tmp_path):
    monkeypatch.delenv("KERAS_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert default_mnist_path() == tmp_path / ".keras" / "datasets" / "mnist.npz"


def test_a_path_with_the_digits_is_refused(tmp_path):
    with pytest.raises(
        BadArgumentError, match=r"--data is for --dataset mnist.*Received: dataset='digits', data="
    ):
        load_images("digits", tmp_path / "digits.npz")


def test_a_missing_mnist_file_is_named_with_two_ways_to_get_it(tmp_path):
    with pytest.raises(
        BadArgumentError, match=r"no MNIST file there.*Received: data='.*nothing\.npz'.*load_data"
    ):
        load_mnist(tmp_path / "nothing.npz")


def test_a_file_that_is_no_npz_is_refused(tmp_path):
    path = tmp_path / "mnist.npz"
    path.write_text("not an archive")
    with pytest.raises(BadArgumentError, match=r"not a readable mnist\.npz.*Received: data="):
        load_mnist(path)


def test_an_empty_file_is_refused(tmp_path):
    path = tmp_path / "mnist.npz"
    path.touch()
    with pytest.raises(BadArgumentError, match=r"not a readable mnist\.npz"):
        load_mnist(path)


def test_a_single_array_file_is_refused(tmp_path):
    path = tmp_path / "mnist.npy"
    np.save(path, np.zeros(3))
    with pytest.raises(BadArgumentError, match=r"not a readable mnist\.npz"):
        load_mnist(path)


def test_an_npz_without_the_arrays_is_refused(tmp_path):
    path = tmp_path / "other.npz"
    np.savez(path, x_train=np.zeros(3))
    with pytest.raises(BadArgumentError, match=r"not a readable mnist\.npz.*y_train"):
        load_mnist(path)


def test_pickled_arrays_are_not_loaded(mnist_file):
    with pytest.raises(BadArgumentError, match=r"not a readable mnist\.npz.*allow_pickle=False"):
        load_mnist(mnist_file(x_train=np.array([object()])))


@pytest.mark.parametrize(
    "changes",
    [
        {"x_train": np.zeros((6, 28, 28, 1), np.uint8)},
        {"y_train": np.arange(5, dtype=np.uint8)},
        {"y_train": np.arange(6, dtype=np.float32)},
        {"y_train": np.arange(10, 16, dtype=np.uint8)},
        {"x_train": np.zeros((0, 28, 28), np.uint8), "y_train": np.zeros(0, np.uint8)},
    ],
    ids=["four dimensions", "fewer labels", "labels that are no integers", "labels over 9", "nothing"],
)
def test_arrays_that_are_no_labelled_images_are_refused(mnist_file, changes):
    with pytest.raises(
        BadArgumentError, match=r"x_train and y_train are not labelled images.*Received: data="
    ):
        load_mnist(mnist_file(**changes))


def test_without_scikit_learn_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn", None)
    with pytest.raises(click.ClickException, match=r"not installed.*pip install 'stratax-train\[demo\]'"):
        load_digits()
