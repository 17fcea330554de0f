"""How a model learns of its strategy: when it is created, and when it is compiled (keras layer).

Keras has no hooks for it on JAX, so `keras.Model`'s `__init__` and `compile` are replaced by ones that look for a
strategy's scope first, and `fit`, `evaluate`, `predict` and the calls with one batch by ones that look for the model's
strategy. As in TensorFlow, a model has the strategy in whose scope it was created, wherever it is compiled and trained.
"""

import contextlib
import functools
import inspect
import warnings
from collections.abc import Callable
from typing import Any

import keras

from stratax import errors
from stratax.base import tracebacks
from stratax.base.callers import stack_level
from stratax.base.shown import shown
from stratax.core import state, storage
from stratax.distribute import Strategy, strategies
from stratax.distribute.replicas import get_strategy, has_strategy, in_cross_replica_context, is_default
from stratax.keras import (
    _epochs,
    _logs,
    _plain_input,
    _plain_ranges,
    _plain_state,
    _steps,
    _tensorboard,
    _text,
    _trainer,
    _whole_saves,
)
from stratax.seams import keras as seam

# Where a model keeps the strategy in whose scope it was created, if there was one.
_CREATED_IN = "_stratax_strategy"


def install() -> None:
    """Put the replacements of this layer in place; a second call changes nothing."""
    trainer, jax_trainer = "keras.src.trainers.trainer:Trainer", "keras.src.backend.jax.trainer:JAXTrainer"
    seam.install(
        "stratax.keras",
        {
            f"{trainer}.__init__": _note_strategy,
            f"{trainer}.compile": _compile_hook,
            **{f"{jax_trainer}.{name}": functools.partial(_call_hook, name=name) for name in seam.CALLS},
            **{f"{jax_trainer}.{name}": functools.partial(_step_hook, name=name) for name in _steps.STEPS},
        },
    )
    _epochs.install()
    _logs.install()
    _plain_input.install()
    _plain_ranges.install()
    _plain_state.install()
    _steps.install()
    _tensorboard.install()
    _whole_saves.install()


def _note_strategy(original: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(original)
    def __init__(self: keras.Model) -> None:
        if has_strategy():
            # Around Keras' own bookkeeping of attributes, which looks for layers and variables in what it is given.
            self.__dict__[_CREATED_IN] = get_strategy()
        original(self)

    return __init__


def _compile_hook(original: Callable[..., None]) -> Callable[..., None]:
    signature = inspect.signature(original)

    @functools.wraps(original)
    def compile(self: keras.Model, *args: object, **kwargs: object) -> None:
        if state.has_creator():
            # In a model_fn the steps are the Estimator's.
            original(self, *args, **kwargs)
            return
        strategy = _strategy_of(self)
        _check_variables(self, strategy)
        with contextlib.suppress(TypeError):  # Keras itself says which argument is wrong.
            _check_parts(self, signature.bind(self, *args, **kwargs).arguments, strategy)
        # Before Keras' own `compile`, which resets the functions that a trainer has put there.
        _trainer.detach(self)
        if strategy is None:
            original(self, *args, **kwargs)
            return
        # Optimizer and metrics that are made of names belong to the model's strategy.
        with contextlib.nullcontext() if has_strategy() else strategy.scope():
            original(self, *args, **kwargs)
        _warn_of_uncompiled_steps(self, "under a strategy", jit_compile=kwargs.get("jit_compile", "auto"))
        _trainer.attach(self, strategy)

    return compile


def _strategy_of(model: keras.Model) -> Strategy | None:
    """Return the strategy of the scope that a model was created in, or else of the one that it is used in."""
    # Noted when the model was created; a scope now must not differ from it.
    created: Strategy | None = model.__dict__.get(_CREATED_IN)
    current = get_strategy() if in_cross_replica_context() else None
    if created is None:
        return current
    if has_strategy() and current is not created:
        raise errors.StrategyError(
            f"Model {shown(model.name)} was created in the scope of one strategy and is used in the scope of another. "
            f"Received: a model of {shown(created)} in the scope of {shown(current)}. Create it in that scope, or "
            "leave it."
        )
    return created


def _warn_of_uncompiled_steps(model: keras.Model, where: str, *, jit_compile: object = "auto") -> None:
    """Warn that `run_eagerly=True` and `jit_compile=False` can't be had: replicas exist in compiled programs only."""
    ignored = "run_eagerly=True" if model.run_eagerly else "jit_compile=False"
    if model.run_eagerly or jit_compile is False:
        warnings.warn(
            f"{ignored} is ignored {where}, whose steps are always compiled. To step through a model in a "
            "debugger, compile it outside of the scope; to see values in a compiled step, use `stratax.print`.",
            RuntimeWarning,
            stacklevel=stack_level(),
        )


def _call_hook(original: Callable[..., Any], name: str) -> Callable[..., Any]:
    signature = inspect.signature(original)

    @functools.wraps(original)
    def call(self: keras.Model, *args: object, **kwargs: object) -> Any:
        trainer = _trainer.trainer_of(self)
        if trainer is None and not self.compiled and name in ("predict", "predict_on_batch"):
            trainer = _trainer_of_uncompiled(self)
        if (
            trainer is None
            and not has_strategy()
            and (what := _what_keras_lacks(self, args, kwargs)) is not None
        ):
            _warn_of_uncompiled_steps(self, what)
            trainer = _trainer.attach(self, get_strategy())
        if trainer is not None:
            try:
                return getattr(trainer, name)(*args, **kwargs)
            except Exception as error:
                tracebacks.shorten(error)
                raise
        if has_strategy() and self.compiled:
            raise errors.StrategyError(
                f"Model {shown(self.name)} was compiled outside of any scope and is used in one. Received: a call of "
                f"{shown(name)} in the scope of {shown(get_strategy())}. Move the lines that build and "
                f"compile the model into `with strategy.scope():`, or the call of {shown(name)} out of it."
            )
        if name == "fit":
            with contextlib.suppress(TypeError):  # Keras itself says which argument is wrong.
                given = signature.bind(self, *args, **kwargs).arguments
                _plain_input.warn_of_lost_position(given.get("callbacks"), given.get("x"))
        try:
            return original(self, *args, **kwargs)
        except BaseException as error:
            # Keras gives variables their values back behind the last batch only, but for those of `fit`.
            self.jax_state_sync()
            if isinstance(error, StopIteration):
                # What Keras lets out where it looks for a batch to build the model on.
                raise errors.DataError(
                    f"The input of {shown(name)} has no batches. Expected: at least one. Received: none. Look at the "
                    "shapes of the arrays, or at what the dataset reads."
                ) from error
            raise

    return call


def _what_keras_lacks(model: keras.Model, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str | None:
    """Return of what kind a model without a strategy is that Keras' own loop on JAX can't run; None for all others."""
    if _text.takes_text(model, args[0] if args else kwargs.get("x")):
        # On JAX Keras has no text.
        return "of a model that takes text"
    if _steps.is_written_for_tensorflow(model):
        # Keras would call such a step with state, which it does not take.
        return "of a model that overrides a step with TensorFlow's arguments"
    if any(seam.states_of(layer) for layer in model._flatten_layers()):
        # Keras' steps give back the variables that a model lists. These are in no list: each step would find zeros.
        return "of a model with a stateful RNN"
    if _steps.updates_metrics_in_calls(model):
        # Keras' steps carry metrics past the call, which would find them without a value.
        return "of a model whose layers update metrics"
    return None


def _step_hook(original: Callable[..., Any], name: str) -> Callable[..., Any]:
    @functools.wraps(original)
    def step(self: keras.Model, *args: object, **kwargs: object) -> Any:
        # TensorFlow's form has one argument, Keras' on JAX two.
        given = [*args, *kwargs.values()]
        # Keras on JAX passes the state, too. Without it the step is called as it is with TensorFlow.
        return _steps.keras_step(name, self, *given) if len(given) == 1 else original(self, *args, **kwargs)

    return step


def _trainer_of_uncompiled(model: keras.Model) -> "_trainer.Trainer | None":
    """Make a trainer for a model that need not be compiled, as it only predicts; None where it has no strategy."""
    strategy = _strategy_of(model)
    if strategy is not None:
        _check_variables(model, strategy)
    elif model.variables:
        strategy = strategies.owner(model.variables[0])
    return None if strategy is None else _trainer.attach(model, strategy)


def _check_variables(model: keras.Model, strategy: Strategy | None) -> None:
    """Raise an error if a model has variables, or models inside it, of another strategy."""
    expected = None if strategy is None or is_default(strategy) else strategy
    for layer in model._flatten_layers():
        created = layer.__dict__.get(_CREATED_IN, expected)
        if created is not expected:
            _raise_foreign(model, f"model {shown(layer.name)} inside it", created, expected)
    for variable in model.variables:
        # A model made of layers of another scope fails here, where it can be named, and not in a program.
        owner = strategies.owner(variable)
        # Without a value it is not placed yet, and will follow the model's strategy.
        if owner is not expected and storage.has_value(variable):
            _raise_foreign(model, f"variable {shown(variable.path)}", owner, expected)


def _check_parts(model: keras.Model, given: dict[str, Any], strategy: Strategy | None) -> None:
    """Raise an error if the optimizer or a metric that a model is compiled with is another strategy's."""
    for name in ("optimizer", "metrics", "weighted_metrics"):
        for part in keras.tree.flatten(given.get(name)):
            for variable in getattr(part, "variables", ()):
                owner = strategies.owner(variable)
                if owner is not None and owner is not strategy:
                    _raise_foreign_part(model, part, owner, strategy)


def _raise_foreign(model: keras.Model, part: str, owner: Strategy | None, expected: Strategy | None) -> None:
    if expected is None:
        raise errors.StrategyError(
            f"Model {shown(model.name)} was created outside of any scope from layers of the scope of {shown(owner)}, "
            f"so it would train without the strategy. Received: {part} of that strategy. Move the lines that build the "
            "model into `with strategy.scope():`."
        )
    where = "outside of any scope" if owner is None else f"in the scope of {shown(owner)}"
    raise errors.StrategyError(
        f"Model {shown(model.name)} was built {where} and is used in the scope of {shown(expected)}. Received: {part}, "
        "which is not that strategy's. Move the lines that build (or load) the model into `with strategy.scope():`."
    )


def _raise_foreign_part(model: keras.Model, part: object, owner: Strategy, strategy: Strategy | None) -> None:
    where = "outside of any scope" if strategy is None else f"in the scope of {shown(strategy)}"
    raise errors.StrategyError(
        f"Model {shown(model.name)} is compiled with an optimizer or a metric of another strategy than its own. "
        f"Expected: all of them created in one scope. Received: {shown(getattr(part, 'name', part))}, created "
        f"in the scope of {shown(owner)}, for a model created {where}. Move the lines that make them into the same "
        "`with strategy.scope():`."
    )
