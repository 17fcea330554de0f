"""Waits that take too long are ended, and those that are left in time are not."""

import threading
import time

from stratax.parameter_servers.servers import _deadlines


def test_only_a_block_that_is_not_left_in_time_is_ended():
    deadlines, late, quick = _deadlines.Deadlines(), threading.Event(), threading.Event()
    try:
        with deadlines.within(time.monotonic() + 1, quick.set):
            pass
        with deadlines.within(time.monotonic(), late.set):
            assert late.wait(30)
        time.sleep(1.5)
        assert not quick.is_set()
    finally:
        deadlines.close()


def test_a_block_at_the_end_of_the_program_is_left_though_no_thread_starts(monkeypatch):
    def refuse(thread):
        raise RuntimeError("can't create new thread at interpreter shutdown")

    monkeypatch.setattr("stratax.base.spare_threads._spare", [])
    monkeypatch.setattr(threading.Thread, "start", refuse)
    deadlines = _deadlines.Deadlines()
    with deadlines.within(time.monotonic() + 60, print):
        pass
    deadlines.close()
