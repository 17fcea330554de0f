"""How a process leaves, and with which code (cluster layer)."""

import atexit
import contextlib
import enum
import logging
import os
import sys
import threading
from collections.abc import Callable
from types import TracebackType
from typing import NoReturn

from stratax.cluster._sockets import remove_sockets
from stratax.errors import ClusterError, ClusterTimeoutError, PeerLostError

_logger = logging.getLogger("stratax")
_leaving = threading.Lock()
# How long flushing may take; a full pipe that nobody reads would block it for good.
_FLUSH_SECONDS = 5.0
# Called, with that limit for all of them, before a process leaves.
_before: list[Callable[[], None]] = []


class ExitCode(enum.IntEnum):
    """What a task's exit code means.

    Codes below 128 are permanent, those above worth another try: the convention of Kubernetes' training operators. A
    launcher restarts all tasks from the last checkpoint after a retryable one.
    """

    # The program ended.
    DONE = 0
    # The program raised.
    USER_ERROR = 1
    # This task left, with `sys.exit` or by coming to its end, while the others were training.
    LEFT_EARLY = 70
    # TF_CONFIG, or the cluster that the tasks were given, is wrong.
    BAD_CLUSTER = 78
    # Ctrl-C. It has the number that shells give it, and is not retried.
    INTERRUPTED = 130
    # Another task died, raised, left or stood still; the fault is not this one's.
    PEER_LOST = 201
    # This task stood still, so that the others gave up.
    STALLED = 202
    # The machine is taken away; a checkpoint was saved.
    PREEMPTED = 203
    # Tasks were missing at the deadline, at the start or at a later wait.
    START_TIMEOUT = 204


# By SIGABRT, SIGKILL or SIGTERM. SIGABRT is how JAX' coordination client ends a process that lost the service.
_KILLED = (128 + 6, 128 + 9, 128 + 15, -6, -9, -15)


def is_retryable(code: int) -> bool:
    """Return whether a task that ended with this code is worth starting again.

    Args:
        code: The exit code; negative for a signal, as `subprocess` gives it, or 128 and its number, as shells do.

    Example:
        >>> is_retryable(ExitCode.PEER_LOST), is_retryable(ExitCode.USER_ERROR), is_retryable(-9)
        (True, False, True)
    """
    codes = (ExitCode.PEER_LOST, ExitCode.STALLED, ExitCode.PREEMPTED, ExitCode.START_TIMEOUT)
    return code in codes or code in _KILLED


def code_of(error: BaseException) -> ExitCode:
    """Return the exit code of a program that ends with an error.

    Args:
        error: The error.
    """
    if isinstance(error, PeerLostError):
        return ExitCode.PEER_LOST
    if isinstance(error, ClusterTimeoutError):
        return ExitCode.START_TIMEOUT
    if isinstance(error, ClusterError):
        return ExitCode.BAD_CLUSTER
    return ExitCode.INTERRUPTED if isinstance(error, KeyboardInterrupt) else ExitCode.USER_ERROR


def before_leaving(finish: Callable[[], None]) -> None:
    """Have something written to the disk before this process leaves with :func:`leave`.

    Args:
        finish: Called once, in some seconds that all share; it does not wait for devices or other processes.
    """
    _before.append(finish)


def at_end(finish: Callable[[Exception | None], None]) -> None:
    """Have something done when this process comes to its end, or leaves with an error.

    Nothing is done if it leaves without one: a machine that is taken away comes again.

    Args:
        finish: Called with the error that the program ends with, or None. It may wait for others for some seconds.
    """
    atexit.register(lambda: finish(_ending_error()))
    before_leaving(lambda: None if _ending_error() is None else finish(_ending_error()))


def _ending_error() -> Exception | None:
    """Return the error that this program ends with, which Python keeps for debuggers."""
    # Ctrl-C and an interactive session end as they should.
    error = None if hasattr(sys, "ps1") else getattr(sys, "last_value", None)
    return error if isinstance(error, Exception) else None


def forget_before_leaving(finish: Callable[[], None]) -> None:
    """Undo :func:`before_leaving`."""
    with contextlib.suppress(ValueError):
        _before.remove(finish)


def leave(code: int, message: str = "") -> NoReturn:
    """End this process at once, whatever its threads wait for, after everything written has been flushed.

    An ordinary end would wait for the other processes, in JAX' shutdown barrier, for minutes. Where nobody reads what
    this process writes, it gives up flushing after some seconds.

    Args:
        code: The exit code.
        message: What to write to the error output before.
    """
    # Of several threads that want to leave, the first decides the code. Python's locks can't hang here: whoever holds
    # this one ends the process.
    _leaving.acquire()
    # A thread may be impossible to start by now; leaving matters more than the limit.
    with contextlib.suppress(Exception):
        late = threading.Timer(_FLUSH_SECONDS, os._exit, [code])
        late.daemon = True
        late.start()
    with contextlib.suppress(Exception):
        if message:
            sys.stderr.write(f"{message.rstrip()}\n")
        if code in list(ExitCode):
            sys.stderr.write(
                f"stratax: this process leaves with exit code {int(code)} ({ExitCode(code).name}).\n"
            )
        _flush()
    for finish in list(_before):
        with contextlib.suppress(Exception):
            finish()
    with contextlib.suppress(Exception):
        remove_sockets()
    # Not `sys.exit`: exit handlers and other threads could wait for processes that are gone.
    os._exit(code)


def _flush() -> None:
    for handler in list(logging.root.handlers) + list(_logger.handlers):
        with contextlib.suppress(Exception):
            handler.flush()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()


def end_with_the_code_of_errors() -> None:
    """Have this process leave with the code of an error of the cluster that ends it: a wrong description, a lost task.

    A launcher tells it by that from a program that raised. It holds until the process has joined a cluster, whose own
    way of ending then takes its place.
    """
    before = sys.excepthook

    def on_error(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        before(kind, error, trace)
        # Another hook that came later takes precedence, such as the one of a connected cluster.
        if sys.excepthook is on_error and isinstance(
            error, ClusterError | ClusterTimeoutError | PeerLostError
        ):
            leave(code_of(error))

    # A program with a hook of its own keeps it: only Python's default is replaced.
    if before is sys.__excepthook__:
        sys.excepthook = on_error
