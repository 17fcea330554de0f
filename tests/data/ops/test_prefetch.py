"""`prefetch`: ahead, bounded, in order, and gone when it should be."""

import threading
import time

import pytest

from stratax.data import AUTOTUNE, Dataset, TensorSpec
from stratax.data.position import _background
from stratax.errors import BadArgumentError


def stream(function=lambda x: x):
    return Dataset.range(50).filter(lambda x: x >= 0).map(function)


@pytest.mark.parametrize("depth", [AUTOTUNE, None, 0, 1, 3, 100])
def test_prefetching_changes_no_element(depth):
    for dataset in (Dataset.range(50), stream()):
        assert [int(x) for x in dataset.prefetch(depth)] == list(range(50))
        assert [len(x) for x in dataset.prefetch(depth).batch(20).prefetch(depth)] == [20, 20, 10]


@pytest.mark.parametrize("streaming", [False, True])
def test_the_thread_reads_ahead_and_no_further(streaming):
    seen = []
    note = lambda x: seen.append(int(x)) or x  # noqa: E731
    source = stream(note) if streaming else Dataset.range(50).map(note)
    with iter(source.prefetch(4)) as iterator:
        next(iterator)
        deadline = time.monotonic() + 10
        while len(seen) < 5 and time.monotonic() < deadline:
            time.sleep(0.005)
        time.sleep(0.05)
        assert 5 <= len(seen) <= 6


def test_elements_are_made_while_the_last_is_used():
    made = threading.Event()

    def make(x):
        if x == 1:
            made.set()
        return x

    with iter(Dataset.range(5).map(make).prefetch(1)) as iterator:
        assert next(iterator) == 0
        assert made.wait(timeout=10)


def test_no_thread_is_left_after_the_last_element():
    before = set(threading.enumerate())
    for _ in range(3):
        assert len(list(stream().prefetch(2).repeat(3).prefetch(2))) == 150
    assert set(threading.enumerate()) <= before


def test_closing_early_ends_nested_threads():
    before = set(threading.enumerate())
    iterator = iter(stream().prefetch(2).map(lambda x: x, num_parallel_calls=2).prefetch(2))
    next(iterator)
    assert len(set(threading.enumerate()) - before) >= 3
    iterator.close()
    assert set(threading.enumerate()) <= before


def test_closing_may_meet_the_start_of_the_thread(monkeypatch):
    really_start, failures, closers = threading.Thread.start, [], []

    def close(iterator):
        try:
            iterator.close()
        except RuntimeError as e:
            failures.append(e)

    def start_while_it_is_closed(thread):
        if thread.name == "stratax-prefetch":
            closers.append(threading.Thread(target=close, args=(iterator,)))
            really_start(closers[-1])
            closers[-1].join(0.1)
        really_start(thread)

    before = set(threading.enumerate())
    monkeypatch.setattr(threading.Thread, "start", start_while_it_is_closed)
    iterator = iter(stream().prefetch(2))
    next(iterator, None)
    closers[0].join(10)
    assert failures == []
    assert set(threading.enumerate()) <= before


def test_the_place_is_known_before_the_thread_has_read_anything(monkeypatch):
    produce, may_read = _background._fill, threading.Event()

    def late(*args):
        may_read.wait(60)
        produce(*args)

    def pipeline():
        return Dataset.range(4).interleave(lambda x: stream().skip(x), 3, 2, num_parallel_calls=3)

    iterator = iter(pipeline())
    for _ in range(10):
        next(iterator)
    state = iterator.get_state()
    expected = [int(next(iterator)) for _ in range(20)]
    iterator.close()
    monkeypatch.setattr(_background, "_fill", late)
    with iter(pipeline()) as restored, iter(pipeline()) as twice:
        restored.set_state(state)
        try:
            again = restored.get_state()
        finally:
            may_read.set()
        twice.set_state(again)
        for iterator in (restored, twice):
            assert [int(next(iterator)) for _ in range(20)] == expected


def test_an_exception_crosses_the_thread():
    def broken():
        yield 1
        raise OSError("no more tape")

    dataset = Dataset.from_generator(broken, output_signature=TensorSpec((), "int32")).prefetch(2)
    iterator = iter(dataset)
    assert next(iterator) == 1
    with pytest.raises(OSError, match="no more tape"):
        next(iterator)
    with pytest.raises(StopIteration):
        next(iterator)


def test_a_negative_depth_is_refused():
    with pytest.raises(BadArgumentError, match="buffer_size has to be an integer of at least -1"):
        Dataset.range(3).prefetch(-2)
