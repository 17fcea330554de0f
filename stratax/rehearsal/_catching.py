"""Catches the programs that run in this process (rehearsal layer)."""

import collections
import contextlib
from collections.abc import Collection, Iterator

from stratax.core import compiling


class Enough(BaseException):
    """Ends a program all of whose wanted programs have been caught: nothing of the user's is to handle it."""


class Catcher(compiling.Listener):
    """Keeps the programs that are dispatched, and ends the user's program when it has seen enough.

    Args:
        wanted: The names of programs to wait for, after which the user's program ends; empty for all there are.
        limit: After how many dispatches of one program the user's program ends.
    """

    def __init__(self, wanted: Collection[str] = (), limit: int | None = None) -> None:
        self.caught: list[compiling.Made] = []
        self.num_dispatches: collections.Counter[str] = collections.Counter()
        self._wanted = frozenset(wanted)
        self._limit = limit

    def about_to_run(self, made: compiling.Made) -> None:
        if not self._wanted or made.name in self._wanted:
            self.caught.append(made)

    def running(self, made: compiling.Made) -> None:
        name = made.name
        if self._wanted and self._wanted <= {each.name for each in self.caught}:
            raise Enough
        if self._limit is not None and self.num_dispatches[name] >= self._limit:
            raise Enough
        self.num_dispatches[name] += 1

    @contextlib.contextmanager
    def catching(self) -> Iterator[None]:
        """Catch the programs that are made and run in a block."""
        compiling.listen(self)
        try:
            yield
        finally:
            compiling.listen(None)
