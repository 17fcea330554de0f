"""Following a training program by its checkpoints, as an evaluator does (checkpoint layer)."""

import os
import pathlib
import time
from collections.abc import Callable, Iterator

from stratax import errors
from stratax.base.shown import shown
from stratax.checkpoint import _commit, _folder
from stratax.io import unfinished

_POLL_SECONDS = 1.0


def checkpoints_iterator(
    checkpoint_dir: str | os.PathLike,
    min_interval_secs: float = 0,
    timeout: float | None = None,
    timeout_fn: Callable[[], object] | None = None,
) -> Iterator[str]:
    """Give the latest checkpoint of a folder whenever there is a new one, as ``tf.train.checkpoints_iterator``.

    For a program that evaluates beside the one that trains. If several have been written meanwhile, the last is given.

    Args:
        checkpoint_dir: The folder. It need not be there yet.
        min_interval_secs: How many seconds lie between two of them at least.
        timeout: How many seconds to wait for the next one. None, as in TensorFlow: as long as the caller asks.
        timeout_fn: What is called when that time is over; if it returns true the iterator ends, else it waits on. None:
            it ends.

    Yields:
        The checkpoints' paths, for `Checkpoint.restore`.

    Raises:
        BadArgumentError: If a number of seconds is negative.

    Example:
        >>> import stratax as sx, tempfile
        >>> folder = tempfile.mkdtemp()
        >>> checkpoint = sx.train.Checkpoint(step=sx.Variable(3))
        >>> for path in sx.train.checkpoints_iterator(folder, timeout=0):
        ...     print("never")
        >>> _ = checkpoint.save(folder + "/ckpt")
        >>> for path in sx.train.checkpoints_iterator(folder, timeout=0):
        ...     print(path.rpartition("/")[2])
        ckpt-1
    """
    for name, seconds in (("min_interval_secs", min_interval_secs), ("timeout", timeout)):
        if seconds is not None and not seconds >= 0:
            raise errors.BadArgumentError(
                f"{name} is a number of seconds. Received: {name}={shown(seconds)}."
            )
    # A generator of its own, so that wrong arguments are refused at the call and not at the first `next`.
    return _follow(_folder.locate(checkpoint_dir), min_interval_secs, timeout, timeout_fn)


def _follow(
    folder: pathlib.Path,
    interval: float,
    timeout: float | None,
    timeout_fn: Callable[[], object] | None,
) -> Iterator[str]:
    last: tuple[pathlib.Path, _commit.Commit] | None = None
    while True:
        found = _next(folder, last, timeout)
        if found is not None:
            began, last = time.monotonic(), found
            yield os.fspath(found[0])
            # From when the last was given, so that the evaluation itself counts.
            time.sleep(max(0.0, began + interval - time.monotonic()))
        elif timeout_fn is None or timeout_fn():
            return


def _next(
    folder: pathlib.Path, last: tuple[pathlib.Path, _commit.Commit] | None, timeout: float | None
) -> tuple[pathlib.Path, _commit.Commit] | None:
    """Return the latest checkpoint as soon as it is another one than the last; None when the time is over."""
    deadline = None if timeout is None else time.monotonic() + timeout
    damaged: list[tuple[pathlib.Path, _commit.Commit]] = []
    while True:
        unfinished.wait_for(folder)
        found = list(_folder.complete_checkpoints(folder).items())
        # Compared with its commit: a checkpoint may be written again under the same name.
        if found and found[-1] not in (last, *damaged):
            whole = list(_folder.without_damage(dict(found)).items())
            # Not looked at again and again.
            damaged = found[len(whole) :]
            if whole and whole[-1] != last:
                return whole[-1]
        left = _POLL_SECONDS if deadline is None else deadline - time.monotonic()
        if left <= 0:
            return None
        time.sleep(min(left, _POLL_SECONDS))
