"""What a thread has around it: values that blocks put there and that code deep inside of them finds (lowest layer).

Each value has a `Slot`, declared in the module that it belongs to. All values of a thread are one object: a `with`
enters several at once, and `hand_over` takes all of them to another thread. What belongs to the thread itself, such as
a connection or a share of a budget, is no such value.
"""

import contextlib
import functools
import itertools
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Generic, ParamSpec, TypeVar

Value = TypeVar("Value")
Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")
# Gives what, in another thread, has a block have what this one has of a library's own.
Capture = Callable[[], Callable[[], contextlib.AbstractContextManager[None]]]


class _Here(threading.local):
    """The values that this thread has been given, by the keys of slots; defaults are attributes of the class."""


_here = _Here()
_numbers = itertools.count()
_ABSENT = object()
_captures: list[Capture] = []


class Slot(Generic[Value]):
    """The place of one value around a thread.

    Values go to other threads, and several threads may have the same one: a value that changes is replaced, as tuples
    are, rather than changed.

    Args:
        name: What errors and debuggers call it.
        default: What a thread has that was given none.

    Attributes:
        get: Returns the value that this thread has.
        set: Gives this thread a value, until it is given another one.
    """

    __slots__ = ("_key", "get", "set")

    def __init__(self, name: str, default: Value) -> None:
        self._key = f"{name} {next(_numbers)}"
        setattr(_Here, self._key, default)
        # Without a frame of Python's: they are asked at every operation.
        self.get: Callable[[], Value] = functools.partial(getattr, _here, self._key)
        self.set: Callable[[Value], None] = functools.partial(setattr, _here, self._key)

    def holding(self, value: Value) -> "Surroundings":
        """Return what has this thread have a value in a block."""
        return Surroundings({self._key: value})


class Surroundings:
    """Values for a thread, which it has in the block of a `with`; each object is for one block.

    Args:
        values: The values, by the keys of their slots.
    """

    __slots__ = ("_before", "_values")

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = values

    def __enter__(self) -> None:
        own = vars(_here)
        self._before = {key: own.get(key, _ABSENT) for key in self._values}
        own.update(self._values)

    def __exit__(self, *exc_info: object) -> None:
        own = vars(_here)
        for key, value in self._before.items():
            if value is _ABSENT:
                own.pop(key, None)
            else:
                own[key] = value

    def __or__(self, other: "Surroundings") -> "Surroundings":
        """Return the values of both, those of the other where both have one."""
        return Surroundings({**self._values, **other._values})


def hand_over(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Return the function as it is to be called in another thread: with all that this thread has around it now.

    What the other thread has is put aside for that time. What libraries keep for this thread goes along where their
    seam has said how (:func:`hand_too`).

    Args:
        function: The function.
    """
    values = dict(vars(_here))
    entries = [capture() for capture in _captures]

    @functools.wraps(function)
    def call(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        with contextlib.ExitStack() as stack:
            stack.enter_context(_replace(values))
            for entry in entries:
                stack.enter_context(entry())
            return function(*args, **kwargs)

    return call


def hand_too(capture: Capture) -> None:
    """Have :func:`hand_over` take what a library keeps for each thread along.

    Args:
        capture: Called in the thread that hands over; what it returns is called in the other one, for a block there.
    """
    _captures.append(capture)


@contextlib.contextmanager
def _replace(values: Mapping[str, Any]) -> Iterator[None]:
    own = vars(_here)
    before = dict(own)
    own.clear()
    own.update(values)
    try:
        yield
    finally:
        own.clear()
        own.update(before)
