"""Producers fill queues with rows, epoch after epoch, and batches take what they are told to."""

import pytest

import stratax.tf.compat.v1 as tf


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


def test_several_places_are_drawn_from_by_chance():
    with tf.Graph().as_default(), tf.Session() as session:
        rows = [[tf.train.range_input_producer(8, shuffle=False).dequeue()] for _ in range(2)]
        drawn = tf.train.shuffle_batch_join(rows, 16, capacity=32, min_after_dequeue=8, seed=1)
        tf.train.start_queue_runners(session)
        numbers = session.run(drawn).tolist()
        assert set(numbers) <= set(range(8))
        assert numbers != sorted(numbers)


def test_what_there_is_nothing_of_is_refused():
    with tf.Graph().as_default():
        with pytest.raises(ValueError, match="requires a non-null input tensor"):
            tf.train.string_input_producer([])
        with pytest.raises(ValueError, match="at least one tensor"):
            tf.train.slice_input_producer([])
