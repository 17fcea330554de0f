"""A checkpoint lies in files whole or not at all, and is checked when it is read."""

import contextlib
import errno
import json
import os
import pathlib

import ml_dtypes
import numpy as np
import pytest

import stratax as sx
from stratax import errors
from stratax.checkpoint import _store
from stratax.data import Dataset
from stratax.train import Checkpoint, CheckpointManager, CheckpointOptions, latest_checkpoint

WAIT = CheckpointOptions(enable_async=False)


def checkpoint_of(value):
    return Checkpoint(v=sx.Variable(value))


def manager_of(folder):
    return CheckpointManager(checkpoint_of(0.0), folder, 3)


@pytest.mark.parametrize("has_lock", [True, False])
def test_what_a_killed_process_left_is_neither_listed_nor_kept(tmp_path, has_lock):
    left = tmp_path / ".ckpt-7.0123abcd.writing"
    left.mkdir()
    if has_lock:
        (left / "lock").touch()
    (tmp_path / "ckpt-9").mkdir()
    assert latest_checkpoint(tmp_path) is None
    manager = manager_of(tmp_path)
    manager.save()
    manager.sync()
    assert not left.exists()
    with pytest.raises(errors.FileMissingError, match="is none, or not a whole one"):
        manager.checkpoint.restore(tmp_path / "ckpt-9")
    with pytest.raises(errors.FileMissingError, match="no file or folder has this path"):
        manager.checkpoint.restore(tmp_path / "ckpt-8")


def test_a_checkpoint_takes_the_place_of_another_whole(tmp_path):
    checkpoint = Checkpoint(v=sx.Variable(1.0))
    path = checkpoint.write(tmp_path / "ckpt")
    checkpoint.v.assign(2.0)
    checkpoint.write(tmp_path / "ckpt")
    checkpoint.v.assign(3.0)
    checkpoint.read(path)
    assert float(checkpoint.v) == 2.0
    os.rename(path, tmp_path / ".ckpt.replaced")  # Where it is for a moment.
    checkpoint.v.assign(3.0)
    checkpoint.read(path)
    assert float(checkpoint.v) == 2.0


@pytest.mark.parametrize("make", [lambda path: path.touch(), lambda path: (path / "sub").mkdir(parents=True)])
def test_nothing_but_a_checkpoint_is_replaced_by_one(tmp_path, make):
    make(tmp_path / "mine")
    checkpoint = Checkpoint(v=sx.Variable(1.0))
    checkpoint.write(tmp_path / "mine")
    with pytest.raises(errors.CheckpointError, match="what is there is no checkpoint, and would be lost"):
        checkpoint.sync()
    assert os.listdir(tmp_path) == ["mine"]
    assert (tmp_path / "mine").is_file() or (tmp_path / "mine" / "sub").is_dir()


def test_where_the_file_system_has_no_locks_checkpoints_are_written_all_the_same(tmp_path, monkeypatch):
    def no_locks(*arguments):
        raise OSError(errno.ENOSYS, "Function not implemented")

    monkeypatch.setattr("fcntl.flock", no_locks)
    path = manager_of(tmp_path).save()
    assert latest_checkpoint(tmp_path) == path


def test_what_is_replaced_while_it_is_restored_is_read_anew_whole(tmp_path, monkeypatch):
    path = checkpoint_of(1.0).write(tmp_path / "ckpt", WAIT)
    read, writes = _store.read_arrays, iter([2.0])

    def replaced_first(index, keys, parts):
        for value in writes:  # In the moment between the index and the arrays, as another process might.
            checkpoint_of(value).write(path, WAIT)
        return read(index, keys, parts)

    monkeypatch.setattr(_store, "read_arrays", replaced_first)
    found = sx.Variable(0.0)
    Checkpoint(v=found).read(path)
    assert float(found) == 2.0


def test_json_alone_holds_what_is_not_an_array(tmp_path):
    checkpoint = Checkpoint(iterator=iter(Dataset.range(3)))
    path = checkpoint.write(tmp_path / "ckpt", CheckpointOptions(enable_async=False))
    index = json.loads((tmp_path / "ckpt" / "index.json").read_text())
    assert list(index["inputs"]) == ["iterator"]
    assert path == str(tmp_path / "ckpt")


ARRAYS = {
    "a": np.arange(6, dtype="float32").reshape(2, 3),
    "half": np.ones(2, ml_dtypes.bfloat16),
    "none": np.zeros((0, 3), "int32"),
}
CONTENTS = _store.Contents(
    arrays=ARRAYS,
    names={"a": "dense/kernel"},
    aliases={"also/a": "a"},
    inputs={"iterator": [{"position": 3}]},
    random=[{"python": 1}],
)
EMPTY = _store.Contents(arrays={}, names={}, aliases={}, inputs={}, random=None)


def test_what_was_written_is_read(tmp_path):
    _store.write(tmp_path / "new" / "ckpt", CONTENTS)
    index = _store.read_index(tmp_path / "new" / "ckpt")
    assert index.shapes == {"a": (2, 3), "half": (2,), "none": (0, 3)}
    assert index.dtypes == {"a": "float32", "half": "bfloat16", "none": "int32"}
    assert (index.names, index.aliases) == (CONTENTS.names, CONTENTS.aliases)
    assert (index.inputs, index.random) == (CONTENTS.inputs, CONTENTS.random)
    found = _store.read_arrays(index, ARRAYS)
    assert {key: array.dtype for key, array in found.items()} == {key: a.dtype for key, a in ARRAYS.items()}
    for key, array in ARRAYS.items():
        np.testing.assert_array_equal(found[key], array)
    assert list(_store.read_arrays(index, ["half"])) == ["half"]
    assert os.listdir(tmp_path / "new") == ["ckpt"]
    assert not (tmp_path / "new" / "ckpt" / "lock").exists()


def test_checkpoints_of_a_folder_are_numbered_in_the_order_in_which_they_were_written(tmp_path):
    for name in ("b", "a", "b"):
        _store.write(tmp_path / name, EMPTY)
    assert [_store.read_index(tmp_path / name).commit.sequence for name in ("a", "b")] == [2, 3]
    _store.remove(tmp_path / "a")
    _store.write(tmp_path / "c", EMPTY)
    assert _store.read_index(tmp_path / "c").commit.sequence == 4


def test_arrays_of_a_checkpoint_that_was_replaced_are_not_read_as_those_of_the_next(tmp_path):
    _store.write(tmp_path / "ckpt", CONTENTS)
    index = _store.read_index(tmp_path / "ckpt")
    _store.write(tmp_path / "ckpt", CONTENTS)
    with pytest.raises(
        _store.CheckpointReplacedError, match=r"replaced or removed after it was opened.*ckpt"
    ):
        _store.read_arrays(index, ["a"])
    _store.remove(tmp_path / "ckpt")
    with pytest.raises(_store.CheckpointReplacedError, match="max_to_keep"):
        _store.read_arrays(index, ["a"])


def test_where_another_program_is_faster_a_checkpoint_takes_the_place_of_that_one(tmp_path, monkeypatch):
    rename, faster = pathlib.Path.rename, iter([1])

    def renamed(path, target):
        if path.name.endswith(".writing") and next(faster, None):
            monkeypatch.setattr(pathlib.Path, "rename", rename)
            _store.write(target, EMPTY)
            raise OSError(errno.ENOTEMPTY, "Directory not empty")
        return rename(path, target)

    monkeypatch.setattr(pathlib.Path, "rename", renamed)
    _store.write(tmp_path / "ckpt", CONTENTS)
    assert list(_store.read_index(tmp_path / "ckpt").shapes) == list(ARRAYS)
    assert os.listdir(tmp_path) == ["ckpt"]


def test_a_checkpoint_that_can_not_be_put_in_its_place_leaves_the_one_before_there(tmp_path, monkeypatch):
    _store.write(tmp_path / "ckpt", EMPTY)
    rename = pathlib.Path.rename

    def renamed(path, target):
        if path.name.endswith(".writing"):
            raise OSError(errno.EIO, "Input/output error")
        return rename(path, target)

    with monkeypatch.context() as patch:
        patch.setattr(pathlib.Path, "rename", renamed)
        with pytest.raises(errors.CheckpointError, match=r"unchanged.*Input/output error"):
            _store.write(tmp_path / "ckpt", CONTENTS)
    assert os.listdir(tmp_path) == ["ckpt"]
    assert _store.read_index(tmp_path / "ckpt").shapes == {}


@pytest.mark.parametrize(
    ("name", "stays"),
    [
        (".run-7.0123abcd.writing", False),
        (".run.0123abcd.writing", False),
        (".run-7.0123abcd.removed", False),
        (".run-7.0123abc.writing", True),
        (".runs-7.0123abcd.writing", True),
        (".run-x.0123abcd.removed", True),
        (".run-7.0123abcd.replaced", True),
        ("run-7.0123abcd.writing", True),
    ],
)
def test_what_killed_processes_left_of_the_same_name_is_removed_and_nothing_else(tmp_path, name, stays):
    (tmp_path / name / "arrays").mkdir(parents=True)
    _store.remove_stale(tmp_path / "run-12")
    assert (tmp_path / name).exists() is stays


def test_what_another_write_holds_is_not_stale(tmp_path):
    with _store._make_hidden_folder(tmp_path / "run-1") as hidden:
        _store.remove_stale(tmp_path / "run-2")
        assert hidden.exists()
    with contextlib.suppress(KeyError), _store._make_hidden_folder(tmp_path / "run-1") as failed:
        raise KeyError
    assert not failed.exists()


def test_dtypes_have_names_that_numpy_does_not_know():
    assert _store.dtype_of("bfloat16") == ml_dtypes.bfloat16
    assert _store.dtype_of("float8_e4m3fn") == ml_dtypes.float8_e4m3fn
    assert _store.dtype_of("uint8") == np.uint8
