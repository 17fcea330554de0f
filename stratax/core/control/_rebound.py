"""What names of users' modules were when a function was traced, for those that trace it again later (core layer)."""

import contextlib
import inspect
import types
from collections.abc import Iterable, Iterator
from typing import Any

from stratax.core import storage


class ReboundNames:
    """Keeps what the names around functions stand for now.

    A program is traced for other devices when the user's program has ended, which may have given its names to others
    by then: the next strategy, another batch size.

    Args:
        functions: The functions; those of libraries, and what is no function, are passed over.
    """

    def __init__(self, functions: Iterable[object]) -> None:
        found = [_unwrap(each) for each in functions if callable(each)]
        around = {id(each.__globals__): each.__globals__ for each in found if each is not None}
        self._kept = [(names, dict(names)) for names in around.values()]

    @contextlib.contextmanager
    def use_kept(self) -> Iterator[None]:
        """Let the names stand for what was kept, within a block."""
        rebound: list[tuple[dict[str, Any], str, Any]] = []
        for names, kept in self._kept:
            rebound += [
                (names, name, names.get(name, _GONE))
                for name, value in kept.items()
                if names.get(name, _GONE) is not value
            ]
            names.update(kept)
        try:
            yield
        finally:
            for names, name, value in rebound:
                if value is _GONE:
                    del names[name]
                else:
                    names[name] = value


_GONE = object()


def _unwrap(function: Any) -> types.FunctionType | None:
    """Return a user's own function, of a bound method or one that a decorator has wrapped, too."""
    function = inspect.unwrap(getattr(function, "python_function", function))
    function = getattr(function, "__func__", function)
    return function if isinstance(function, types.FunctionType) and storage.is_users(function) else None
