"""`CheckpointOptions` has TensorFlow's attributes, which may be set, and refuses others."""

import threading

import keras
import numpy as np
import pytest

import stratax as sx
from stratax import errors
from stratax.train import Checkpoint, CheckpointOptions, load_checkpoint


def test_an_option_that_is_set_later_counts(tmp_path):
    options = CheckpointOptions()
    assert options.enable_async
    options.enable_async = False
    Checkpoint(v=sx.Variable(1.0)).write(tmp_path / "ckpt", options)
    assert (tmp_path / "ckpt" / "commit.json").exists()


def test_all_of_tensorflows_are_there_in_its_order():
    options = CheckpointOptions("/job:localhost", True, [lambda: None], False, True, None)
    assert options.experimental_io_device == "/job:localhost"
    assert options.enable_async is options.experimental_enable_async_checkpoint is True
    options.experimental_enable_async_checkpoint = False
    assert options.enable_async is False
    assert repr(options).startswith(
        "CheckpointOptions(enable_async=False, experimental_io_device='/job:localhost'"
    )
    assert options != CheckpointOptions()


def test_a_name_that_is_none_is_refused_with_the_one_that_was_meant():
    with pytest.raises(errors.OptionError, match="no option 'enable_asyn'. Did you mean 'enable_async'"):
        CheckpointOptions().enable_asyn = False
    with pytest.raises(AttributeError, match="Expected one of: enable_async, expect_partial"):
        CheckpointOptions().zzz = 1
    with pytest.raises(errors.BadTypeError, match="Did you mean 'timeout_seconds'"):
        CheckpointOptions(timeout_second=3)


def test_values_that_can_not_be_are_refused():
    options = CheckpointOptions()
    with pytest.raises(
        errors.BadTypeError, match="enable_async must be True or False. Received: enable_async=3"
    ):
        options.enable_async = 3
    with pytest.raises(errors.BadArgumentError, match="timeout_seconds must be positive"):
        options.timeout_seconds = -1.0
    with pytest.raises(errors.BadArgumentError, match="can't be chosen. Leave the option out"):
        options.experimental_sharding_callback = print
    for wrong in (3, lambda path, more: None):
        with pytest.raises(errors.BadArgumentError, match="must be a function of the path, or of nothing"):
            options.experimental_write_callbacks = [wrong]


def test_callbacks_are_called_in_order_when_the_checkpoint_is_whole(tmp_path):
    called = []
    options = CheckpointOptions(
        experimental_write_callbacks=[
            lambda path: called.append((path, float(load_checkpoint(path).get_tensor("v")))),
            lambda: called.append(threading.current_thread() is threading.main_thread()),
        ]
    )
    checkpoint = Checkpoint(v=sx.Variable(1.0))
    path = checkpoint.save(tmp_path / "ckpt", options)
    checkpoint.sync()
    assert called == [(path, 1.0), False]


def test_a_callback_that_saves_or_fails_is_reported_by_the_next_call(tmp_path):
    checkpoint, other = Checkpoint(v=sx.Variable(1.0)), Checkpoint(v=sx.Variable(2.0))
    for callback in (lambda: other.write(tmp_path / "other"), checkpoint.sync):
        path = checkpoint.write(tmp_path / "ckpt", CheckpointOptions(experimental_write_callbacks=[callback]))
        with pytest.raises(errors.CheckpointError, match="can't be saved, or waited for, by what runs while"):
            checkpoint.sync()
    checkpoint.write(path, CheckpointOptions(experimental_write_callbacks=[lambda: {}["mistake"]]))
    with pytest.raises(KeyError, match="mistake"):
        checkpoint.sync()
    assert load_checkpoint(path).get_tensor("v") == 1.0


def test_slots_may_be_left_as_they_are(tmp_path):
    def trained(steps):
        weights, optimizer = sx.Variable(np.zeros(2, "float32")), keras.optimizers.SGD(0.5, momentum=0.5)
        for _ in range(steps):
            optimizer.apply([np.ones(2, "float32")], [weights])
        return weights, optimizer

    weights, optimizer = trained(2)
    path = Checkpoint(w=weights, o=optimizer).write(tmp_path / "ckpt")
    fresh, other = trained(1)
    options = CheckpointOptions(experimental_skip_slot_variables=True)
    Checkpoint(w=fresh, o=other).restore(path, options).assert_consumed()
    np.testing.assert_array_equal(fresh, weights)
    assert int(other.iterations) == 2
    np.testing.assert_array_equal(other.momentums[0], np.full(2, -0.5))
    Checkpoint(w=fresh, o=other).restore(path).assert_consumed()
    np.testing.assert_array_equal(other.momentums[0], optimizer.momentums[0])
