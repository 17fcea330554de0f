"""Optimizers of `tf.contrib.opt`; the arithmetic is in `_contrib_rules.py` (v1 layer)."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import jax.numpy as jnp
import keras

from stratax.base.shown import shown
from stratax.errors import BadArgumentError
from stratax.tensorflow.ops.math.linalg import clip_by_global_norm
from stratax.tensorflow.v1 import _contrib_rules, _rules
from stratax.tensorflow.v1._optimizer import GradsAndVars, Number, Optimizer
from stratax.tensorflow.v1._optimizers import AdamOptimizer
from stratax.tensorflow.v1._rules import Rule


class LARSOptimizer(Optimizer):
    """Scales the gradients of each layer by its norms (You et al., 2017), as `tf.contrib.opt.LARSOptimizer`.

    Args:
        learning_rate: A number, an array, a variable, or a function without arguments that gives one.
        momentum: By how much the sum of steps decays, at least 0.
        weight_decay: The part of a variable that is added to its gradient, at least 0.
        eeta: The paper's coefficient.
        epsilon: Added to what is divided by.
        name: The optimizer's name.
        skip_list: Parts of the names of variables that are not scaled and do not decay.
        use_nesterov: Whether the step looks ahead.

    Raises:
        BadArgumentError: If `momentum` or `weight_decay` is below 0.
    """

    def __init__(
        self,
        learning_rate: Number,
        momentum: float = 0.9,
        weight_decay: float = 0.0001,
        eeta: float = 0.001,
        epsilon: float = 0.0,
        name: str = "LARSOptimizer",
        skip_list: Sequence[str] | None = None,
        use_nesterov: bool = False,
    ) -> None:
        for key, value in (("momentum", momentum), ("weight_decay", weight_decay)):
            if value < 0:
                raise BadArgumentError(f"{key} should be positive: {shown(value)}")
        super().__init__(use_locking=False, name=name)
        self._skip_list = tuple(skip_list or ())
        # For rows, and for variables of the skip list.
        self._unscaled = _rules.nesterov_momentum if use_nesterov else _rules.momentum
        numbers = {
            "learning_rate": learning_rate,
            "momentum": momentum,
            "weight_decay": weight_decay,
            "eeta": eeta,
            "epsilon": epsilon,
        }
        rule = _contrib_rules.nesterov_lars if use_nesterov else _contrib_rules.lars
        self._set_rule(rule, numbers, {"momentum": 0.0}, is_by_row=True)

    def _rule_of(self, variable: keras.Variable, *, is_by_row: bool) -> Rule | None:
        if is_by_row:
            # A few rows say nothing of the norm of the layer.
            return self._unscaled
        # TensorFlow looks for the parts in names with the number of an output.
        is_skipped = any(part in f"{variable.path}:0" for part in self._skip_list)
        return self._scale_first if is_skipped else self._rule

    def _scale_first(
        self, value: object, slots: _rules.Slots, gradient: object, numbers: _rules.Numbers
    ) -> tuple[Any, _rules.Slots]:
        """Step with the learning rate in the sum, where those of scaled variables have it."""
        rate = numbers["learning_rate"]
        return self._unscaled(
            value, slots, gradient * rate, {**numbers, "learning_rate": jnp.ones_like(rate)}
        )


class LazyAdamOptimizer(AdamOptimizer):
    """Adam that leaves rows alone which are not looked up, as `tf.contrib.opt.LazyAdamOptimizer`."""

    def __init__(
        self,
        learning_rate: Number = 0.001,
        beta1: Number = 0.9,
        beta2: Number = 0.999,
        epsilon: Number = 1e-8,
        use_locking: bool = False,
        name: str = "Adam",
    ) -> None:
        super().__init__(learning_rate, beta1, beta2, epsilon, use_locking, name)
        self._is_by_row = True


class NadamOptimizer(AdamOptimizer):
    """Adam with Nesterov's momentum, as `tf.contrib.opt.NadamOptimizer`."""

    def __init__(
        self,
        learning_rate: Number = 0.001,
        beta1: Number = 0.9,
        beta2: Number = 0.999,
        epsilon: Number = 1e-8,
        use_locking: bool = False,
        name: str = "Adam",
    ) -> None:
        super().__init__(learning_rate, beta1, beta2, epsilon, use_locking, name)
        self._rule = _contrib_rules.nadam
        # Moments decay in all rows, and those that are not looked up stay.
        self._is_by_row, self._keeps_slots_by_row = True, False


class AdaMaxOptimizer(Optimizer):
    """Adam with the maximum of gradients, as `tf.contrib.opt.AdaMaxOptimizer`.

    Args:
        learning_rate: A number, an array, a variable, or a function without arguments that gives one.
        beta1: The decay of the first moment, likewise.
        beta2: The decay of the maximum, likewise.
        epsilon: Added to what is divided by.
        use_locking: Ignored.
        name: The optimizer's name.
    """

    def __init__(
        self,
        learning_rate: Number = 0.001,
        beta1: Number = 0.9,
        beta2: Number = 0.999,
        epsilon: Number = 1e-8,
        use_locking: bool = False,
        name: str = "AdaMax",
    ) -> None:
        super().__init__(use_locking, name)
        numbers = {"learning_rate": learning_rate, "beta1": beta1, "beta2": beta2, "epsilon": epsilon}
        slots = {"m": 0.0, "v": 0.0}
        # A maximum that begins with 0 needs no correction, so that beta2 has no powers.
        self._set_rule(_contrib_rules.ada_max, numbers, slots, powers={"beta1": beta1}, is_by_row=True)


class _SignOptimizer(Optimizer):
    """What those two have in common whose steps depend on signs.

    Args:
        rule: The arithmetic.
        numbers: What it takes beside the decay of signs.
        sign_decay_fn: Gives that decay by the global step; None for 1.
        use_locking: Ignored.
        name: The optimizer's name.
    """

    def __init__(
        self,
        rule: Rule,
        numbers: dict[str, Number],
        sign_decay_fn: Callable[[Any], Any] | None,
        use_locking: bool,
        name: str,
    ) -> None:
        super().__init__(use_locking, name)
        self._sign_decay_fn = sign_decay_fn
        # A function's value takes the place of 1 in `apply_gradients`, which knows the step.
        self._set_rule(rule, {**numbers, "sign_decay": 1.0}, {"m": 0.0})

    def apply_gradients(
        self, grads_and_vars: GradsAndVars, global_step: keras.Variable | None = None, name: str | None = None
    ) -> Any:
        if self._sign_decay_fn is not None:
            self._numbers["sign_decay"] = self._sign_decay_fn(global_step)
        return super().apply_gradients(grads_and_vars, global_step, name)


class AddSignOptimizer(_SignOptimizer):
    """Adds to steps where signs agree (Bello et al., 2017), as `tf.contrib.opt.AddSignOptimizer`.

    Args:
        learning_rate: A number, an array, a variable, or a function without arguments that gives one.
        alpha: The factor of a step without signs.
        beta: The decay of the gradients' mean.
        sign_decay_fn: Gives the weight of signs by the global step; None for 1.
        use_locking: Ignored.
        name: The optimizer's name.
    """

    def __init__(
        self,
        learning_rate: Number = 0.1,
        alpha: Number = 1.0,
        beta: Number = 0.9,
        sign_decay_fn: Callable[[Any], Any] | None = None,
        use_locking: bool = False,
        name: str = "AddSignOptimizer",
    ) -> None:
        numbers = {"learning_rate": learning_rate, "alpha": alpha, "beta": beta}
        super().__init__(_contrib_rules.add_sign, numbers, sign_decay_fn, use_locking, name)


class PowerSignOptimizer(_SignOptimizer):
    """Multiplies steps where signs agree (Bello et al., 2017), as `tf.contrib.opt.PowerSignOptimizer`.

    Args:
        learning_rate: A number, an array, a variable, or a function without arguments that gives one.
        base: The factor where signs agree, and one over it where they don't.
        beta: The decay of the gradients' mean.
        sign_decay_fn: Gives the exponent of signs by the global step; None for 1.
        use_locking: Ignored.
        name: The optimizer's name.
    """

    def __init__(
        self,
        learning_rate: Number = 0.1,
        base: float = math.e,
        beta: Number = 0.9,
        sign_decay_fn: Callable[[Any], Any] | None = None,
        use_locking: bool = False,
        name: str = "PowerSignOptimizer",
    ) -> None:
        numbers = {"learning_rate": learning_rate, "logbase": math.log(base), "beta": beta}
        super().__init__(_contrib_rules.power_sign, numbers, sign_decay_fn, use_locking, name)


def clip_gradients_by_global_norm(
    gradients_variables: GradsAndVars, clip_norm: float = 20.0
) -> list[tuple[Any, keras.Variable]]:
    """Return pairs of gradient and variable, the gradients made smaller where their common norm is too large.

    Args:
        gradients_variables: The pairs.
        clip_norm: The largest norm.
    """
    pairs = list(gradients_variables)
    clipped, _ = clip_by_global_norm([gradient for gradient, _ in pairs], clip_norm)
    return [(gradient, variable) for gradient, (_, variable) in zip(clipped, pairs, strict=True)]
