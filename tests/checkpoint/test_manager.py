"""The last checkpoints of a folder are kept, complete ones only."""

import logging
import os
import pathlib
import shutil

import pytest

import stratax as sx
from stratax import errors
from stratax.checkpoint import _commit, _store
from stratax.train import Checkpoint, CheckpointManager, latest_checkpoint


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


def test_one_of_so_many_hours_is_kept_for_good(tmp_path, monkeypatch):
    now = [1000.0]
    monkeypatch.setattr(_commit.time, "time", lambda: now[0])
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
    assert latest_checkpoint(tmp_path) == str(tmp_path / "ckpt-1")
    assert manager.latest_checkpoint == str(tmp_path / "ckpt-1")
    assert next(sx.train.checkpoints_iterator(tmp_path, timeout=0)) == str(tmp_path / "ckpt-1")
    assert float(sx.train.load_checkpoint(tmp_path).get_tensor("v")) == 1.0


def test_what_another_program_removes_meanwhile_is_passed_over_in_silence(tmp_path, monkeypatch, caplog):
    manager = manager_of(tmp_path)
    for _ in range(2):
        manager.save()
    assert len(manager.checkpoints) == 2
    located = _commit.locate_files

    def located_and_gone(folder):
        if folder.name == "ckpt-1":
            shutil.rmtree(folder)
            return folder
        return located(folder)

    monkeypatch.setattr(_commit, "locate_files", located_and_gone)
    assert names(manager.checkpoints) == ["ckpt-2"]
    assert not caplog.records


def test_a_number_that_is_given_is_counted_as_well(tmp_path):
    manager = manager_of(tmp_path)
    assert names([manager.save(checkpoint_number=50), manager.save()]) == ["ckpt-50", "ckpt-2"]
    assert int(manager.checkpoint.save_counter) == 2
    with pytest.raises(errors.BadTypeError, match="checkpoint_number must be an int"):
        manager.save(checkpoint_number="x")


def test_a_name_may_lead_into_a_folder_below(tmp_path):
    manager = manager_of(tmp_path, 1, checkpoint_name="run/model")
    for _ in range(2):
        manager.save()
    assert manager.checkpoints == [str(tmp_path / "run" / "model-2")]


def test_a_program_that_is_started_again_and_again_counts_the_hours_on(tmp_path, monkeypatch):
    now = [1000.0]
    monkeypatch.setattr(_commit.time, "time", lambda: now[0])
    for _ in range(4):
        manager = manager_of(tmp_path, 1, keep_checkpoint_every_n_hours=1)
        manager.restore_or_initialize()
        for _ in range(2):
            manager.save()
            manager.sync()
            now[0] += 1000.0
    assert sorted(names(tmp_path.glob("ckpt-*"))) == ["ckpt-5", "ckpt-8"]


def test_old_checkpoints_that_can_not_be_removed_are_reported(tmp_path, monkeypatch):
    manager = manager_of(tmp_path, 1)
    manager.save()

    def refuse(path):
        raise PermissionError("no")

    monkeypatch.setattr(_store, "remove", refuse)
    manager.save()
    with pytest.raises(errors.CheckpointError, match="was saved, but older ones could not be removed"):
        manager.sync()
    assert len(manager.checkpoints) == 2


def test_a_checkpoint_of_tensorflows_is_said_to_be_one(tmp_path):
    (tmp_path / "ckpt-1.index").touch()
    with pytest.raises(errors.FileMissingError, match="one of TensorFlow's, which can't be read"):
        Checkpoint().restore(tmp_path / "ckpt-1")


def test_mistakes_are_refused(tmp_path):
    with pytest.raises(errors.BadTypeError, match=r"must be a stratax.train.Checkpoint"):
        CheckpointManager(3, tmp_path, 1)
    for options in (
        {"max_to_keep": 0},
        {"max_to_keep": "3"},
        {"keep_checkpoint_every_n_hours": -1},
        {"checkpoint_interval": 0},
    ):
        with pytest.raises(errors.BadArgumentError, match="must be a positive number"):
            manager_of(tmp_path, **options)
    with pytest.raises(errors.BadArgumentError, match="step_counter as well"):
        manager_of(tmp_path, checkpoint_interval=3)
