"""How TensorFlow 1's optimizers change one variable: pure functions (v1 layer).

Each takes the variable's value, its slots by name, the gradient and the optimizer's numbers by name, all of one dtype,
and returns the new value and the new slots. The order of operations is that of TensorFlow's kernels, which decides the
last bits.
"""

from collections.abc import Callable
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp

from stratax.base.typing import TensorLike

Slots: TypeAlias = dict[str, Any]
Numbers: TypeAlias = dict[str, Any]
# From a value, its slots, its gradient and numbers to the next value and the next slots.
Rule: TypeAlias = Callable[[Any, Slots, Any, Numbers], tuple[Any, Slots]]


def gradient_descent(
    value: TensorLike, slots: Slots, gradient: TensorLike, numbers: Numbers
) -> tuple[Any, Slots]:
    """Step against the gradient."""
    return value - numbers["learning_rate"] * gradient, slots


def momentum(value: TensorLike, slots: Slots, gradient: TensorLike, numbers: Numbers) -> tuple[Any, Slots]:
    """Step against a decaying sum of gradients."""
    total = slots["momentum"] * numbers["momentum"] + gradient
    return value - numbers["learning_rate"] * total, {"momentum": total}


def nesterov_momentum(
    value: TensorLike, slots: Slots, gradient: TensorLike, numbers: Numbers
) -> tuple[Any, Slots]:
    """Step against the gradient and the decaying sum that contains it (Sutskever et al., 2013)."""
    rate = numbers["learning_rate"]
    total = slots["momentum"] * numbers["momentum"] + gradient
    # What the next step's momentum would do is done already.
    return value - (gradient * rate + total * numbers["momentum"] * rate), {"momentum": total}


def adam(value: TensorLike, slots: Slots, gradient: Any, numbers: Numbers) -> tuple[Any, Slots]:
    """Step by the first moment over the root of the second (Kingma & Ba, 2014, "epsilon hat").

    `beta1_power` and `beta2_power` are the betas to the power of this step's number.
    """
    # Both moments begin with 0. What corrects that is part of the rate, so that epsilon is one of the uncorrected
    # moment.
    rate = numbers["learning_rate"] * jnp.sqrt(1 - numbers["beta2_power"]) / (1 - numbers["beta1_power"])
    # m * beta1 + gradient * (1 - beta1), in the form of TensorFlow's kernel.
    m = slots["m"] + (gradient - slots["m"]) * (1 - numbers["beta1"])
    v = slots["v"] + (jnp.square(gradient) - slots["v"]) * (1 - numbers["beta2"])
    return value - m * rate / (jnp.sqrt(v) + numbers["epsilon"]), {"m": m, "v": v}


def adagrad(value: TensorLike, slots: Slots, gradient: Any, numbers: Numbers) -> tuple[Any, Slots]:
    """Step by the gradient over the root of the sum of all squares (Duchi et al., 2011)."""
    accumulator = slots["accumulator"] + jnp.square(gradient)
    return value - gradient * numbers["learning_rate"] * jax.lax.rsqrt(accumulator), {
        "accumulator": accumulator
    }


def adagrad_da(value: TensorLike, slots: Slots, gradient: Any, numbers: Numbers) -> tuple[Any, Slots]:
    """Set the variable from all gradients there were, by dual averaging (Duchi et al., 2011).

    `global_step` counts this step.
    """
    total = slots["gradient_accumulator"] + gradient
    squares = slots["gradient_squared_accumulator"] + jnp.square(gradient)
    rate, step = numbers["learning_rate"], numbers["global_step"]
    # The variable does not enter: it follows from the sums since the first step.
    shrunk = _shrink(total, numbers["l1_regularization_strength"] * step)
    divisor = numbers["l2_regularization_strength"] * step * rate + jnp.sqrt(squares)
    return -rate * shrunk / divisor, {"gradient_accumulator": total, "gradient_squared_accumulator": squares}


def adadelta(value: TensorLike, slots: Slots, gradient: Any, numbers: Numbers) -> tuple[Any, Slots]:
    """Step by the gradient times the ratio of past steps to past gradients (Zeiler, 2012)."""
    rho, epsilon = numbers["rho"], numbers["epsilon"]
    squares = slots["accum"] * rho + jnp.square(gradient) * (1 - rho)
    # Has the unit of the variable: the root mean square of steps over that of gradients.
    step = jnp.sqrt(slots["accum_update"] + epsilon) * jax.lax.rsqrt(squares + epsilon) * gradient
    updates = slots["accum_update"] * rho + jnp.square(step) * (1 - rho)
    return value - step * numbers["learning_rate"], {"accum": squares, "accum_update": updates}


def rms_prop(value: TensorLike, slots: Slots, gradient: Any, numbers: Numbers) -> tuple[Any, Slots]:
    """Step by the gradient over the root of a moving mean of its squares, with momentum (Tieleman & Hinton, 2012)."""
    squares = slots["rms"] + (jnp.square(gradient) - slots["rms"]) * (1 - numbers["decay"])
    # TensorFlow's kernel has epsilon below the root.
    step = numbers["learning_rate"] * gradient * jax.lax.rsqrt(squares + numbers["epsilon"])
    total = slots["momentum"] * numbers["momentum"] + step
    return value - total, {"rms": squares, "momentum": total}


def rms_prop_centered(value: TensorLike, slots: Slots, gradient: Any, numbers: Numbers) -> tuple[Any, Slots]:
    """Step as :func:`rms_prop`, by the gradients' variance instead of their mean square (Graves, 2013)."""
    # The variance is the mean of squares less the square of the mean; epsilon keeps rounding from making it negative.
    squares = slots["rms"] + (jnp.square(gradient) - slots["rms"]) * (1 - numbers["decay"])
    mean = slots["mg"] + (gradient - slots["mg"]) * (1 - numbers["decay"])
    step = numbers["learning_rate"] * gradient * jax.lax.rsqrt(squares - mean * mean + numbers["epsilon"])
    total = slots["momentum"] * numbers["momentum"] + step
    return value - total, {"rms": squares, "mg": mean, "momentum": total}


def ftrl(value: TensorLike, slots: Slots, gradient: Any, numbers: Numbers) -> tuple[Any, Slots]:
    """Set the variable by follow-the-regularized-leader (McMahan et al., 2013).

    `beta` is a part of the L2 regularization; the shrinkage of the L2 norm is one that the sums don't remember.
    """
    rate, power = numbers["learning_rate"], -numbers["learning_rate_power"]
    l1 = numbers["l1_regularization_strength"]
    # As if each coordinate's rate were rate / (beta + sqrt(accum)), which McMahan et al. have.
    l2 = numbers["l2_regularization_strength"] + numbers["beta"] / (2 * jnp.maximum(rate, 1e-36))
    shrunk = gradient + 2 * numbers["l2_shrinkage_regularization_strength"] * value
    accum = slots["accum"] + jnp.square(gradient)
    new, old = accum**power, slots["accum"] ** power
    # The sum of gradients less what the variable's way so far says: from it alone the next value follows.
    linear = slots["linear"] + shrunk - (new - old) / rate * value
    # 0 where the sum is no larger than the L1 regularization, so that weights become exactly 0.
    return (jnp.clip(linear, -l1, l1) - linear) / (new / rate + 2 * l2), {"accum": accum, "linear": linear}


def proximal_adagrad(value: TensorLike, slots: Slots, gradient: Any, numbers: Numbers) -> tuple[Any, Slots]:
    """Step as :func:`adagrad`, then shrink the variable (Duchi & Singer, 2009)."""
    accumulator = slots["accumulator"] + jnp.square(gradient)
    rate = numbers["learning_rate"] * jax.lax.rsqrt(accumulator)
    return _proximal(value - gradient * rate, rate, numbers), {"accumulator": accumulator}


def proximal_gradient_descent(
    value: TensorLike, slots: Slots, gradient: TensorLike, numbers: Numbers
) -> tuple[Any, Slots]:
    """Step as :func:`gradient_descent`, then shrink the variable (Duchi & Singer, 2009)."""
    rate = numbers["learning_rate"]
    return _proximal(value - gradient * rate, rate, numbers), slots


def _proximal(value: TensorLike, rate: TensorLike, numbers: Numbers) -> Any:
    shrunk = _shrink(value, rate * numbers["l1_regularization_strength"])
    return shrunk / (1 + numbers["l2_regularization_strength"] * rate)


def _shrink(value: Any, by: Any) -> Any:
    """Move towards 0, and not beyond."""
    return jnp.sign(value) * jnp.maximum(jnp.abs(value) - by, 0)
