"""list_files and glob: which files fit, and in which order."""

import numpy as np
import pytest

from stratax.data import Dataset, TFRecordDataset, TFRecordWriter, glob
from stratax.errors import BadTypeError, FileMissingError


@pytest.fixture
def folder(tmp_path):
    for name in ("a-1", "a-0", "b-0", ".hidden"):
        with TFRecordWriter(tmp_path / name) as writer:
            writer.write(name.encode())
    return tmp_path


def names(dataset):
    return [name.decode().rpartition("/")[2] for name in dataset]


def test_without_shuffling_names_are_sorted(folder):
    assert names(Dataset.list_files(f"{folder}/a-*", shuffle=False)) == ["a-0", "a-1"]
    assert names(Dataset.list_files([f"{folder}/b*", f"{folder}/a-[1]"], shuffle=False)) == ["a-1", "b-0"]
    assert names(Dataset.list_files(np.array([f"{folder}/?-0"]), shuffle=False)) == ["a-0", "b-0"]
    assert names(Dataset.list_files(folder / "*", shuffle=False)) == ["a-0", "a-1", "b-0"]
    assert names(Dataset.list_files(folder / ".h*", shuffle=False)) == [".hidden"]


def test_names_are_shuffled_unless_told_otherwise(folder):
    for i in range(50):
        (folder / f"c-{i:02}").touch()
    ds = Dataset.list_files(f"{folder}/c-*", seed=3)
    first, second = names(ds), names(ds)
    assert sorted(first) == sorted(second) == [f"c-{i:02}" for i in range(50)]
    assert first != sorted(first)
    assert first != second
    assert first == names(Dataset.list_files(f"{folder}/c-*", True, 3))


def test_files_that_are_listed_are_read(folder):
    ds = Dataset.list_files(f"{folder}/*-*", shuffle=False)
    assert list(TFRecordDataset(ds)) == [b"a-0", b"a-1", b"b-0"]


def test_files_of_another_file_system_are_listed():
    with TFRecordWriter("memory://listed/x.tfrecord") as writer:
        writer.write(b"x")
    assert glob("memory://listed/*") == ["memory:///listed/x.tfrecord"]
    assert list(TFRecordDataset(Dataset.list_files("memory://listed/*"))) == [b"x"]


def test_a_pattern_that_fits_nothing_is_reported(folder):
    assert glob(f"{folder}/nothing*") == []
    with pytest.raises(FileMissingError, match="No files matched pattern.*nothing") as caught:
        Dataset.list_files(f"{folder}/nothing*")
    assert caught.value.filename == f"{folder}/nothing*"
    with pytest.raises(BadTypeError, match="name of a file is a string or a path"):
        Dataset.list_files(3)
