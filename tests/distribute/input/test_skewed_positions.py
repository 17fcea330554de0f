"""Workers with data of their own save and restore one position, whatever their clocks and buffers do.

Each worker is a thread here.
"""

import collections
import contextlib
import functools
import itertools
import json
import re
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from stratax.data import Dataset
from stratax.data.iteration import runs
from stratax.data.position import _positions
from stratax.distribute.input import _own_batches, _sources, _step_feed
from stratax.distribute.replicas import Share
from stratax.errors import DataError, OutOfRangeError

SECONDS = 30.0
WORKERS = 2


class Meeting:
    """Gives every worker the values of all, as the cluster does, and counts what each asked for."""

    def __init__(self):
        self._barrier = threading.Barrier(WORKERS, timeout=SECONDS)
        self._values = {}
        self.asked = [0] * WORKERS

    def of(self, index):
        def exchange(name, value, stop):
            self.asked[index] += 1
            # The sources of all workers are counted in one process here.
            values = self._values.setdefault(re.sub(r"^input/\d+", "input", name), {})
            values[index] = value
            self._barrier.wait()
            return [text for _, text in sorted(values.items())]

        return exchange


def in_workers(work):
    """What `work(index, meeting)` gives in each worker."""
    meeting = Meeting()
    with ThreadPoolExecutor(WORKERS) as pool:
        futures = [pool.submit(work, index, meeting) for index in range(WORKERS)]
        return [future.result(SECONDS) for future in futures]


@pytest.fixture
def step_by_step(monkeypatch):
    """A block is one step."""
    monkeypatch.setattr(_own_batches, "_MOST_STEPS", 1)


def part(index):
    """A worker's part: numbers that a filter leaves, not as many as the other's."""
    return Dataset.range(index, 120 + 40 * index, 2).filter(lambda x: (x * 7) % 5 != 3).batch(4)


def source_of(index, meeting, dataset, make=_own_batches.own_global_batches):
    return make(dataset, WORKERS, Share(processes=WORKERS, index=index), meeting.of(index))


def opened(index, meeting, state=None, make=_own_batches.own_global_batches):
    source = source_of(index, meeting, part(index), make)
    asked, place = meeting.asked[index], None
    if state is not None:
        place, steps = source.behind(state["place"], state["steps"], source.elements_in_step)
        assert steps == 0
    cursor = source.open(place)
    assert meeting.asked[index] == asked, "to restore means to wait for nobody"
    return cursor


def feed_over(cursor, positions):
    return _step_feed.StepFeed(cursor, positions, 2, lambda _: contextlib.nullcontext())


def agreed_feed(cursor):
    return feed_over(cursor, _positions.RegularPositions(cursor))


def shared_feed(source, position=None):
    cursor = source.open(position)
    return feed_over(cursor, source.positions(cursor))


def pass_over(feed, count):
    while count:
        count -= feed.read(count).count


def rows(block):
    return [leaf.ravel().tolist() for leaf in block.leaves]


def steps_of(cursor):
    """Where the cursor was before each of its steps, and the step's rows."""
    found = []
    with contextlib.suppress(StopIteration):
        while True:
            found.append((cursor.get_state(), rows(cursor.read(1))))
    return found


@pytest.mark.parametrize("make", [_own_batches.own_global_batches, _own_batches.own_replica_batches])
def test_places_that_were_noted_before_different_steps_lead_to_the_same_step(make, step_by_step):
    whole = in_workers(lambda index, meeting: steps_of(opened(index, meeting, make=make)))
    last = len(whole[0]) - 1
    assert last == len(whole[1]) - 1 > 12
    for noted, at in [((0, 9), 11), ((9, 0), 11), ((7, 10), 11), ((11, 11), 11), ((0, last), last)]:
        states = [{"place": whole[i][noted[i]][0], "steps": at - noted[i]} for i in range(WORKERS)]
        rest = functools.partial(rows_behind, json.loads(json.dumps(states)), make)
        assert in_workers(rest) == [[row for _, row in steps[at:]] for steps in whole], noted


def rows_behind(states, make, index, meeting):
    return [row for _, row in steps_of(opened(index, meeting, states[index], make))]


def test_of_the_parts_one_ends_before_the_other(step_by_step):
    whole = in_workers(lambda index, meeting: steps_of(opened(index, meeting)))
    own = [sum(1 for _ in part(index)) for index in range(WORKERS)]
    assert min(own) < len(whole[0]) == max(own)


@pytest.fixture
def of_worker(monkeypatch):
    """Says which worker this thread is. The clock of worker 0 stands still, that of worker 1 leaps."""
    leaps, workers = itertools.count(0, 100), {}
    monkeypatch.setattr(
        _positions.time,
        "perf_counter",
        lambda: next(leaps) if workers.get(threading.get_ident()) else 0.0,
    )
    monkeypatch.setattr(_step_feed, "_SLOW_SECONDS", 1e9)  # Nobody reads ahead.
    return lambda index: workers.__setitem__(threading.get_ident(), index)


def test_all_workers_note_their_places_before_the_same_step(of_worker):
    def work(index, meeting):
        of_worker(index)
        feed = agreed_feed(opened(index, meeting))
        noted = []
        for count in (1, 1, 5, 1, 2, 1, 1):
            pass_over(feed, count)
            noted.append(feed.get_state()["skip"])
        return noted

    first, second = in_workers(work)
    assert first == second


def test_workers_that_read_the_same_note_the_same_places(of_worker):
    def work(index, meeting):
        of_worker(index)
        dataset = Dataset.range(400).filter(lambda x: x % 3 != 0).batch(4)
        source = _sources.SharedGlobalBatches(dataset, WORKERS, Share(processes=WORKERS, index=index))
        feed = shared_feed(source)
        states = []
        for number in range(40):
            if index:
                feed.look(5 * (number % 2), 1)  # It reads further ahead than the other.
            feed.take()
            states.append(json.dumps(feed.get_state()))
        return states

    first, second = in_workers(work)
    assert first == second


def test_a_place_is_noted_often_and_leads_on_in_the_same_steps():
    source = _sources.SharedGlobalBatches(Dataset.range(400).batch(4), 2, Share(processes=2))
    feed = shared_feed(source)
    pass_over(feed, 40)
    state = feed.get_state()
    assert state["skip"] == 40 % _sources.POSITION_STEPS
    restored = shared_feed(source, state["child"])
    pass_over(restored, state["skip"])
    assert restored.get_state() == state
    for each in (feed, restored):
        pass_over(each, 10)
    assert restored.get_state() == feed.get_state()


def test_no_worker_waits_for_the_others_behind_the_end():
    def work(index, meeting):
        cursor = opened(index, meeting)
        steps_of(cursor)
        for _ in range(index):  # One asks again, as where it reads ahead and the other does not.
            with pytest.raises(StopIteration):
                cursor.read(1)
            with pytest.raises(OutOfRangeError, match="The input ran out"):
                runs(agreed_feed(cursor), lambda block: None, 0, 1, up_to=False)
        return meeting.asked[index]

    first, second = in_workers(work)
    assert first == second


def test_no_worker_waits_for_the_others_behind_a_failure():
    def work(index, meeting):
        def check(x):
            if index and x > 20:
                raise ValueError("bad record")
            return x

        dataset = Dataset.range(40).map(check).filter(lambda x: x >= 0).batch(4)
        cursor = source_of(index, meeting, dataset).open()
        for _ in range(1 + index):
            with pytest.raises((DataError, ValueError), match="bad record"):
                collections.deque(iter(lambda: cursor.read(1), None), maxlen=0)
        return meeting.asked[index]

    first, second = in_workers(work)
    assert first == second


def test_all_workers_refuse_a_step_that_one_of_them_can_not_take_part_in():
    def work(index, meeting):
        source = source_of(index, meeting, [] if index else [np.arange(4), np.arange(4)])
        with pytest.raises(DataError, match="The dataset of worker 1 has no elements"):
            source.open().read(1)

    in_workers(work)


def test_a_worker_that_was_interrupted_says_so_when_it_goes_on():
    def exchange(name, value, stop):
        if name.endswith("/0/0"):
            raise KeyboardInterrupt
        return [value, value]

    source = _own_batches.own_global_batches(part(0), WORKERS, Share(processes=2), exchange)
    cursor = source.open()
    with pytest.raises(KeyboardInterrupt):
        cursor.read(1)
    with pytest.raises(DataError, match=r"was interrupted \(KeyboardInterrupt\)"):
        cursor.read(1)


def test_the_number_of_steps_is_reported_once_and_for_all():
    def work(index, meeting):
        source = source_of(index, meeting, Dataset.range(40 - 20 * index).batch(4))
        asked = meeting.asked[index]
        for _ in range(index):  # One worker alone asks.
            assert source.cardinality() == 10
        assert meeting.asked[index] == asked

    in_workers(work)
