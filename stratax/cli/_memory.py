"""Ends a process with a message before the system, out of memory, ends it without one (cli layer)."""

import contextlib
import os
import pathlib
import re
import sys
import threading
from collections.abc import Iterator

import click

_AVAILABLE = re.compile(r"^MemAvailable:\s+(?P<kilobytes>[0-9]+) kB", re.MULTILINE)
_TABLE = pathlib.Path("/proc/meminfo")
# With less than this share of the memory left, the system may end the process at any moment.
_LEAST = 0.04
_SECONDS = 0.05


@contextlib.contextmanager
def end_with(message: str) -> Iterator[None]:
    """End the process with exit code 1 and a message if the machine's memory is nearly used up within a block.

    Nothing else could be said then: arrays that don't fit are no error of Python, the system kills the process. Where
    the system does not tell how much memory is left, as on macOS, nothing is done.

    Args:
        message: What to say.
    """
    ended = threading.Event()
    threading.Thread(target=_watch, args=(message, ended), name="stratax-memory", daemon=True).start()
    try:
        yield
    finally:
        ended.set()


def _watch(message: str, ended: threading.Event) -> None:
    least = _LEAST * os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    while not ended.wait(_SECONDS):
        left = _bytes_left()
        if left is None:
            return
        if left < least:
            click.echo(f"Error: {message} {left / 2**30:.1f} GiB are left.", err=True)
            sys.stdout.flush()
            os._exit(1)


def _bytes_left() -> int | None:
    try:
        found = _AVAILABLE.search(_TABLE.read_text("ascii"))
    except OSError:
        return None
    return int(found["kilobytes"]) * 1024 if found else None
