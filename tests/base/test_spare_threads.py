"""Threads at the end of the program, where Python 3.12 and later start none."""

import threading

import pytest

from stratax.base import spare_threads

SECONDS = 30


@pytest.fixture(autouse=True)
def own_threads(monkeypatch):
    """Spare threads of one test; what it begins with has none."""
    monkeypatch.setattr(spare_threads, "_spare", [])
    monkeypatch.setattr(spare_threads, "_needed", {})
    monkeypatch.setattr(spare_threads, "_calls", type(spare_threads._calls)())


@pytest.fixture
def end_program(monkeypatch):
    def refuse(thread):
        raise RuntimeError("can't create new thread at interpreter shutdown")

    return lambda: monkeypatch.setattr(threading.Thread, "start", refuse)


def where(found):
    return lambda: found.append(threading.current_thread())


def test_a_call_has_a_thread_of_its_own_before_the_end():
    found = []
    assert spare_threads.start_thread(where(found), "own").wait(SECONDS)
    assert found[0].name == "own"


def test_spare_threads_make_calls_at_the_end_and_wait_for_one_another(end_program):
    spare_threads.keep_spare_threads("meeting", 2)
    spare_threads.keep_spare_threads("meeting", 1)
    assert len(spare_threads._spare) == 2
    end_program()
    meeting = threading.Barrier(2, timeout=SECONDS)
    calls = [spare_threads.start_thread(meeting.wait, "meets") for _ in range(2)]
    assert all(call.wait(SECONDS) for call in calls)
    assert not meeting.broken


def test_each_purpose_has_threads_of_its_own():
    spare_threads.keep_spare_threads("telling", 2)
    spare_threads.keep_spare_threads("closing", 1)
    assert len(spare_threads._spare) == 3


def test_a_call_that_would_not_end_here_is_left_out(end_program):
    end_program()
    found = []
    assert not spare_threads.start_thread(where(found), "own", may_be_here=False).is_set()
    assert found == []


def test_without_a_spare_thread_the_call_is_made_here(end_program):
    end_program()
    found = []
    assert spare_threads.start_thread(where(found), "own").is_set()
    assert found == [threading.current_thread()]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_call_that_fails_is_told_and_the_thread_makes_the_next_one(end_program, monkeypatch):
    told = []
    monkeypatch.setattr(threading, "excepthook", lambda args: told.append(args.exc_type))
    spare_threads.keep_spare_threads("failing", 1)
    end_program()
    assert spare_threads.start_thread(lambda: 1 // 0, "fails").wait(SECONDS)
    found = []
    assert spare_threads.start_thread(where(found), "next").wait(SECONDS)
    assert (told, found) == ([ZeroDivisionError], spare_threads._spare)


def test_another_reason_why_no_thread_starts_is_raised(monkeypatch):
    def start(thread):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", start)
    with pytest.raises(RuntimeError, match="can't start new thread"):
        spare_threads.start_thread(print, "none")
