"""What a writing of elements leaves in its folder: others remove it when its process has ended, and only then."""

import os
import pathlib

import pytest

from stratax.data import Dataset
from stratax.data.snapshots._run_folder import RunFolder
from tests.data.reference import as_lists


def folders(path):
    return {entry.name for entry in os.scandir(path) if entry.is_dir()}


def abandoned(path, run):
    """What is left of a process that was killed."""
    folder = pathlib.Path(path, run)
    folder.mkdir(parents=True)
    (folder / "shard-00000.tfrecord").write_bytes(b"half")


def test_what_an_ended_process_left_is_removed_by_the_next_one(tmp_path):
    held = RunFolder(str(tmp_path))
    host, _, _ = held.run.rsplit("-", 2)
    abandoned(tmp_path, f"{host}-1-{'0' * 32}")
    other = RunFolder(str(tmp_path))
    assert folders(tmp_path) == {held.run, other.run}


def test_what_may_be_somebody_elses_stays(tmp_path):
    strange = [f"other-host-1-{'0' * 32}", f"{os.uname().nodename}-x-1-{'0' * 32}", "1", "notes"]
    for name in strange:
        abandoned(tmp_path, name)
    held = RunFolder(str(tmp_path))
    assert folders(tmp_path) == {held.run, *strange}


def test_the_content_stays_and_what_was_released_without_being_it_goes(tmp_path):
    Dataset.range(3).save(tmp_path)
    first = RunFolder(str(tmp_path))
    first.release()
    first.release()
    second = RunFolder(str(tmp_path))
    assert first.run not in folders(tmp_path)
    assert second.run in folders(tmp_path)
    assert as_lists(Dataset.load(tmp_path)) == [0, 1, 2]


def test_nothing_is_removed_where_the_description_is_damaged(tmp_path):
    Dataset.range(3).save(tmp_path)
    before = folders(tmp_path)
    (tmp_path / "dataset_spec.json").write_text("{")
    held = RunFolder(str(tmp_path))
    assert folders(tmp_path) == {*before, held.run}


@pytest.mark.parametrize("error", [OSError("no locks here"), BlockingIOError])
def test_a_file_system_without_locks_will_do(tmp_path, monkeypatch, error):
    refused = []

    def refuse(*args):
        if not refused or error is not BlockingIOError:
            refused.append(args)
            raise error

    monkeypatch.setattr("fcntl.flock", refuse)
    held = RunFolder(str(tmp_path))
    assert held.run in folders(tmp_path)
    assert refused
