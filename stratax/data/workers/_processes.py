"""Processes that work for this one: how they are started, and what is known when one has died (data layer).

They are new processes, started by loky: nothing is forked, and the user's main module is not imported.
"""

import os
import re
import signal
import threading
import time
from collections.abc import Callable
from typing import Any

import loky

_ASK_SECONDS = 1.0
_EXIT_CODES = re.compile(r"exit codes? of the workers? (?:are|is) \{(.*?)\}")
# A worker computes with one thread and on the CPU, and has no devices to simulate.
_ENVIRONMENT = {
    "JAX_PLATFORMS": "cpu",
    "MKL_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "STRATAX_SIMULATE": "",
}


def start_executor(num_processes: int, set_up: Callable[..., None] | None = None, *arguments: object) -> Any:
    """Start a pool of worker processes, which start when it gets its first task and end with this process.

    Args:
        num_processes: How many.
        set_up: Called in every process before its first task.
        *arguments: What it is called with.

    Returns:
        loky's executor.
    """
    return loky.ProcessPoolExecutor(
        max_workers=num_processes,
        context=loky.backend.get_context("loky"),
        initializer=_begin,
        initargs=(os.getpid(), set_up, arguments),
        env=_ENVIRONMENT,
    )


def _begin(parent: int, set_up: Callable[..., None] | None, arguments: tuple[Any, ...]) -> None:
    # Ctrl-C reaches every process of a terminal; the parent ends the others.
    # Ctrl-C is handled by the parent, which ends its workers.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with, args=(parent,), name="stratax-parent", daemon=True).start()
    if set_up is not None:
        set_up(*arguments)


def _end_with(parent: int) -> None:
    """End this process, whatever it waits for, when its parent has ended."""
    # An orphan gets another parent; this works without a signal, also after the parent was killed.
    while os.getppid() == parent:
        time.sleep(_ASK_SECONDS)
    # Without cleaning up: handlers could wait for the parent that is gone.
    os._exit(1)


def reason_of_death(error: Exception) -> str:
    """Return what loky's error about a pool that has lost a process says of that one."""
    codes = _EXIT_CODES.search(str(error))
    return f"exit code {codes[1]}" if codes else type(error).__name__
