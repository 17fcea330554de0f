"""Telling the other workers how far this one is (distribute layer)."""

import contextlib
from typing import Any

from stratax.cluster import _phases
from stratax.core import _dispatches


class StepsForOthers(_dispatches.Observer):
    """Counts the programs that run over several workers, and says when one is compiled, begun and done."""

    def __init__(self) -> None:
        self._steps = 0

    def compiling(self) -> contextlib.AbstractContextManager[Any]:
        """The others wait for a program to be compiled without a limit."""
        return _phases.phase("compiling")

    def dispatching(self) -> contextlib.AbstractContextManager[Any]:
        """Begins the next step."""
        self._steps += 1
        return _phases.phase("step", step=self._steps)

    def dispatched(self, result: Any) -> None:
        """The step lasts until its result is there."""
        if result is not None:
            _phases.step_dispatched(result)
