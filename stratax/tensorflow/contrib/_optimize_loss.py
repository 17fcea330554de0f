"""`tf.contrib.layers.optimize_loss`: a step of training with decay, clipping, noise and summaries."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np

from stratax import errors
from stratax.base.shown import shown
from stratax.tensorflow import v1
from stratax.tensorflow.ops.arrays.arrays import identity
from stratax.tensorflow.ops.calls.creation import on_device
from stratax.tensorflow.ops.math import linalg
from stratax.tensorflow.ops.random import random

_Pairs = list[tuple[Any, Any]]

OPTIMIZER_CLS_NAMES: dict[str, Callable[..., Any]] = {
    "Adagrad": v1.train.AdagradOptimizer,
    "Adam": v1.train.AdamOptimizer,
    "Ftrl": v1.train.FtrlOptimizer,
    "Momentum": lambda learning_rate: v1.train.MomentumOptimizer(learning_rate, momentum=0.9),
    "RMSProp": v1.train.RMSPropOptimizer,
    "SGD": v1.train.GradientDescentOptimizer,
}
OPTIMIZER_SUMMARIES = [
    "learning_rate",
    "loss",
    "gradients",
    "gradient_norm",
    "global_gradient_norm",
]
_USUAL_SUMMARIES = ["loss", "learning_rate", "global_gradient_norm"]


def optimize_loss(
    loss: object,
    global_step: object,
    learning_rate: object,
    optimizer: object,
    gradient_noise_scale: float | None = None,
    gradient_multipliers: Mapping[Any, Any] | None = None,
    clip_gradients: float | Callable[[_Pairs], _Pairs] | None = None,
    learning_rate_decay_fn: Callable[..., Any] | None = None,
    update_ops: Sequence[Any] | None = None,
    variables: Sequence[Any] | None = None,
    name: str | None = None,
    summaries: Sequence[str] | None = None,
    colocate_gradients_with_ops: bool = False,
    increment_global_step: bool = True,
) -> Any:
    """Return the loss, which trains when it is computed, as `tf.contrib.layers.optimize_loss`.

    Args:
        loss: A scalar.
        global_step: The variable that counts steps; None for the model's.
        learning_rate: A float or a scalar tensor; None where the optimizer has its own.
        optimizer: A name (a key of `OPTIMIZER_CLS_NAMES`), a class, a function of the learning rate, or an optimizer.
        gradient_noise_scale: The deviation of noise that is added to gradients.
        gradient_multipliers: Factors, by variables or their names.
        clip_gradients: The largest global norm, or a function of pairs of gradient and variable.
        learning_rate_decay_fn: A function of the learning rate and the step.
        update_ops: What runs before; by default the collection ``"update_ops"``.
        variables: What is trained; by default all trainable ones.
        name: A scope's name.
        summaries: Some of `OPTIMIZER_SUMMARIES`; by default the loss, the learning rate and the gradients' norm.
        colocate_gradients_with_ops: Ignored.
        increment_global_step: Whether the step is counted.

    Raises:
        BadArgumentError: If an argument is none of these.
    """
    step = v1.train.get_global_step() if global_step is None else global_step
    shows = _USUAL_SUMMARIES if summaries is None else list(summaries)
    for each in shows:
        if each not in OPTIMIZER_SUMMARIES:
            raise errors.BadArgumentError(
                f"Summaries should be one of {OPTIMIZER_SUMMARIES}, you provided {shown(each)}."
            )
    with v1.variable_scope(name, "OptimizeLoss"):
        updates = v1.get_collection("update_ops") if update_ops is None else list(update_ops)
        with v1.control_dependencies(updates):
            loss = identity(loss)
        rate = _rate_of(learning_rate)
        if rate is not None and learning_rate_decay_fn is not None:
            if step is None:
                raise errors.BadArgumentError("global_step is required for learning_rate_decay_fn.")
            rate = learning_rate_decay_fn(rate, step)
            if "learning_rate" in shows:
                v1.summary.scalar("learning_rate", rate)
        chosen = _optimizer_of(optimizer, rate)
        pairs = chosen.compute_gradients(loss, v1.trainable_variables() if variables is None else variables)
        pairs = _change(pairs, gradient_noise_scale, gradient_multipliers)
        shows_norm = not {"global_gradient_norm", "gradient_norm"}.isdisjoint(shows)
        if shows_norm:
            v1.summary.scalar("global_norm/gradient_norm", _norm(pairs))
        pairs = _clip(pairs, clip_gradients)
        if "loss" in shows:
            v1.summary.scalar("loss", loss)
        for gradient, variable in pairs:
            _summarize(gradient, variable, shows)
        if clip_gradients is not None and shows_norm:
            v1.summary.scalar("global_norm/clipped_gradient_norm", _norm(pairs))
        trained = chosen.apply_gradients(pairs, step if increment_global_step else None, name="train")
        with v1.control_dependencies([trained]):
            return identity(loss)


def _rate_of(learning_rate: Any) -> Any:
    """Return the learning rate: of a float, a variable, so that checkpoints have it."""
    if learning_rate is None:
        return None
    if isinstance(learning_rate, float):
        if learning_rate < 0:
            raise errors.BadArgumentError(f"Invalid learning_rate {learning_rate}.")
        made = v1.get_variable(
            "learning_rate", (), trainable=False, initializer=v1.constant_initializer(learning_rate)
        )
        return on_device(made)
    if np.ndim(learning_rate) != 0 or isinstance(learning_rate, int | str):
        raise errors.BadArgumentError(
            f"Learning rate should be 0d Tensor or float. Got {shown(learning_rate)} of type "
            f"{type(learning_rate).__name__}."
        )
    return learning_rate


def _optimizer_of(optimizer: object, rate: object) -> Any:
    is_made_with_a_rate = isinstance(optimizer, str | type)
    if is_made_with_a_rate and rate is None:
        raise errors.BadArgumentError(
            "Learning rate is None, but should be specified if optimizer is a string or a class "
            f"({shown(optimizer)})."
        )
    if isinstance(optimizer, str):
        if optimizer not in OPTIMIZER_CLS_NAMES:
            raise errors.BadArgumentError(
                f"Optimizer name should be one of {list(OPTIMIZER_CLS_NAMES)}, you provided {shown(optimizer)}."
            )
        return OPTIMIZER_CLS_NAMES[optimizer](learning_rate=rate)
    if isinstance(optimizer, type):
        return optimizer(learning_rate=rate)
    if hasattr(optimizer, "apply_gradients"):
        return optimizer
    made = (optimizer() if rate is None else optimizer(rate)) if callable(optimizer) else None
    if not hasattr(made, "apply_gradients"):
        raise errors.BadArgumentError(
            "Unrecognized optimizer: should be a name, a class of optimizers, an optimizer, or a function of the "
            f"learning rate that returns one. Got {shown(optimizer)}."
        )
    return made


def _change(pairs: _Pairs, noise: float | None, multipliers: Mapping[Any, Any] | None) -> _Pairs:
    if noise is not None:
        pairs = [
            (g if g is None else on_device(g) + random.truncated_normal(jnp.shape(g)) * noise, v)
            for g, v in pairs
        ]
    return pairs if multipliers is None else _multiply(pairs, multipliers, ":0")


def multiply_gradients(grads_and_vars: _Pairs, gradient_multipliers: Mapping[Any, Any]) -> _Pairs:
    """Return pairs of gradient and variable, gradients multiplied.

    Args:
        grads_and_vars: Pairs.
        gradient_multipliers: Factors, by variables or their operations' names.

    Raises:
        BadArgumentError: If a factor is for a variable without a gradient.
    """
    return _multiply(grads_and_vars, gradient_multipliers, "")


def _multiply(pairs: _Pairs, multipliers: Mapping[Any, Any], suffix: str) -> _Pairs:
    """Multiply gradients by factors of variables, or of names that are the operations' with something behind them."""
    factors: dict[Any, Any] = {
        each if isinstance(each, str) else id(each): factor for each, factor in multipliers.items()
    }

    def multiply(gradient: Any, variable: Any) -> Any:
        factor = factors.get(id(variable), factors.get(f"{variable.path}{suffix}"))
        if factor is None:
            return gradient
        if gradient is None:
            raise errors.BadArgumentError(f"Requested multiple of `None` gradient of {variable.path}.")
        return on_device(gradient) * factor

    return [(multiply(gradient, variable), variable) for gradient, variable in pairs]


def clip_gradient_norms(gradients_to_variables: _Pairs, max_norm: float) -> _Pairs:
    """Return pairs of gradient and variable, each gradient clipped to a norm of its own."""
    return [
        (gradient if gradient is None else linalg.clip_by_norm(gradient, max_norm), variable)
        for gradient, variable in gradients_to_variables
    ]


def clip_gradient_norms_fn(max_norm: float) -> Callable[[_Pairs], _Pairs]:
    """Return a function of pairs that clips each gradient to a norm of its own."""
    return lambda pairs: clip_gradient_norms(pairs, max_norm)


def add_gradients_summaries(grads_and_vars: _Pairs) -> list[Any]:
    """Summarize each gradient's histogram and norm, as `tf.contrib.training.add_gradients_summaries`."""
    made = []
    for gradient, variable in grads_and_vars:
        if gradient is not None:
            name = variable.path
            made += [
                v1.summary.histogram(f"{name}/gradient", gradient),
                v1.summary.scalar(f"{name}/gradient_norm", linalg.global_norm([gradient])),
            ]
    return made


def _clip(pairs: _Pairs, clip_gradients: object) -> _Pairs:
    if clip_gradients is None:
        return pairs
    if isinstance(clip_gradients, float):
        clipped, _ = linalg.clip_by_global_norm([gradient for gradient, _ in pairs], clip_gradients)
        return [(gradient, variable) for gradient, (_, variable) in zip(clipped, pairs, strict=True)]
    if callable(clip_gradients):
        return list(clip_gradients(pairs))
    raise errors.BadArgumentError(f"Unknown type {type(clip_gradients).__name__} for clip_gradients.")


def _norm(pairs: _Pairs) -> Any:
    return linalg.global_norm([gradient for gradient, _ in pairs])


def _summarize(gradient: Any, variable: Any, shows: Sequence[str]) -> None:
    if gradient is None:
        return
    name = f"{variable.path}_0"
    if "gradients" in shows:
        v1.summary.histogram(f"gradients/{name}", gradient)
    if "gradient_norm" in shows:
        v1.summary.scalar(f"gradient_norm/{name}", linalg.global_norm([gradient]))
