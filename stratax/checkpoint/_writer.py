"""Writing checkpoints behind the program's back, one task for all (checkpoint layer)."""

import dataclasses
import os
import pathlib
from collections.abc import Callable, Iterable, Sequence

from stratax import errors
from stratax.base.shown import shown
from stratax.checkpoint import _together
from stratax.cluster import exits
from stratax.io import unfinished


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Destination:
    """Where the tasks of a cluster write a checkpoint that they save together.

    Attributes:
        paths: Every task's path, resolved, by process. They are the chief's, or lie in folders of their own.
        token: What this write is called among the tasks; no other has it.

    Raises:
        CheckpointError: If two tasks write to one folder under different names.
    """

    paths: Sequence[str]
    token: str

    def __post_init__(self) -> None:
        # Folders of their own are TensorFlow's recipe for tasks that are not the chief; other names in one
        # folder are a mistake.
        if len({os.path.dirname(path) for path in self.paths}) < len(set(self.paths)):
            raise errors.CheckpointError(
                "The tasks do not save the same: they name different checkpoints of one folder. Expected: one path in "
                "all tasks, of which the chief writes the files; or, for tasks other than the chief, a path in a "
                "temporary folder of their own, where nothing is written. "
                f"Received: {_together.listing(self.paths)}."
            )


def begin(
    destination: Destination, work: Callable[[], None] | None, then: Iterable[Callable[[], object]]
) -> unfinished.Write:
    """Begin to write the chief's checkpoint, and in the other tasks to wait for it.

    Args:
        destination: Where to.
        work: Writes the files, in the chief; in another task its parts, None where the chief has all.
        then: What each task does when the checkpoint is whole.

    Returns:
        What readers wait for, and `finish` raises the failure of.
    """
    # Every task waits for this path, also one that was given another: only the chief's is written.
    chief = destination.paths[0]

    def write_or_wait() -> None:
        failure: Exception | None = None
        if _together.process_index() == 0:
            with _together.notifying_the_others(destination.token):
                if work is not None:
                    work()
        else:
            try:
                if work is not None:
                    work()
            except Exception as error:
                # Raised when the chief has said its word, for which it waits until all have heard it.
                failure = error
            _together.wait_for_chief(destination.token, chief)
        if failure is not None:
            raise failure
        # In every task, and only once the checkpoint is whole.
        for each in then:
            each()

    return unfinished.begin(chief, write_or_wait, lambda error: exits.leave(exits.code_of(error)))


def make_own_folder(destination: Destination) -> None:
    """Make the folder of a task that saves to another than the chief's.

    Nothing is written there, but TensorFlow's recipe removes it at once, which has to find it.

    Raises:
        CheckpointError: If it can't be made.
    """
    own = destination.paths[_together.process_index()]
    try:
        if own != destination.paths[0]:
            pathlib.Path(own).parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise errors.CheckpointError(
            "The folder that this task saves to can't be made. Give it one that it may write to, or the chief's path: "
            f"the chief alone writes files. Received: path={shown(own)}, which gave {type(error).__name__}: {error}"
        ) from error


def wait_for(path: str | os.PathLike) -> errors.CheckpointError | None:
    """Wait for whatever this process, or the chief for it, writes at a path or near it, before that is read.

    Returns:
        The error to raise if the last write of exactly this path failed and whoever began it was not notified yet:
        what is there is older than what the program wrote.

    Raises:
        CheckpointError: If a write does not come to an end.
    """
    failure = unfinished.wait_for(path)
    if failure is None:
        return None
    error = errors.CheckpointError(
        "The last write of this checkpoint failed, so what is there, if anything, is older. Call sync() of the "
        "Checkpoint that wrote it, which raises the reason, or write it again. "
        f"Received: path={shown(os.fspath(path))}; the reason: {failure}"
    )
    # Not raised here: the caller decides, and the reason stays with the error.
    error.__cause__ = failure
    return error
