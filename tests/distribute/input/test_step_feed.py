"""Coming steps: when a thread begins, how far it reads, and how the program's waits are counted."""

import contextlib
import threading
import time

import numpy as np
import pytest

import stratax as sx
from stratax.data.position import Positions
from stratax.distribute.input import GlobalBatches, _step_feed
from stratax.distribute.input._step_feed import StepFeed


class Source:
    """Batches that take so long, counted."""

    def __init__(self, count=40, seconds=0.0):
        self.count, self.seconds, self.made = count, seconds, 0

    def __iter__(self):
        for index in range(self.count):
            time.sleep(self.seconds)
            self.made += 1
            yield np.full(2, index)


@contextlib.contextmanager
def feed_over(dataset, num_blocks=2, waiting=lambda for_others: contextlib.nullcontext()):
    cursor = GlobalBatches(dataset, 2).open()
    feed = StepFeed(cursor, Positions(cursor), num_blocks, waiting)
    try:
        yield feed
    finally:
        feed.close()


def values(feed, count):
    return [int(feed.take()[0].leaves[0].flat[0]) for _ in range(count)]


def threads():
    return [thread for thread in threading.enumerate() if thread.name == "stratax-input"]


def wait_until(condition, seconds=30.0):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not come true"
        time.sleep(0.001)


def test_a_quick_source_needs_no_thread(monkeypatch):
    monkeypatch.setattr(_step_feed, "_SLOW_SECONDS", 1e9)
    source = Source()
    with feed_over(source) as feed:
        before = threads()
        assert values(feed, 9) == list(range(9))
        assert (source.made, threads()) == (9, before)


def test_a_slow_source_is_read_ahead_as_far_as_asked_for(monkeypatch):
    monkeypatch.setattr(_step_feed, "_SLOW_SECONDS", 0.0)
    source = Source()
    with feed_over(source, num_blocks=3) as feed:
        assert values(feed, 3) == [0, 1, 2]
        wait_until(lambda: source.made == 3 + 3 + 1)
        time.sleep(0.02)
        assert source.made == 7
        assert values(feed, 37) == list(range(3, 40))
        for _ in range(2):
            with pytest.raises(StopIteration):
                feed.take()


def test_a_limit_holds_until_more_is_asked_for(monkeypatch):
    monkeypatch.setattr(_step_feed, "_SLOW_SECONDS", 0.0)
    source = Source()
    with feed_over(source, num_blocks=9) as feed:
        feed.limit_ahead(5)
        assert values(feed, 4) == [0, 1, 2, 3]
        wait_until(lambda: source.made == 5)
        time.sleep(0.02)
        assert source.made == 5
        assert values(feed, 3) == [4, 5, 6]
        assert source.made == 7
        feed.limit_ahead(4)
        wait_until(lambda: source.made == 11)
        time.sleep(0.02)
        assert source.made == 11


def test_a_dataset_that_prefetches_is_read_ahead_from_the_beginning_by_one_thread():
    dataset = sx.data.Dataset.range(40).filter(lambda x: x >= 0).batch(2).prefetch(2)
    before = set(threading.enumerate())
    with feed_over(dataset) as feed:
        assert values(feed, 1) == [0]
        (thread,) = set(threading.enumerate()) - before
        assert thread.name == "stratax-input"
        assert values(feed, 19) == list(range(2, 40, 2))
    assert set(threading.enumerate()) <= before


def test_the_wait_for_the_source_is_counted_and_reported():
    told = []

    @contextlib.contextmanager
    def waiting(for_others):
        told.append(for_others)
        yield

    with feed_over(Source(8, 0.01), waiting=waiting) as feed:
        assert values(feed, 8) == list(range(8))
        assert feed.wait_seconds > 3 * 0.01
    assert set(told) == {False}


def test_what_others_are_waited_for_is_reported_as_it_changes():
    told, gate = [], threading.Event()

    class Waits(GlobalBatches):
        def open(self, position=None):
            cursor = super().open(position)
            read = cursor.read

            def waiting_read(limit):
                cursor.waits_for_others = True
                gate.wait(30)
                cursor.waits_for_others = False
                return read(limit)

            cursor.read = waiting_read
            return cursor

    @contextlib.contextmanager
    def waiting(for_others):
        told.append(for_others)
        if for_others:
            gate.set()
        yield

    cursor = Waits(Source(4), 2).open()
    feed = StepFeed(cursor, Positions(cursor), 2, waiting)
    feed.start(1)
    assert values(feed, 4) == [0, 1, 2, 3]
    feed.close()
    assert True in told
