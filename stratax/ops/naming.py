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
    note: Callable[[str | None, Any], object] | None = None


_listener = _Listener()


@contextlib.contextmanager
def telling(note: Callable[[str | None, Any], object]) -> Iterator[None]:
    """Call a function with the name, or None, and the result of what `nameable` functions compute in a block."""
    before, _listener.note = _listener.note, note
    try:
        yield
    finally:
        _listener.note = before


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
        if note is not None:
            note(kwargs.get("name") or (args[position] if len(args) > position else None), result)
        return result

    return told  # type: ignore[return-value]
