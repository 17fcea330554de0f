"""`tf.contrib.summary`, as host calls use it."""

import jax.numpy as jnp
import numpy as np
import pytest

import stratax as sx
import stratax.tf as tf
from stratax.errors import BadArgumentError
from stratax.tensorflow import v1
from stratax.tensorflow.v1.train import summary_iterator

contrib = tf.contrib.summary


@pytest.fixture
def read(tmp_path):
    """Returns a function that gives the steps and values that were written."""

    def read():
        contrib.create_file_writer(str(tmp_path)).flush()
        (path,) = tmp_path.iterdir()
        return [
            (event.step, value.tag, value.simple_value)
            for event in summary_iterator(path)
            for value in event.summary.value
        ]

    yield read
    contrib.create_file_writer(str(tmp_path)).close()


def host_call(folder, global_step, loss, rate):
    """As programs for TPUEstimator write it."""
    step = global_step[0]
    with contrib.create_file_writer(str(folder), max_queue=2).as_default():
        with contrib.always_record_summaries():
            contrib.scalar("loss", loss[0], step=step)
            contrib.scalar("rate", rate[0], step=step, family="training")
        return contrib.all_summary_ops()


def test_a_host_call_writes_one_file_however_often_it_is_called(tmp_path, read):
    for step in range(3):
        assert host_call(tmp_path, np.array([step]), np.array([0.5]), np.array([2.0])) == []
    assert read() == [
        each for step in range(3) for each in ((step, "loss", 0.5), (step, "training/training/rate", 2.0))
    ]


def test_a_host_call_in_a_compiled_function_writes_at_run_time(tmp_path, read):
    compiled = sx.function(lambda step, loss: host_call(tmp_path, step, loss, loss))
    for step in range(3):
        compiled(np.array([step]), np.array([step + 0.5], np.float32))
    assert [each for each in read() if each[1] == "loss"] == [(step, "loss", step + 0.5) for step in range(3)]
    assert compiled.num_programs == 1


def test_nothing_is_recorded_unless_it_is_said(tmp_path, read):
    with contrib.create_file_writer(str(tmp_path)).as_default():
        assert contrib.scalar("a", 1.0, step=1) is False
        assert contrib.should_record_summaries() is False
        with contrib.never_record_summaries():
            assert contrib.scalar("a", 1.0, step=1) is False
    with contrib.always_record_summaries():
        assert contrib.scalar("a", 1.0, step=1) is False
    assert read() == []


def test_every_nth_step_is_recorded(tmp_path, read):
    step = sx.Variable(0, dtype="int32")

    @sx.function
    def train():
        for _ in sx.range(10):
            step.assign_add(1)
            contrib.scalar("a", step * 1.0, step=step)

    with (
        contrib.create_file_writer(str(tmp_path)).as_default(),
        contrib.record_summaries_every_n_global_steps(4, step),
    ):
        train()
        contrib.scalar("a", 1.0, step=step)
    with contrib.create_file_writer(str(tmp_path)).as_default():
        for number in range(5):
            with contrib.record_summaries_every_n_global_steps(2, number):
                contrib.scalar("b", 1.0, step=number)
    found = read()
    assert [each[0] for each in found if each[1] == "a"] == [4, 8]
    assert [each[0] for each in found if each[1] == "b"] == [0, 2, 4]


def test_in_a_model_fn_the_step_is_the_global_step(tmp_path, read):
    state = v1.ModelState()

    @sx.function
    def step():
        scope = v1.ModelScope(state, "train")
        with scope.entered():
            with contrib.create_file_writer(str(tmp_path)).as_default(), contrib.always_record_summaries():
                contrib.scalar("a", 1.0)
            scope.run(scope.global_step().assign_add(1))

    step()
    step()
    assert [each[0] for each in read()] == [0, 1]


def test_all_kinds_are_written(tmp_path, read):
    with contrib.create_file_writer(str(tmp_path)).as_default(), contrib.always_record_summaries():
        tf.summary.experimental.set_step(1)
        try:
            contrib.generic("g", [1.0])
            contrib.histogram("h", jnp.ones((3,)))
            contrib.image("i", np.zeros((1, 2, 2, 1), np.float32), max_images=1)
            contrib.audio("s", np.zeros((1, 2, 1), np.float32), 8000, 1)
        finally:
            tf.summary.experimental.set_step(None)
        with pytest.raises(BadArgumentError, match="no global step"):
            contrib.scalar("a", 1.0)
    assert [each[1] for each in read()] == ["g", "h", "i/image", "s/audio"]


def test_a_writer_for_no_folder_writes_nothing():
    with contrib.create_file_writer(None).as_default():
        assert contrib.scalar("a", 1.0, step=1) is False
    assert contrib.summary_writer_initializer_op() == []
    contrib.initialize()
