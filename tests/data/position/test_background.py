"""A thread that makes items ahead: how far, in which order, and how it ends."""

import threading
import time

import pytest

from stratax.data.position import Background, _background
from stratax.errors import DataError


def wait_until(condition, seconds=10.0):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not come true"
        time.sleep(0.001)


class Counting:
    """Makes stretches of whole numbers."""

    def __init__(self, stop=10**9):
        self.made, self.stop, self.released = 0, stop, threading.Event()

    def __call__(self, wanted):
        if self.made >= self.stop:
            raise StopIteration
        if self.made == 13:
            self.made += 1
            raise ValueError("thirteen")
        start, self.made = self.made, min(self.made + wanted, self.stop)
        return list(range(start, self.made))


def begun(make, depth=4, wanted=1, **more):
    queue = Background(depth, len, **more)
    queue.begin(make, make.released.set, name="test", wanted=wanted)
    return queue


def test_items_come_in_order_and_errors_in_their_place():
    make = Counting(stop=16)
    queue = begun(make)
    found = []
    for _ in range(16):
        try:
            found += queue.take()
        except ValueError as error:
            found.append(str(error))
    assert found == [*range(13), "thirteen", 14, 15]
    for _ in range(2):
        with pytest.raises(StopIteration):
            queue.take()
    assert make.released.wait(10)


@pytest.mark.parametrize(("depth", "wanted", "expected"), [(4, 1, 4), (4, 3, 6), (1, 5, 5)])
def test_no_more_is_made_than_may_wait(depth, wanted, expected):
    make = Counting()
    queue = begun(make, depth, wanted)
    wait_until(lambda: make.made >= expected)
    time.sleep(0.05)
    assert make.made == expected
    queue.stop()


def test_a_bound_holds_until_it_is_raised():
    make = Counting()
    queue = Background(100, len)
    queue.bind_to(7)
    queue.begin(make, make.released.set, name="test", wanted=4, number=5)
    assert queue.take() == [0, 1]  # Five were made before.
    assert not queue.wait(0.05)
    queue.raise_bound(6)
    assert not queue.wait(0.05)
    queue.raise_bound(9)
    assert queue.take() == [2, 3]
    queue.stop()


def test_a_thread_that_is_stopped_ends_and_what_waits_is_dropped():
    make = Counting()
    queue = begun(make)
    wait_until(lambda: queue.wait(0))
    assert queue.stop()
    assert make.released.is_set()
    with pytest.raises(StopIteration):
        queue.take()


def test_a_wait_for_something_else_is_interrupted(monkeypatch):
    monkeypatch.setattr(_background, "JOIN_SECONDS", 30.0)
    others, make = threading.Event(), Counting()

    def waits(wanted):
        others.wait(60)
        return make(wanted)

    queue = Background(4, len, others.set)
    queue.begin(waits, make.released.set, name="test", wanted=1)
    assert queue.stop()


def test_a_stuck_thread_is_not_waited_for_for_ever(monkeypatch):
    monkeypatch.setattr(_background, "JOIN_SECONDS", 0.05)
    gate, make = threading.Event(), Counting()
    queue = Background(4, len)
    queue.begin(lambda wanted: gate.wait(60) and make(wanted), make.released.set, name="test", wanted=1)
    assert not queue.stop()
    gate.set()
    assert make.released.wait(10)


def test_a_queue_that_is_stopped_before_starts_no_thread():
    make = Counting()
    queue = Background(4, len)
    assert queue.stop()
    queue.begin(make, make.released.set, name="test", wanted=1)
    assert not queue.has_begun


def test_a_thread_that_is_gone_without_a_word_is_an_error(monkeypatch):
    monkeypatch.setattr(_background, "_WAIT_SECONDS", 0.01)
    with pytest.raises(DataError, match="ended without saying why"):
        Background(4, len).take()  # As in a forked process, which has the queue and not the thread.
