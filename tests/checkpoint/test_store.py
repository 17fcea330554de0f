"""A checkpoint lies in files whole or not at all, and is checked when it is read."""

import contextlib
import errno
import json
import os
import pathlib
import threading

import crc32c
import ml_dtypes
import numpy as np
import pytest

import stratax as sx
from stratax import errors
from stratax.checkpoint import _commit, _store
from stratax.data import Dataset
from stratax.io import sealed
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


def test_a_moment_without_a_checkpoint_is_waited_over_when_the_next_one_is_put_there(tmp_path, monkeypatch):
    _store.write(tmp_path / "ckpt", EMPTY)
    located, misses = _store._commit.located, iter([1, 2])

    def missing(folder):
        if next(misses, None) is not None:
            raise errors.FileMissingError("no file or folder has this path")
        return located(folder)

    monkeypatch.setattr(_store._commit, "located", missing)
    assert _store.read_index(tmp_path / "ckpt").shapes == {}
    misses = iter([1, 2, 3])
    with pytest.raises(errors.FileMissingError, match="no file or folder has this path"):
        _store.read_index(tmp_path / "ckpt")


def test_what_fails_while_it_is_written_leaves_the_one_before_and_nothing_else(tmp_path, monkeypatch):
    _store.write(tmp_path / "ckpt", EMPTY)
    before = _store.read_index(tmp_path / "ckpt").commit

    def no_room(*arguments, **options):
        raise OSError(errno.ENOSPC, "No space left\nand more that nobody reads")

    monkeypatch.setattr(_store._commit, "seal", no_room)
    with pytest.raises(errors.CheckpointError, match=r"could not be written.*No space left\. Make room"):
        _store.write(tmp_path / "ckpt", EMPTY)
    assert _store.read_index(tmp_path / "ckpt").commit == before
    assert os.listdir(tmp_path) == ["ckpt"]


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
    with _store._hidden_folder(tmp_path / "run-1") as hidden:
        _store.remove_stale(tmp_path / "run-2")
        assert hidden.exists()
    with contextlib.suppress(KeyError), _store._hidden_folder(tmp_path / "run-1") as failed:
        raise KeyError
    assert not failed.exists()


def test_dtypes_have_names_that_numpy_does_not_know():
    assert _store.dtype_of("bfloat16") == ml_dtypes.bfloat16
    assert _store.dtype_of("float8_e4m3fn") == ml_dtypes.float8_e4m3fn
    assert _store.dtype_of("uint8") == np.uint8


def test_an_interruption_leaves_nothing(tmp_path, monkeypatch):
    def interrupted(*arguments, **others):
        raise KeyboardInterrupt

    monkeypatch.setattr(_store._commit, "seal", interrupted)
    contents = _store.Contents(arrays={"a": np.ones(3)}, names={}, aliases={}, inputs={}, random=None)
    with pytest.raises(KeyboardInterrupt):
        _store.write(tmp_path / "ckpt", contents)
    assert list(tmp_path.iterdir()) == []


def saved_twice(folder):
    checkpoint = Checkpoint(v=sx.Variable(np.zeros(1000, "float32")))
    for number in (1, 2):
        checkpoint.v.assign(np.random.default_rng(number).random(1000))
        checkpoint.save(folder / "ckpt", options=WAIT)
    return checkpoint


def test_files_of_another_checkpoint_are_noticed_and_the_one_before_is_taken(tmp_path):
    checkpoint = saved_twice(tmp_path)
    # Both end in their own CRC32C, so that those of the whole files are equal, too.
    mine, theirs = (tmp_path / f"ckpt-{number}" / "arrays" / "manifest.ocdbt" for number in (2, 1))
    assert mine.stat().st_size == theirs.stat().st_size
    assert mine.read_bytes() != theirs.read_bytes()
    assert crc32c.crc32c(mine.read_bytes()) == crc32c.crc32c(theirs.read_bytes())
    mine.write_bytes(theirs.read_bytes())
    with pytest.raises(errors.DataLossError, match="its checksum is wrong"):
        checkpoint.restore(tmp_path / "ckpt-2")
    assert latest_checkpoint(tmp_path) == str(tmp_path / "ckpt-1")
    checkpoint.restore(latest_checkpoint(tmp_path))
    np.testing.assert_array_equal(checkpoint.v, np.random.default_rng(1).random(1000).astype("float32"))


def test_a_checkpoint_with_checksums_of_the_first_format_is_read(tmp_path):
    checkpoint = checkpoint_of(3.0)
    path = pathlib.Path(checkpoint.save(tmp_path / "ckpt", options=WAIT))
    commit = json.loads((path / "commit.json").read_bytes())
    for name, file in commit["files"].items():
        del file["sha256"]
        file["crc32c"] = crc32c.crc32c((path / name).read_bytes())
    del commit["crc32c"]
    (path / "commit.json").write_bytes(sealed({**commit, "format": 1}))
    checkpoint.v.assign(0.0)
    checkpoint.restore(latest_checkpoint(tmp_path))
    assert float(checkpoint.v) == 3.0
    (path / "index.json").write_bytes((path / "index.json").read_bytes().replace(b"float32", b"float16"))
    with pytest.raises(errors.DataLossError, match="of the file 'index.json', its checksum is wrong"):
        checkpoint.restore(path)


def test_what_was_looked_at_is_read_again_only_if_it_changed(tmp_path, monkeypatch):
    path = pathlib.Path(checkpoint_of(3.0).save(tmp_path / "ckpt", options=WAIT))
    hashed = []
    of_file = _commit._CHECKSUMS["sha256"]
    monkeypatch.setitem(_commit._CHECKSUMS, "sha256", lambda file: hashed.append(file.name) or of_file(file))
    assert latest_checkpoint(tmp_path) == str(path)
    assert "index.json" in hashed
    hashed.clear()
    assert latest_checkpoint(tmp_path) == str(path)
    checkpoint_of(0.0).restore(path)
    assert not hashed
    os.utime(path / "index.json")
    assert latest_checkpoint(tmp_path) == str(path)
    assert "index.json" in hashed
