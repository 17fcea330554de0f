"""What this task is doing at the moment, for the others to see (cluster layer)."""

import dataclasses
import operator
import threading
import time
from types import TracebackType
from typing import Any, Protocol, SupportsIndex

from stratax.base.shown import shown
from stratax.errors import BadArgumentError, BadTypeError

# What a task can be doing. Only a step, and what is not in `PATIENT`, has a deadline.
PHASES = ("idle", "input", "compiling", "step", "evaluating", "saving")

# Phases that the other tasks wait for without a limit.
PATIENT = ("compiling", "evaluating", "saving")


class Guard(Protocol):
    """What knows whether another task is lost."""

    def check(self) -> None:
        """Raise an error if a peer is lost."""

    def peer_error(self, error: BaseException) -> BaseException | None:
        """Return the error that names the lost task, where `error` came from its loss."""


class Pending(Protocol):
    """A result that devices compute while the program continues."""

    def is_ready(self) -> bool:
        """Return whether the result is there."""


@dataclasses.dataclass(slots=True)
class Progress:
    """What the main thread of this process does.

    Attributes:
        phase: One of `PHASES`.
        step: The number of the step that it is in, or None.
        last_step: The last step that was begun; None before the first.
        since: When the phase began, on the monotonic clock, in seconds.
        waits_for: Where it waits for the other tasks, in words; None where it does not.
        thread: The thread whose phases count.
        guard: The cluster, once this process is connected.
        result: What the last step computes, on its devices, and when it was begun.
    """

    phase: str = "idle"
    step: int | None = None
    last_step: int | None = None
    since: float = dataclasses.field(default_factory=time.monotonic)
    waits_for: str | None = None
    thread: int = dataclasses.field(default_factory=threading.get_ident)
    guard: Guard | None = None
    result: "tuple[Pending, float] | None" = None

    def heartbeat(self) -> dict[str, Any]:
        """Return the heartbeat to send: in a step also while its result is not there yet."""
        # Read once, as another thread changes them; a mixture is out of date by one step at most.
        phase, step, since = self.phase, self.step, self.since
        # Dispatching returns at once: the program may be reading input while its step still runs.
        if phase not in ("step", "compiling") and self.result is not None and not _is_there(self.result[0]):
            phase, step, since = "step", self.last_step, self.result[1]
        age = round(time.monotonic() - since, 2)
        return {"phase": phase, "step": step, "last": self.last_step, "age": age, "waits_for": self.waits_for}


# This process's progress. There is one main thread, so there is one.
progress = Progress()


class Phase:
    """A block of the program with a name; see `phase`."""

    __slots__ = ("_before", "_name", "_step", "_waits_for")

    def __init__(self, name: str, step: int | None, waits_for: str | None = None) -> None:
        self._name = name
        self._step = step
        self._waits_for = waits_for
        self._before: tuple[str, int | None, str | None] | None = None

    def __enter__(self) -> None:
        # A background thread's work, reading ahead say, is nothing that others wait for.
        if progress.thread != threading.get_ident():
            return
        if progress.guard is not None:
            # Before the block: a step without its peers would never end.
            progress.guard.check()
        self._before = (progress.phase, progress.step, progress.waits_for)
        _change(self._name, self._step, self._waits_for)
        if self._name == "step" and self._step is not None:
            progress.last_step = self._step

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._before is None:
            return
        # Asked before the phase changes, as its wait is part of the step.
        lost = progress.guard.peer_error(error) if error is not None and progress.guard is not None else None
        _change(*self._before)
        if lost is not None:
            raise lost from error


def phase(name: str, step: int | None = None) -> Phase:
    """Say what the program does inside a block, so that the other tasks can tell waiting from standing still.

    It costs about a microsecond, and counts only in the thread that connected to the cluster. If another task is
    lost, the block is not entered; what a collective raises inside because of that becomes the error that names it.

    Args:
        name: ``"input"``, ``"compiling"``, ``"step"``, ``"evaluating"``, ``"saving"`` or ``"idle"``.
        step: The number of the step, an integer of Python, NumPy or JAX.

    Returns:
        A context manager.

    Raises:
        BadArgumentError: If there is no such phase.
        BadTypeError: If `step` is no integer.
        PeerLostError: On entering or leaving the block, if another task of the cluster is lost.

    Example:
        >>> with phase("step", step=7):
        ...     pass
    """
    if name not in PHASES:
        raise BadArgumentError(f"A phase is one of {', '.join(PHASES)}. Received: name={shown(name)}.")
    return Phase(name, None if step is None else step_number(step))


def waiting(what: str) -> Phase:
    """Say that this task waits for the others inside a block, and for what.

    To the watchdog that is a step, also inside of a phase that has no deadline: who keeps the others waiting has one,
    unless it compiles, evaluates or saves.

    Args:
        what: Where it waits, in words, for the message if it waits too long.

    Returns:
        A context manager.
    """
    return Phase("step", progress.last_step, what)


def step_number(step: SupportsIndex) -> int:
    """Return the number of a step as an int, which is what a heartbeat can carry.

    Args:
        step: An integer of Python, NumPy or JAX.

    Raises:
        BadTypeError: If it is none.
    """
    try:
        return operator.index(step)
    except TypeError:
        raise BadTypeError(f"A step's number must be an integer. Received: step={shown(step)}.") from None


def _change(name: str, step: int | None, waits_for: str | None) -> None:
    progress.phase = name
    progress.step = step
    progress.waits_for = waits_for
    progress.since = time.monotonic()


def note_step_dispatched(step: int, result: Pending | None) -> None:
    """Note what the step that was handed to the devices computes: the step lasts until it is there.

    Args:
        step: Its number.
        result: An array of the step's results; None if there is none, which can't be waited for.
    """
    progress.last_step = step
    if result is not None:
        progress.result = (result, time.monotonic())


def _is_there(result: Pending) -> bool:
    try:
        return result.is_ready()
    # JAX says so of a donated array.
    except RuntimeError:  # Its buffer went into a later step.
        return True
