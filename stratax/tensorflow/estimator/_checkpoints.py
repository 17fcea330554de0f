"""What an Estimator saves and reads: the model's variables by name, and the position of the input (estimator layer)."""

import os
import pathlib
from collections.abc import Mapping
from typing import Any

import keras
import numpy as np

from stratax import errors
from stratax.base.shown import shown
from stratax.checkpoint import (
    Checkpoint,
    CheckpointManager,
    CheckpointOptions,
    get_checkpoint_state,
    latest_checkpoint,
    load_checkpoint,
)
from stratax.checkpoint.named import NamedVariables
from stratax.engine import StepLoop
from stratax.tensorflow.checkpoints.values import NamedValues, give, is_written_by_tensorflow
from stratax.tensorflow.estimator._run_config import RunConfig
from stratax.tensorflow.v1 import ModelState
from stratax.tensorflow.v1.starting import is_seed
from stratax.tensorflow.v1.train import Saver

PREFIX = "model.ckpt"
GLOBAL_STEP = "global_step"


def find_save_time(path: str) -> float | None:
    """Return when a checkpoint was written, in seconds since 1970; None if it is gone."""
    state = get_checkpoint_state(os.path.dirname(path))
    if state is None or path not in state.all_model_checkpoint_paths:
        return None
    return state.all_model_checkpoint_timestamps[state.all_model_checkpoint_paths.index(path)]


def find_saved_variables(state: ModelState, saver: Saver | None) -> dict[str, keras.Variable]:
    """Return the variables that a checkpoint holds by their names there.

    Args:
        state: The model's variables.
        saver: That of the model's `Scaffold`.
    """
    return state.saved() if saver is None else saver.variables


class TrainingCheckpoint:
    """Saves and restores a training.

    Args:
        state: The model's variables.
        loop: The loop, whose position in the input is saved too.
        config: Where it is saved, and how many checkpoints are kept.
        saver: That of the model's `Scaffold`, which says how many are kept instead, and what is saved.
    """

    def __init__(self, state: ModelState, loop: StepLoop, config: RunConfig, saver: Saver | None) -> None:
        self._state = state
        self._loop = loop
        self._saver = saver
        # What is there already, and its step.
        self._restored: str | None = None
        self._restored_step = 0
        self._position = _Position(loop)
        self._checkpoint = Checkpoint(
            NamedVariables(lambda: find_saved_variables(state, saver)), input=self._position
        )
        hours = config if saver is None else saver
        self._manager = CheckpointManager(
            self._checkpoint,
            config.model_dir or "",
            max_to_keep=(config.keep_checkpoint_max or None) if saver is None else saver.max_to_keep,
            keep_checkpoint_every_n_hours=hours.keep_checkpoint_every_n_hours,
            checkpoint_name=PREFIX,
        )

    def save(self, prefix: str | None = None) -> str:
        """Save a checkpoint of the present step; all workers call it.

        Args:
            prefix: The path before the step; by default `model.ckpt` in the folder, where the oldest is removed.
        """
        if prefix is None or os.path.abspath(prefix) == os.path.join(self._manager.directory, PREFIX):
            restored, self._restored = self._restored, None
            if restored is not None and self._loop.step == self._restored_step:
                # It is there already, and an evaluator takes what is written again for another one.
                return restored
            return self._manager.save(checkpoint_number=self._loop.step) or ""
        return self._checkpoint.save_numbered(prefix, CheckpointOptions(), number=self._loop.step)

    def restore(self, path: str, *, goes_on: bool) -> None:
        """Begin with a checkpoint.

        Args:
            path: Its path.
            goes_on: Whether the input goes on where it was.

        Raises:
            RestoreError: If it is of another model.
        """
        if is_written_by_tensorflow(pathlib.Path(path)) or (self._saver is not None and self._saver.reshape):
            # It does not say where the input is.
            read_into(self._state, path, self._saver)
            return
        self._position.is_taken = goes_on
        wanted = _find_needed(values_of(path), find_saved_variables(self._state, self._saver))
        values_of(path).check(wanted)
        self._checkpoint.restore(path, CheckpointOptions(expect_partial=True))
        _initialize_others(self._state, wanted)
        # With another position of the input it is another checkpoint.
        self._restored, self._restored_step = path if goes_on else None, self._loop.step

    def sync(self) -> None:
        """Wait until what was saved is on the disk."""
        self._checkpoint.sync()


class _Position:
    """The position of a training in its input, as a part of a checkpoint."""

    def __init__(self, loop: StepLoop) -> None:
        self._loop = loop
        self.is_taken = True

    def get_state(self) -> dict[str, Any]:
        return {"loop": self._loop.get_state()}

    def set_state(self, state: dict[str, Any]) -> None:
        if self.is_taken and state["loop"] is not None:
            self._loop.set_state(state["loop"])


def latest(model_dir: str) -> str | None:
    """Return the last checkpoint of a folder, or None."""
    return latest_checkpoint(model_dir)


def step_of(path: str) -> int:
    """Return the global step of a checkpoint."""
    return int(values_of(path).value(GLOBAL_STEP))


def names(path: str) -> list[str]:
    """Return the names of the variables in a checkpoint."""
    return values_of(path).names


def load_global_step_from_checkpoint_dir(checkpoint_dir: str | os.PathLike[str]) -> int:
    """Return the global step of the last checkpoint of a folder, also of TensorFlow's; 0 without one.

    Args:
        checkpoint_dir: The folder of an Estimator.
    """
    path = latest_checkpoint(checkpoint_dir)
    values = None if path is None else values_of(path)
    return int(values.value(GLOBAL_STEP)) if values is not None and GLOBAL_STEP in values else 0


def values_of(path: str) -> NamedValues:
    """Return the values of a checkpoint by name.

    Raises:
        FileMissingError: If there is none.
        DataLossError: If it is damaged.
    """
    try:
        return NamedValues(load_checkpoint(path), path)
    except errors.DataLossError as error:
        raise errors.DataLossError(
            f"{error} Or remove the folder {shown(path)}: the checkpoint before it is the last one then."
        ) from error


def variable_value(path: str, name: str) -> np.ndarray:
    """Return the value of a variable in a checkpoint.

    Raises:
        BadArgumentError: If there is no such variable.
    """
    values = values_of(path)
    # As variables name themselves, too: "dense/kernel:0".
    name = name.removesuffix(":0")
    # The reader's own error names all that there are.
    return values.value(name) if name in values else load_checkpoint(path).get_tensor(name)


def read_into(state: ModelState, path: str, saver: Saver | None) -> None:
    """Give a model's variables the values of a checkpoint.

    Args:
        state: The variables.
        path: The checkpoint.
        saver: That of the model's `Scaffold`.

    Raises:
        RestoreError: If it is of another model.
    """
    values = values_of(path)
    needed = _find_needed(values, find_saved_variables(state, saver))
    values.assign(needed, reshape=saver is not None and saver.reshape)
    _initialize_others(state, needed)


def _find_needed(values: NamedValues, wanted: Mapping[str, keras.Variable]) -> dict[str, keras.Variable]:
    """Return what a checkpoint must have: the states of generators are there only where the model was trained so."""
    return {name: each for name, each in wanted.items() if name in values or not is_seed(name)}


def _initialize_others(state: ModelState, restored: Mapping[str, keras.Variable]) -> None:
    """Give variables their first values that a checkpoint has and a `Saver` does not restore."""
    found = {variable.path for variable in restored.values()}
    for name, initializer in state.skipped.items():
        if name not in found:
            variable = state.variables[name]
            give(variable, np.asarray(initializer(tuple(variable.shape), dtype=variable.dtype)))
