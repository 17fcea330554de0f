"""When a callback of one worker stops a loop, all workers stop, at the same batch (keras layer).

Keras' loops look at an attribute of the model after every batch and every epoch. What a callback sets there is a wish
of its worker: the workers agree on a batch, and only then is the attribute set, in all of them.
"""

from collections.abc import Callable

import keras

from stratax.distribute import Strategy
from stratax.engine import CommonStop

_ATTRIBUTES = {"train": "stop_training", "test": "stop_evaluating", "predict": "stop_predicting"}


def install(callbacks: keras.callbacks.CallbackList, model: keras.Model, strategy: Strategy) -> None:
    """Let a list of callbacks stop its loops in all workers at once.

    Args:
        callbacks: The list.
        model: The model that is trained, tested or used.
        strategy: The model's strategy, whose workers act in step.
    """
    for phase, attribute in _ATTRIBUTES.items():
        _StopAttribute(model, strategy, attribute).watch(callbacks, phase)
    if any(_may_stop(callback) for callback in callbacks.callbacks):
        # Callbacks that run beside the loop would set the attribute at any time.
        for phase in _ATTRIBUTES:
            setattr(callbacks, f"_async_{phase}", False)


class _StopAttribute:
    """The attribute of a model that Keras' loop looks at, set where the workers agree and nowhere else.

    Args:
        model: The model.
        strategy: Its strategy.
        attribute: What Keras' loop looks at.
    """

    def __init__(self, model: keras.Model, strategy: Strategy, attribute: str) -> None:
        self._model = model
        self._strategy = strategy
        self._attribute = attribute
        self._stop: CommonStop | None = None
        self._steps = 0

    def watch(self, callbacks: keras.callbacks.CallbackList, phase: str) -> None:
        """Come after the callbacks at every beginning, batch and epoch of a loop."""
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
            callbacks.__dict__[name] = _follow(before, hook)

    def _begin(self) -> None:
        self._stop, self._steps = CommonStop(self._strategy), 0

    def _end_batch(self) -> None:
        self._steps += 1
        stop = self._request_stop()
        # A wish alone has no effect: the attribute is set to what all have agreed on.
        setattr(self._model, self._attribute, stop.comes_before(self._steps))

    def _end_epoch(self) -> None:
        stop = self._request_stop()
        # At the end of an epoch all workers are at the same place, so that they can simply ask one another.
        setattr(self._model, self._attribute, stop.is_due())

    def _request_stop(self) -> CommonStop:
        """Ask for the loop's stop where a callback of this worker has set the attribute."""
        if self._stop is None:
            # A list of callbacks that Keras' loop was not given to begin with.
            self._stop = CommonStop(self._strategy)
        if getattr(self._model, self._attribute):
            self._stop.request()
        return self._stop


def _follow(before: Callable[..., None], hook: Callable[[], None]) -> Callable[..., None]:
    def call_both(*args: object, **kwargs: object) -> None:
        before(*args, **kwargs)
        hook()

    call_both.before = before  # type: ignore[attr-defined]
    return call_both


def _may_stop(callback: keras.callbacks.Callback) -> bool:
    return not isinstance(callback, keras.callbacks.ProgbarLogger | keras.callbacks.History)
