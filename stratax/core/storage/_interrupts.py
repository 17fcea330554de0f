"""What keeps variables safe while a program is dispatched: Ctrl-C waits, buffers that others hold stay (core layer)."""

import _signal  # type: ignore[import-not-found]  # What signal wraps, without conversions: it runs on every step.
import signal
import sys
import threading
import types
from typing import Any


def _count_own_references() -> int:
    """Return what `sys.getrefcount` says of a value that only an attribute holds, and the local name that asks."""
    holder = types.SimpleNamespace(value=object())
    value = holder.value
    return sys.getrefcount(value)


def _count_listed_references() -> int:
    """Return what it says of a value that an attribute and a list hold, asked by its position in the list."""
    holder = types.SimpleNamespace(value=object())
    values = [holder.value]
    return sys.getrefcount(values[0])


# Both are 3 in CPython 3.11 to 3.13; they differ between versions.
REFERENCES_OF_ITS_OWN = _count_own_references()
REFERENCES_IN_LIST = _count_listed_references()


class InterruptDeferred:
    """Holds Ctrl-C back for a block.

    The buffers that a program is given are gone once it is dispatched; an interrupt between that and the
    assignment of its results would leave variables without a value.
    """

    __slots__ = ("_came", "_handler")

    def __enter__(self) -> None:
        self._came: list[types.FrameType | None] = []
        self._handler: Any = None
        # A handler that was not installed from Python could not be put back.
        if threading.get_ident() == _MAIN_THREAD and _signal.getsignal(_SIGINT) is not None:
            came = self._came
            self._handler = _signal.signal(_SIGINT, lambda _, frame: came.append(frame))

    def __exit__(self, *_: object) -> None:
        handler = self._handler
        if (
            handler is None
        ):  # Another thread, or a handler that was not installed from Python: nothing to restore.
            return
        _signal.signal(_SIGINT, handler)
        if self._came and callable(handler):
            handler(signal.SIGINT, self._came[0])


_SIGINT = int(signal.SIGINT)
_MAIN_THREAD = threading.main_thread().ident
