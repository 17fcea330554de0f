"""What the nodes of a plan share while one iterator runs: threads, and what ends with it."""

import threading
from concurrent.futures import CancelledError

import pytest

from stratax.data import Dataset
from stratax.data.plan import PlanRun


def test_nothing_can_be_started_for_an_iterator_that_was_closed():
    closed = []
    run = PlanRun()
    run.on_close(closed.append)
    run.close()
    assert closed == [True]
    with pytest.raises(CancelledError):
        run.on_close(closed.append)
    with pytest.raises(CancelledError):
        run.pool(2, owner=run)
    run.close()
    assert closed == [True]


def test_what_was_forgotten_is_not_closed():
    closed = []
    run = PlanRun()
    run.on_close(closed.append)
    run.forget(closed.append)
    run.forget(closed.append)
    run.close()
    assert closed == []


def test_a_thread_that_starts_something_may_be_the_one_that_closes():
    # As when the iterator is found forgotten, by the garbage collector, in a background thread of its own.
    run = PlanRun()

    def close():
        with run._lock:
            run.close(wait=False)

    thread = threading.Thread(target=close, daemon=True)
    thread.start()
    thread.join(60)
    assert not thread.is_alive()


def test_an_iterator_that_another_thread_closes_while_it_starts_threads_is_at_its_end(monkeypatch):
    really_pool = PlanRun.pool

    def late(run, threads, owner):
        iterator.close()
        return really_pool(run, threads, owner)

    before = set(threading.enumerate())
    monkeypatch.setattr(PlanRun, "pool", late)
    iterator = iter(Dataset.range(9).filter(lambda x: True).map(lambda x: print(end="") or x, 2))
    assert list(iterator) == []
    assert set(threading.enumerate()) <= before
