"""A checkpoint lies in files whole or not at all, and is checked when it is read."""

import contextlib
import errno
import json
import os
import threading

import pytest

import stratax as sx
from stratax import errors
from stratax.checkpoint import _store
from stratax.data import Dataset
from stratax.train import Checkpoint, CheckpointManager, CheckpointOptions, latest_checkpoint, load_checkpoint

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
    with pytest.raises(errors.FileMissingError, match="not a checkpoint, or not a whole one"):
        manager.checkpoint.restore(tmp_path / "ckpt-9")
    with pytest.raises(errors.FileMissingError, match="there is nothing"):
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


def test_a_reader_says_so_when_its_checkpoint_was_replaced(tmp_path):
    path = checkpoint_of(1.0).write(tmp_path / "ckpt")
    reader = load_checkpoint(path)
    checkpoint_of(2.0).write(path)
    with pytest.raises(errors.FileMissingError, match="replaced or removed after it was opened"):
        reader.get_tensor("v")


def test_what_is_replaced_while_it_is_restored_is_read_anew_whole(tmp_path, monkeypatch):
    path = checkpoint_of(1.0).write(tmp_path / "ckpt", WAIT)
    read, writes = _store.read_arrays, iter([2.0])

    def replaced_first(index, keys):
        for value in writes:  # In the moment between the index and the arrays, as another process might.
            checkpoint_of(value).write(path, WAIT)
        return read(index, keys)

    monkeypatch.setattr(_store, "read_arrays", replaced_first)
    found = sx.Variable(0.0)
    Checkpoint(v=found).read(path)
    assert float(found) == 2.0


def test_threads_that_write_one_path_leave_a_whole_checkpoint(tmp_path):
    def write(value):
        with contextlib.suppress(errors.FileMissingError):
            load_checkpoint(tmp_path)
        checkpoint_of(value).write(tmp_path / "ckpt", WAIT)

    threads = [threading.Thread(target=write, args=(float(value),)) for value in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert load_checkpoint(tmp_path / "ckpt").get_tensor("v") in range(6)
    assert os.listdir(tmp_path) == ["ckpt"]


def test_json_alone_holds_what_is_not_an_array(tmp_path):
    checkpoint = Checkpoint(iterator=iter(Dataset.range(3)))
    path = checkpoint.write(tmp_path / "ckpt", CheckpointOptions(enable_async=False))
    index = json.loads((tmp_path / "ckpt" / "index.json").read_text())
    assert list(index["inputs"]) == ["iterator"]
    assert path == str(tmp_path / "ckpt")
