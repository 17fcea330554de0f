"""Frames of libraries are left out of tracebacks."""

import pytest

import stratax.tf as tf


@pytest.fixture(autouse=True)
def logged():
    tf.debugging.set_log_device_placement(True)
    yield
    tf.debugging.set_log_device_placement(False)


def test_frames_of_libraries_are_left_out_unless_that_is_switched_off():
    assert tf.debugging.is_traceback_filtering_enabled()
    tf.debugging.disable_traceback_filtering()
    try:
        assert not tf.debugging.is_traceback_filtering_enabled()
        with pytest.raises(ValueError, match="^mine$") as error:
            tf.function(_fail)(tf.constant(1.0))
        assert len(error.traceback) > 5
    finally:
        tf.debugging.enable_traceback_filtering()
    assert tf.debugging.is_traceback_filtering_enabled()


def _fail(x):
    raise ValueError("mine")
