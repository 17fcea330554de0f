"""Catches the programs that run in this process (rehearsal layer)."""

import collections
import contextlib
from collections.abc import Collection, Iterator

import keras

from stratax.command.rehearsal._alive import alive
from stratax.core import regions
from stratax.engine import StepLoop

_OF_KERAS, _OF_ESTIMATORS = "train_function", "train"
# What users call, and the programs that Keras' methods and those of Estimators dispatch for it.
_METHODS = {
    "fit": {_OF_KERAS, _OF_ESTIMATORS},
    "train": {_OF_KERAS, _OF_ESTIMATORS},
    "evaluate": {"test_function", "evaluate"},
    "predict": {"predict_function", "predict"},
}
# One pass over their data, or what `fit` calls.
_ENDING_BY_THEMSELVES = frozenset(_METHODS["evaluate"] | _METHODS["predict"])


class Enough(BaseException):
    """Ends a program all of whose wanted programs have been caught: nothing of the user's is to handle it."""


def programs_of(name: str) -> frozenset[str]:
    """Return the names of the programs that are meant by a method of Keras or of an Estimator, or by a program's name.

    Example:
        >>> sorted(programs_of("evaluate")), sorted(programs_of("my_step"))
        (['evaluate', 'test_function'], ['my_step'])
    """
    return frozenset(_METHODS.get(name, {name}))


class Catcher(regions.Listener):
    """Keeps the programs that are dispatched, and ends the user's program when it has seen enough.

    Args:
        wanted: The programs to wait for, after which the user's program ends: ``"fit"``, ``"train"``, ``"evaluate"``,
            ``"predict"`` (of Keras or of Estimators), or names of compiled functions; empty for all there are.
        limit: After how many dispatches a call of `fit` or `train` is cut short; another loop then ends the user's
            program, and so does an Estimator that trains again.

    Attributes:
        caught: The programs, in the order of their first dispatch.
        num_dispatches: How often programs of each name were dispatched.
    """

    def __init__(self, wanted: Collection[str] = (), limit: int | None = None) -> None:
        self.caught: list[regions.MadeProgram] = []
        self.num_dispatches: collections.Counter[str] = collections.Counter()
        self._wanted = {name: programs_of(name) for name in wanted}
        self._limit = limit

    @property
    def missing(self) -> list[str]:
        """What is wanted and was not caught."""
        found = {each.name for each in self.caught}
        return [name for name, programs in self._wanted.items() if not programs & found]

    def about_to_run(self, made: regions.MadeProgram) -> None:
        if not self._wanted or any(made.name in programs for programs in self._wanted.values()):
            self.caught.append(made)
        if not made.can_run:
            self.num_dispatches[made.name] += 1
            raise Enough

    def running(self, made: regions.MadeProgram) -> None:
        name = made.name
        if self._wanted and not self.missing:
            raise Enough
        if self._limit is not None and name not in _ENDING_BY_THEMSELVES:
            self._cut(name, self._limit)
        self.num_dispatches[name] += 1

    def _cut(self, name: str, limit: int) -> None:
        count = self.num_dispatches[name]
        # An Estimator stops some steps after it is told; `train_and_evaluate` trains on after each evaluation.
        if count >= (3 * limit if name == _OF_ESTIMATORS else limit) and name != _OF_KERAS:
            raise Enough
        # What the program does behind it is wanted, too. A call of `fit` forgets that another was to stop.
        if name == _OF_ESTIMATORS and count >= limit - 1:
            for loop in alive((StepLoop,)):
                loop.request_stop()
        if name == _OF_KERAS and count % limit == limit - 1:
            for model in alive((keras.Model,)):
                model.stop_training = True

    @contextlib.contextmanager
    def catching(self) -> Iterator[None]:
        """Catch the programs that are made and run in a block."""
        regions.listen(self)
        try:
            yield
        finally:
            regions.listen(None)
