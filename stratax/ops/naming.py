"""Who is told the names that tensors are given, which mean something in a `model_fn` only (ops layer)."""

import contextlib
import functools
import inspect
import threading
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

_Function = TypeVar("_Function", bound=Callable[..., Any])


# Of a thread, as traces are.
class _Listener(threading.local):
    note: Callable[[str | None, Any], Any] | None = None
    note_rows: Callable[[Any, Any], object] | None = None


_listener = _Listener()


@contextlib.contextmanager
def telling(
    note: Callable[[str | None, Any], Any], note_rows: Callable[[Any, Any], object] | None = None
) -> Iterator[None]:
    """Call functions with what `nameable` functions compute in a block.

    Args:
        note: Called with the name, or None, and the result; returns what takes its place.
        note_rows: Called with a result and the array of whose rows it consists: see :func:`of_same_rows`.
    """
    before = _listener.note, _listener.note_rows
    _listener.note, _listener.note_rows = note, note_rows
    try:
        yield
    finally:
        _listener.note, _listener.note_rows = before


def of_same_rows(made: Any, source: Any) -> Any:
    """Return what was made of an array, having told that it is of the same rows.

    TensorFlow has gradients of some rows of a matrix (`IndexedSlices`), and functions that leave them such.

    Args:
        made: What was made, of the same shape.
        source: The array.
    """
    if _listener.note_rows is not None:
        _listener.note_rows(made, source)
    return made


def nameable(function: _Function) -> _Function:
    """Return the function, whose results the listener is told of.

    Args:
        function: It takes `name`.
    """
    position = list(inspect.signature(function).parameters).index("name")

    @functools.wraps(function)
    def told(*args: Any, **kwargs: Any) -> Any:
        result = function(*args, **kwargs)
        note = _listener.note
        if note is None:
            return result
        return note(kwargs.get("name") or (args[position] if len(args) > position else None), result)

    return told  # type: ignore[return-value]
