"""What a folder of checkpoints holds: names, order, what is damaged, cut off or not to be read."""

import errno
import json
import os
import pathlib

import crc32c
import numpy as np
import pytest

import stratax as sx
from stratax import errors
from stratax.checkpoint import _commit, _folder
from stratax.io import seal_text
from stratax.train import Checkpoint, CheckpointManager, CheckpointOptions, latest_checkpoint


def manager_of(folder, max_to_keep=3, **options):
    return CheckpointManager(Checkpoint(v=sx.Variable(0.0)), folder, max_to_keep, **options)


def names(paths):
    return [pathlib.Path(path).name for path in paths]


def test_the_last_is_the_one_written_last_whatever_its_number(tmp_path):
    manager = manager_of(tmp_path)
    for number in (200, sx.Variable(150)):
        manager.save(number)
    assert names(manager.checkpoints) == ["ckpt-200", "ckpt-150"]
    state = sx.train.get_checkpoint_state(tmp_path)
    assert state.model_checkpoint_path == str(tmp_path / "ckpt-150")
    assert names(state.all_model_checkpoint_paths) == ["ckpt-200", "ckpt-150"]
    assert sx.train.get_checkpoint_state(tmp_path / "none") is None
    assert latest_checkpoint(tmp_path) == str(tmp_path / "ckpt-150")


def test_a_damaged_commit_file_is_noticed(tmp_path):
    path = manager_of(tmp_path).save()
    assert latest_checkpoint(tmp_path) == path
    commit = pathlib.Path(path) / "commit.json"
    commit.write_text(commit.read_text().replace('"size": ', '"size": 1'))
    with pytest.raises(errors.DataLossError, match="'commit.json', it is not what was written"):
        Checkpoint().restore(path)
    assert latest_checkpoint(tmp_path) is None


def test_a_replacement_that_was_cut_off_is_listed_too(tmp_path):
    path = manager_of(tmp_path).checkpoint.write(tmp_path / "best")
    assert latest_checkpoint(tmp_path) == path
    os.rename(path, tmp_path / ".best.replaced")  # Where it is for a moment, in which the program was killed.
    assert latest_checkpoint(tmp_path) == path
    assert sx.train.load_checkpoint(tmp_path).has_tensor("v")
    assert sx.train.checkpoint_exists(path)


@pytest.mark.parametrize(
    ("kind", "raised", "match"),
    [
        (PermissionError(), errors.FileAccessError, "may not be read"),
        (OSError(errno.EIO, "Input/output error"), errors.DataLossError, "the disk says: Input/output error"),
    ],
)
def test_files_that_can_not_be_read_are_errors_of_the_family(
    tmp_path, monkeypatch, caplog, kind, raised, match
):
    path = manager_of(tmp_path).save()
    assert latest_checkpoint(tmp_path) == path

    def refuse(*arguments, **options):
        raise kind

    monkeypatch.setattr(pathlib.Path, "read_bytes", refuse)
    with pytest.raises(raised, match=match):
        Checkpoint().restore(path)
    assert latest_checkpoint(tmp_path) is None
    assert "It is passed over" in caplog.text


def test_a_folder_that_may_not_be_read_is_not_taken_for_an_empty_one(tmp_path, monkeypatch):
    def refuse(*arguments):
        raise PermissionError

    monkeypatch.setattr(_folder.os, "listdir", refuse)
    with pytest.raises(errors.FileAccessError, match="folder of checkpoints may not be read"):
        latest_checkpoint(tmp_path)


@pytest.mark.parametrize(
    "use",
    [
        latest_checkpoint,
        sx.train.checkpoint_exists,
        sx.train.load_checkpoint,
        lambda path: Checkpoint().restore(path),
        lambda path: Checkpoint().save(path),
        lambda path: Checkpoint().write(path),
        lambda path: CheckpointManager(Checkpoint(), path, 1),
    ],
)
def test_what_is_no_path_here_is_refused_by_every_door(tmp_path, monkeypatch, use):
    monkeypatch.chdir(tmp_path)
    for path in (3, b"bytes", ""):
        with pytest.raises(errors.BadTypeError, match="path is a string or a path"):
            use(path)
    with pytest.raises(errors.BadArgumentError, match="Received: 'gs://bucket/run'. Mount it"):
        use("gs://bucket/run")
    assert os.listdir(tmp_path) == []


def test_paths_are_relative_to_where_the_program_is_and_may_have_spaces(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    checkpoint = Checkpoint(v=sx.Variable(2.0))
    path = checkpoint.save("my runs/the best")
    assert latest_checkpoint("my runs") == path == "my runs/the best-1"
    monkeypatch.chdir("/")
    checkpoint.sync()
    assert checkpoint.restore(tmp_path / path).assert_consumed() is not None


WAIT = CheckpointOptions(enable_async=False)


def checkpoint_of(value):
    return Checkpoint(v=sx.Variable(value))


def save_until_alike(folder):
    """Save until the last manifest is as long as one before; return the checkpoint, and the numbers of both."""
    checkpoint, sizes = Checkpoint(v=sx.Variable(np.zeros(1000, "float32"))), {}
    for number in range(1, 20):
        checkpoint.v.assign(np.random.default_rng(number).random(1000))
        path = pathlib.Path(checkpoint.save(folder / "ckpt", options=WAIT))
        size = (path / "arrays" / "manifest.ocdbt").stat().st_size
        if size in sizes:
            return checkpoint, number, sizes[size]
        sizes[size] = number
    raise AssertionError(f"No two of {sizes} are alike.")


def test_files_of_another_checkpoint_are_noticed_and_the_one_before_is_taken(tmp_path):
    checkpoint, last, other = save_until_alike(tmp_path)
    # Both end in their own CRC32C, so that those of the whole files are equal, too.
    mine, theirs = (tmp_path / f"ckpt-{number}" / "arrays" / "manifest.ocdbt" for number in (last, other))
    assert mine.read_bytes() != theirs.read_bytes()
    assert crc32c.crc32c(mine.read_bytes()) == crc32c.crc32c(theirs.read_bytes())
    mine.write_bytes(theirs.read_bytes())
    with pytest.raises(errors.DataLossError, match="its checksum is wrong"):
        checkpoint.restore(tmp_path / f"ckpt-{last}")
    assert latest_checkpoint(tmp_path) == str(tmp_path / f"ckpt-{last - 1}")
    checkpoint.restore(latest_checkpoint(tmp_path))
    before = np.random.default_rng(last - 1).random(1000).astype("float32")
    np.testing.assert_array_equal(checkpoint.v, before)


def test_a_checkpoint_with_checksums_of_the_first_format_is_read(tmp_path):
    checkpoint = checkpoint_of(3.0)
    path = pathlib.Path(checkpoint.save(tmp_path / "ckpt", options=WAIT))
    commit = json.loads((path / "commit.json").read_bytes())
    for name, file in commit["files"].items():
        del file["sha256"]
        file["crc32c"] = crc32c.crc32c((path / name).read_bytes())
    del commit["crc32c"]
    (path / "commit.json").write_bytes(seal_text({**commit, "format": 1}))
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
