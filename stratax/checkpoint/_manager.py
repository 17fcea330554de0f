"""`CheckpointManager`: the checkpoints of a folder, of which the last few are kept (checkpoint layer)."""

import dataclasses
import json
import logging
import os
import pathlib
import time
from collections.abc import Callable

import keras
import numpy as np

from stratax import errors
from stratax.base.shown import shown
from stratax.checkpoint import _commit, _folder, _store, _together
from stratax.checkpoint._checkpoint import Checkpoint, CheckpointOptions
from stratax.io import unfinished, write_file

_logger = logging.getLogger("stratax")
# Beside the checkpoints, so that a program that is started again knows which ones stay for good.
_KEPT = "kept_checkpoints.json"


class CheckpointManager:
    """Saves checkpoints under numbers into a folder and removes old ones, as ``tf.train.CheckpointManager``.

    A checkpoint is removed only after a newer one is whole on the disk, so the last good one is always there. In a
    cluster all tasks call the methods together; the chief writes and removes.

    Args:
        checkpoint: What is saved.
        directory: The folder. It may have checkpoints of an earlier run, which count.
        max_to_keep: How many are kept; None for all.
        keep_checkpoint_every_n_hours: One of so many hours is kept for good, beside those.
        checkpoint_name: How the checkpoints are called, before the number.
        step_counter: The variable that counts steps, for `checkpoint_interval`.
        checkpoint_interval: After how many steps `save` saves again; before, it does nothing.
        init_fn: What initialises the program where there is no checkpoint, see :meth:`restore_or_initialize`.

    Raises:
        BadTypeError: If `checkpoint` is no Checkpoint, or `directory` no path.
        BadArgumentError: If a number is not positive, `directory` is a URL, or `checkpoint_interval` is given without
            `step_counter`.

    Example:
        >>> import stratax as sx, tempfile
        >>> step = sx.Variable(0)
        >>> manager = sx.train.CheckpointManager(sx.train.Checkpoint(step=step), tempfile.mkdtemp(), max_to_keep=2)
        >>> for _ in range(3):
        ...     path = manager.save()
        >>> [path.rpartition("/")[2] for path in manager.checkpoints]
        ['ckpt-2', 'ckpt-3']
    """

    def __init__(
        self,
        checkpoint: Checkpoint,
        directory: str | os.PathLike,
        max_to_keep: int | None,
        keep_checkpoint_every_n_hours: float | None = None,
        checkpoint_name: str = "ckpt",
        step_counter: keras.Variable | None = None,
        checkpoint_interval: int | None = None,
        init_fn: Callable[[], object] | None = None,
    ) -> None:
        _check(checkpoint, max_to_keep, keep_checkpoint_every_n_hours, step_counter, checkpoint_interval)
        self._checkpoint = checkpoint
        self._directory = _folder.absolute(directory)
        self._prefix = self._directory / checkpoint_name
        self._max_to_keep = max_to_keep
        self._every_seconds = (
            None if keep_checkpoint_every_n_hours is None else keep_checkpoint_every_n_hours * 3600
        )
        self._step_counter = step_counter
        self._interval = checkpoint_interval
        self._init_fn = init_fn
        self._last_step: int | None = None
        self._began = time.time()

    @property
    def directory(self) -> str:
        """The folder that holds the checkpoints."""
        return os.fspath(self._directory)

    @property
    def checkpoint(self) -> Checkpoint:
        """The checkpoint whose values are saved."""
        return self._checkpoint

    @property
    def checkpoint_interval(self) -> int | None:
        """After how many steps `save` saves again."""
        return self._interval

    @property
    def checkpoints(self) -> list[str]:
        """The paths of the complete checkpoints, oldest first, without those that are kept for good.

        Waits for one that this process, or the chief of its cluster, is just writing there.
        """
        self._wait()
        return [os.fspath(path) for path in self._sweepable()]

    @property
    def latest_checkpoint(self) -> str | None:
        """The path of the last complete checkpoint that is not damaged; None if there is none."""
        self._wait()
        found = list(_folder.without_damage(self._complete()))
        return os.fspath(found[-1]) if found else None

    def save(
        self,
        checkpoint_number: object = None,
        check_interval: bool = True,
        options: CheckpointOptions | None = None,
    ) -> str | None:
        """Save a checkpoint, and remove those that are too old.

        Args:
            checkpoint_number: The number, an int or a variable; None for one more than the last time.
            check_interval: Whether nothing is saved before `checkpoint_interval` steps have passed.
            options: See `CheckpointOptions`.

        Returns:
            The path; None if nothing was saved.

        Raises:
            BadTypeError: As `Checkpoint.write`.
            CheckpointError: As `Checkpoint.write`, and if older checkpoints can't be removed.
            ClusterTimeoutError: As `Checkpoint.write`.
        """
        step = self._step()
        if check_interval and not self._is_due(step):
            return None
        number = None if checkpoint_number is None else _whole("checkpoint_number", checkpoint_number)
        # Old ones are removed by the thread that writes, behind the new one.
        path = self._checkpoint.save_numbered(self._prefix, options, self._sweep, number)
        # Of the step that is saved, not of the moment when the files are whole.
        self._last_step = step
        return path

    def sync(self) -> None:
        """Wait until the last checkpoint is written; see `Checkpoint.sync`."""
        self._checkpoint.sync()

    def restore_or_initialize(self) -> str | None:
        """Restore the last good checkpoint; call `init_fn` if there is none.

        A damaged checkpoint is passed over with a warning.

        Returns:
            The path of what was restored; None if nothing was.

        Raises:
            RestoreError: As `Checkpoint.restore`.
            ClusterTimeoutError: If not all tasks of the cluster call it; the missing ones are named.
        """
        self._checkpoint.sync()
        self._wait()
        own = [os.fspath(path) for path in self._complete()]
        # What the chief sees counts: another task's file system may show it a little later.
        found = _together.exchange("restore_or_initialize", own, CheckpointOptions().timeout_seconds)[0]
        for path in reversed(found):
            try:
                self._checkpoint.restore(path)
            # Damage is found by all tasks, as they read the same files; so they go on to the same one.
            except errors.DataLossError as error:
                _logger.warning("%s The one before is restored.", error)
                continue
            self._last_step = self._step()
            return path
        if self._init_fn is not None:
            self._init_fn()
        return None

    def _wait(self) -> None:
        unfinished.wait_for(self._prefix.parent)

    def _is_due(self, step: int | None) -> bool:
        if self._interval is None or step is None or self._last_step is None:
            return True
        return step - self._last_step >= self._interval

    def _step(self) -> int | None:
        return None if self._step_counter is None else _whole("step_counter", self._step_counter)

    def _complete(self) -> dict[pathlib.Path, _commit.Commit]:
        return _folder.complete_checkpoints(self._prefix.parent, self._prefix.name)

    def _sweepable(self) -> dict[pathlib.Path, _commit.Commit]:
        kept = self._read_kept().names
        return {path: commit for path, commit in self._complete().items() if path.name not in kept}

    def _sweep(self) -> None:
        """Remove what is too old; in the chief, when a new checkpoint is whole."""
        if self._max_to_keep is None:
            return
        try:
            # In the order in which they were written, so the newest are left.
            for path, commit in list(self._sweepable().items())[: -self._max_to_keep]:
                if not self._is_kept_for_good(path, commit):
                    _store.remove(path)
        except (OSError, errors.StrataxError) as error:
            raise errors.CheckpointError(
                "The checkpoint was saved, but older ones could not be removed. Give this user the right to remove "
                f"what is in the folder. Received: directory={shown(self.directory)}, which gave {error}."
            ) from error

    def _is_kept_for_good(self, path: pathlib.Path, commit: _commit.Commit) -> bool:
        if self._every_seconds is None:
            return False
        kept = self._read_kept()
        is_due = commit.saved_at >= kept.since + self._every_seconds
        if is_due:
            kept = _Kept(commit.saved_at, [*kept.names, path.name])
        # Also where nothing is kept yet: a program that is started again and again counts on from the first time.
        # Written before the caller decides on removal: a crash in between keeps one too many, never one too
        # few.
        write_file(os.fspath(self._directory / _KEPT), json.dumps(dataclasses.asdict(kept)).encode())
        return is_due

    def _read_kept(self) -> "_Kept":
        try:
            return _Kept(**json.loads((self._directory / _KEPT).read_text()))
        # No such file yet, or a damaged one: then nothing is known to be kept.
        except (OSError, ValueError, TypeError):
            return _Kept(self._began, [])


@dataclasses.dataclass(frozen=True, slots=True)
class _Kept:
    """The checkpoints that are kept for good.

    Attributes:
        since: When the last of them was written; while there is none, when the first manager was made.
        names: Their names.
    """

    since: float
    names: list[str]


def _whole(name: str, value: object) -> int:
    try:
        return int(np.asarray(value))
    except (TypeError, ValueError) as error:
        raise errors.BadTypeError(
            f"{name} must be an int or a variable of one. Received: {name}={shown(value)}."
        ) from error


def _check(
    checkpoint: object, max_to_keep: object, hours: object, step_counter: object, interval: object
) -> None:
    if not isinstance(checkpoint, Checkpoint):
        raise errors.BadTypeError(
            f"checkpoint must be a stratax.train.Checkpoint. Received: checkpoint={shown(checkpoint)}."
        )
    numbers = {
        "max_to_keep": max_to_keep,
        "keep_checkpoint_every_n_hours": hours,
        "checkpoint_interval": interval,
    }
    for name, value in numbers.items():
        if value is not None and not (isinstance(value, int | float) and value > 0):
            raise errors.BadArgumentError(
                f"{name} must be a positive number, or None. Received: {name}={shown(value)}."
            )
    if interval is not None and step_counter is None:
        raise errors.BadArgumentError(
            "checkpoint_interval counts the steps of a variable. Expected: step_counter as well. "
            f"Received: checkpoint_interval={shown(interval)}, step_counter=None."
        )
