"""Functions that say on which devices they run."""

import pytest

import stratax.tf as tf


@pytest.fixture(autouse=True)
def logged():
    tf.debugging.set_log_device_placement(True)
    yield
    tf.debugging.set_log_device_placement(False)


def test_a_function_says_where_it_runs_when_it_is_compiled(capsys):
    assert tf.debugging.get_log_device_placement()

    @tf.function
    def double(x):
        return x * 2

    double(tf.constant(1.0))
    double(tf.constant(2.0))
    assert capsys.readouterr().err == "Executing function double on cpu:0\n"
    with tf.device("/cpu:3"):
        double(tf.ones([2]))
    assert capsys.readouterr().err == "Executing function double on cpu:3\n"
    tf.debugging.set_log_device_placement(False)
    double(tf.ones([3]))
    assert capsys.readouterr().err == ""


def test_replicas_are_said_with_all_their_devices(capsys):
    strategy = tf.distribute.MirroredStrategy(["/cpu:1", "/cpu:2"])
    strategy.run(lambda: tf.constant(1.0))
    assert capsys.readouterr().err.endswith(" on cpu:1, cpu:2\n")


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
