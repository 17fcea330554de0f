"""Callbacks that write files: the chief writes, the others follow; backups hold all of training (keras layer)."""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import keras

from stratax import engine
from stratax.distribute import Strategy
from stratax.distribute.strategies import InStep
from stratax.engine import StepInput

# Callbacks that do nothing but write.
_WRITERS = (keras.callbacks.CSVLogger, keras.callbacks.TensorBoard, keras.callbacks.RemoteMonitor)


def without_writers(callbacks: list[Any]) -> list[Any]:
    """Return the callbacks of a worker that is not the chief, without those that only write.

    Args:
        callbacks: The callbacks of a user, before they know their model: some open files then.
    """
    return [callback for callback in callbacks if not isinstance(callback, _WRITERS)]


@contextlib.contextmanager
def following_strategy(
    callbacks: keras.callbacks.CallbackList, model: keras.Model, strategy: Strategy, steps: StepInput
) -> Iterator[None]:
    """Have Keras' own callbacks (and subclasses of them) write for the strategy, for a `fit`.

    Of several workers only the chief writes. A `ModelCheckpoint` decides as it does in the chief, so what it knows,
    such as the best value, is the same in all. A `BackupAndRestore` saves the position in the input too, and takes
    what the chief restored, so its folder need not be one that all workers see. When the block ends, whatever the
    chief wrote is there for all.

    Args:
        callbacks: The callbacks of the call.
        model: The model.
        strategy: Its strategy.
        steps: The input.
    """
    # Put back at the end: the list may be the user's.
    everybody = list(callbacks.callbacks)
    membership = strategy.extended.membership
    if not membership.is_chief:
        callbacks.callbacks[:] = without_writers(everybody)
    with contextlib.ExitStack() as stack:
        # Keras leaves there what a backup has restored, and the next `fit` would begin with that epoch.
        stack.callback(setattr, model, "_initial_epoch", model._initial_epoch)
        for callback in everybody:
            for name, method in _replacements(callback, strategy, steps).items():
                stack.enter_context(_replace(callback, name, method))
        stack.callback(callbacks.callbacks.__setitem__, slice(None), everybody)
        yield
        # Workers may give different callbacks, so it does not depend on them.
        if isinstance(membership, InStep):
            engine.wait_for_all(strategy)


def _replacements(
    callback: keras.callbacks.Callback, strategy: Strategy, steps: StepInput
) -> dict[str, Callable[..., Any]]:
    """Return what a callback does in this worker instead, by the names of its methods."""
    found: dict[str, Callable[..., Any]] = {}
    membership = strategy.extended.membership
    if isinstance(callback, keras.callbacks.BackupAndRestore):
        # Late: most programs make no backups.
        from stratax.keras import _backup

        found.update(_backup.Backup(callback, strategy, steps).methods())
        if not membership.is_chief:
            found["on_train_end"] = _nothing
    elif isinstance(callback, keras.callbacks.ModelCheckpoint) and isinstance(membership, InStep):
        found["_save_model"] = _saving(callback, strategy)
    return found


def _saving(callback: Any, strategy: Strategy) -> Callable[..., None]:
    """Save in the chief, while the others know that it takes as long as it takes."""
    # Late: most programs have one worker.
    from stratax.distribute.strategies import run_in_chief

    membership = strategy.extended.membership
    save = callback._save_model

    def save_in_chief(*args: Any, **kwargs: Any) -> None:
        if not membership.is_chief:
            _decide(callback, *args, **kwargs)
        model = callback.model
        variables = [*model.variables, *(model.optimizer.variables if model.optimizer else ())]
        with membership.phase("saving"):
            run_in_chief(membership, variables, lambda: save(*args, **kwargs))

    return save_in_chief


def _decide(callback: Any, epoch: int, batch: int | None, logs: Any) -> None:
    """Do what a `ModelCheckpoint` does, without saving and without words."""
    # The chief says it once for all.
    verbose, callback.verbose = callback.verbose, 0
    try:
        # Updates what the callback knows as its best value.
        callback._should_save_model(epoch, batch, logs, callback._get_file_path(epoch, batch, logs))
    finally:
        callback.verbose = verbose


def _nothing(*_: object, **__: object) -> None:
    """Leave the work to the chief."""


@contextlib.contextmanager
def _replace(callback: Callable[..., Any], name: str, method: Callable[..., Any]) -> Iterator[None]:
    # An attribute of the instance stands before the method of the class.
    before = callback.__dict__.get(name)
    callback.__dict__[name] = method
    try:
        yield
    finally:
        del callback.__dict__[name]
        if before is not None:
            callback.__dict__[name] = before
