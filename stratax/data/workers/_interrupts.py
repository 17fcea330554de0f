"""Ctrl-C while worker processes are started (data layer)."""

import contextlib
import multiprocessing.resource_tracker
import signal
import sys
from collections.abc import Iterator


@contextlib.contextmanager
def workers_without_interrupts() -> Iterator[None]:
    """Keep Ctrl-C, which reaches every process of a terminal, from processes that are started in this block.

    The process that they work for ends them. One that is still starting, and has not yet said that it leaves Ctrl-C
    to the other, would print where it was.
    """
    if sys.platform == "win32":
        yield
        return
    # Started along with the first worker, it would let Ctrl-C through again in Python 3.11.
    multiprocessing.resource_tracker.ensure_running()
    # A new process inherits the mask, so it never sees the signal, not even before its own code runs.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
