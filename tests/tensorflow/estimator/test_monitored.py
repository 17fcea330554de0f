"""Monitored sessions call hooks in TensorFlow's order, and write what TensorFlow's do."""

import os

import pytest

import stratax.tf.compat.v1 as tf
from stratax import errors


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as made:
        yield made


def make_training():
    w = tf.Variable(1.0, name="w")
    loss = tf.square(w - 3.0, name="loss")
    tf.summary.scalar("cost", loss)
    step = tf.train.get_or_create_global_step()
    return tf.train.GradientDescentOptimizer(0.1).minimize(loss, global_step=step), w


def test_a_session_goes_on_from_its_checkpoint_and_writes_summaries(tmp_path, graph):
    train, w = make_training()
    found = []
    for last in (2, 4):
        hooks = [
            tf.train.StopAtStepHook(last_step=last),
            tf.train.LoggingTensorHook(["loss:0"], every_n_iter=1),
        ]
        with tf.train.MonitoredTrainingSession(
            checkpoint_dir=str(tmp_path), hooks=hooks, save_checkpoint_steps=1, save_summaries_steps=1
        ) as session:
            while not session.should_stop():
                session.run(train)
                found.append(session.run(w))
    assert found == pytest.approx([1.4, 1.72, 1.976, 2.1808])
    assert tf.train.load_variable(str(tmp_path), "global_step") == 4
    values = [
        value.tag
        for name in sorted(os.listdir(tmp_path))
        if "tfevents" in name
        for event in tf.train.summary_iterator(str(tmp_path / name))
        for value in event.summary.value
    ]
    assert set(values) == {"cost"}


def test_a_graph_is_finished_in_a_session_and_open_behind_it(graph):
    train, _ = make_training()
    session = tf.train.MonitoredSession()
    session.run(train)
    with pytest.raises(RuntimeError, match="Graph is finalized"):
        tf.constant(1.0)
    session.close()
    with pytest.raises(errors.FailedPreconditionError, match="Make a new session"):
        session.run(train)
    assert tf.constant(1.0).graph is graph


def test_a_scaffold_is_finished_with_what_was_not_given():
    own = tf.no_op()
    variable = tf.get_variable("finished", [], initializer=tf.ones_initializer())
    counter = tf.Variable(2, collections=[tf.GraphKeys.LOCAL_VARIABLES])
    tf.summary.scalar("value", variable)
    scaffold = tf.train.Scaffold(local_init_op=own)
    assert (scaffold.init_op, scaffold.saver) == (None, None)
    assert scaffold.finalize() is scaffold
    assert scaffold.local_init_op is own
    assert list(scaffold.saver.variables) == ["finished"]
    with tf.Session() as session:
        session.run(scaffold.init_op)
        assert session.run(variable) == 1.0
        assert session.run(scaffold.summary_op)
        session.run(tf.train.Scaffold().finalize().local_init_op)
        assert session.run(counter) == 2


def test_an_error_goes_through_and_the_end_of_input_does_not():
    train, _ = make_training()

    def fail(error):
        with tf.train.MonitoredSession() as session:
            session.run(train)
            raise error

    with pytest.raises(KeyError, match="mine"):
        fail(KeyError("mine"))
    fail(tf.errors.OutOfRangeError(None, None, "the end"))


def test_a_supervisor_without_a_folder_writes_no_summaries():
    train, _ = make_training()
    supervisor = tf.train.Supervisor()
    with supervisor.managed_session() as session:
        session.run(train)
        with pytest.raises(errors.FailedPreconditionError, match="Pass logdir"):
            supervisor.summary_computed(session, b"")
    assert supervisor.should_stop()
