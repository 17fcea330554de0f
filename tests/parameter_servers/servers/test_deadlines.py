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
