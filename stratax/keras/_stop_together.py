"""When a callback of one worker stops a loop, all workers stop, at the same batch (keras layer).

Keras' loops look at an attribute of the model after every batch and every epoch. What a callback sets there is a wish
of its worker: the workers agree on a batch, and only then is the attribute set, in all of them.
"""

from collections.abc import Callable
from typing import Any

import keras

from stratax.distribute import Strategy
from stratax.distribute._loop import Loop
from stratax.distribute.strategies._membership import InStep

_ATTRIBUTES = {"train": "stop_training", "test": "stop_evaluating", "predict": "stop_predicting"}


def install(callbacks: keras.callbacks.CallbackList, model: keras.Model, strategy: Strategy) -> None:
    """Lets a list of callbacks stop its loops in all workers at once. With one worker it stays what it is.

    Args:
        callbacks: The list.
        model: The model that is trained, tested or used.
        strategy: The model's strategy.
    """
    if not isinstance(strategy.extended.membership, InStep):
        return
    for phase, attribute in _ATTRIBUTES.items():
        _Agreement(model, strategy, attribute).watch(callbacks, phase)
    if any(_may_stop(callback) for callback in callbacks.callbacks):
        # Callbacks that run beside the loop would set the attribute at any time.
        for phase in _ATTRIBUTES:
            setattr(callbacks, f"_async_{phase}", False)


class _Agreement:
    """One kind of loop: what its worker wishes, and what all have agreed on.

    Args:
        model: The model.
        strategy: Its strategy.
        attribute: What Keras' loop looks at.
    """

    def __init__(self, model: keras.Model, strategy: Strategy, attribute: str) -> None:
        self._model = model
        self._strategy = strategy
        self._attribute = attribute
        self._loop = Loop()
        self._steps = 0
        self._wanted = False

    def watch(self, callbacks: keras.callbacks.CallbackList, phase: str) -> None:
        """Comes after the callbacks at every beginning, batch and epoch of a loop."""
        hooks: dict[str, Callable[[], None]] = {
            f"on_{phase}_begin": self._begin,
            f"on_{phase}_batch_end": self._end_batch,
        }
        if phase == "train":
            hooks["on_epoch_end"] = self._end_epoch
        for name, hook in hooks.items():
            # A list that a user made may be given to `fit` again.
            before = getattr(callbacks, name)
            before = getattr(before, "before", before)
            # An attribute of the instance stands before the method of the class.
            callbacks.__dict__[name] = _followed(before, hook)

    def _begin(self) -> None:
        self._loop = self._strategy.extended.membership.loop()
        self._steps, self._wanted = 0, False

    def _end_batch(self) -> None:
        self._steps += 1
        self._set(self._loop.ends_before(self._steps, self._wish()))

    def _end_epoch(self) -> None:
        self._set(self._loop.ends_now(self._wish()))

    def _wish(self) -> bool:
        self._wanted = self._wanted or bool(getattr(self._model, self._attribute))
        return self._wanted

    def _set(self, stops: bool) -> None:
        setattr(self._model, self._attribute, stops)


def _followed(before: Callable[..., None], hook: Callable[[], None]) -> Callable[..., None]:
    def called(*args: Any, **kwargs: Any) -> None:
        before(*args, **kwargs)
        hook()

    called.before = before  # type: ignore[attr-defined]
    return called


def _may_stop(callback: keras.callbacks.Callback) -> bool:
    return not isinstance(callback, keras.callbacks.ProgbarLogger | keras.callbacks.History)
