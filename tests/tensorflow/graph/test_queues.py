"""Queues of a graph say what is wrong instead of waiting for ever, and threads of a program wait for one another."""

import threading

import pytest

import stratax.tf.compat.v1 as tf
from stratax import errors


def test_who_waits_for_nothing_is_told(monkeypatch):
    monkeypatch.setattr(threading, "active_count", lambda: 1)
    with tf.Graph().as_default(), tf.Session() as session:
        rows = tf.train.input_producer([1, 2], num_epochs=1, shuffle=False)
        with pytest.raises(errors.FailedPreconditionError, match="Call tf.train.start_queue_runners"):
            session.run(rows.dequeue())
        queue = tf.FIFOQueue(1, tf.int32)
        with pytest.raises(TimeoutError, match="has 0 elements of 1, and no other thread"):
            session.run(queue.dequeue())
        session.run(queue.enqueue(1))
        with pytest.raises(TimeoutError, match="has 1 elements of 1"):
            session.run(queue.enqueue(2))


def test_threads_fill_and_empty_a_queue():
    with tf.Graph().as_default(), tf.Session() as session:
        row = tf.placeholder(tf.float32, [2])
        queue = tf.RandomShuffleQueue(4, 1, tf.float32, [[2]], seed=3)
        add, close, taken = queue.enqueue(row), queue.close(), queue.dequeue_many(2)

        def load():
            for number in range(12):
                session.run(add, {row: [number, number]})
            session.run(close)

        thread = threading.Thread(target=load)
        thread.start()
        found = [each for _ in range(6) for each in session.run(taken)[:, 0].tolist()]
        with pytest.raises(tf.errors.OutOfRangeError, match="closed and has insufficient elements"):
            session.run(taken)
        thread.join(30)
        assert not thread.is_alive()
        assert sorted(found) == list(range(12))
        assert found != sorted(found)


def test_a_runner_of_ones_own_fills_a_queue():
    with tf.Graph().as_default(), tf.Session() as session:
        queue = tf.FIFOQueue(4, tf.int32)
        assert isinstance(queue, tf.QueueBase)
        assert tf.queue.QueueBase is tf.QueueBase
        runner = tf.train.QueueRunner(queue, [queue.enqueue(7), queue.enqueue(8)])
        tf.train.add_queue_runner(runner)
        taken = queue.dequeue_many(4)
        tf.train.start_queue_runners(session)
        assert sorted(session.run(taken).tolist()) == [7, 7, 8, 8]


def test_a_session_that_is_closed_ends_who_waits():
    with tf.Graph().as_default():
        session = tf.Session()
        queue = tf.FIFOQueue(1, tf.int32)
        ended = []

        def wait():
            try:
                session.run(taken)
            except errors.CancelledError as error:
                ended.append(str(error))

        taken = queue.dequeue()
        thread = threading.Thread(target=wait)
        thread.start()
        session.close()
        thread.join(30)
        assert not thread.is_alive()


def test_components_are_checked():
    with tf.Graph().as_default():
        queue = tf.FIFOQueue(2, [tf.int32, tf.float32], names=["n", "x"])
        with pytest.raises(ValueError, match="Queue names and components must agree"):
            queue.enqueue({"n": 1})
        with pytest.raises(ValueError, match="Expected: 2 components"):
            queue.enqueue([1])
        with pytest.raises(ValueError, match="the same length as dtypes"):
            tf.FIFOQueue(2, [tf.int32, tf.float32], shapes=[[]])
