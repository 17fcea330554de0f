"""Threads of a program end together, and tell what ended one of them."""

import threading

import pytest

import stratax.tf.compat.v1 as tf


def test_threads_end_when_one_asks_for_it():
    coord = tf.train.Coordinator()
    seen = []

    def work(number):
        while not coord.should_stop():
            seen.append(number)
            coord.request_stop()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(3)]
    for each in threads:
        each.start()
    coord.join(threads)
    assert coord.should_stop()
    assert coord.joined
    assert seen
    coord.clear_stop()
    assert not coord.wait_for_stop(0.0)


def test_an_error_of_a_thread_is_raised_by_join_and_the_end_of_input_is_none():
    coord = tf.train.Coordinator()
    with coord.stop_on_exception():
        raise tf.errors.OutOfRangeError(None, None, "the end")
    coord.join()
    coord.clear_stop()
    with coord.stop_on_exception():
        raise KeyError("mine")
    with pytest.raises(KeyError, match="mine"):
        coord.join()
    assert tf.train.start_queue_runners(coord=coord) == []
