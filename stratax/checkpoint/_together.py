"""What the tasks of a cluster agree on when they save and restore (checkpoint layer)."""

import contextlib
import json
import os
import pathlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from stratax import errors
from stratax.base.shown import shown
from stratax.cluster import Cluster, current, phases
from stratax.cluster.phases import DEFAULT_SECONDS
from stratax.io import unfinished

# The end of a restore, which all tasks come to together.
RESTORED = "restore/done"

_NEWS = "checkpoint/written/"
_FOLDER = "checkpoint/folder/"
_PARTS = "checkpoint/parts/"
# How many tasks a message lists.
_LISTED = 4


def _group() -> Cluster | None:
    """Return the cluster in which several processes save together; None where this process saves alone."""
    cluster = current()
    return None if cluster is None or cluster.num_processes == 1 else cluster


def num_processes() -> int:
    """Return how many processes save together."""
    cluster = _group()
    return 1 if cluster is None else cluster.num_processes


def process_index() -> int:
    """Return this process's number among them."""
    cluster = current()
    return 0 if cluster is None else cluster.process_index


def one_or_all(states: Sequence[Any]) -> list[Any]:
    """Return the states of all processes; one if they are equal, which then is that of any number of processes."""
    # States that are equal don't depend on the number of processes, and can be restored into any.
    return [states[0]] if all(state == states[0] for state in states) else list(states)


def own(states: Sequence[Any]) -> Any | None:
    """Return this process's part of what :func:`one_or_all` returned; None if that was of other processes."""
    if len(states) == 1:
        return states[0]
    return states[process_index()] if len(states) == num_processes() else None


def exchange(action: str, value: object, timeout: float) -> list[Any]:
    """Give every task the values of all, in the order of the processes.

    Args:
        action: What all tasks do now, for example ``"save"``.
        value: This task's value, which JSON can hold.
        timeout: How long to wait for the others, in seconds.

    Raises:
        ClusterTimeoutError: If a task does not do the same; the message names it.
        PeerLostError: If a task is lost, or keeps the others waiting for longer than a step may take.
    """
    cluster = _group()
    if cluster is None:
        return [value]
    try:
        with phases.waiting(f"{action!r} of a checkpoint"):
            # JSON: values of other processes are never unpickled.
            found = cluster.all_gather(f"checkpoint/{action}", json.dumps(value).encode(), timeout)
    except errors.ClusterTimeoutError as error:
        raise errors.ClusterTimeoutError(f"{_describe_missed(action)} {error}", tasks=error.tasks) from error
    return [json.loads(each) for each in found]


def _describe_missed(action: str) -> str:
    if action == RESTORED:
        return (
            "A task has not come to the end of restoring a checkpoint, in as long as a step may take: its files or its "
            "input do not answer. Give it more with stratax.cluster.current().set_step_timeout(seconds)."
        )
    return (
        f"A checkpoint is saved and restored by all tasks together, and not all came to {shown(action)}. Call it "
        "in every task, not only in the chief, which alone writes the files."
    )


def exchange_made(action: str, make: Callable[[], Any], timeout: float) -> list[Any]:
    """Give every task what a function returns in all of them.

    Args:
        action: What all tasks do now.
        make: Returns this task's value, which JSON can hold.
        timeout: How long to wait for the others, in seconds.

    Raises:
        StrataxError: In all tasks, if the function fails in one.
        ClusterTimeoutError: As :func:`exchange`.
    """
    error: BaseException | None = None
    value = None
    try:
        value = make()
    except Exception as failure:  # Whatever it is, the others must not wait for this task.
        error = failure
    found = exchange(action, [_as_text(error), value], timeout)
    shared = _first_failure([failure for failure, _ in found], error)
    if shared is not None:
        raise shared
    return [value for _, value in found]


def step_timeout() -> float:
    """Return how long one task may keep the others waiting in a restore, in seconds: as long as in a step."""
    cluster = current()
    return DEFAULT_SECONDS if cluster is None else cluster.step_timeout


def agree(action: str, value: object, timeout: float) -> None:
    """Check that all tasks have the same value.

    Raises:
        CheckpointError: If they have not.
        ClusterTimeoutError: If a task does not come.
    """
    values = exchange(action, value, timeout)
    if any(other != values[0] for other in values):
        raise errors.CheckpointError(
            f"The tasks do not {action} the same. Expected: one path in all tasks; where they save to folders of "
            f"their own, that of the chief. Received: {listing(values)}."
        )


def check_alike(action: str, what: str, values: Sequence[Any]) -> None:
    """Check that the values that tasks have exchanged are the same.

    Raises:
        CheckpointError: If they are not.
    """
    if any(other != values[0] for other in values):
        raise errors.CheckpointError(
            f"The tasks do not {action} the same {what}. Expected: the same in all tasks, by name, shape and dtype. "
            f"Received: digests of {listing(values)}. Build the same model in every task."
        )


def listing(values: Sequence[Any]) -> str:
    """Return the tasks' values with their names, for messages."""
    cluster = current()
    return ", ".join(
        f"{cluster.task_name(i) if cluster else i}: {shown(each)}" for i, each in enumerate(values[:_LISTED])
    )


def share_failure(action: str, error: BaseException | None, timeout: float) -> BaseException | None:
    """Notify all tasks of a failure in one of them.

    Args:
        action: What all tasks do now.
        error: Why this task failed; None if it did not.
        timeout: How long to wait for the others, in seconds.

    Returns:
        The first task's failure; the task's own error, if it is of the same kind. None if none did. Its kind is the
        same in all tasks, which may have to decide by it what to do next.
    """
    return _first_failure(exchange(action, _as_text(error), timeout), error)


def _as_text(error: BaseException | None) -> list[str] | None:
    return None if error is None else [type(error).__name__, str(error)]


def _first_failure(failures: Sequence[Any], own: BaseException | None) -> BaseException | None:
    found = [failure for failure in failures if failure is not None]
    if not found:
        return None
    # This task's own error has a traceback, and is of the kind that is raised everywhere.
    if own is not None and type(own).__name__ == found[0][0]:
        return own
    failure = _make_again(found[0])
    # The first failure is raised in all tasks; this one's own is kept as its cause.
    failure.__cause__ = own
    return failure


@contextlib.contextmanager
def notifying_the_others(token: str) -> Iterator[None]:
    """Notify the other tasks when the chief's work in a block is done, or how it failed; in a thread of the chief.

    Args:
        token: What the work is called.
    """
    failure = None
    try:
        yield
    except BaseException as error:
        failure = _as_text(error)
        raise
    finally:
        cluster = _group()
        if cluster is not None:
            # Who is lost can't be notified. The program learns of it from the next thing that the tasks do together.
            with contextlib.suppress(errors.PeerLostError, errors.ClusterTimeoutError):
                cluster.broadcast(_NEWS + token, json.dumps(failure).encode())


def wait_for_chief(token: str, path: str) -> None:
    """Wait in another task until the chief has written a checkpoint.

    Args:
        token: What the work is called.
        path: The checkpoint, for messages.

    Raises:
        CheckpointError: If the chief could not write it.
        ClusterTimeoutError: If it does not come to an end.
        PeerLostError: If a task is lost.
    """
    cluster = current()
    if cluster is None:
        return
    try:
        failure = json.loads(cluster.broadcast(_NEWS + token, None, unfinished.WRITE_SECONDS))
    except errors.ClusterTimeoutError as error:
        raise errors.ClusterTimeoutError(
            f"The chief has not written a checkpoint within {unfinished.WRITE_SECONDS:g} s. "
            f"Received: path={shown(path)}. {error}",
            tasks=error.tasks,
        ) from error
    if failure is not None:
        raise _make_again(failure)


class PartsOfAll:
    """What the tasks say to each other while each writes its parts of one checkpoint, in threads of their own.

    The chief makes the folder and sends it; each task collects what all have written there. A task that can't go on
    calls :meth:`fail`, wherever it is.

    Args:
        token: What the work is called among the tasks.
    """

    def __init__(self, token: str) -> None:
        self._token = token
        self._is_sent = self._is_collected = False

    def send(self, folder: pathlib.Path) -> None:
        """Give the other tasks the folder, in the chief."""
        self._send([None, os.fspath(folder)])

    def receive(self) -> pathlib.Path:
        """Return the chief's folder, in another task.

        Raises:
            CheckpointError: If the chief could not make it.
        """
        failure, folder = self._send(None)
        if failure is not None:
            self._is_collected = True
            raise _make_again(failure)
        return pathlib.Path(folder)

    def _send(self, value: object) -> Any:
        self._is_sent = True
        cluster = _group()
        if cluster is None:
            return value
        own = None if value is None else json.dumps(value).encode()
        return json.loads(cluster.broadcast(_FOLDER + self._token, own, unfinished.WRITE_SECONDS))

    def collect(self, files: dict[str, Any], failure: list[str] | None = None) -> dict[str, Any]:
        """Return what all tasks have written, when all have.

        Args:
            files: What this one has written, by name.
            failure: Why it has not.

        Raises:
            CheckpointError: If one of them could not.
        """
        self._is_collected = True
        cluster = _group()
        if cluster is None:
            return files
        own = json.dumps([failure, files]).encode()
        found = [
            json.loads(each)
            for each in cluster.all_gather(_PARTS + self._token, own, unfinished.WRITE_SECONDS)
        ]
        shared = _first_failure([each for each, _ in found], None)
        if shared is not None:
            raise shared
        return {name: file for _, theirs in found for name, file in theirs.items()}

    def fail(self, error: BaseException) -> None:
        """Notify the other tasks, if they wait for this one, that it can't go on."""
        # Who is lost can't be notified, and what the others say is raised by their own calls.
        with contextlib.suppress(errors.StrataxError):
            if self._is_collected:
                return
            if not self._is_sent:
                # The others are told in the place of the folder, and wait for nothing more.
                self._is_collected = True
                self._send([_as_text(error), None])
            else:
                self.collect({}, _as_text(error))


def _make_again(failure: Sequence[str]) -> Exception:
    """Return the error of another task, to be raised here."""
    return _KINDS.get(failure[0], errors.CheckpointError)(failure[1])


_KINDS: dict[str, type[Exception]] = {
    kind.__name__: kind
    for kind in (
        errors.CheckpointError,
        errors.DataError,
        errors.DataLossError,
        errors.FileMissingError,
        errors.RestoreError,
    )
}
