"""Which processes a test has started."""

import gc
import time

import psutil


def children(process=None):
    """The workers that a process has started: without the one that looks after loky's semaphores."""
    found = psutil.Process(process).children(recursive=True)
    return [child for child in found if _is_worker(child)]


def _is_worker(process):
    try:
        return process.status() != psutil.STATUS_ZOMBIE and "resource_tracker" not in " ".join(
            process.cmdline()
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
