"""How glibc keeps the memory that programs for CPUs need again at their next step (lowest layers).

XLA allocates the temporary arrays of a program in one block, each time it runs, on a thread of its own. glibc takes
blocks over 32 MiB from the system and gives them back when they are freed, so each step touches new pages: 25,000 page
faults, 50 of 240 ms of processor time, in a step of two convolutions of 32 filters on 200 digits (2 cores, jaxlib
0.10.2). TensorFlow has an allocator of its own there, JAX has no setting for one.
"""

import ctypes
import os
import sys
from collections.abc import Mapping

# glibc's malloc.h.
_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8

# Files of devices that compute in the place of the CPU: NVIDIA's, AMD's, and TPUs'.
_ACCELERATORS = ("/dev/nvidiactl", "/dev/kfd", "/dev/accel0")

# Blocks of more are taken from the system and given back as before, and so is free memory beyond it.
_KEPT_BYTES = 1 << 30

# The same in a process that gives memory back.
_LARGE_BYTES, _MOST_FREE_BYTES = 4 << 20, 16 << 20

# A thread's own arena has no blocks of over 64 MiB, so all threads share the one that has. Small blocks (1 KiB) come
# from a cache of each thread and need no arena's lock.
_SETTINGS = ((_ARENA_MAX, 1), (_MMAP_THRESHOLD, _KEPT_BYTES), (_TRIM_THRESHOLD, _KEPT_BYTES))


def install() -> None:
    """Have glibc keep up to 1 GiB of freed memory for the next step, unless the environment sets its allocator up.

    Nor where a GPU or TPU computes: temporary arrays lie in its memory, and what compiles for it, and measures kernels,
    does so in many threads, which one arena keeps waiting. On 16 cores with an H200 (jaxlib 0.11.2) the first step of
    ResNet50 came after 68 seconds with one arena, after 11 without.

    It works for the threads that begin later: import Stratax before what starts threads (JAX, pandas). With another
    C library, nothing happens.
    """
    if sys.platform != "linux" or _is_set_up(os.environ) or _uses_accelerator(os.environ):
        return
    change = getattr(ctypes.CDLL(None), "mallopt", None)
    if change is None:
        return
    for parameter, value in _SETTINGS:
        # 0 is its refusal: glibc before 2.35 has no threshold beyond 32 MiB.
        change(parameter, value)


def give_back() -> None:
    """Have glibc give freed memory back to the system, in a process that keeps a part of what it allocates for good.

    A parameter server receives gradients as large as its variables between two that it computes: what it frees would
    stay beside what it keeps.
    """
    change = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    if change is not None and not _is_set_up(os.environ):
        change(_MMAP_THRESHOLD, _LARGE_BYTES)
        change(_TRIM_THRESHOLD, _MOST_FREE_BYTES)


def _is_set_up(environment: Mapping[str, str]) -> bool:
    """Return whether the user has chosen settings of glibc's allocator, or another allocator."""
    return (
        any(name.startswith("MALLOC_") for name in environment)
        or "glibc.malloc" in environment.get("GLIBC_TUNABLES", "")
        or "LD_PRELOAD" in environment
    )


def _uses_accelerator(environment: Mapping[str, str]) -> bool:
    """Return whether JAX is going to compute on a GPU or TPU; it need not have been imported."""
    platforms = environment.get("JAX_PLATFORMS", "")
    return not platforms.startswith("cpu") and any(os.path.exists(path) for path in _ACCELERATORS)
