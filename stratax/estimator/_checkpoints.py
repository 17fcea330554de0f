"""What an Estimator saves and reads: the model's variables by name, and the position of the input (estimator layer)."""

import os
from collections.abc import Mapping
from typing import Any

import keras

from stratax import errors
from stratax._shown import shown
from stratax.checkpoint import (
    Checkpoint,
    CheckpointManager,
    CheckpointOptions,
    CheckpointReader,
    latest_checkpoint,
    load_checkpoint,
)
from stratax.checkpoint.named import NamedVariables
from stratax.core import variable_store
from stratax.engine import StepLoop
from stratax.estimator._run_config import RunConfig
from stratax.v1 import ModelState

PREFIX = "model.ckpt"
GLOBAL_STEP = "global_step"
# How many variables a message names.
_NAMED = 3


def saved_variables(state: ModelState) -> dict[str, keras.Variable]:
    """Return the variables that a checkpoint holds: all but the sums that metrics keep."""
    return {name: variable for name, variable in state.variables.items() if variable.aggregation != "sum"}


class TrainingCheckpoint:
    """Saves and restores a training.

    Args:
        state: The model's variables.
        loop: The loop, whose position in the input is saved too.
        config: Where it is saved, and how many checkpoints are kept.
    """

    def __init__(self, state: ModelState, loop: StepLoop, config: RunConfig) -> None:
        self._state = state
        self._loop = loop
        self._position = _Position(loop)
        self._checkpoint = Checkpoint(NamedVariables(lambda: saved_variables(state)), input=self._position)
        self._manager = CheckpointManager(
            self._checkpoint,
            config.model_dir or "",
            max_to_keep=config.keep_checkpoint_max or None,
            keep_checkpoint_every_n_hours=config.keep_checkpoint_every_n_hours,
            checkpoint_name=PREFIX,
        )

    def save(self, prefix: str | None = None) -> str:
        """Save a checkpoint of the present step; all workers call it.

        Args:
            prefix: The path before the step; by default `model.ckpt` in the folder, where the oldest is removed.
        """
        if prefix is None or os.path.abspath(prefix) == os.path.join(self._manager.directory, PREFIX):
            return self._manager.save(checkpoint_number=self._loop.step) or ""
        return self._checkpoint.save_numbered(prefix, CheckpointOptions(), number=self._loop.step)

    def restore(self, path: str) -> None:
        """Go on from a checkpoint.

        Raises:
            RestoreError: If it is of another model.
        """
        check_same_model(load_checkpoint(path), saved_variables(self._state), path)
        self._checkpoint.restore(path, CheckpointOptions(expect_partial=True))

    def end_of_input(self) -> None:
        """Have what is saved from here on not say where the input is: the next training reads from the beginning."""
        self._position.is_kept = False

    def sync(self) -> None:
        """Wait until what was saved is on the disk."""
        self._checkpoint.sync()


class _Position:
    """The position of a training in its input, as a part of a checkpoint."""

    def __init__(self, loop: StepLoop) -> None:
        self._loop = loop
        self.is_kept = True

    def get_state(self) -> dict[str, Any]:
        return {"loop": self._loop.get_state() if self.is_kept else None}

    def set_state(self, state: dict[str, Any]) -> None:
        if state["loop"] is not None:
            self._loop.set_state(state["loop"])


def latest(model_dir: str) -> str | None:
    """Return the last checkpoint of a folder, or None."""
    return latest_checkpoint(model_dir)


def saved_step(model_dir: str) -> int:
    """Return the global step of the last checkpoint of a folder; 0 without one."""
    path = latest(model_dir)
    return 0 if path is None else int(load_checkpoint(path).get_tensor(GLOBAL_STEP))


def names(path: str) -> list[str]:
    """Return the names of the variables in a checkpoint."""
    return list(load_checkpoint(path).get_variable_to_shape_map())


def read_into(state: ModelState, path: str) -> None:
    """Give a model's variables the values of a checkpoint.

    Args:
        state: The variables.
        path: The checkpoint.

    Raises:
        RestoreError: If it is of another model.
    """
    reader = load_checkpoint(path)
    wanted = saved_variables(state)
    # The states of dropout's generators are there only where the model was trained with it.
    optional = {name for name in wanted if _is_seed(name) and not reader.has_tensor(name)}
    needed = {name: variable for name, variable in wanted.items() if name not in optional}
    check_same_model(reader, needed, path)
    for name, variable in needed.items():
        variable_store.overwrite(variable, reader.get_tensor(name))


def _is_seed(name: str) -> bool:
    return name.rpartition("/")[2].startswith("seed_generator_state")


def check_same_model(reader: CheckpointReader, variables: Mapping[str, keras.Variable], path: str) -> None:
    """Check that a checkpoint has a value of the right shape for each of a model's variables.

    Raises:
        RestoreError: If not; names the first three that differ.
    """
    shapes = reader.get_variable_to_shape_map()
    differing = []
    for name, variable in variables.items():
        if name not in shapes:
            differing.append(f"{name} is not in the checkpoint")
        elif tuple(shapes[name]) != tuple(variable.shape):
            differing.append(
                f"{name} has the shape {tuple(variable.shape)} in the model and {tuple(shapes[name])} in the checkpoint"
            )
    if differing:
        more = f" and {len(differing) - _NAMED} more" if len(differing) > _NAMED else ""
        raise errors.RestoreError(
            f"The checkpoint {shown(path)} is of another model: {'; '.join(differing[:_NAMED])}{more}. Expected: the "
            "variables of this model_fn. Use another model_dir, or give the model the variables that it had."
        )
