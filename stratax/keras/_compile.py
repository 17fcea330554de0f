"""How a model learns of its strategy: the moment it is compiled (keras layer).

Keras has no hook for it, so `keras.Model.compile` is replaced by one that looks for a strategy's scope first, and
`fit`, `evaluate`, `predict` and the calls with one batch by ones that look for the model's strategy.
"""

import functools
import warnings
from collections.abc import Callable
from typing import Any

import keras
from keras.src.backend.jax import trainer as jax_trainer
from keras.src.trainers import trainer as keras_trainer

from stratax import errors
from stratax.distribute import _contexts, _ownership
from stratax.keras import _epochs, _tensorboard, _trainer


def install() -> None:
    """Puts the hooks of this layer in place, once."""
    original = keras_trainer.Trainer.compile
    if not getattr(original, "_stratax_hook", False):
        keras_trainer.Trainer.compile = _compile_hook(original)
        for name in _trainer.CALLS:
            setattr(jax_trainer.JAXTrainer, name, _call_hook(getattr(jax_trainer.JAXTrainer, name), name))
    _epochs.install()
    _tensorboard.install()


def _compile_hook(original: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(original)
    def compile(self: keras.Model, *args: Any, **kwargs: Any) -> None:
        strategy = _contexts.get_strategy() if _contexts.in_cross_replica_context() else None
        _check_owner(self, strategy)
        _trainer.detach(self)
        original(self, *args, **kwargs)
        if strategy is not None:
            _warn_of_uncompiled_steps(self, kwargs)
            _trainer.attach(self, strategy)

    compile._stratax_hook = True  # type: ignore[attr-defined]
    return compile


def _warn_of_uncompiled_steps(model: keras.Model, given: dict[str, Any]) -> None:
    """`run_eagerly=True` and `jit_compile=False` can't be had: replicas exist in compiled programs only."""
    ignored = "run_eagerly=True" if model.run_eagerly else "jit_compile=False"
    if model.run_eagerly or given.get("jit_compile", "auto") is False:
        warnings.warn(
            f"{ignored} is ignored under a strategy, whose steps are always compiled. To step through a model in a "
            "debugger, compile it outside of the scope; to see values in a compiled step, use `stratax.print`.",
            RuntimeWarning,
            stacklevel=3,
        )


def _call_hook(original: Callable[..., Any], name: str) -> Callable[..., Any]:
    @functools.wraps(original)
    def call(self: keras.Model, *args: Any, **kwargs: Any) -> Any:
        trainer = _trainer.trainer_of(self)
        if trainer is None and not self.compiled and name in ("predict", "predict_on_batch"):
            trainer = _trainer_of_uncompiled(self)
        if trainer is not None:
            return getattr(trainer, name)(*args, **kwargs)
        if _contexts.has_strategy() and self.compiled:
            raise errors.StrategyError(
                f"Model {self.name!r} was compiled outside of any scope and is used in one. Received: a call of "
                f"{name!r} in the scope of {_contexts.get_strategy()!r}. Move the lines that build and compile the "
                f"model into `with strategy.scope():`, or the call of {name!r} out of it."
            )
        return original(self, *args, **kwargs)

    return call


def _trainer_of_uncompiled(model: keras.Model) -> "_trainer.Trainer | None":
    """A trainer for a model that need not be compiled, because it only predicts; None where it has no strategy."""
    strategy: Any = None
    if _contexts.in_cross_replica_context():
        strategy = _contexts.get_strategy()
        _check_owner(model, strategy)
    elif model.variables:
        strategy = _ownership.owner(model.variables[0])
    return None if strategy is None else _trainer.attach(model, strategy)


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
            f"Model {model.name!r} was built {where} and is used in the scope of {strategy!r}. Received: variable "
            f"{variable.path!r}, which is not that strategy's. Move the lines that build (or load) the model into "
            "`with strategy.scope():`."
        )
