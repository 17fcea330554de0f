"""How many processor cores there are for this process (data layer)."""

import os


def num_cores() -> int:
    """Return the cores that this process may use: on a machine that is shared, fewer than it has."""
    if hasattr(os, "sched_getaffinity"):
        # In a container or under a scheduler a process often has fewer cores than the machine.
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1  # macOS does not tell.
