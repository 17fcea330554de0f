"""How `tf.contrib.opt`'s optimizers change one variable: pure functions, as those of `_rules.py` (v1 layer)."""

from typing import Any

import jax.numpy as jnp

from stratax.tensorflow.v1._rules import Numbers, Slots


def lars(value: object, slots: Slots, gradient: object, numbers: Numbers) -> tuple[Any, Slots]:
    """Step against a decaying sum of gradients that are scaled by the layer's norms (You et al., 2017)."""
    scaled = _scale(value, gradient, numbers)
    total = slots["momentum"] * numbers["momentum"] + scaled
    return value - total, {"momentum": total}


def nesterov_lars(value: object, slots: Slots, gradient: object, numbers: Numbers) -> tuple[Any, Slots]:
    """Step as :func:`lars`, by the scaled gradient and the decaying sum that contains it."""
    scaled = _scale(value, gradient, numbers)
    total = slots["momentum"] * numbers["momentum"] + scaled
    return value - (scaled + total * numbers["momentum"]), {"momentum": total}


def _scale(value: Any, gradient: Any, numbers: Numbers) -> Any:
    decay = numbers["weight_decay"]
    norm, gradients_norm = jnp.sqrt(jnp.sum(value * value)), jnp.sqrt(jnp.sum(gradient * gradient))
    ratio = numbers["eeta"] * norm / (gradients_norm + decay * norm + numbers["epsilon"])
    # Without weights, or without gradients, there is nothing to scale by.
    trust = jnp.where((norm > 0) & (gradients_norm > 0), ratio, 1)
    return (gradient + decay * value) * (numbers["learning_rate"] * trust)


def nadam(value: Any, slots: Slots, gradient: Any, numbers: Numbers) -> tuple[Any, Slots]:
    """Step as Adam with Nesterov's momentum (Dozat, 2015)."""
    beta1 = numbers["beta1"]
    rate = numbers["learning_rate"] * jnp.sqrt(1 - numbers["beta2_power"]) / (1 - numbers["beta1_power"])
    m = slots["m"] + (gradient - slots["m"]) * (1 - beta1)
    v = slots["v"] + (jnp.square(gradient) - slots["v"]) * (1 - numbers["beta2"])
    # One step ahead: the moment of the next step, as far as it is known.
    ahead = gradient * (1 - beta1) + beta1 * m
    return value - ahead * rate / (jnp.sqrt(v) + numbers["epsilon"]), {"m": m, "v": v}


def ada_max(value: Any, slots: Slots, gradient: Any, numbers: Numbers) -> tuple[Any, Slots]:
    """Step by the first moment over the decaying maximum of gradients (Kingma & Ba, 2014)."""
    m = slots["m"] + (gradient - slots["m"]) * (1 - numbers["beta1"])
    v = jnp.maximum(numbers["beta2"] * slots["v"], jnp.abs(gradient))
    rate = numbers["learning_rate"] / (1 - numbers["beta1_power"])
    return value - rate * (m / (v + numbers["epsilon"])), {"m": m, "v": v}


def add_sign(value: Any, slots: Slots, gradient: Any, numbers: Numbers) -> tuple[Any, Slots]:
    """Step further where the gradient's sign agrees with its mean's, by adding (Bello et al., 2017)."""
    m = _mean(slots, gradient, numbers)
    factor = numbers["alpha"] + numbers["sign_decay"] * jnp.sign(gradient) * jnp.sign(m)
    return value - numbers["learning_rate"] * factor * gradient, {"m": m}


def power_sign(value: Any, slots: Slots, gradient: Any, numbers: Numbers) -> tuple[Any, Slots]:
    """Step further where the gradient's sign agrees with its mean's, by a power (Bello et al., 2017)."""
    m = _mean(slots, gradient, numbers)
    factor = jnp.exp(numbers["logbase"] * numbers["sign_decay"] * jnp.sign(gradient) * jnp.sign(m))
    return value - numbers["learning_rate"] * factor * gradient, {"m": m}


def _mean(slots: Slots, gradient: object, numbers: Numbers) -> Any:
    return slots["m"] * numbers["beta"] + gradient * (1 - numbers["beta"])
