"""What the tasks of a cluster agree on when they save and restore (checkpoint layer)."""

import json
from collections.abc import Sequence
from typing import Any

from stratax import errors
from stratax.cluster import current


def num_processes() -> int:
    """How many processes save together."""
    cluster = current()
    return 1 if cluster is None else cluster.num_processes


def process_index() -> int:
    """This process's number among them."""
    cluster = current()
    return 0 if cluster is None else cluster.process_index


def one_or_all(states: Sequence[Any]) -> list[Any]:
    """The states of all processes; one if they are equal, which says that it is so for any number of processes."""
    return [states[0]] if all(state == states[0] for state in states) else list(states)


def own(states: Sequence[Any]) -> Any | None:
    """This process's of what :func:`one_or_all` returned; None if it was of another number of processes."""
    if len(states) == 1:
        return states[0]
    return states[process_index()] if len(states) == num_processes() else None


def exchange(action: str, value: Any, timeout: float) -> list[Any]:
    """Gives every task the values of all, in the order of the processes.

    Args:
        action: What all tasks do now, for example ``"save"``.
        value: This task's value, which JSON can hold.
        timeout: How long to wait for the others, in seconds.

    Raises:
        ClusterTimeoutError: If a task does not do the same; the message names it.
    """
    cluster = current()
    if cluster is None or cluster.num_processes == 1:
        return [value]
    try:
        found = cluster.all_gather(f"checkpoint/{action}", json.dumps(value).encode(), timeout)
    except errors.ClusterTimeoutError as error:
        raise errors.ClusterTimeoutError(
            f"A checkpoint is saved and restored by all tasks together, and not all came to {action!r}. Call it in "
            f"every task, not only in the chief, which alone writes the files. {error}",
            tasks=error.tasks,
        ) from error
    return [json.loads(each) for each in found]


def agree(action: str, value: Any, timeout: float) -> None:
    """Checks that all tasks have the same value.

    Raises:
        CheckpointError: If they have not.
        ClusterTimeoutError: If a task does not come.
    """
    values = exchange(action, value, timeout)
    if any(other != values[0] for other in values):
        cluster = current()
        listing = ", ".join(
            f"{cluster.task_name(i) if cluster else i}: {each!r}" for i, each in enumerate(values)
        )
        raise errors.CheckpointError(
            f"The tasks do not {action} the same. Expected: one path, and the same variables, in all tasks. "
            f"Received: {listing}."
        )


def share_failure(action: str, error: BaseException | None, timeout: float) -> BaseException | None:
    """Tells all tasks of a failure in one of them.

    Args:
        action: What all tasks do now.
        error: Why this task failed; None if it did not.
        timeout: How long to wait for the others, in seconds.

    Returns:
        The first task's failure; its own error in the task that failed. None if none did.
    """
    own = None if error is None else [type(error).__name__, str(error)]
    found = [failure for failure in exchange(action, own, timeout) if failure is not None]
    if error is not None or not found:
        return error
    name, text = found[0]
    kind = _KINDS.get(name, errors.CheckpointError)
    return kind(text)


_KINDS: dict[str, type[Exception]] = {
    kind.__name__: kind
    for kind in (errors.CheckpointError, errors.DataLossError, errors.FileMissingError, errors.RestoreError)
}
