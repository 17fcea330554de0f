"""Who wants to know when a variable is read (core layer).

A :class:`GradientTape` watches trainable variables when they are read, as TensorFlow's does. Whatever hands
out a variable's value (a compiled region, the tape's own eager scope) calls :func:`notify`; a tape listens.
"""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import keras

from stratax.base.surroundings import Slot

ReadListener = Callable[[keras.Variable, Any], None]


_LISTENERS: Slot[tuple[ReadListener, ...]] = Slot("read listeners", ())


@contextlib.contextmanager
def listening(listener: ReadListener) -> Iterator[None]:
    """Call `listener(variable, value)` for every variable read by this thread inside the block."""
    _LISTENERS.set((*_LISTENERS.get(), listener))
    try:
        yield
    finally:
        # Not the last one: blocks of generators may end in another order than they began.
        left = list(_LISTENERS.get())
        left.remove(listener)
        _LISTENERS.set(tuple(left))


# The listeners of this thread: whether anybody wants to know about variable reads is asked in every call.
read_listeners = _LISTENERS.get


def notify(variable: keras.Variable, value: object) -> None:
    """Tell this thread's listeners that `variable` was read and gave `value` (before any autocast)."""
    for listener in _LISTENERS.get():
        listener(variable, value)
