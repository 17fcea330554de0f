"""Telling the other workers how far this one is (distribute layer)."""

import contextlib
import threading
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from stratax.cluster import Cluster, phase, phases
from stratax.core import storage

# Others that die or stand still are noticed long before; the wait itself is as long as what they do may take.
_PATIENT_SECONDS = 86_400.0


def gather(
    cluster: Cluster, name: str, what: str, value: bytes, stop: threading.Event | None = None
) -> list[bytes]:
    """Gather all workers' values under one name, however long the others evaluate or save before they come.

    Args:
        cluster: The workers.
        name: What the value is, the same in all of them.
        what: The same in words, for the message if one stands still.
        value: This worker's.
        stop: Ends the wait when it is set, in another thread.
    """
    with phases.waiting(what):
        return cluster.all_gather(name, value, _PATIENT_SECONDS, stop=stop)


class StepsForOthers(storage.Observer):
    """Counts the programs that run over several workers, and says when one is compiled, begun and done.

    Args:
        read_together: Reads an array of which other workers have parts.
    """

    def __init__(self, read_together: Callable[[jax.Array], np.ndarray]) -> None:
        self._steps = 0
        self._read_together = read_together

    def compiling(self) -> contextlib.AbstractContextManager[Any]:
        """Let the others wait for a program to be compiled without a limit."""
        return phase("compiling")

    def dispatching(self) -> contextlib.AbstractContextManager[Any]:
        """Note that the next step is being dispatched."""
        # Programs and not training steps: what all workers run alike is what can be compared.
        self._steps += 1
        return phase("step", step=self._steps)

    def read_together(self, array: jax.Array) -> np.ndarray:
        """Return its value, which all workers read now."""
        return self._read_together(array)

    def note_dispatched(self, result: Any) -> None:
        """Let the step last until its result is there."""
        # A program without results can't be waited for.
        if result is not None:
            phases.note_step_dispatched(result)
