"""Learning rates that decay with the global step, as `tf.compat.v1.train`'s (v1 layer).

Each function computes the rate of one step. TensorFlow's give a function instead where it runs eagerly; here, in a
`model_fn` and outside of one, they give the number. The arithmetic is in float32, or in the learning rate's own dtype
if that is another floating-point one.
"""

import math
from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
import keras

from stratax.base.recording import recordable
from stratax.base.shown import shown
from stratax.base.typing import Array, DTypeLike, TensorLike
from stratax.core.state import generator_of
from stratax.distribute.replicas import ReduceOp, syncing_replicas
from stratax.errors import BadArgumentError
from stratax.tensorflow.ops.calls.creation import on_device


@recordable
def exponential_decay(
    learning_rate: TensorLike,
    global_step: TensorLike,
    decay_steps: TensorLike,
    decay_rate: TensorLike,
    staircase: bool = False,
    name: str | None = None,
) -> Any:
    """Return `learning_rate * decay_rate ** (global_step / decay_steps)`, as `tf.compat.v1.train.exponential_decay`.

    Args:
        learning_rate: The rate of step 0.
        global_step: The step: a number, an array or a variable.
        decay_steps: After how many steps the rate is multiplied by `decay_rate`.
        decay_rate: The factor.
        staircase: Whether the rate changes only at multiples of `decay_steps`.
        name: Ignored.

    Returns:
        A scalar.

    Example:
        >>> from stratax.v1 import train
        >>> float(train.exponential_decay(0.5, global_step=20, decay_steps=10, decay_rate=0.5))
        0.125
    """
    rate = _rate(learning_rate)
    return rate * _like(rate, decay_rate) ** _periods(rate, global_step, decay_steps, staircase)


@recordable
def natural_exp_decay(
    learning_rate: TensorLike,
    global_step: TensorLike,
    decay_steps: TensorLike,
    decay_rate: TensorLike,
    staircase: bool = False,
    name: str | None = None,
) -> Any:
    """Return `learning_rate * exp(-decay_rate * global_step / decay_steps)`, as TensorFlow's of that name.

    Args:
        learning_rate: The rate of step 0.
        global_step: The step: a number, an array or a variable.
        decay_steps: After how many steps the rate is multiplied by `exp(-decay_rate)`.
        decay_rate: The exponent.
        staircase: Whether the rate changes only at multiples of `decay_steps`.
        name: Ignored.

    Returns:
        A scalar.
    """
    rate = _rate(learning_rate)
    return rate * jnp.exp(-_like(rate, decay_rate) * _periods(rate, global_step, decay_steps, staircase))


@recordable
def inverse_time_decay(
    learning_rate: TensorLike,
    global_step: TensorLike,
    decay_steps: TensorLike,
    decay_rate: TensorLike,
    staircase: bool = False,
    name: str | None = None,
) -> Any:
    """Return `learning_rate / (1 + decay_rate * global_step / decay_steps)`, as TensorFlow's of that name.

    Args:
        learning_rate: The rate of step 0.
        global_step: The step: a number, an array or a variable.
        decay_steps: After how many steps `decay_rate` is added to the denominator.
        decay_rate: What is added.
        staircase: Whether the rate changes only at multiples of `decay_steps`.
        name: Ignored.

    Returns:
        A scalar.
    """
    rate = _rate(learning_rate)
    return rate / (1 + _like(rate, decay_rate) * _periods(rate, global_step, decay_steps, staircase))


@recordable
def polynomial_decay(
    learning_rate: TensorLike,
    global_step: TensorLike,
    decay_steps: TensorLike,
    end_learning_rate: TensorLike = 0.0001,
    power: TensorLike = 1.0,
    cycle: bool = False,
    name: str | None = None,
) -> Any:
    """Return a rate that falls to `end_learning_rate` as a polynomial, as `tf.compat.v1.train.polynomial_decay`.

    Args:
        learning_rate: The rate of step 0.
        global_step: The step: a number, an array or a variable.
        decay_steps: At which step the end is reached.
        end_learning_rate: The rate from then on.
        power: The polynomial's power; 1 is a straight line.
        cycle: Whether the rate rises again after the end: then it falls over the first multiple of `decay_steps` that
            is not below the step.
        name: Ignored.

    Returns:
        A scalar.
    """
    rate = _rate(learning_rate)
    step, steps, end = _like(rate, global_step), _like(rate, decay_steps), _like(rate, end_learning_rate)
    if cycle:
        # Step 0 belongs to the first cycle, although 0 / steps is no more than 0.
        steps = steps * jnp.maximum(jnp.ceil(step / steps), 1)
    else:
        # Behind the last step the rate stays what it was there.
        step = jnp.minimum(step, steps)
    return (rate - end) * (1 - step / steps) ** _like(rate, power) + end


@recordable
def piecewise_constant(
    x: TensorLike, boundaries: Sequence[Any], values: Sequence[Any], name: str | None = None
) -> Any:
    """Return the value of the interval that a step is in, as `tf.compat.v1.train.piecewise_constant`.

    Args:
        x: The step: a number, an array or a variable.
        boundaries: The steps after which the next value holds, in increasing order: up to and with the first boundary
            it is the first value.
        values: The values, one more than boundaries.
        name: Ignored.

    Returns:
        A scalar of the values' dtype.

    Raises:
        BadArgumentError: If there is not one value more than boundaries.

    Example:
        >>> from stratax.v1 import train
        >>> [float(train.piecewise_constant(step, [2, 4], [1.0, 0.5, 0.25])) for step in (2, 3, 5)]
        [1.0, 0.5, 0.25]
    """
    if len(boundaries) != len(values) - 1:
        raise BadArgumentError(
            "The boundaries divide the steps into one interval more than there are boundaries, each with a value. "
            f"Expected: {len(boundaries) + 1} values. Received: boundaries={shown(boundaries)}, values={shown(values)}."
        )
    if not boundaries:
        return on_device(values[0])
    ends = jnp.stack([on_device(boundary) for boundary in boundaries])
    # As many boundaries as lie below the step are behind it.
    return jnp.stack([on_device(value) for value in values])[jnp.sum(on_device(x) > ends)]


piecewise_constant_decay = piecewise_constant


@recordable
def cosine_decay(
    learning_rate: TensorLike,
    global_step: TensorLike,
    decay_steps: TensorLike,
    alpha: TensorLike = 0.0,
    name: str | None = None,
) -> Any:
    """Return a rate that falls along half a cosine, as `tf.compat.v1.train.cosine_decay`.

    The form is that of Loshchilov & Hutter, "SGDR: Stochastic Gradient Descent with Warm Restarts" (2016), without
    restarts.

    Args:
        learning_rate: The rate of step 0.
        global_step: The step: a number, an array or a variable.
        decay_steps: At which step the end is reached.
        alpha: The rate from then on, as a fraction of `learning_rate`.
        name: Ignored.

    Returns:
        A scalar.
    """
    rate = _rate(learning_rate)
    return rate * _cosine(_compute_part_done(rate, global_step, decay_steps), _like(rate, alpha))


@recordable
def cosine_decay_restarts(
    learning_rate: TensorLike,
    global_step: TensorLike,
    first_decay_steps: TensorLike,
    t_mul: TensorLike = 2.0,
    m_mul: TensorLike = 1.0,
    alpha: TensorLike = 0.0,
    name: str | None = None,
) -> Any:
    """Return a rate that falls along half a cosine again and again, as TensorFlow's of that name.

    It follows Loshchilov & Hutter, "SGDR: Stochastic Gradient Descent with Warm Restarts" (2016).

    Args:
        learning_rate: The rate of step 0.
        global_step: The step: a number, an array or a variable.
        first_decay_steps: How many steps the first period has.
        t_mul: How many times as long each period is as the one before.
        m_mul: How many times as high each period starts as the one before.
        alpha: The rate at a period's end, as a fraction of `learning_rate`.
        name: Ignored.

    Returns:
        A scalar.
    """
    rate = _rate(learning_rate)
    longer, higher = _like(rate, t_mul), _like(rate, m_mul)
    passed = _like(rate, global_step) / _like(rate, first_decay_steps)
    # Both branches below are computed, whatever `t_mul` is: it may be a tensor that only the program knows.
    is_constant = longer == 1
    # Periods of one length are counted; else the sum of a geometric series is solved for how many have ended.
    growth = jnp.where(is_constant, 2, longer)
    # 2 in place of 1 keeps the branch that is not taken from dividing by log(1).
    period = jnp.floor(jnp.log(1 - passed * (1 - growth)) / jnp.log(growth))
    # Where this period began, in lengths of the first one.
    start = (1 - growth**period) / (1 - growth)
    fraction = jnp.where(is_constant, passed - jnp.floor(passed), (passed - start) / growth**period)
    # The same power as of the length: once for each period that has ended.
    height = higher ** jnp.where(is_constant, jnp.floor(passed), period)
    return rate * _cosine(fraction, _like(rate, alpha), height)


@recordable
def linear_cosine_decay(
    learning_rate: TensorLike,
    global_step: TensorLike,
    decay_steps: TensorLike,
    num_periods: TensorLike = 0.5,
    alpha: TensorLike = 0.0,
    beta: TensorLike = 0.001,
    name: str | None = None,
) -> Any:
    """Return a rate that falls linearly, times a cosine, as `tf.compat.v1.train.linear_cosine_decay`.

    It follows Bello et al., "Neural Optimizer Search with Reinforcement Learning" (2017).

    Args:
        learning_rate: The rate of step 0, almost.
        global_step: The step: a number, an array or a variable.
        decay_steps: At which step the end is reached.
        num_periods: How many periods of the cosine there are until then.
        alpha: What is added to the linear part.
        beta: What is added to the whole.
        name: Ignored.

    Returns:
        A scalar.
    """
    rate = _rate(learning_rate)
    fraction = _compute_part_done(rate, global_step, decay_steps)
    return rate * _linear_cosine(1 - fraction, fraction, num_periods, alpha, beta)


@recordable
def noisy_linear_cosine_decay(
    learning_rate: TensorLike,
    global_step: TensorLike,
    decay_steps: TensorLike,
    initial_variance: TensorLike = 1.0,
    variance_decay: TensorLike = 0.55,
    num_periods: TensorLike = 0.5,
    alpha: TensorLike = 0.0,
    beta: TensorLike = 0.001,
    name: str | None = None,
) -> Any:
    """Return a rate that falls linearly with noise, times a cosine, as TensorFlow's of that name.

    It follows Bello et al., "Neural Optimizer Search with Reinforcement Learning" (2017). All replicas get the same
    noise, so that their variables stay equal.

    Args:
        learning_rate: The rate of step 0, almost.
        global_step: The step: a number, an array or a variable.
        decay_steps: At which step the end is reached.
        initial_variance: The noise's variance at step 0.
        variance_decay: The variance is divided by `(1 + global_step) ** variance_decay`.
        num_periods: How many periods of the cosine there are until the end.
        alpha: What is added to the linear part.
        beta: What is added to the whole.
        name: Ignored.

    Returns:
        A scalar.
    """
    rate = _rate(learning_rate)
    fraction = _compute_part_done(rate, global_step, decay_steps)
    step = fraction * _like(rate, decay_steps)
    variance = _like(rate, initial_variance) / (1 + step) ** _like(rate, variance_decay)
    # Else replicas would step with rates of their own, and their variables differ.
    noise = jnp.sqrt(variance) * _common_normal(rate.dtype)
    return rate * _linear_cosine(1 - fraction + noise, fraction, num_periods, alpha, beta)


def _rate(learning_rate: TensorLike) -> Any:
    rate = on_device(learning_rate)
    # A rate of 1 is meant as 1.0.
    return rate if jnp.issubdtype(rate.dtype, jnp.floating) else rate.astype(jnp.float32)


def _like(rate: Any, value: TensorLike) -> Any:
    return on_device(value).astype(rate.dtype)


def _periods(rate: TensorLike, global_step: TensorLike, decay_steps: TensorLike, staircase: bool) -> Any:
    """Return how many times `decay_steps` have passed."""
    passed = _like(rate, global_step) / _like(rate, decay_steps)
    return jnp.floor(passed) if staircase else passed


def _compute_part_done(rate: TensorLike, global_step: TensorLike, decay_steps: TensorLike) -> Any:
    """Return which part of the decay lies behind, at most 1."""
    steps = _like(rate, decay_steps)
    return jnp.minimum(_like(rate, global_step), steps) / steps


def _cosine(fraction: Any, alpha: Array, height: Any = 1) -> Any:
    return (1 - alpha) * (0.5 * height * (1 + jnp.cos(math.pi * fraction))) + alpha


def _linear_cosine(
    linear: object, fraction: object, num_periods: TensorLike, alpha: TensorLike, beta: TensorLike
) -> Any:
    cosine = 0.5 * (1 + jnp.cos(math.pi * (2 * _like(linear, num_periods) * fraction)))
    return (_like(linear, alpha) + linear) * cosine + _like(linear, beta)


def _common_normal(dtype: DTypeLike) -> Any:
    """Draw one number, the same on every replica."""
    own = keras.random.normal((), dtype=str(dtype), seed=generator_of(None))
    replicas = syncing_replicas()
    if replicas is None:
        return own
    # The sum of the first replica's number and of zeros: whatever the others have drawn.
    is_first = replicas.replica_id_in_sync_group == 0
    return replicas.all_reduce(ReduceOp.SUM, jnp.where(is_first, own, jnp.zeros_like(own)))
