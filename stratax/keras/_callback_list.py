"""The callbacks of `fit`, `evaluate` and `predict`, notified of batches only if one of them listens (keras layer)."""

from collections.abc import Callable
from typing import Any

import keras

from stratax.base.threads import Threads
from stratax.distribute import Strategy
from stratax.keras import _nan_loss, _stop_together, _writers
from stratax.seams.keras import is_default

_PHASES = ("train", "test", "predict")


class Callbacks(keras.callbacks.CallbackList):
    """Keras' list of callbacks, without its work after each batch where no callback looks at batches.

    Keras hands every batch's logs to a thread that waits for the devices and turns them into numbers, also if
    no callback is interested. That costs as much as a small model's step.
    """

    def _on_begin(self) -> None:
        # A Ctrl-C can keep the threads of Keras' own executor from ending (`base.threads`), and they are several,
        # which may show a batch to the callbacks before an earlier one.
        if self._in_begin_end_block_count == 0:
            self._executor: Threads | None = Threads(1, "stratax-callbacks")
        super()._on_begin()

    def set_model(self, model: keras.Model) -> None:
        """See `keras.callbacks.CallbackList.set_model`; called when all callbacks are there."""
        super().set_model(model)
        for phase in _PHASES:
            # Without listeners the logs of a batch are never fetched, and dispatches run ahead.
            if not any(_listens(callback, phase) for callback in self.callbacks):
                # An attribute of the instance stands before the method of the class.
                self.__dict__[f"on_{phase}_batch_end"] = _ignore


def callback_list(
    callbacks: object,
    *,
    model: keras.Model,
    strategy: Strategy,
    first: keras.callbacks.Callback | None = None,
    **params: object,
) -> keras.callbacks.CallbackList:
    """Return the callbacks as Keras' loop takes them.

    Args:
        callbacks: What a user gave: a callback, several, None, or a `CallbackList`, which stays what it is.
        model: The model that is trained or tested.
        strategy: The model's strategy; of several workers, one that is stopped by a callback stops all, and
            only the chief writes.
        first: A callback to put before the user's.
        **params: What `keras.callbacks.CallbackList` takes beside: `add_history`, `add_progbar`, `verbose`, `epochs`,
            `steps`.

    Returns:
        The list.
    """
    made = _made(callbacks, model, strategy, first, params)
    _stop_together.install(made, model, strategy)
    return made


def _made(
    callbacks: object,
    model: keras.Model,
    strategy: Strategy,
    first: keras.callbacks.Callback | None,
    params: dict[str, Any],
) -> keras.callbacks.CallbackList:
    own = [] if first is None else [first, *_watching(callbacks, strategy)]
    if isinstance(callbacks, keras.callbacks.CallbackList):
        for callback in own:
            callback.set_model(callbacks.model)
        # A list of the user's own stays the object that it is.
        callbacks.callbacks[:0] = own
        return callbacks
    given = _writers.of_this_worker(_listed(callbacks), strategy)
    return Callbacks([*own, *given], model=model, **params)


def _listed(callbacks: object) -> list[keras.callbacks.Callback]:
    callbacks = getattr(callbacks, "callbacks", callbacks)
    return list(callbacks) if isinstance(callbacks, (list, tuple)) else [callbacks] if callbacks else []


def _watching(callbacks: object, strategy: Strategy) -> list[keras.callbacks.Callback]:
    """Return what looks at the loss of a training, in one worker, unless something does already."""
    watches = (keras.callbacks.TerminateOnNaN, _nan_loss.WarnOfNaN)
    has_one = any(isinstance(each, watches) for each in _listed(callbacks))
    return [] if has_one or not strategy.extended.membership.is_chief else [_nan_loss.WarnOfNaN()]


def _listens(callback: keras.callbacks.Callback, phase: str) -> bool:
    if isinstance(callback, _nan_loss.WarnOfNaN):
        return False  # It takes what others ask for.
    hooks: list[Callable[..., Any]] = [getattr(callback, f"on_{phase}_batch_end")]
    if phase == "train":
        # The old name, which Keras still calls in training.
        hooks.append(callback.on_batch_end)
    return not all(is_default(hook) for hook in hooks)


def _ignore(batch: int, logs: object = None) -> None:
    """Take a batch's logs and do nothing with them."""
