"""The images that the examples learn from."""

import importlib.util
import pathlib
import sys

import numpy as np
import pytest

from tests.examples.test_programs import write_photographs

FOLDER = pathlib.Path(__file__).parents[2] / "examples"


@pytest.fixture(scope="module")
def example_data():
    spec = importlib.util.spec_from_file_location("example_data", FOLDER / "example_data.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["example_data"] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules["example_data"]


def test_digits_are_enlarged_where_there_is_no_mnist(example_data, monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    (x, y), (x_test, y_test) = example_data.mnist(None, 60)
    assert (x.shape, x.dtype, x.max()) == ((60, 28, 28, 1), np.uint8, 255)
    assert (y.shape, y.dtype, x_test.shape, y_test.shape) == ((60,), np.int64, (10, 28, 28, 1), (10,))
    assert (x[:, :2] == 0).all()


def test_mnist_is_read_from_its_file(example_data, shared):
    (x, y), (x_test, _) = example_data.mnist(shared / "data" / "mnist.npz", 120)
    assert (x.shape, x_test.shape) == ((120, 28, 28, 1), (20, 28, 28, 1))
    assert y[:5].tolist() == [5, 0, 4, 1, 9]


def test_photographs_come_from_a_zip_file_or_a_folder_evenly_over_the_classes(example_data, tmp_path):
    import zipfile

    write_photographs(tmp_path / "images.zip")
    with zipfile.ZipFile(tmp_path / "images.zip") as archive:
        archive.extractall(tmp_path / "folder")
    zipped = example_data.cifar10(tmp_path / "images.zip", 10)
    unpacked = example_data.cifar10(tmp_path / "folder", 10)
    (x, y), (x_test, _) = zipped
    assert (x.shape, x.dtype, x_test.shape) == ((10, 32, 32, 3), np.uint8, (2, 32, 32, 3))
    assert y.ravel().tolist() == [0, 1] * 5
    assert (x[1::2].mean((1, 2, 3)) > x[::2].mean((1, 2, 3))).all()
    for ours, theirs in zip(
        np.concatenate([*zipped[0]], axis=None), np.concatenate([*unpacked[0]], axis=None), strict=True
    ):
        assert ours == theirs


def test_images_that_can_not_be_had_are_said_to_be_missing(example_data, tmp_path, monkeypatch):
    import keras

    def fail():
        raise Exception("URL fetch failure")

    monkeypatch.setattr(keras.datasets.cifar10, "load_data", fail)
    with pytest.raises(SystemExit, match="can't be downloaded: URL fetch failure\nGive its images: --data"):
        example_data.cifar10(None, 10)
    (tmp_path / "train").mkdir()
    (tmp_path / "train" / "loose.jpg").touch()
    with pytest.raises(SystemExit, match=r"no images train/<class>/\*.jpg in what --data names"):
        example_data.cifar10(tmp_path, 10)
