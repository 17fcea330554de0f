"""Who wants to know when a variable is read (core layer).

A :class:`GradientTape` watches trainable variables when they are read, as TensorFlow's does. Whatever hands
out a variable's value (a compiled region, the tape's own eager scope) calls :func:`notify`; a tape listens.
"""

import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import Any

import keras

ReadListener = Callable[[keras.Variable, Any], None]


class _Listeners(threading.local):
    def __init__(self) -> None:
        self.stack: list[ReadListener] = []


_listeners = _Listeners()


@contextlib.contextmanager
def listening(listener: ReadListener) -> Iterator[None]:
    """Call `listener(variable, value)` for every variable read by this thread inside the block."""
    _listeners.stack.append(listener)
    try:
        yield
    finally:
        _listeners.stack.remove(listener)


def has_listeners() -> bool:
    """Return whether anybody on this thread wants to know about variable reads."""
    return bool(_listeners.stack)


def notify(variable: keras.Variable, value: object) -> None:
    """Tell this thread's listeners that `variable` was read and gave `value` (before any autocast)."""
    for listener in _listeners.stack:
        listener(variable, value)
