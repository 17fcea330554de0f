"""How a model learns of its strategy: the moment it is compiled (keras layer).

Keras has no hook for it, so `keras.Model.compile` is replaced by one that looks for a strategy's scope first.
"""

import functools
from collections.abc import Callable
from typing import Any

import keras
from keras.src.trainers import trainer as keras_trainer

from stratax import errors
from stratax.distribute import _contexts, _ownership
from stratax.keras import _epochs, _trainer


def install() -> None:
    """Puts the hooks of this layer in place, once."""
    original = keras_trainer.Trainer.compile
    if not getattr(original, "_stratax_hook", False):
        keras_trainer.Trainer.compile = _compile_hook(original)
    _epochs.install()


def _compile_hook(original: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(original)
    def compile(self: keras.Model, *args: Any, **kwargs: Any) -> None:
        strategy = _contexts.get_strategy() if _contexts.in_cross_replica_context() else None
        _check_owner(self, strategy)
        _trainer.detach(self)
        original(self, *args, **kwargs)
        if strategy is not None:
            _trainer.attach(self, strategy)

    compile._stratax_hook = True  # type: ignore[attr-defined]
    return compile


def _check_owner(model: keras.Model, strategy: Any) -> None:
    for variable in model.variables:
        owner = _ownership.owner(variable)
        if owner is strategy or variable._value is None:
            continue
        if strategy is None:
            raise errors.StrategyError(
                f"Model {model.name!r} was built in the scope of {owner!r} and is compiled outside of it, so it would "
                f"train without the strategy. Received: variable {variable.path!r} of that strategy. Move "
                "`model.compile(...)` into `with strategy.scope():`."
            )
        where = "outside of any scope" if owner is None else f"in the scope of {owner!r}"
        raise errors.StrategyError(
            f"Model {model.name!r} was built {where} and is compiled in the scope of {strategy!r}. Received: variable "
            f"{variable.path!r}, which is not that strategy's. Move the lines that build (or load) the model into "
            "`with strategy.scope():`."
        )
