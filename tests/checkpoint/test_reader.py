"""A checkpoint is read as arrays, by name."""

import contextlib
import os
import threading

import numpy as np
import pytest

import stratax as sx
from stratax import errors
from stratax.train import Checkpoint, CheckpointOptions, load_checkpoint


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
    assert reader.has_tensor("v/.ATTRIBUTES/VARIABLE_VALUE")
    assert not reader.has_tensor("w/.ATTRIBUTES/VARIABLE_VALUE")
    np.testing.assert_array_equal(reader.get_tensor("v/.ATTRIBUTES/VARIABLE_VALUE"), values)
    assert sx.train.checkpoint_exists(path)
    assert not sx.train.checkpoint_exists(tmp_path)
    assert sx.train.load_variable(path, "save_counter") == 1
    with pytest.raises(errors.BadArgumentError, match=r"no such variable.*Received: name='w'"):
        reader.get_tensor("w")
    with pytest.raises(errors.FileMissingError, match="no checkpoint to read"):
        sx.train.load_checkpoint(tmp_path / "none")


WAIT = CheckpointOptions(enable_async=False)


def checkpoint_of(value):
    return Checkpoint(v=sx.Variable(value))


def test_a_reader_says_so_when_its_checkpoint_was_replaced(tmp_path):
    path = checkpoint_of(1.0).write(tmp_path / "ckpt")
    reader = load_checkpoint(path)
    checkpoint_of(2.0).write(path)
    with pytest.raises(errors.FileMissingError, match="replaced or removed after it was opened"):
        reader.get_tensor("v")


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
