"""Callbacks that write files: the chief writes, the others follow; backups hold all of training (keras layer)."""

import contextlib
import functools
from collections.abc import Callable, Iterator
from typing import Any

import keras

from stratax import engine
from stratax.distribute import Strategy
from stratax.distribute.strategies import InStep, StrategyMembership
from stratax.engine import StepInput
from stratax.keras._tensorboard import log_weights

# Callbacks that do nothing but write.
_WRITERS = (keras.callbacks.CSVLogger, keras.callbacks.TensorBoard, keras.callbacks.RemoteMonitor)


class _Reading(keras.callbacks.Callback):
    """Stands in other workers for the chief's `TensorBoard`, which reads weights that each may have parts of."""

    def __init__(self, callback: keras.callbacks.TensorBoard) -> None:
        super().__init__()
        self.frequencies = callback.histogram_freq, callback.embeddings_freq


def without_writers(callbacks: list[Any]) -> list[Any]:
    """Return the callbacks of a worker that is not the chief, without those that only write.

    Args:
        callbacks: The callbacks of a user, before they know their model: some open files then.
    """
    return [
        _Reading(callback) if isinstance(callback, keras.callbacks.TensorBoard) else callback
        for callback in callbacks
        if not isinstance(callback, _WRITERS)
        or (isinstance(callback, keras.callbacks.TensorBoard) and any(_Reading(callback).frequencies))
    ]


@contextlib.contextmanager
def following_strategy(
    callbacks: keras.callbacks.CallbackList, model: keras.Model, strategy: Strategy, steps: StepInput
) -> Iterator[None]:
    """Have Keras' own callbacks (and subclasses of them) write for the strategy, for a `fit`.

    Of several workers only the chief writes; what a `TensorBoard` reads, the others read with it. A `ModelCheckpoint`
    decides as it does in the chief, so what it knows, such as the best value, is the same in all. A `BackupAndRestore`
    saves the position in the input too, and takes what the chief restored, so its folder need not be one that all
    workers see. When the block ends, whatever the chief wrote is there for all.

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
    own = list(callbacks.callbacks)
    with contextlib.ExitStack() as stack:
        # Keras leaves there what a backup has restored, and the next `fit` would begin with that epoch.
        stack.callback(setattr, model, "_initial_epoch", model._initial_epoch)
        for callback in own:
            for name, method in _replacements(callback, model, strategy, steps).items():
                stack.enter_context(_replace(callback, name, method))
        stack.callback(callbacks.callbacks.__setitem__, slice(None), everybody)
        yield
        # Workers may give different callbacks, so it does not depend on them.
        if isinstance(membership, InStep):
            engine.wait_for_all(strategy)


def _replacements(
    callback: keras.callbacks.Callback, model: keras.Model, strategy: Strategy, steps: StepInput
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
    elif isinstance(callback, keras.callbacks.TensorBoard) and isinstance(membership, InStep):
        found["_log_weights"] = _in_chief(functools.partial(log_weights, callback), model, membership)
        found["_log_embeddings"] = _in_chief(callback._log_embeddings, model, membership)
    elif isinstance(callback, _Reading):
        found["on_epoch_end"] = _following(callback, model, membership)
    return found


def _in_chief(
    act: Callable[[int], Any], model: keras.Model, membership: StrategyMembership
) -> Callable[[int], None]:
    """Do something at an epoch's end that reads variables, while other workers read with the chief."""
    # Late: most programs have one worker.
    from stratax.distribute.strategies import run_in_chief

    def act_in_chief(epoch: int) -> None:
        run_in_chief(membership, model.variables, lambda: act(epoch))

    return act_in_chief


def _following(callback: _Reading, model: keras.Model, membership: StrategyMembership) -> Callable[..., None]:
    follow = _in_chief(_nothing, model, membership)

    def on_epoch_end(epoch: int, logs: object = None) -> None:
        for frequency in callback.frequencies:
            if frequency and epoch % frequency == 0:
                follow(epoch)

    return on_epoch_end


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
