import gc
import os
import subprocess
import sys
import threading
import time
import weakref
from concurrent.futures import CancelledError

import pytest

from stratax.base.threads import Threads


def test_calls_of_one_thread_are_made_in_order():
    made = []
    with Threads(1, "one") as pool:
        for number in range(100):
            pool.submit(made.append, number)
    assert made == list(range(100))


def test_results_and_errors_come_to_who_waits():
    with Threads(3, "three") as pool:
        futures = [pool.submit(divmod, 7, by) for by in (2, 0, 3)]
        assert futures[0].result(30) == (3, 1)
        with pytest.raises(ZeroDivisionError):
            futures[1].result(30)
        assert isinstance(futures[1].exception(30), ZeroDivisionError)
        assert futures[2].result() == (2, 1)
        assert all(future.done() for future in futures)
        assert list(pool.map(abs, range(-50, 0))) == list(range(50, 0, -1))


def test_several_threads_work_at_once_and_no_more_than_asked_for():
    meeting = threading.Barrier(3)
    with Threads(3, "three") as pool:
        futures = [pool.submit(meeting.wait, 30) for _ in range(3)]
        assert sorted(future.result(30) for future in futures) == [0, 1, 2]
        for _ in range(20):
            pool.submit(int)
        assert sum(thread.name.startswith("three_") for thread in threading.enumerate()) == 3
    assert not any(thread.name.startswith("three_") for thread in threading.enumerate())


def test_a_wait_ends_at_its_limit_and_can_be_taken_up_again():
    go_on = threading.Event()
    with Threads(1, "one") as pool:
        future = pool.submit(go_on.wait, 30)
        with pytest.raises(TimeoutError):
            future.result(timeout=0.01)
        assert not future.done()
        go_on.set()
        assert future.result(30)
        assert future.result(0)


def test_calls_that_wait_are_cancelled_and_none_are_taken_after_the_end():
    go_on = threading.Event()
    pool = Threads(1, "one")
    first, second = pool.submit(go_on.wait, 30), pool.submit(int)
    pool.shutdown(wait=False, cancel_futures=True)
    go_on.set()
    assert first.result(30)
    with pytest.raises(CancelledError):
        second.result(30)
    with pytest.raises(RuntimeError, match="after shutdown"):
        pool.submit(int)
    pool.shutdown()


def test_threads_end_when_nobody_refers_to_them_and_keep_nothing_of_a_call():
    class Thing:
        pass

    thing = Thing()
    seen = weakref.ref(thing)
    pool = Threads(1, "forgotten")
    pool.submit(id, thing).result(30)
    del thing
    last = time.monotonic() + 30
    while seen() is not None and time.monotonic() < last:
        time.sleep(0.001)
    assert seen() is None
    (thread,) = [each for each in threading.enumerate() if each.name.startswith("forgotten")]
    del pool
    gc.collect()
    thread.join(30)
    assert not thread.is_alive()


@pytest.mark.parametrize("moment", range(1, 9))
def test_an_interruption_with_a_lock_just_taken_leaves_threads_that_end(monkeypatch, moment):
    enter, main, entered = threading.Condition.__enter__, threading.get_ident(), 0

    def interrupted(condition):
        nonlocal entered
        taken = enter(condition)
        if threading.get_ident() == main:
            entered += 1
            if entered == moment:
                # As if the signal came between this and the `with` that gives the lock back.
                raise KeyboardInterrupt
        return taken

    def use():
        for _ in range(20):
            futures = [pool.submit(time.sleep, 0.001) for _ in range(2)]
            assert [future.result(30) for future in futures] == [None, None]

    before = set(threading.enumerate())
    pool = Threads(2, "interrupted")
    with monkeypatch.context() as patched:
        patched.setattr(threading.Condition, "__enter__", interrupted)
        with pytest.raises(KeyboardInterrupt):
            use()
    pool.shutdown(wait=False)
    for thread in pool._threads:
        thread.join(30)
        assert not thread.is_alive()
    # One that was being started waits for the lock of its own start: nothing else does.
    assert all(thread.daemon for thread in set(threading.enumerate()) - before)


def test_processes_end_while_a_call_is_under_way():
    program = (
        "import stratax.base.threads as t, time\n"
        "t._EXIT_SECONDS = 0.2\n"
        "pool = t.Threads(1, 'one')\n"
        "pool.submit(time.sleep, 600)\n"
        "pool.submit(print, 'never')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], env=os.environ, capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def refuse(thread):
    raise RuntimeError("can't create new thread at interpreter shutdown")


def test_calls_are_made_at_once_where_no_thread_starts_any_more(monkeypatch):
    with Threads(2, "late") as pool, monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", refuse)
        assert list(pool.map(lambda x: (x, threading.current_thread()), range(3))) == [
            (x, threading.main_thread()) for x in range(3)
        ]
        with pytest.raises(ZeroDivisionError):
            pool.submit(lambda: 1 // 0).result()


def test_threads_that_have_started_make_calls_where_no_more_start(monkeypatch):
    with Threads(2, "late") as pool:
        first = pool.submit(threading.current_thread).result(30)
        monkeypatch.setattr(threading.Thread, "start", refuse)
        assert {pool.submit(threading.current_thread).result(30) for _ in range(3)} == {first}


def test_another_reason_why_no_thread_starts_is_raised(monkeypatch):
    def start(thread):
        raise RuntimeError("can't start new thread")

    pool = Threads(1, "none")
    monkeypatch.setattr(threading.Thread, "start", start)
    with pytest.raises(RuntimeError, match="can't start new thread"):
        pool.submit(print)
