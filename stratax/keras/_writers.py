"""Callbacks that write files, on several workers: the chief writes, the others follow (keras layer)."""

import contextlib
import functools
from collections.abc import Callable, Iterator
from typing import Any

import keras
import numpy as np

from stratax.distribute import Strategy

_WRITERS = (keras.callbacks.CSVLogger, keras.callbacks.TensorBoard, keras.callbacks.RemoteMonitor)
"""Callbacks that do nothing but write."""


def of_this_worker(callbacks: list[Any], strategy: Strategy) -> list[Any]:
    """The callbacks without those that only write, unless this is the chief.

    Args:
        callbacks: The callbacks of a user, before they know their model: some open files then.
        strategy: The model's strategy.
    """
    if strategy.extended.share.index == 0:
        return callbacks
    return [callback for callback in callbacks if not isinstance(callback, _WRITERS)]


@contextlib.contextmanager
def only_the_chief_writes(callbacks: keras.callbacks.CallbackList, strategy: Strategy) -> Iterator[None]:
    """Keeps Keras' own callbacks (and subclasses of them) from writing in other workers than the chief, for a `fit`.

    A `ModelCheckpoint` decides as it does in the chief, so what it knows, such as the best value, is the same in all. A
    `BackupAndRestore` takes what the chief restored, so its folder need not be one that all workers see. When the
    block ends, whatever the chief wrote is there for all. With one worker nothing changes.

    Args:
        callbacks: The callbacks of the call.
        strategy: The model's strategy.
    """
    if strategy.extended.share.processes == 1:
        yield
        return
    everybody = list(callbacks.callbacks)
    callbacks.callbacks[:] = of_this_worker(everybody, strategy)
    with contextlib.ExitStack() as stack:
        for callback in everybody:
            for name, method in _replacements(callback, strategy).items():
                stack.enter_context(_replaced(callback, name, method))
        stack.callback(callbacks.callbacks.__setitem__, slice(None), everybody)
        yield
        # Workers may give different callbacks, so it does not depend on them.
        strategy.extended.loop().ends_now(False)


def _replacements(callback: keras.callbacks.Callback, strategy: Strategy) -> dict[str, Callable[..., Any]]:
    """What a callback does in this worker instead, by the names of its methods."""
    is_chief = strategy.extended.share.index == 0
    found: dict[str, Callable[..., Any]] = {}
    if isinstance(callback, keras.callbacks.ModelCheckpoint):
        found["_save_model"] = (
            _saving(callback, strategy) if is_chief else functools.partial(_decide, callback)
        )
    elif isinstance(callback, keras.callbacks.BackupAndRestore):
        found["_load_model"] = functools.partial(_restore, callback, strategy, callback._load_model)
        found["_save_model"] = _saving(callback, strategy) if is_chief else _nothing
        found["on_train_end"] = callback.on_train_end if is_chief else _nothing
    return found


def _saving(callback: Any, strategy: Strategy) -> Callable[..., None]:
    """Saves while the others know that it takes as long as it takes."""
    save = callback._save_model

    def save_in_phase(*args: Any, **kwargs: Any) -> None:
        with strategy.extended.phase("saving"):
            save(*args, **kwargs)

    return save_in_phase


def _decide(callback: Any, epoch: int, batch: int | None, logs: Any) -> None:
    """What a `ModelCheckpoint` does, without saving and without words."""
    verbose, callback.verbose = callback.verbose, 0
    try:
        callback._should_save_model(epoch, batch, logs, callback._get_file_path(epoch, batch, logs))
    finally:
        callback.verbose = verbose


def _restore(callback: Any, strategy: Strategy, load: Callable[[], None]) -> None:
    """Restores what the chief finds: its weights and the optimizer's state, and the epoch to go on with."""
    model = callback.model
    if strategy.extended.share.index == 0:
        load()
    state = [*model.variables, *model.optimizer.variables]
    for variable, value in zip(
        state, strategy.extended.agreed([each.numpy() for each in state]), strict=True
    ):
        variable.assign(value)
    model._initial_epoch = int(strategy.extended.agreed([np.asarray(model._initial_epoch or 0)])[0])


def _nothing(*_: Any, **__: Any) -> None:
    """Leaves it to the chief."""


@contextlib.contextmanager
def _replaced(callback: Any, name: str, method: Callable[..., Any]) -> Iterator[None]:
    # An attribute of the instance stands before the method of the class.
    before = callback.__dict__.get(name)
    callback.__dict__[name] = method
    try:
        yield
    finally:
        del callback.__dict__[name]
        if before is not None:
            callback.__dict__[name] = before
