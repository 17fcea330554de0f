"""What `BackupAndRestore` saves under a strategy: all that training needs to go on with the next batch (keras layer).

Keras' callback saves weights and the optimizer's state, and the number of the epoch in a second file. Here one file,
which appears whole or not at all, holds these and the rest: the position in the input, random states, and the
metrics of the epoch.
"""

import contextlib
import json
import os
import shutil
import tempfile
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import crc32c
import h5py
import keras
import numpy as np

from stratax import engine, errors
from stratax.base.callers import stack_level
from stratax.base.shown import cut, shown
from stratax.checkpoint import random_state, set_random_state
from stratax.core.storage import find_divided
from stratax.distribute import Strategy, keras_hooks
from stratax.distribute.strategies import run_in_chief
from stratax.engine import InputPosition, Resumption, StepInput
from stratax.io import local_path, replace_file, write_file
from stratax.keras._whole_saves import one_state

# Raised when an older reader would misread the state.
_VERSION = 2
_GROUP = "stratax"
_CHECKSUM = "stratax_checksum"


class Backup:
    """One `BackupAndRestore` in one `fit`.

    Args:
        callback: The callback, with a folder on this machine.
        strategy: The model's strategy.
        steps: The input.
    """

    def __init__(
        self, callback: keras.callbacks.BackupAndRestore, strategy: Strategy, steps: StepInput
    ) -> None:
        if local_path(os.fspath(callback.backup_dir)) is None:
            raise errors.BadArgumentError(
                "backup_dir must be a folder in a file system of this machine, which can be a mounted one. Received: "
                f"backup_dir={shown(callback.backup_dir)}. For checkpoints at a URL use stratax.train.Checkpoint."
            )
        self._callback = callback
        self._strategy = strategy
        self._steps = steps
        self._input = InputPosition(steps)
        # The callback's own methods, which decide when to save; these are wrapped around them.
        self._end_batch = callback.on_train_batch_end
        self._end_epoch = callback.on_epoch_end
        self._is_epoch_over = False
        self._logs: dict[str, Any] = {}
        # The order of input without numbered passes can be had again only from the random state before it.
        steps.notes_random = True

    def methods(self) -> dict[str, Callable[..., Any]]:
        """Return what the callback does instead, by the names of its methods."""
        return {
            "_load_model": self.load,
            "_save_model": self.save,
            "on_train_batch_end": self._on_train_batch_end,
            "on_epoch_end": self._on_epoch_end,
        }

    def _on_train_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        self._logs = logs or {}
        self._end_batch(batch, logs)

    def _on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        self._is_epoch_over = True
        try:
            self._end_epoch(epoch, logs)
        finally:
            self._is_epoch_over = False

    # Saving.

    def save(self) -> None:
        """Write the backup: the chief, with what every worker says of its own position."""
        # All workers come here, since `save_freq` counts batches alike; only the chief writes.
        parts = engine.parts_of_all(self._strategy, self._own_part())
        state = {
            "version": _VERSION,
            "epoch": self._callback._current_epoch,
            "steps": 0 if self._is_epoch_over else self._steps.steps_done,
            "logs": {} if self._is_epoch_over else {name: _number(v) for name, v in self._logs.items()},
            "workers": parts,
        }
        membership = self._strategy.extended.membership
        with membership.phase("saving"):
            run_in_chief(membership, _variables_of(self._callback.model), lambda: self._write(state))

    def _own_part(self) -> dict[str, Any]:
        within = not self._is_epoch_over or self._steps.passes_span_epochs
        return {"input": self._input.get_state(within_pass=within), "random": random_state()}

    def _write(self, state: dict[str, Any]) -> None:
        callback, model = self._callback, self._callback.model
        os.makedirs(callback.backup_dir, exist_ok=True)
        with replace_file(callback._weights_path) as path, one_state(model):
            # A model's own `save_weights` is called, as by Keras.
            model.save_weights(filepath=path, overwrite=True)
            with h5py.File(path, "r+") as file:
                group = file.create_group(_GROUP)
                group["state"] = np.frombuffer(json.dumps(state).encode(), np.uint8)
                for name, variables in _others(model).items():
                    for index, variable in enumerate(variables):
                        group[f"{name}/{index}"] = variable.numpy()
                # At the file, not at the group: if the group's name is damaged, the file still tells that it had one.
                file.attrs[_CHECKSUM] = _checksum(file)
            # Inside of the block, before the new file takes the old one's place.
            if callback.double_checkpoint:
                _keep(callback._weights_path, callback._prev_weights_path)
                _keep(callback._training_metadata_path, callback._prev_training_metadata_path)
        metadata = {"epoch": callback._current_epoch, "batch": callback._last_batch_seen}
        # For who reads the folder; what counts is in the other file.
        write_file(callback._training_metadata_path, json.dumps(metadata).encode())

    # Restoring.

    def load(self) -> None:
        """Restore what the chief finds, in all workers; nothing where there is no backup."""
        callback, model, extended = self._callback, self._callback.model, self._strategy.extended
        _check_built(model)
        optimizer = [] if model.optimizer is None else [model.optimizer]
        for each in optimizer:
            # Values are loaded only into as many variables as were saved.
            if not each.built:
                with self._strategy.scope():
                    each.build(model.trainable_variables)
                    keras_hooks.prepare(each)
        variables = _variables_of(model)
        with extended.membership.phase("saving"):
            state = run_in_chief(extended.membership, variables, self._read)
        # The folder need not be one that all workers see.
        state = engine.from_chief(self._strategy, state)
        if state is None:
            return
        if extended.membership.share.processes > 1:
            # What the chief has loaded; the others' variables have their first values, but for those in parts.
            whole = [variable for variable in variables if find_divided(variable) is None]
            values = extended.membership.agree([variable.numpy() for variable in whole])
            for variable, value in zip(whole, values, strict=True):
                variable.assign(value)
        model._initial_epoch = callback._current_epoch = state["epoch"]
        if "workers" in state:
            self._resume(state)
        else:
            self._steps.skip_to(state["epoch"])

    def _resume(self, state: dict[str, Any]) -> None:
        parts, share, model = state["workers"], self._strategy.extended.membership.share, self._callback.model
        # Another number of workers: positions of parts mean nothing, and all go on from the chief's.
        own = parts[share.index] if len(parts) == share.processes else parts[0]
        # Before the input is opened, which may draw from it.
        set_random_state(own["random"])
        # Keras resets the metrics when the epoch begins, and opening the input may draw random numbers.
        metrics = [(variable, variable.numpy()) for variable in model.metrics_variables]
        steps = state["steps"]

        def restore() -> None:
            set_random_state(own["random"])
            for variable, value in metrics if steps else ():
                variable.assign(value)

        # From which Keras' callback counts batches until the next save.
        self._callback._last_batch_seen = max(0, steps - 1)
        self._steps.resume(
            Resumption(
                position=own["input"], epoch=state["epoch"], steps=steps, logs=state["logs"], restore=restore
            )
        )

    def _read(self) -> dict[str, Any] | None:
        """Load the newest backup that is whole into the model; None if there is none."""
        callback = self._callback
        damage: list[str] = []
        for weights, metadata in (
            (callback._weights_path, callback._training_metadata_path),
            (callback._prev_weights_path, callback._prev_training_metadata_path),
        ):
            if not os.path.exists(weights):
                continue
            problem = _damage(weights)
            if problem is not None:
                damage.append(f"{weights!r}: {problem}")
                continue
            if damage:
                warnings.warn(
                    f"A backup is damaged, and the one before it is restored. Received: {cut(damage[0])}.",
                    RuntimeWarning,
                    stacklevel=stack_level(),
                )
            return self._load(weights, metadata)
        if damage:
            raise errors.DataLossError(
                "The backup to go on from is damaged: it was cut off or changed after it was written. Received: "
                f"{'; '.join(map(cut, damage))}. Put a copy of the file there, or remove the folder "
                f"{shown(callback.backup_dir)}: training begins anew then. With double_checkpoint=True the backup "
                "before it is kept, too."
            )
        return None

    def _load(self, weights: str, metadata: str) -> dict[str, Any]:
        model = self._callback.model
        with _name_for_keras(weights) as path:
            model.load_weights(path)
        with h5py.File(weights, "r") as file:
            if _GROUP not in file:
                return _of_keras(metadata)
            group = file[_GROUP]
            state = _state(group)
            for name, variables in _others(model).items():
                _assign(variables, group.get(name, {}))
        if state["version"] != _VERSION:
            raise errors.DataError(
                f"The backup was written by another version of Stratax. Expected: version {_VERSION}. Received: "
                f"version {shown(state['version'])} in {shown(weights)}. Use that version, or remove the file."
            )
        return state


def _variables_of(model: keras.Model) -> list[keras.Variable]:
    """Return all that a backup holds: variables of a model, its optimizer and its metrics."""
    slots = [] if model.optimizer is None else model.optimizer.variables
    return [*model.variables, *slots, *model.metrics_variables]


def _others(model: keras.Model) -> dict[str, list[keras.Variable]]:
    """Return a model's variables that Keras does not save with its weights."""
    saved = {id(variable) for variable in model.weights}
    return {
        "seeds": [variable for variable in model.variables if id(variable) not in saved],
        "metrics": list(model.metrics_variables),
    }


def _assign(variables: list[keras.Variable], saved: Any) -> None:
    """Restore variables if they are those that were saved: metrics may be others, and are of interest to logs only."""
    # In the order in which they were written.
    values = [saved[str(index)][()] for index in range(len(saved))]
    if [value.shape for value in values] == [tuple(variable.shape) for variable in variables]:
        for variable, value in zip(variables, values, strict=True):
            variable.assign(value)


def _of_keras(metadata: str) -> dict[str, Any]:
    """Return where an epoch began, from a backup without a state of ours: of Keras alone or of an older version."""
    try:
        with open(metadata, "rb") as file:
            return {"epoch": int(json.load(file)["epoch"])}
    except (OSError, ValueError, KeyError):
        # It was written after the weights; without it their epoch is not known.
        return {"epoch": 0}


def _damage(path: str) -> str | None:
    """Return what is wrong with a file of weights, all of which is read; None if nothing is."""
    try:
        with h5py.File(path, "r") as file:
            found, expected = _checksum(file), file.attrs.get(_CHECKSUM)
            if expected is None and (_GROUP not in file or _state(file[_GROUP])["version"] != _VERSION):
                # Of Keras alone, which keeps no checksum, or of another version, which is refused when it is loaded.
                return None
    # HDF5 reports damage by whatever it has hit upon.
    except (OSError, KeyError, RuntimeError, ValueError, TypeError, OverflowError, MemoryError) as error:
        return f"{type(error).__name__}: {error}"
    return None if found == expected else "its checksum is wrong"


def _state(group: h5py.Group) -> dict[str, Any]:
    return dict(json.loads(group["state"][()].tobytes()))


def _checksum(file: h5py.File) -> int:
    """Return a number that changes with any name, array or attribute below the root of a file."""
    total = 0

    def add(content: bytes) -> None:
        nonlocal total
        total = crc32c.crc32c(content, total)

    def visit(name: str | bytes, found: h5py.Dataset | h5py.Group) -> None:
        # h5py goes on only as long as the answer is None.
        add(repr(name).encode())
        for key in sorted(found.attrs):
            value = np.asarray(found.attrs[key])
            add(f"{key}{value.dtype}{value.tolist()}".encode())
        if isinstance(found, h5py.Dataset):
            values = np.asarray(found[()])
            add(f"{values.dtype}{values.shape}".encode())
            add(values.tobytes() if values.dtype != object else repr(values.tolist()).encode())

    file.visititems(visit)
    return total


@contextlib.contextmanager
def _name_for_keras(path: str) -> Iterator[str]:
    """Give a file, inside the block, a name that ends as Keras wants it."""
    with tempfile.TemporaryDirectory() as folder:
        link = os.path.join(folder, "backup.weights.h5")
        # A link instead of a copy: weights are large.
        os.symlink(os.path.abspath(path), link)
        yield link


def _keep(path: str, copy: str) -> None:
    """Give a file's content a second name, which the file that replaces it does not change."""
    if os.path.exists(path):
        with replace_file(copy) as temporary:
            try:
                # Two names of one content: replacing one file leaves the other as it was.
                os.link(path, temporary)
            except OSError:
                # A file system without links.
                shutil.copyfile(path, temporary)


def _check_built(model: keras.Model) -> None:
    if not model.built:
        raise ValueError(
            "To use the BackupAndRestore callback, the model must be built before fit(). "
            f"Received: {shown(model)}, which is not. Give it a keras.Input, or call it on a batch."
        )


def _number(value: object) -> Any:
    array = np.asarray(value)
    return array.item() if array.ndim == 0 else array.tolist()
