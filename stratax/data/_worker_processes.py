"""Processes that work for this one: how they are started, and what is known when one has died (data layer).

They are new processes, started by loky: nothing is forked, and the user's main module is not imported.
"""

import re
from collections.abc import Callable
from typing import Any

import loky

_EXIT_CODES = re.compile(r"exit codes? of the workers? (?:are|is) \{(.*?)\}")
# A worker computes with one thread and on the CPU, and has no devices to simulate.
_ENVIRONMENT = {
    "JAX_PLATFORMS": "cpu",
    "MKL_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "STRATAX_SIMULATE": "",
}


def start_executor(num_processes: int, initializer: Callable[..., None], *arguments: Any) -> Any:
    """A pool of worker processes, which start when it gets its first task.

    Args:
        num_processes: How many.
        initializer: Called first of all in every process.
        *arguments: What it is called with.

    Returns:
        loky's executor.
    """
    return loky.ProcessPoolExecutor(
        max_workers=num_processes,
        context=loky.backend.get_context("loky"),
        initializer=initializer,
        initargs=arguments,
        env=_ENVIRONMENT,
    )


def reason_of_death(error: Exception) -> str:
    """What loky's error about a pool that has lost a process says of that one."""
    codes = _EXIT_CODES.search(str(error))
    return f"exit code {codes[1]}" if codes else type(error).__name__
