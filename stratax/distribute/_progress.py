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
# After so long the answer of a task that came and went on would be here.
_SURE_SECONDS = 5


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


def gather_at_once(cluster: Cluster, name: str, what: str, value: bytes) -> list[bytes]:
    """Gather all workers' values as :func:`gather`, unless the others turn out not to be coming.

    Args:
        cluster: The workers.
        name: What the value is, the same in all of them.
        what: The same in words.
        value: This worker's.

    Raises:
        ClusterTimeoutError: If another one has gone on without it, or has left; names it.
    """
    stop, is_over = threading.Event(), threading.Event()

    def watch() -> None:
        elsewhere = 0
        while not is_over.wait(1.0) and elsewhere < _SURE_SECONDS:
            elsewhere = elsewhere + 1 if cluster.find_elsewhere(what) else 0
        stop.set()

    threading.Thread(target=watch, name="stratax-watch", daemon=True).start()
    try:
        return gather(cluster, name, what, value, stop)
    finally:
        is_over.set()


class StepsForOthers(storage.Observer):
    """Counts the programs that run over several workers, and says when one is compiled, begun and done.

    Args:
        read_together: Reads an array of which other workers have parts.

    Attributes:
        num_steps: How many programs were handed to the devices.
    """

    def __init__(self, read_together: Callable[[jax.Array], np.ndarray]) -> None:
        self.num_steps = 0
        self._read_together = read_together

    def compiling(self) -> contextlib.AbstractContextManager[Any]:
        """Let the others wait for a program to be compiled without a limit."""
        return phase("compiling")

    def dispatching(self) -> contextlib.AbstractContextManager[Any]:
        """Note that the next step is being dispatched."""
        # Programs and not training steps: what all workers run alike is what can be compared.
        return phase("step", step=self.num_steps + 1)

    def read_together(self, array: jax.Array) -> np.ndarray:
        """Return its value, which all workers read now."""
        return self._read_together(array)

    def note_dispatched(self, result: Any) -> None:
        """Let the step last until its result is there."""
        # Here, as one that had to be compiled was dispatched in another phase.
        self.num_steps += 1
        phases.note_step_dispatched(self.num_steps, result)
