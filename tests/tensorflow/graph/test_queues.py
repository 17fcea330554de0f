"""Queues of a graph say what is wrong instead of waiting for ever, and threads of a program wait for one another."""

import threading

import numpy as np
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
        with pytest.raises(ValueError, match="requires a non-null input tensor"):
            tf.train.string_input_producer([])
        with pytest.raises(ValueError, match="at least one tensor"):
            tf.train.slice_input_producer([])


def test_producers_take_tensors_and_chances():
    with tf.Graph().as_default(), tf.Session() as session:
        limit = tf.placeholder_with_default(4, [])
        order = tf.train.range_input_producer(limit, num_epochs=2, seed=1).dequeue_many(8)
        kept = tf.train.maybe_batch([tf.range(6)], tf.range(6) > 2, 3, enqueue_many=True)
        several = tf.train.batch_join([[tf.constant(1)], [tf.constant(2)]], 4)
        tf.train.start_queue_runners(session)
        numbers = session.run(order).tolist()
        assert sorted(numbers[:4]) == sorted(numbers[4:]) == [0, 1, 2, 3]
        assert numbers[:4] != numbers[4:]
        assert session.run(kept).tolist() == [3, 4, 5]
        assert session.run(several).tolist() == [1, 2, 1, 2]


def test_readers_give_keys_and_count(tmp_path):
    (tmp_path / "a.bin").write_bytes(b"hh0123")
    with tf.Graph().as_default(), tf.Session() as session:
        files = tf.train.match_filenames_once(str(tmp_path / "*.bin"))
        queue = tf.train.string_input_producer(files, num_epochs=1)
        reader = tf.FixedLengthRecordReader(record_bytes=2, header_bytes=2)
        keys, values = reader.read_up_to(queue, 5)
        whole = tf.WholeFileReader().read(tf.train.string_input_producer(files))
        same = tf.IdentityReader().read(tf.train.string_input_producer(["a"]))
        tf.train.start_queue_runners(session)
        assert [each.tolist() for each in session.run([keys, values])] == [
            [f"{tmp_path / 'a.bin'}:{number}".encode() for number in (0, 1)],
            [b"01", b"23"],
        ]
        assert session.run(reader.num_records_produced()) == 2
        assert session.run(whole) == (str(tmp_path / "a.bin").encode(), b"hh0123")
        assert session.run(same) == (b"a", b"a")


def test_text_that_is_read_has_shapes_that_are_not_known():
    with tf.Graph().as_default(), tf.Session() as session:
        text = tf.placeholder(tf.string, [])
        raw, image = tf.decode_raw(text, tf.uint8), tf.image.decode_jpeg(text, channels=3)
        assert raw.shape.as_list() == [None]
        assert image.shape.as_list() == [None, None, 3]
        assert tf.image.decode_image(text).shape.as_list()[:2] == [None, None]
        features = {"x": tf.VarLenFeature(tf.float32), "y": tf.FixedLenFeature([2], tf.int64)}
        assert tf.parse_single_example(text, features)["y"].shape.as_list() == [2]
        assert tf.reshape(raw, [2, 3]).shape.as_list() == [2, 3]
        encoded = session.run(tf.image.encode_jpeg(np.zeros((4, 5, 3), np.uint8)))
        assert session.run(image, {text: encoded}).shape == (4, 5, 3)
