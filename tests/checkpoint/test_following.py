"""A program that evaluates sees the checkpoints of the one that trains."""

import threading
import time

import pytest

import stratax as sx
from stratax import errors
from stratax.checkpoint import _following
from stratax.train import Checkpoint, CheckpointManager, CheckpointOptions, checkpoints_iterator

LONG = 60.0


def test_every_new_checkpoint_is_given_once_and_one_that_replaces_another_too(tmp_path, monkeypatch):
    monkeypatch.setattr(_following, "_POLL_SECONDS", 0.01)
    checkpoint = Checkpoint(step=sx.Variable(1))
    paths = checkpoints_iterator(tmp_path / "later", timeout=LONG)
    written = checkpoint.write(tmp_path / "later" / "best")
    assert next(paths) == written
    timer = threading.Timer(0.2, checkpoint.write, (written,))
    timer.start()
    assert next(paths) == written
    timer.join()
    numbered = [checkpoint.save(tmp_path / "later" / "ckpt") for _ in range(3)]
    assert next(paths) == numbered[-1]


def test_when_the_time_is_over_the_iterator_ends_or_asks(tmp_path, monkeypatch):
    monkeypatch.setattr(_following, "_POLL_SECONDS", 0.01)
    assert list(checkpoints_iterator(tmp_path, timeout=0)) == []
    manager = CheckpointManager(Checkpoint(step=sx.Variable(1)), tmp_path, 2)
    asked = []

    def ask():
        asked.append(manager.save(options=CheckpointOptions(enable_async=False)) if len(asked) < 2 else None)
        return len(asked) == 3

    found = list(checkpoints_iterator(tmp_path, timeout=0.01, timeout_fn=ask))
    assert found == asked[:2]
    assert len(asked) == 3


def test_there_is_time_between_two_of_them(tmp_path, monkeypatch):
    monkeypatch.setattr(_following, "_POLL_SECONDS", 0.01)
    checkpoint = Checkpoint(step=sx.Variable(1))
    checkpoint.save(tmp_path / "ckpt")
    paths = checkpoints_iterator(tmp_path, min_interval_secs=0.5, timeout=LONG)
    next(paths)
    began = time.monotonic()
    checkpoint.save(tmp_path / "ckpt", CheckpointOptions(enable_async=False))
    next(paths)
    assert time.monotonic() - began > 0.3


def test_mistakes_are_refused_at_once(tmp_path):
    with pytest.raises(errors.BadArgumentError, match="timeout is a number of seconds"):
        checkpoints_iterator(tmp_path, timeout=-1)
    with pytest.raises(errors.BadTypeError, match="path is a string or a path"):
        checkpoints_iterator(3)
