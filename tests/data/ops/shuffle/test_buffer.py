"""The buffer of a shuffled stream: a true permutation, a small place that is quickly saved, little memory."""

import itertools
import json
import time
import tracemalloc

import numpy as np
import pytest

from stratax.data import Dataset
from stratax.data.position import _positions
from tests.data.counting import records
from tests.data.pipelines import ragged, stream
from tests.data.reference import as_lists


@pytest.mark.parametrize("size", [2, 5, 29, 30, 31, 1000])
def test_every_element_comes_once_and_no_sooner_than_the_buffer_allows(size):
    found = as_lists(stream(30).shuffle(size, seed=3))
    assert sorted(found) == list(range(30))
    assert found != list(range(30))
    assert all(number < place + size for place, number in enumerate(found))


def test_the_order_does_not_depend_on_how_many_elements_are_asked_for_at_once():
    one_by_one = as_lists(stream(200).shuffle(17, seed=1))
    batches = stream(200).shuffle(17, seed=1).batch(64)
    assert [x for batch in as_lists(batches) for x in batch] == one_by_one


def test_the_draws_are_even():
    counts = np.zeros((6, 6), int)
    for seed in range(600):
        for place, number in enumerate(as_lists(stream(6).shuffle(3, seed=seed))[:1]):
            counts[place, number] += 1
    first = counts[0, :3]
    assert first.sum() == 600
    assert (abs(first - 200) < 60).all()
    last = np.bincount([as_lists(stream(4).shuffle(9, seed=seed))[0] for seed in range(600)], minlength=4)
    assert (abs(last - 150) < 50).all()


def test_elements_that_change_their_shape_midway_are_kept_apart():
    def growing(x):
        return np.full(2 if x < 20 else 3, x)

    found = as_lists(stream(40).map(growing).shuffle(8, seed=2))
    assert sorted(row[0] for row in found) == list(range(40))
    assert all(len(row) == (2 if row[0] < 20 else 3) for row in found)
    assert sorted(map(len, as_lists(ragged(23).shuffle(100)))) == sorted(x % 4 for x in range(23))


def test_windows_can_be_shuffled():
    windows = stream(12).window(3).shuffle(2, seed=1)
    assert sorted(as_lists(window) for window in windows) == [[i, i + 1, i + 2] for i in range(0, 12, 3)]


def test_a_large_element_type_grows_the_buffer_as_it_fills():
    rows = stream(1500).map(lambda x: np.full(4, x)).shuffle(40_000_000, seed=1)
    assert sorted(row[0] for row in as_lists(rows)) == list(range(1500))


def test_restoring_makes_what_is_in_the_buffer_and_skips_the_rest(monkeypatch):
    # A place is noted whenever one may be, not when enough time has passed.
    monkeypatch.setattr(_positions, "_LEAST_SECONDS", 0.0)
    monkeypatch.setattr(_positions, "_SHARE", 0.0)
    dataset, source = records(100_000)
    dataset = dataset.shuffle(1000, seed=1).batch(100)
    iterator = iter(dataset)
    for _ in range(800):
        next(iterator)
    state = json.loads(json.dumps(iterator.get_state()))
    expected = [next(iterator).tolist() for _ in range(3)]
    source.made = source.skipped = 0
    restored = iter(dataset)
    restored.set_state(state)
    assert [next(restored).tolist() for _ in range(3)] == expected
    assert source.made <= 1000 + 300
    # The oldest element of a buffer of B is hardly older than B ln(B) steps.
    assert source.skipped < 20_000


def test_the_place_of_a_large_buffer_is_saved_in_milliseconds():
    dataset, source = records(60_000, size=1000)
    iterator = iter(dataset.shuffle(10_000).batch(256).prefetch(2))
    start = time.perf_counter()
    next(iterator)
    filling = time.perf_counter() - start
    for _ in range(99):
        next(iterator)
    times = []
    for _ in range(5):
        start = time.thread_time()
        state = json.dumps(iterator.get_state())
        times.append(time.thread_time() - start)
        next(iterator)
    iterator.close()
    # Milliseconds, beside the tenths of a second that filling the buffer again takes.
    assert min(times) < 0.2 * filling
    assert len(state) < 150_000
    # Places of the source are noted now and then, not for every block.
    assert source.states < 300


def test_memory_is_that_of_the_buffer():
    dataset, _ = records(40_000, size=1000)
    tracemalloc.start()
    try:
        for _ in dataset.shuffle(2000).batch(64):
            pass
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 2 * 2000 * 1060


def test_an_error_while_the_buffer_fills_comes_at_once_and_the_rest_follows():
    iterator = iter(stream(20).map(lambda x: 1 // int(x - 5) + x).shuffle(10, seed=1))
    with pytest.raises(ZeroDivisionError):
        next(iterator)
    assert sorted(int(x) for x in iterator) == sorted(1 // (x - 5) + x for x in range(20) if x != 5)


def test_shuffling_a_stream_costs_about_a_microsecond():
    base = Dataset.range(50_000).filter(lambda x: True).batch(500).cache()
    list(base)
    times = {"plain": [], "shuffled": [], "by hand": []}
    for _ in range(4):
        for name, dataset in (("plain", base.unbatch()), ("shuffled", base.unbatch().shuffle(10_000))):
            start = time.thread_time()
            for _ in dataset.batch(500):
                pass
            times[name].append(time.thread_time() - start)
        start = time.thread_time()
        shuffled_by_hand(range(50_000), 10_000)
        times["by hand"].append(time.thread_time() - start)
    # By hand it is a quarter of a microsecond where this was written.
    assert min(times["shuffled"]) - min(times["plain"]) < 6 * min(times["by hand"])


def shuffled_by_hand(numbers, size):
    """A shuffle buffer as one would write it."""
    numbers = iter(numbers)
    buffer = list(itertools.islice(numbers, size))
    places = np.random.default_rng(0).integers(0, size, 50_000).tolist()
    shuffled = []
    for number, place in zip(numbers, places, strict=False):
        shuffled.append(buffer[place])
        buffer[place] = number
    return shuffled
