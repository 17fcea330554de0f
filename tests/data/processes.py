"""Which processes a test has started."""

import gc
import re
import time

import psutil


def children(process=None):
    """The workers that a process has started: without what looks after loky's semaphores, and what forks tasks."""
    found = psutil.Process(process).children(recursive=True)
    return [child for child in found if _is_worker(child)]


def _is_worker(process):
    try:
        line = " ".join(process.cmdline())
        return process.status() != psutil.STATUS_ZOMBIE and not re.search(
            r"resource_tracker|forks\.serve", line
        )
    except psutil.Error:
        return False


def wait_until_none_is_left(seconds=60):
    """The workers that are still there after so long. Iterators that nobody holds any more are collected."""
    if children():
        gc.collect()
    end = time.monotonic() + seconds
    while children() and time.monotonic() < end:
        time.sleep(0.05)
    return [child.as_dict(["pid", "cmdline", "status", "create_time"]) for child in children()]
