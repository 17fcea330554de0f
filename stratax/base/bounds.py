"""Bounds on the memory that data of others may take on the host (lowest layers).

A few bytes may describe a large array: an image of one color, rows of which one is long, zeros that were compressed.
"""

import contextlib
import functools
import math
import os
import pathlib
import threading
from collections.abc import Iterable, Iterator

from stratax.errors import BadArgumentError

_OF_CONTAINER = pathlib.Path("/sys/fs/cgroup/memory.max")
# Decoded at a time by those that take turns: about 1 GB, as bytes and as floats.
_MOST_PIXELS = 1 << 26
_changed = threading.Condition()
# What a thread itself holds of the budget: nothing that it could hand over to another one.
_own = threading.local()
_pixels = 0


@functools.cache
def most_bytes() -> int:
    """Return how large one array may get: half of the memory of the machine, or of the container."""
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    with contextlib.suppress(OSError, ValueError):  # Where there is no container, or none with a bound.
        total = min(total, int(_OF_CONTAINER.read_text("ascii")))
    return total // 2


def check_bytes(what: str, sizes: Iterable[int], itemsize: int) -> None:
    """Look whether an array may be made, before it is.

    Args:
        what: What makes it.
        sizes: Its sizes.
        itemsize: Bytes of an element.

    Raises:
        BadArgumentError: It would be too large.
    """
    shape = tuple(int(size) for size in sizes)
    if math.prod(shape) * itemsize > most_bytes():
        raise BadArgumentError(
            f"{what} would make an array that is too large. Expected: at most {most_bytes()} bytes, half of the memory "
            f"that there is. Received: shape {str(shape)[:200]} of {itemsize} bytes each. Pass less at a time."
        )


@contextlib.contextmanager
def taking_turns(*, goes_on: bool = False) -> Iterator[None]:
    """Count the pixels that are decoded in a block as in memory until it ends, and wait while others hold too many.

    A block that holds some already does not wait, as others may wait for it. A block within a block is part of it.

    Args:
        goes_on: Whether the block belongs to one in another thread that waits for it, and holds some.
    """
    global _pixels
    if is_in_turn():
        yield
        return
    _own.held, _own.goes_on = 0, goes_on
    try:
        yield
    finally:
        with _changed:
            _pixels -= _own.held
            _changed.notify_all()
        _own.held = None


def is_in_turn() -> bool:
    """Return whether this thread is in a block of :func:`taking_turns`."""
    return getattr(_own, "held", None) is not None


def holds_pixels() -> bool:
    """Return whether this thread's block holds any, or the one that it belongs to."""
    return is_in_turn() and bool(_own.held or _own.goes_on)


def claim_pixels(count: int) -> None:
    """Note that pixels are about to be decoded; waits where turns are taken.

    Args:
        count: How many.
    """
    global _pixels
    if not is_in_turn():
        return
    with _changed:
        if not holds_pixels():
            # One that is larger than all that is allowed comes alone.
            _changed.wait_for(lambda: not _pixels or _pixels + count <= _MOST_PIXELS)
        _pixels += count
        _own.held += count
