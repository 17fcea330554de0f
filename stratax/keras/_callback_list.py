"""The callbacks of `fit`, `evaluate` and `predict`, notified of batches only if one of them listens (keras layer)."""

from collections.abc import Callable

import keras

from stratax.base.threads import Threads
from stratax.distribute import Strategy
from stratax.distribute.strategies import InStep
from stratax.keras import _logs, _writers
from stratax.seams.keras import is_default

_PHASES = ("train", "test", "predict")
# What looks at the loss of a training.
_WATCHES = (keras.callbacks.TerminateOnNaN, _logs.WarnOfNaN)


class Callbacks(keras.callbacks.CallbackList):
    """Keras' list of callbacks, without its work around each batch where no callback looks at batches.

    Keras hands every batch's logs to a thread that waits for the devices and turns them into numbers, also if
    no callback is interested. That costs as much as a small model's step.
    """

    def _on_begin(self) -> None:
        # Without the executor that Keras makes here.
        self._in_begin_end_block_count += 1

    def _async_dispatch(self, fn: Callable[..., None], *args: object) -> None:
        # A Ctrl-C can keep the threads of Keras' own executor from ending (`base.threads`), and they are several,
        # which may show a batch to the callbacks before an earlier one.
        if self._executor is None:
            self._executor: Threads | None = Threads(1, "stratax-callbacks")
        super()._async_dispatch(fn, *args)

    def set_model(self, model: keras.Model) -> None:
        """See `keras.callbacks.CallbackList.set_model`; called when all callbacks are there."""
        super().set_model(model)
        for phase in _PHASES:
            for hook in ("batch_begin", "batch_end"):
                # Without listeners the logs of a batch are never fetched, and dispatches run ahead.
                if not _is_heard(self.callbacks, phase, hook):
                    # An attribute of the instance stands before the method of the class.
                    self.__dict__[f"on_{phase}_{hook}"] = _ignore


def callback_list(
    callbacks: object,
    *,
    model: keras.Model,
    strategy: Strategy,
    is_training: bool = False,
    **params: object,
) -> keras.callbacks.CallbackList:
    """Return the callbacks as Keras' loop takes them.

    Args:
        callbacks: What a user gave: a callback, several, None, or a `CallbackList`, which stays what it is.
        model: The model that is trained or tested.
        strategy: The model's strategy; of several workers, one that is stopped by a callback stops all, and
            only the chief writes.
        is_training: Whether it is for `fit`, which has callbacks of its own before the user's.
        **params: What `keras.callbacks.CallbackList` takes beside: `add_history`, `add_progbar`, `verbose`, `epochs`,
            `steps`.

    Returns:
        The list.
    """
    membership = strategy.extended.membership
    own = _own_callbacks(callbacks, model, strategy) if is_training else []
    if isinstance(callbacks, keras.callbacks.CallbackList):
        made = callbacks
        for callback in own:
            callback.set_model(made.model)
        # A list of the user's own stays the object that it is.
        made.callbacks[:0] = own
    else:
        given = _list(callbacks)
        if not membership.is_chief:
            given = _writers.without_writers(given)
        made = Callbacks([*own, *given], model=model, **params)
    if isinstance(membership, InStep):
        from stratax.keras import _stop_together

        _stop_together.install(made, model, strategy)
    return made


def _own_callbacks(
    callbacks: object, model: keras.Model, strategy: Strategy
) -> list[keras.callbacks.Callback]:
    """Return what `fit` does by itself as callbacks do."""
    own: list[keras.callbacks.Callback] = []
    if getattr(model.optimizer, "gradient_accumulation_steps", None):
        from stratax.keras import _accumulation

        own.append(_accumulation.FlushAccumulatedGradients(strategy))
    # One worker looks at the loss, unless something does already.
    has_one = any(isinstance(each, _WATCHES) for each in _list(callbacks))
    if strategy.extended.membership.is_chief and not has_one:
        own.append(_logs.WarnOfNaN())
    return own


def _list(callbacks: object) -> list[keras.callbacks.Callback]:
    callbacks = getattr(callbacks, "callbacks", callbacks)
    return list(callbacks) if isinstance(callbacks, (list, tuple)) else [callbacks] if callbacks else []


def _is_heard(callbacks: list[keras.callbacks.Callback], phase: str, hook: str) -> bool:
    """Return whether a callback does anything before or after a batch."""
    for callback in callbacks:
        if isinstance(callback, _logs.WarnOfNaN):
            continue  # It takes what others ask for.
        if not is_default(getattr(callback, f"on_{phase}_{hook}")):
            return True
        # The old name, which Keras still calls in training.
        if phase == "train" and not is_default(getattr(callback, f"on_{hook}")):
            return True
    return False


def _ignore(batch: int, logs: object = None) -> None:
    """Do nothing about a batch, whose logs stay on the devices."""
