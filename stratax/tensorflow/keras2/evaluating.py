"""`SidecarEvaluator`: evaluates what another program trains, checkpoint by checkpoint (keras2 layer)."""

import logging
import os
import pathlib
import time
from collections.abc import Iterator, Sequence

import keras

from stratax import checkpoint as checkpoints
from stratax.base.shown import shown
from stratax.base.typing import Array
from stratax.errors import BadArgumentError, BadTypeError, DataError

_POLL_SECONDS = 1.0
# In place of a time, of a checkpoint that appears whole.
_WHOLE = -1

# What Keras' ModelCheckpoint writes.
_ENDINGS = (".weights.h5", ".keras", ".h5")
_logger = logging.getLogger("stratax")


class SidecarEvaluator:
    """Evaluates a model beside the program that trains it, whenever that has written a checkpoint.

    Follows `tf.keras.utils.SidecarEvaluator` of Keras 2. Checkpoints are those of `tf.train.Checkpoint(model=...)` and
    `CheckpointManager`, or files that `keras.callbacks.ModelCheckpoint` writes. Checkpoints that are written while one
    is evaluated are passed over, but for the last.

    Args:
        model: The model, compiled as the one that is trained.
        data: What it is evaluated on, as for `model.evaluate`.
        checkpoint_dir: The folder that the other program writes to. It need not be there yet.
        steps: How many batches one evaluation takes; None for all.
        max_evaluations: It ends once it has evaluated the checkpoint of this number (of files: so many of them);
            None: it goes on until the process is ended.
        callbacks: Callbacks of `model.evaluate`: `keras.callbacks.TensorBoard(folder)` for instance.

    Raises:
        BadTypeError: If `model` is no Keras model.
        BadArgumentError: If `max_evaluations` is below 1.

    Example:
        >>> evaluator = SidecarEvaluator(keras.Sequential(), None, "checkpoints", max_evaluations=3)
        >>> evaluator.max_evaluations
        3
    """

    def __init__(
        self,
        model: keras.Model,
        data: Array,
        checkpoint_dir: str | os.PathLike[str],
        steps: int | None = None,
        max_evaluations: int | None = None,
        callbacks: Sequence[keras.callbacks.Callback] | None = None,
    ) -> None:
        if not isinstance(model, keras.Model):
            raise BadTypeError(f"SidecarEvaluator expects a Keras model. Received: model={shown(model)}.")
        if max_evaluations is not None and max_evaluations < 1:
            raise BadArgumentError(
                f"max_evaluations must be at least 1. Received: max_evaluations={shown(max_evaluations)}."
            )
        self.model = model
        self.data = data
        self.checkpoint_dir = checkpoint_dir
        self.steps = steps
        self.max_evaluations = max_evaluations
        self.callbacks = list(callbacks or [])

    def start(self) -> None:
        """Evaluate each checkpoint that appears, until `max_evaluations` is reached."""
        count = 0
        for path, time_ns in self._find_new():
            try:
                self._load(path)
            except (DataError, OSError) as error:
                # The other program may have deleted it meanwhile; the next one is taken.
                _logger.warning("A checkpoint could not be read: %s", str(error).partition("\n")[0])
                continue
            except ValueError:
                # Of a file that is written at this moment some layers' weights are missing.
                if not self._is_changed(path, time_ns):
                    raise
                continue
            if self._is_changed(path, time_ns):
                continue
            metrics = self.model.evaluate(
                self.data, steps=self.steps, callbacks=self.callbacks, verbose=2, return_dict=True
            )
            count += 1
            _logger.info("Evaluated %s: %s", path, metrics)
            if self.max_evaluations is not None and self.max_evaluations <= _number(path, count):
                return

    def _load(self, path: str) -> None:
        if path.endswith(".keras"):
            self.model.set_weights(keras.models.load_model(path, compile=False).get_weights())
        elif path.endswith(_ENDINGS):
            self.model.load_weights(path)
        else:
            parts = {name.partition("/")[0] for name, _ in checkpoints.list_variables(path)}
            # Of a model as such, or of one in `Checkpoint(model=model, optimizer=...)`.
            made = (
                checkpoints.Checkpoint(model=self.model)
                if "model" in parts
                else checkpoints.Checkpoint(self.model)
            )
            # The optimizer's variables are of no use here.
            made.restore(path, checkpoints.CheckpointOptions(expect_partial=True))

    def _find_new(self) -> Iterator[tuple[str, int]]:
        """Give the newest checkpoint, and when it was written, whenever there is a new one."""
        seen: set[tuple[str, int]] = set()
        before = None
        while True:
            found = self._newest()
            # Files are not written in one go: one that is new stands still before it is read.
            is_whole = found is None or found[1] == _WHOLE or found == before
            before = found
            if found is None or found in seen or not is_whole:
                time.sleep(_POLL_SECONDS)
                continue
            seen.add(found)
            yield found

    def _is_changed(self, path: str, time_ns: int) -> bool:
        """Return whether a file is no longer what was found; it is found again then."""
        return time_ns != _WHOLE and _find_write_time(pathlib.Path(path)) != time_ns

    def _newest(self) -> tuple[str, int] | None:
        latest = checkpoints.latest_checkpoint(self.checkpoint_dir)
        if latest is not None and checkpoints.checkpoint_exists(latest):
            return latest, _WHOLE
        folder = pathlib.Path(self.checkpoint_dir)
        files = [path for path in folder.glob("*") if path.name.endswith(_ENDINGS)] if folder.is_dir() else []
        times = [(_find_write_time(path), os.fspath(path)) for path in files]
        return (max(times)[1], max(times)[0]) if times else None


def _find_write_time(path: pathlib.Path) -> int:
    """Return when a file was written; 0 if it is gone."""
    try:
        return path.stat().st_mtime_ns
    except FileNotFoundError:
        return 0


def _number(path: str, count: int) -> int:
    """Return a checkpoint's number; of a file, how many have been evaluated."""
    number = path.rpartition("-")[2]
    return int(number) if number.isdecimal() else count
