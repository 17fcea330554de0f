"""A checkpoint takes its place whole, or not at all."""

import errno
import os

import numpy as np
import pytest

import stratax.tf as tf
from stratax import errors
from stratax.checkpoint import _store

EMPTY = _store.Contents(arrays={}, names={}, aliases={}, inputs={}, random=None)


def test_a_moment_without_a_checkpoint_is_waited_over_when_the_next_one_is_put_there(tmp_path, monkeypatch):
    _store.write(tmp_path / "ckpt", EMPTY)
    located, misses = _store._commit.locate_files, iter([1, 2])

    def missing(folder):
        if next(misses, None) is not None:
            raise errors.FileMissingError("no file or folder has this path")
        return located(folder)

    monkeypatch.setattr(_store._commit, "locate_files", missing)
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


def test_an_interruption_leaves_nothing(tmp_path, monkeypatch):
    def interrupted(*arguments, **others):
        raise KeyboardInterrupt

    monkeypatch.setattr(_store._commit, "seal", interrupted)
    contents = _store.Contents(arrays={"a": np.ones(3)}, names={}, aliases={}, inputs={}, random=None)
    with pytest.raises(KeyboardInterrupt):
        _store.write(tmp_path / "ckpt", contents)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("path", "beside", "message"),
    [
        ("ckpt", ["ckpt-1", "ckpt-2", "ckpt.txt"], "Its number is missing: there is 'ckpt-2'"),
        (
            "ckpt-1",
            ["ckpt-1.data-00000-of-00001"],
            "of TensorFlow's files of this name ckpt-1.index is missing",
        ),
        ("ckpt-1", ["ckpt-1.index"], "`stratax convert checkpoint` makes one of Stratax"),
        ("nowhere/ckpt-1", [], "no file or folder has this path, and .*nowhere' can't be read"),
    ],
)
def test_what_is_wrong_with_a_path_is_named(tmp_path, path, beside, message):
    for name in beside:
        (tmp_path / name).touch()
    # What TensorFlow raises where a checkpoint is not there: in most places NotFoundError, in some ValueError.
    for kind in (tf.errors.NotFoundError, ValueError):
        with pytest.raises(kind, match=message) as raised:
            tf.train.Checkpoint(v=tf.Variable(1.0)).restore(tmp_path / path)
    assert raised.value.filename == str(tmp_path / path)


def test_a_key_that_is_not_there(tmp_path):
    checkpoint = tf.train.Checkpoint(v=tf.Variable(1.0))
    path = checkpoint.save(tmp_path / "ckpt")
    with pytest.raises(
        tf.errors.NotFoundError, match=r"has no such variable.*\['save_counter', 'v'\].*'other'"
    ):
        tf.train.load_variable(path, "other")
