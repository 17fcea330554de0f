"""The tasks of a cluster by type, as manifests number them, and how they end (manifests layer)."""

from stratax.cluster import ExitCode

# The retryable codes; the later one tells more of why the tasks ended.
BY_FAULT = (
    ExitCode.PEER_LOST,
    134,
    137,
    143,
    ExitCode.PREEMPTED,
    ExitCode.START_TIMEOUT,
    ExitCode.STALLED,
)


def tasks_of(workers: int, *, chief: bool, ps: int, evaluator: bool) -> tuple[tuple[str, int], ...]:
    """Return how many tasks there are of each type, in the order of their numbers; of no type there are none.

    Args:
        workers: How many workers.
        chief: Whether there is a chief besides.
        ps: How many parameter servers.
        evaluator: Whether there is an evaluator.
    """
    counts = {"chief": int(chief), "worker": workers, "ps": ps, "evaluator": int(evaluator)}
    return tuple((job, count) for job, count in counts.items() if count)
