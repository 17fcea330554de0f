"""What this task is doing at the moment, for the others to see (cluster layer)."""

import dataclasses
import threading
import time
from types import TracebackType
from typing import Any

from stratax.errors import BadArgumentError

PHASES = ("idle", "input", "compiling", "step", "evaluating", "saving")
"""What a task can be doing. Only a step, and what is not in `PATIENT`, has a deadline."""

PATIENT = ("compiling", "evaluating", "saving")
"""Phases that the other tasks wait for without a limit."""


@dataclasses.dataclass(slots=True)
class Progress:
    """What the main thread of this process does.

    Attributes:
        phase: One of `PHASES`.
        step: The number of the step that it is in, or None.
        last_step: The last step that was begun; None before the first.
        since: When the phase began, on the monotonic clock, in seconds.
        thread: The thread whose phases count.
    """

    phase: str = "idle"
    step: int | None = None
    last_step: int | None = None
    since: float = dataclasses.field(default_factory=time.monotonic)
    thread: int = dataclasses.field(default_factory=threading.get_ident)

    def sign(self) -> dict[str, Any]:
        """Returns what the other tasks are told."""
        age = round(time.monotonic() - self.since, 2)
        return {"phase": self.phase, "step": self.step, "last": self.last_step, "age": age}


progress = Progress()
"""This process's progress. There is one main thread, so there is one."""


class Phase:
    """A block of the program with a name; see `phase`."""

    __slots__ = ("_before", "_name", "_step")

    def __init__(self, name: str, step: int | None) -> None:
        self._name = name
        self._step = step
        self._before: tuple[str, int | None] | None = None

    def __enter__(self) -> None:
        if progress.thread != threading.get_ident():
            return
        self._before = (progress.phase, progress.step)
        _change(self._name, self._step)
        if self._name == "step" and self._step is not None:
            progress.last_step = self._step

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._before is not None:
            _change(*self._before)


def phase(name: str, step: int | None = None) -> Phase:
    """Says what the program does inside a block, so that the other tasks can tell waiting from standing still.

    It costs about a microsecond, and counts only in the thread that connected to the cluster.

    Args:
        name: ``"input"``, ``"compiling"``, ``"step"``, ``"evaluating"``, ``"saving"`` or ``"idle"``.
        step: The number of the step.

    Returns:
        A context manager.

    Raises:
        BadArgumentError: If there is no such phase.

    Example:
        >>> with phase("step", step=7):
        ...     pass
    """
    if name not in PHASES:
        raise BadArgumentError(f"A phase is one of {', '.join(PHASES)}. Received: name={name!r}.")
    return Phase(name, step)


def _change(name: str, step: int | None) -> None:
    progress.phase = name
    progress.step = step
    progress.since = time.monotonic()
