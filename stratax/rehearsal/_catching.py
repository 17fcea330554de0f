"""Catches the programs that run in this process (rehearsal layer)."""

import collections
import contextlib
from collections.abc import Collection, Iterator

import keras

from stratax.core import compiling
from stratax.rehearsal._alive import alive

_TRAINING = "train_function"
# One pass over their data, or what `fit` calls.
_ENDING_BY_THEMSELVES = frozenset({"test_function", "predict_function"})


class Enough(BaseException):
    """Ends a program all of whose wanted programs have been caught: nothing of the user's is to handle it."""


class Catcher(compiling.Listener):
    """Keeps the programs that are dispatched, and ends the user's program when it has seen enough.

    Args:
        wanted: The names of programs to wait for, after which the user's program ends; empty for all there are.
        limit: After how many dispatches a call of `fit` is cut short; another loop then ends the user's program.

    Attributes:
        caught: The programs, in the order of their first dispatch.
        num_dispatches: How often programs of each name were dispatched.
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
        if self._limit is not None and name not in _ENDING_BY_THEMSELVES:
            self._cut(name, self._limit)
        self.num_dispatches[name] += 1

    def _cut(self, name: str, limit: int) -> None:
        if name != _TRAINING:
            if self.num_dispatches[name] >= limit:
                raise Enough
            return
        # What the program does behind `fit` is wanted, too. A call of `fit` forgets that another was to stop.
        if self.num_dispatches[name] % limit == limit - 1:
            for model in alive((keras.Model,)):
                model.stop_training = True

    @contextlib.contextmanager
    def catching(self) -> Iterator[None]:
        """Catch the programs that are made and run in a block."""
        compiling.listen(self)
        try:
            yield
        finally:
            compiling.listen(None)
