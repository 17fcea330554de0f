"""The last checkpoints of a folder are kept, complete ones only."""

import logging
import os
import pathlib

import numpy as np
import pytest

import stratax as sx
from stratax import errors
from stratax.checkpoint import Checkpoint, CheckpointManager, _store, latest_checkpoint


def manager_of(folder, max_to_keep=3, **options):
    return CheckpointManager(Checkpoint(v=sx.Variable(0.0)), folder, max_to_keep, **options)


def names(paths):
    return [pathlib.Path(path).name for path in paths]


def damage(path, how):
    (file,) = [file for file in pathlib.Path(path).rglob("*") if file.name == "index.json"]
    content = file.read_bytes()
    if how == "cut off":
        file.write_bytes(content[:-1])
    elif how == "removed":
        file.unlink()
    else:
        file.write_bytes(bytes([content[0] ^ 1]) + content[1:])


def test_the_last_few_are_kept_also_those_of_an_earlier_run(tmp_path):
    first = manager_of(tmp_path, 2)
    for _ in range(3):
        first.save()
    assert names(first.checkpoints) == ["ckpt-2", "ckpt-3"]
    again = manager_of(tmp_path, 2)
    assert again.restore_or_initialize() == first.latest_checkpoint == str(tmp_path / "ckpt-3")
    again.save()
    assert names(again.checkpoints) == ["ckpt-3", "ckpt-4"]
    assert again.latest_checkpoint == latest_checkpoint(tmp_path) == str(tmp_path / "ckpt-4")
    assert sorted(os.listdir(tmp_path)) == ["ckpt-3", "ckpt-4"]


def test_all_are_kept_without_a_limit(tmp_path):
    manager = manager_of(tmp_path, None)
    for _ in range(4):
        manager.save()
    assert len(manager.checkpoints) == 4


def test_the_last_is_the_one_written_last_whatever_its_number(tmp_path):
    manager = manager_of(tmp_path)
    for number in (200, sx.Variable(150)):
        manager.save(number)
    assert names(manager.checkpoints) == ["ckpt-200", "ckpt-150"]
    assert latest_checkpoint(tmp_path) == str(tmp_path / "ckpt-150")


def test_one_of_so_many_hours_is_kept_for_good(tmp_path, monkeypatch):
    now = [1000.0]
    monkeypatch.setattr(_store.time, "time", lambda: now[0])
    manager = manager_of(tmp_path, 1, keep_checkpoint_every_n_hours=1)
    for _ in range(5):
        manager.save()
        manager.sync()
        now[0] += 1900.0
    manager_of(tmp_path, 1, keep_checkpoint_every_n_hours=1).restore_or_initialize()
    assert sorted(names(tmp_path.glob("ckpt-*"))) == ["ckpt-3", "ckpt-5"]
    assert names(manager.checkpoints) == ["ckpt-5"]


def test_an_interval_of_steps(tmp_path):
    step = sx.Variable(0)
    manager = manager_of(tmp_path, step_counter=step, checkpoint_interval=3)
    saved = []
    for _ in range(8):
        saved.append(manager.save(step) is not None)
        step.assign_add(1)
    assert saved == [True, False, False, True, False, False, True, False]
    assert manager.checkpoint_interval == 3
    assert manager.save(step, check_interval=False) is not None


def test_without_a_checkpoint_the_program_is_initialised(tmp_path):
    called = []
    assert manager_of(tmp_path / "none", init_fn=lambda: called.append(1)).restore_or_initialize() is None
    assert called == [1]
    assert latest_checkpoint(tmp_path / "none") is None


@pytest.mark.parametrize("how", ["cut off", "removed", "changed"])
def test_a_damaged_checkpoint_is_passed_over_with_a_warning(tmp_path, how, caplog):
    manager = manager_of(tmp_path)
    for value in (1.0, 2.0):
        manager.checkpoint.v.assign(value)
        manager.save()
    manager.sync()
    damage(tmp_path / "ckpt-2", how)
    with pytest.raises(
        errors.DataLossError, match=r"checkpoint is damaged: of the file 'index.json'"
    ) as caught:
        manager.checkpoint.restore(tmp_path / "ckpt-2")
    assert caught.value.filename == str(tmp_path / "ckpt-2" / "index.json")
    assert float(manager.checkpoint.v) == 2.0
    with caplog.at_level(logging.WARNING, logger="stratax"):
        assert manager.restore_or_initialize() == str(tmp_path / "ckpt-1")
    assert float(manager.checkpoint.v) == 1.0
    assert "damaged" in caplog.text
    if how != "changed":
        assert latest_checkpoint(tmp_path) == str(tmp_path / "ckpt-1")


def test_a_damaged_commit_file_is_noticed(tmp_path):
    path = manager_of(tmp_path).save()
    assert latest_checkpoint(tmp_path) == path
    commit = pathlib.Path(path) / "commit.json"
    commit.write_text(commit.read_text().replace('"size": ', '"size": 1'))
    with pytest.raises(errors.DataLossError, match="'commit.json', it is not what was written"):
        Checkpoint().restore(path)
    assert latest_checkpoint(tmp_path) is None


def test_what_a_killed_process_left_is_neither_listed_nor_kept(tmp_path):
    left = tmp_path / ".ckpt-7.0123abcd.writing"
    left.mkdir()
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


def test_mistakes_are_refused(tmp_path):
    with pytest.raises(errors.BadTypeError, match=r"must be a stratax.train.Checkpoint"):
        CheckpointManager(3, tmp_path, 1)
    for options in ({"max_to_keep": 0}, {"keep_checkpoint_every_n_hours": -1}, {"checkpoint_interval": 0}):
        with pytest.raises(errors.BadArgumentError, match="must be positive"):
            manager_of(tmp_path, **options)
    with pytest.raises(errors.BadArgumentError, match="step_counter as well"):
        manager_of(tmp_path, checkpoint_interval=3)


def test_a_checkpoint_is_read_as_arrays(tmp_path):
    values = np.arange(6, dtype="float32").reshape(2, 3)
    checkpoint = Checkpoint(v=sx.Variable(values), half=sx.Variable(np.ones(2), dtype="bfloat16"))
    path = checkpoint.save(tmp_path / "ckpt")
    assert sx.train.list_variables(tmp_path) == [("half", [2]), ("save_counter", []), ("v", [2, 3])]
    reader = sx.train.load_checkpoint(path)
    np.testing.assert_array_equal(reader.get_tensor("v"), values)
    assert reader.get_variable_to_dtype_map()["half"] == reader.get_tensor("half").dtype
    assert reader.has_tensor("v")
    assert not reader.has_tensor("w")
    assert sx.train.checkpoint_exists(path)
    assert not sx.train.checkpoint_exists(tmp_path)
    assert sx.train.load_variable(path, "save_counter") == 1
    with pytest.raises(errors.BadArgumentError, match=r"no such variable.*Received: name='w'"):
        reader.get_tensor("w")
    with pytest.raises(errors.FileMissingError, match="no checkpoint to read"):
        sx.train.load_checkpoint(tmp_path / "none")
