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
