"""Optimizers of canned estimators: by name, as objects, and by functions that make them (estimator layer)."""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import jax.numpy as jnp
import keras

from stratax import errors
from stratax.base.shown import shown
from stratax.tensorflow import v1

# What names stand for where TensorFlow 1's optimizers are meant, which need a learning rate.
_FIRST: dict[str, Callable[[float], v1.train.Optimizer]] = {
    "Adagrad": v1.train.AdagradOptimizer,
    "Adam": v1.train.AdamOptimizer,
    "Ftrl": v1.train.FtrlOptimizer,
    "RMSProp": v1.train.RMSPropOptimizer,
    "SGD": v1.train.GradientDescentOptimizer,
}


class _Adam(v1.train.AdamOptimizer):
    """Adam as Keras 2 has it: the powers of its numbers follow from the global step."""

    def __init__(self, learning_rate: float) -> None:
        super().__init__(learning_rate, epsilon=1e-7, name="Adam")
        powers = {f"{name}_power": self._power(self._numbers[name]) for name in ("beta1", "beta2")}
        if self._rule is not None:
            self._set_rule(self._rule, {**self._numbers, **powers}, {"m": 0.0, "v": 0.0})

    def _power(self, number: float) -> Callable[[], Any]:
        return lambda: number ** (v1.current().global_step().value.astype(jnp.float32) + 1)


class _RMSProp(v1.train.Optimizer):
    """RMSProp as Keras 2 has it: what keeps it from dividing by 0 is added to the root."""

    def __init__(self, learning_rate: float) -> None:
        super().__init__(False, "RMSprop")
        numbers = {"learning_rate": learning_rate, "decay": 0.9, "epsilon": 1e-7}
        self._set_rule(_rms_prop, numbers, {"rms": 0.0})


def _rms_prop(value: Any, slots: dict[str, Any], gradient: Any, numbers: dict[str, Any]) -> Any:
    squares = numbers["decay"] * slots["rms"] + (1 - numbers["decay"]) * jnp.square(gradient)
    step = numbers["learning_rate"] * gradient / (jnp.sqrt(squares) + numbers["epsilon"])
    return value - step, {"rms": squares}


# What they stand for else: Keras 2's optimizers, with their learning rates, and their names in checkpoints.
_SECOND: dict[str, tuple[Callable[[float], v1.train.Optimizer], float, str]] = {
    "Adagrad": (v1.train.AdagradOptimizer, 0.001, "Adagrad"),
    "Adam": (_Adam, 0.001, "Adam"),
    "Ftrl": (v1.train.FtrlOptimizer, 0.001, "Ftrl"),
    "RMSProp": (_RMSProp, 0.001, "RMSprop"),
    "SGD": (v1.train.GradientDescentOptimizer, 0.01, "SGD"),
}
_SLOTS = {"accum": "accumulator"}

SlotPath = Callable[[str, str, str], str]


def check(optimizer: object) -> None:
    """Raise where something is no optimizer, no name of one and no function.

    Raises:
        BadArgumentError: If it is a name that no optimizer has.
        BadTypeError: If it is something else.
    """
    if isinstance(optimizer, str) and optimizer not in _FIRST:
        raise errors.BadArgumentError(
            f"Unsupported optimizer name. Expected: one of {', '.join(sorted(_FIRST))}. Received: {shown(optimizer)}. "
            "Pass an optimizer of tf.keras.optimizers for others."
        )
    known = str | v1.train.Optimizer | keras.optimizers.Optimizer
    if not isinstance(optimizer, known) and not callable(optimizer):
        raise errors.BadTypeError(
            "An optimizer must be one of tf.keras.optimizers or tf.compat.v1.train, a name, or a function that makes "
            f"one. Received: optimizer={shown(optimizer)} ({type(optimizer).__name__})."
        )


def make(
    optimizer: object, learning_rate: float | None, slot_path: SlotPath | None, *, is_first: bool
) -> tuple[Any, SlotPath | None]:
    """Return an optimizer, and what gives the full names of its slots; None for the usual ones.

    Args:
        optimizer: As :func:`check` takes it.
        learning_rate: The learning rate of those that are named; None for their own.
        slot_path: The names of slots of TensorFlow 1's.
        is_first: Whether names mean TensorFlow 1's.
    """
    if isinstance(optimizer, str) and is_first:
        return _FIRST[optimizer](learning_rate or 0.05), slot_path
    if isinstance(optimizer, str):
        kind, rate, name = _SECOND[optimizer]
        return kind(learning_rate or rate), _keras_slots(name)
    made = optimizer if isinstance(optimizer, v1.train.Optimizer) or not callable(optimizer) else optimizer()
    check(made)
    return made, slot_path


def get_optimizer_instance(opt: object, learning_rate: float | None = None) -> Any:
    """Return an optimizer of TensorFlow 1, as canned Estimators make it.

    Args:
        opt: A name, such as `"Adam"`, a function that makes one, or an optimizer.
        learning_rate: The learning rate of those that are named.

    Raises:
        BadArgumentError: If `opt` is no known name, or one without a learning rate.
        BadTypeError: If it makes no optimizer.
    """
    if isinstance(opt, str) and opt not in _FIRST:
        raise errors.BadArgumentError(
            f"Unsupported optimizer name: {shown(opt)}. Supported names are: {tuple(sorted(_FIRST))}."
        )
    if isinstance(opt, str) and not learning_rate:
        raise errors.BadArgumentError(
            f"learning_rate must be specified when opt is string. Received: opt={shown(opt)}, "
            f"learning_rate={shown(learning_rate)}."
        )
    return make(opt, learning_rate, None, is_first=True)[0]


def _keras_slots(name: str) -> SlotPath:
    # Below the name scope of the head's training.
    return lambda path, slot, called: f"{v1.current().names.prefix}{name}/{path}/{_SLOTS.get(slot, slot)}"


@contextlib.contextmanager
def naming_slots(slot_path: SlotPath | None) -> Iterator[None]:
    """Give slots that are made in a block their full names."""
    scope = v1.current()
    before = scope.slot_path
    scope.slot_path = slot_path or before
    try:
        yield
    finally:
        scope.slot_path = before
